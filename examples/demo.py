"""Run the main job of the package end to end on generated data.

Usage: python examples/demo.py [OUTPUT_FOLDER]

Every section releases something about the same people, pays from the same budget, and writes a
picture. Nothing is read from disk or from the network.
"""

import argparse
import time
from dataclasses import dataclass
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import wasserstein_distance

from skdp_bary import BudgetAccountant, PrivateMeasure, PrivateWassersteinBarycenter
from skdp_bary.datasets import CITY_BOUNDS, make_city_checkins
from skdp_bary.plotting import BarycenterDisplay, BudgetDisplay, MeasureDisplay


@dataclass(frozen=True)
class Job:
    """What every section of the demonstration works with."""

    X: np.ndarray
    people: np.ndarray
    accountant: BudgetAccountant
    output: Path

    def save(self, figure, name):
        """Write a picture and say so."""
        path = self.output / f"{name}.png"
        figure.savefig(path, dpi=120)
        plt.close(figure)
        print(f"    wrote {path}")


def measure_city(job):
    """A private measure of the city, drawn beside the rows it protects."""
    measure = PrivateMeasure(epsilon=1.0, bounds=CITY_BOUNDS, accountant=job.accountant)
    measure.fit(job.X, groups=job.people)
    print(f"    {len(measure.weights_)} weighted points, about {measure.total_:.0f} people")
    job.save(MeasureDisplay.from_comparison(measure, job.X).figure_, "measure")
    figure, axes = plt.subplots(figsize=(5, 5), layout="constrained")
    axes.plot(*measure.sample(20_000).T, ".", ms=1, alpha=0.4, color="tab:purple")
    axes.set(
        xlim=(0, 20), ylim=(0, 20), aspect="equal", title="20000 synthetic check-ins (private)"
    )
    job.save(figure, "synthetic_rows")


def price_accuracy(job):
    """What epsilon buys: the distance between release and rows, for several budgets."""
    epsilons = (0.1, 0.2, 0.4, 0.8)
    figure, panels = plt.subplots(2, 2, figsize=(9, 8), layout="constrained")
    for axes, epsilon in zip(panels.ravel(), epsilons, strict=True):
        measure = PrivateMeasure(epsilon=epsilon, bounds=CITY_BOUNDS, accountant=job.accountant)
        measure.fit(job.X, groups=job.people)
        distance = sliced_distance(job, measure)
        print(f"    epsilon={epsilon}: mean distance over directions {1000 * distance:.0f} m")
        MeasureDisplay.from_estimator(measure, ax=axes)
        axes.set_title(f"epsilon={epsilon}: {1000 * distance:.0f} m from the rows")
    job.save(figure, "what_epsilon_buys")


def sliced_distance(job, measure, n_directions=8):
    """Mean over directions of the distance between the projected release and rows, in kilometers.

    It compares with the exact rows, so it is for the owner's eyes and is not private. Every person
    counts once, as in the release.
    """
    weight = 1.0 / np.bincount(job.people)[job.people]
    angles = np.pi * np.arange(n_directions) / n_directions
    return np.mean(
        [
            wasserstein_distance(job.X @ u, measure.support_ @ u, weight, measure.weights_)
            for u in np.column_stack([np.cos(angles), np.sin(angles)])
        ]
    )


def place_stations(job):
    """Where ten stations serve busy and occasional users alike."""
    # the label of a person follows from that person's rows alone, and which labels exist is public
    busy = np.bincount(job.people)[job.people] > 10
    labels = np.where(busy, "busy", "occasional")
    stations = PrivateWassersteinBarycenter(
        n_atoms=10,
        classes=["busy", "occasional"],
        epsilon=0.5,
        bounds=CITY_BOUNDS,
        accountant=job.accountant,
    ).fit(job.X, labels, groups=job.people)
    for step in stations.privacy_.steps:
        print(f"    {step.name}: {step.mechanism}")
    print(
        f"    mean squared distance to a station, by the release: {stations.release_cost_:.2f} km2"
    )
    figure = BarycenterDisplay.from_comparison(stations, job.X, labels).figure_
    job.save(figure, "stations")


SECTIONS = (measure_city, price_accuracy, place_stations)


def main():
    """Run all sections and print the ledger."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output", nargs="?", default="demo_output", type=Path)
    output = parser.parse_args().output
    output.mkdir(parents=True, exist_ok=True)
    X, people = make_city_checkins(n_people=20_000, random_state=0)
    accountant = BudgetAccountant(epsilon=4.0)
    print(f"{len(X)} check-ins of {len(np.unique(people))} people; the budget is epsilon=4")
    job = Job(X, people, accountant, output)
    for number, section in enumerate(SECTIONS, 1):
        start = time.perf_counter()
        print(f"[{number}/{len(SECTIONS)}] {section.__doc__.splitlines()[0]}", flush=True)
        section(job)
        print(f"    {time.perf_counter() - start:.1f} s", flush=True)
    job.save(BudgetDisplay.from_accountant(accountant).figure_, "budget")
    print(f"\n{accountant}")


if __name__ == "__main__":
    main()
