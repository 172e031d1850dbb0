"""Run every estimator of the package on generated data, and write one page about it.

Usage: python examples/demo.py [OUTPUT_FOLDER] [--people N]

The people of an invented city check in at places, wear sensors, fill in a form and write a digit.
Every section asks a question about these same people and pays from one budget. What came out is in
OUTPUT_FOLDER/index.html, with pictures, quotes and the ledger. Nothing is read from the network.
"""

import argparse
import time
import warnings
from dataclasses import dataclass, field
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from demo_page import Section, write_page
from scipy.ndimage import affine_transform
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from skdp_bary import (
    BudgetAccountant,
    DPSlicedWasserstein,
    PrivateDomainAdapter,
    PrivateEMDHeatmap,
    PrivateGenerator,
    PrivateKMeans,
    PrivateMeasure,
    PrivateTable,
    PrivateTwoSampleTest,
    PrivateWassersteinBarycenter,
)
from skdp_bary.datasets import CITY_BOUNDS, make_city_checkins
from skdp_bary.plotting import (
    BarycenterDisplay,
    BudgetDisplay,
    ClusterDisplay,
    HeatmapDisplay,
    MeasureDisplay,
    SlicesDisplay,
)
from skdp_bary.schema import Boolean, Category, Integer, Number, Schema

PERSON = "person"  # the privacy unit of every section
JOBS = ["office", "trade", "service", "none"]
READINGS = np.array([[0.2, 0.1, 0.0], [0.0, 0.2, 0.05], [0.0, 0.0, 0.15]])
MOVES = 300  # new places, slants and shades of a digit are drawn from so many


@dataclass
class Job:
    """What every section works with: the people, their budget, and the page that grows."""

    X: np.ndarray
    people: np.ndarray
    accountant: BudgetAccountant
    output: Path
    sections: list = field(default_factory=list)

    @property
    def n_people(self):
        return int(self.people.max()) + 1

    def fit(self, estimator, *rows, n_features, **given):
        """Quote, print the price, and fit."""
        estimator.set_params(accountant=self.accountant)
        quote = self.accountant.quote(estimator, n_features=n_features, unit=PERSON)
        print(f"    costs epsilon={quote.epsilon:g}, delta={quote.delta:g}", flush=True)
        self.sections[-1].quotes.append((type(estimator).__name__, quote))
        # sections without groups have one row per person
        return estimator.fit(*rows, unit=PERSON, **given)

    def say(self, text):
        """Print what was found out, and put it on the page."""
        print(f"    {text}", flush=True)
        self.sections[-1].findings.append(text)

    def save(self, figure, name):
        """Write a picture, and put it on the page."""
        path = self.output / f"{name}.png"
        figure.savefig(path, dpi=110)
        plt.close(figure)
        self.sections[-1].pictures.append(path)


def release_measure(job):
    """Which points stand for everybody? PrivateMeasure"""
    measure = PrivateMeasure(epsilon=1.0, bounds=CITY_BOUNDS)
    job.fit(measure, job.X, groups=job.people, n_features=2)
    job.say(f"{len(measure.weights_)} weighted points, about {measure.total_:.0f} people")
    job.save(MeasureDisplay.from_comparison(measure, job.X).figure_, "measure")


def draw_heatmap(job):
    """Where do people go? PrivateEMDHeatmap"""
    city = PrivateEMDHeatmap(epsilon=1.0, bounds=CITY_BOUNDS, n_hint=job.n_people)
    job.fit(city, job.X, groups=job.people, n_features=2)
    stops, cost = city.k_median(5, random_state=0)
    job.say(f"five stops of a bus are {cost / city.total_:.1f} km from a check-in, on average")
    display = HeatmapDisplay.from_estimator(city)
    display.axes_[0].plot(*stops.T, "c*", markersize=12)
    job.save(display.figure_, "heatmap")


def place_stations(job):
    """Where do ten stations serve two kinds of people alike? PrivateWassersteinBarycenter"""
    # the label of a person follows from that person's rows alone, and which labels exist is public
    busy = np.bincount(job.people)[job.people] > 10
    labels = np.where(busy, "busy", "occasional")
    stations = PrivateWassersteinBarycenter(
        10, classes=["busy", "occasional"], epsilon=0.5, bounds=CITY_BOUNDS
    )
    job.fit(stations, job.X, labels, groups=job.people, n_features=2)
    job.say(f"mean squared distance to a station, by the release: {stations.release_cost_:.2f} km²")
    job.save(BarycenterDisplay.from_comparison(stations, job.X, labels).figure_, "barycenter")


def find_centers(job):
    """Where are eight centers of the city? PrivateKMeans"""
    kmeans = PrivateKMeans(8, epsilon=0.5, bounds=CITY_BOUNDS, n_hint=job.n_people)
    job.fit(kmeans, job.X, groups=job.people, n_features=2)
    job.say(f"the largest has about {kmeans.cluster_weights_.max():.0f} people")
    job.save(ClusterDisplay.from_estimator(kmeans).figure_, "kmeans")


def compare_readings(job):
    """How far are readings of sensors from a public survey? DPSlicedWasserstein"""
    rng = np.random.default_rng(1)
    readings = rng.normal(size=(job.n_people, 3)) @ READINGS
    sliced = DPSlicedWasserstein(
        epsilon=0.5, delta=1e-6, bounds=(-1, 1), n_min=int(0.9 * job.n_people)
    )
    job.fit(sliced, readings, n_features=3)
    for name, shift in (("of the same kind", 0.0), ("that reads higher", 0.1)):
        public = rng.normal(size=(2000, 3)) @ READINGS + shift
        distance, error = sliced.distance(public, return_std=True)
        job.say(f"to a survey {name}: {distance:.3f} ± {error:.3f}")
    job.save(SlicesDisplay.from_estimator(sliced, public, n_slices=2).figure_, "slices")


def tell_apart(job):
    """Do two halves of the city sleep alike? PrivateTwoSampleTest"""
    rng = np.random.default_rng(2)
    half = rng.choice(["east", "west"], size=job.n_people)
    hours = rng.normal(7.0, 1.0, size=(job.n_people, 2))
    hours[half == "west", 0] -= 0.2
    test = PrivateTwoSampleTest(["east", "west"], epsilon=0.5, bounds=(3, 11))
    job.fit(test, hours, half, n_features=2)
    low, high = test.result_.interval
    job.say(f"p-value {test.pvalue_:.4f}, distance {low:.3f} to {high:.3f}")
    figure, axes = plt.subplots(figsize=(5.5, 3.5), layout="constrained")
    axes.hist(test.result_.null, bins=40, color="tab:gray", label="if they sleep alike")
    axes.axvline(test.statistic_, color="tab:red", label="released")
    axes.set(xlabel="distance of the cohorts", ylabel="simulated tests")
    axes.legend()
    job.save(figure, "two_samples")


def share_table(job):
    """What would a table of such people look like? PrivateTable"""
    rng = np.random.default_rng(3)
    form = fill_in_forms(job.n_people, rng)
    schema = Schema(
        {
            "age": Integer(18, 99),
            "job": Category(JOBS, outside="refuse"),
            "income": Number(0, 200),
            "owner": Boolean(),
        }
    )
    model = PrivateTable(schema, label="owner", epsilon=1.0, n_components=100)
    job.fit(model, form, n_features=4)
    drawn = model.sample(len(form))
    job.say(f"share of owners: {form['owner'].mean():.3f} real, {drawn['owner'].mean():.3f} drawn")
    figure, panels = plt.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
    for name, frame in (("real (not private)", form), ("drawn", drawn)):
        panels[0].hist(frame["income"], np.linspace(0, 200, 40), histtype="step", label=name)
        owners = frame.groupby("job", observed=False)["owner"].mean()[JOBS]
        panels[1].plot(JOBS, owners, "o", label=name)
    panels[0].set(xlabel="income", ylabel="people")
    panels[1].set(ylabel="share of owners")
    panels[1].legend()
    job.save(figure, "table")


def fill_in_forms(n_people, rng):
    """Return a table of invented people."""
    age = np.clip(45 + 15 * rng.standard_normal(n_people), 18, 90).astype(int)
    work = rng.choice(4, size=n_people, p=[0.4, 0.2, 0.25, 0.15])
    income = np.array([60, 45, 35, 15])[work] * np.exp(0.3 * rng.standard_normal(n_people))
    owner = rng.random(n_people) < 1 / (1 + np.exp(3.0 - income / 25 - age / 60))
    job = pd.Categorical.from_codes(work, JOBS)
    return pd.DataFrame({"age": age, "job": job, "income": np.clip(income, 0, 200), "owner": owner})


def generate_digits(job):
    """Can a classifier learn from digits that nobody wrote? PrivateGenerator"""
    rng = np.random.default_rng(4)
    images, numerals = load_digits(return_X_y=True)
    n_train = 2 * len(images) // 3
    who = rng.integers(n_train, size=job.n_people)
    written = np.empty((job.n_people, 64))
    for move in range(MOVES):  # slanted and shifted a little, many people's digits at a time
        some = slice(move, None, MOVES)
        slant, (down, right) = 0.15 * rng.standard_normal(), 0.3 * rng.standard_normal(2)
        matrix = np.array([[1.0, 0, 0], [0, 1.0, 0], [0, slant, 1.0]])
        stack = images[who[some]].reshape(-1, 8, 8) / 16.0
        moved = affine_transform(stack, matrix, [0, down, right - 3.5 * slant], order=1)
        written[some] = moved.reshape(-1, 64)
    generator = PrivateGenerator(
        epsilon=1.0, delta=1e-6, bounds=(0, 1), image_shape=(8, 8), classes=range(10)
    )
    job.fit(generator, written, numerals[who], n_features=64)
    drawn, labels = generator.sample(3000, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        learned = LogisticRegression(max_iter=100).fit(drawn, labels)
    score = learned.score(images[n_train:] / 16.0, numerals[n_train:])
    job.say(f"trained on drawn digits, right on {100 * score:.0f} % of real ones")
    rows = [np.hstack([drawn[labels == n][i].reshape(8, 8) for n in range(10)]) for i in range(4)]
    figure, axes = plt.subplots(figsize=(7, 3), layout="constrained")
    axes.imshow(np.vstack(rows), cmap="gray_r", vmin=0, vmax=1)
    axes.set_axis_off()
    job.save(figure, "digits")


def adapt_classifier(job):
    """Does a classifier of other people's sensors work here? PrivateDomainAdapter"""
    rng = np.random.default_rng(5)
    middles = 1.5 * rng.normal(size=(4, 10))
    offsets, gains = rng.uniform(0.5, 2.5, size=10), rng.uniform(0.7, 1.4, size=10)
    known, doing = rng.integers(4, size=1500), rng.integers(4, size=job.n_people)
    public = middles[known] + rng.normal(size=(1500, 10))
    private = gains * (middles[doing] + rng.normal(size=(job.n_people, 10))) + offsets
    adapter = PrivateDomainAdapter(
        method="moments", hidden=30, epsilon=1.0, delta=1e-6, n_hint=job.n_people
    )
    job.fit(adapter, public, known, private, n_features=10)
    before = np.mean(adapter.source_model_.predict(private) == doing)
    after = adapter.score(private, doing)
    job.say(f"right on {100 * before:.0f} % of rows before, {100 * after:.0f} % adapted")
    figure, axes = plt.subplots(figsize=(5, 3), layout="constrained")
    axes.bar(["source model", "adapted"], [before, after], color=["tab:gray", "tab:blue"])
    axes.set(ylim=(0, 1), ylabel="right answers (not private)")
    job.save(figure, "adapter")


SECTIONS = (
    release_measure,
    draw_heatmap,
    place_stations,
    find_centers,
    compare_readings,
    tell_apart,
    share_table,
    generate_digits,
    adapt_classifier,
)


def main(arguments=None, sections=SECTIONS):
    """Run all sections, print the ledger and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output", nargs="?", default="demo_output", type=Path)
    parser.add_argument("--people", default=20_000, type=int, help="people of the city")
    given = parser.parse_args(arguments)
    given.output.mkdir(parents=True, exist_ok=True)
    started = time.perf_counter()
    X, people = make_city_checkins(n_people=given.people, random_state=0)
    accountant = BudgetAccountant(epsilon=7.0, delta=1e-5, unit=PERSON)
    job = Job(X, people, accountant, given.output)
    print(f"{len(X)} check-ins of {given.people} people, one budget: epsilon=7, delta=1e-5")
    for number, section in enumerate(sections, 1):
        begun = time.perf_counter()
        question, _, estimator = section.__doc__.rpartition(" ")
        print(f"[{number}/{len(sections)}] {estimator}: {question}", flush=True)
        job.sections.append(Section(question, estimator))
        section(job)
        print(f"    {time.perf_counter() - begun:.1f} s", flush=True)
    job.sections.append(Section("What did all of it cost?", "BudgetAccountant"))
    job.save(BudgetDisplay.from_accountant(accountant).figure_, "budget")
    page = write_page(given.output / "index.html", given.people, job.sections, accountant)
    print(f"\n{accountant}\n\n{time.perf_counter() - started:.0f} s in all; open {page}")


if __name__ == "__main__":
    main()
