"""The experiments of Ghazi et al. (2023) on check-ins in cities, for whoever has the files.

The files are ``loc-gowalla_totalCheckins.txt.gz`` and ``loc-brightkite_totalCheckins.txt.gz`` of
snap.stanford.edu. Kept are check-ins in and around the continental US, of January 2010 for Gowalla
and of November and December 2008 for Brightkite; the paper counts 196,071 of 10,196 users and
304,608 of 10,177. The area is cut into 300 by 300 cells, and the 30 cells with the most check-ins
in either file, at least 200 users each, are the cities. The paper's text has lost the borders of
the area, the number of cells and the blur; they are options here.

- ``--experiment epsilon``: 200 users drawn in every city, 2 trials each, resolution 256;
- ``--experiment people``: the first city with 500 users, 10 trials for each number of users;
- ``--experiment resolution``: the same city, 10 trials of 200 users for each resolution.

Instead of the files, ``--data FOLDER`` takes ``brightkite_last_checkin.csv.gz`` with the columns
user, lon, lat: one place a user, the last. Printed and kept are the means of the four metrics over
the runs and half the length of their 95 % intervals.

``python -m benchmarks.heatmap.cities --gowalla FILE --brightkite FILE [--experiment epsilon]``
"""

import argparse
import math
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.heatmap.quality import METRICS, estimator_errors, true_masses
from benchmarks.recording import Results
from skdp_bary.estimators.heatmap_views import blur
from skdp_bary.exceptions import PrivacyWarning

MONTHS = {"gowalla": ("2010-01-01", "2010-02-01"), "brightkite": ("2008-11-01", "2009-01-01")}
EPSILONS = (0.5, 1.0, 2.0, 5.0, 10.0)
SIZES = (50, 100, 200, 300, 400, 500)
RESOLUTIONS = (64, 128, 256, 512)


@dataclass(frozen=True)
class City:
    """Check-ins of one cell of the area."""

    X: np.ndarray
    people: np.ndarray
    bounds: tuple

    @property
    def n_people(self):
        return len(np.unique(self.people))

    def draw(self, n, rng):
        """Return the check-ins of n users, numbered from 0."""
        chosen = np.sort(rng.choice(np.unique(self.people), n, replace=False))
        here = np.isin(self.people, chosen)
        return self.X[here], np.searchsorted(chosen, self.people[here])


def find_cities(X, people, area, cells, least):
    """Return the cells of an area with at least `least` users."""
    low, width = np.asarray(area[0]), (np.subtract(*area[::-1])) / cells
    column, row = np.clip((X - low) // width, 0, cells - 1).astype(int).T
    code = row * cells + column
    order = np.argsort(code, kind="stable")
    starts = np.flatnonzero(np.r_[True, np.diff(code[order]) > 0])
    cities = []
    for rows in np.split(order, starts[1:]):
        corner = low + width * (column[rows[0]], row[rows[0]])
        city = City(X[rows], people[rows], (corner.tolist(), (corner + width).tolist()))
        if len(rows) >= least and city.n_people >= least:
            cities.append(city)
    return cities


def read_all(arguments):
    """Yield what each file holds: name, positions, users."""
    low, high = arguments.area
    for name, months in MONTHS.items():
        path = getattr(arguments, name)
        if path is not None:
            table = pd.read_csv(
                path,
                sep="\t",
                names=["user", "time", "latitude", "longitude"],
                usecols=range(4),
                parse_dates=["time"],
            ).dropna()
            times = table["time"].dt.tz_localize(None)
            table = table[(times >= months[0]) & (times < months[1])]
            places = table[["longitude", "latitude"]].to_numpy()
            # Brightkite marks a missing place by zeros
            kept = ((places >= low) & (places <= high)).all(1) & places.any(1)
            yield name, places[kept], table["user"].to_numpy()[kept]
    if arguments.data is not None:
        path = arguments.data / "brightkite_last_checkin.csv.gz"
        table = np.loadtxt(path, delimiter=",", skiprows=1, usecols=(0, 1, 2))
        inside = ((table[:, 1:] >= low) & (table[:, 1:] <= high)).all(1)
        yield "last check-ins", table[inside, 1:], table[inside, 0].astype(np.int64)


def settings(experiment, cities):
    """Yield what is varied, and the runs of it: city, users, epsilon, resolution, trial."""
    if experiment == "epsilon":
        for epsilon in EPSILONS:
            yield epsilon, [(c, 200, epsilon, 256, t) for c in cities for t in range(2)]
        return
    large = next((city for city in cities if city.n_people >= 500), None)
    if large is None:
        raise SystemExit("No city has 500 users.")
    if experiment == "people":
        for n in SIZES:
            yield n, [(large, n, 10.0, 256, t) for t in range(10)]
    else:
        for side in RESOLUTIONS:
            yield side, [(large, 200, 10.0, side, t) for t in range(10)]


def one_run(city, n, epsilon, side, bandwidth, seed):
    """Return the four errors of every method, for users drawn in a city."""
    X, people = city.draw(n, np.random.default_rng((seed, n)))
    truth = blur(true_masses(X, people, city.bounds, side), bandwidth)
    return estimator_errors(X, people, city.bounds, truth, epsilon, bandwidth, n, seed)


def summarize(runs):
    """Return for each method and metric the mean and half the length of its 95 % interval."""
    summary = {}
    for name in runs[0]:
        table = np.array([run[name] for run in runs])
        table[:, :2] = 1.0 - table[:, :2]  # similarity and correlation, as the paper has them
        half = 1.96 * table.std(axis=0, ddof=1) / math.sqrt(len(table))
        summary[name] = {
            metric: [round(float(m), 4), round(float(h), 4)]
            for metric, m, h in zip(METRICS, table.mean(axis=0), half, strict=True)
        }
    return summary


def show(label, value, n_runs, summary):
    print(f"{label} {value}, {n_runs} runs")
    for name, metrics in summary.items():
        numbers = "  ".join(f"{m} {mean:.3f} +- {half:.3f}" for m, (mean, half) in metrics.items())
        print(f"  {name:>16}  {numbers}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gowalla", type=Path, default=None)
    parser.add_argument("--brightkite", type=Path, default=None)
    parser.add_argument("--data", type=Path, default=None, help="folder with last check-ins")
    parser.add_argument(
        "--experiment", choices=("epsilon", "people", "resolution"), default="epsilon"
    )
    parser.add_argument("--area", type=float, nargs=4, default=(-135.0, 0.0, -60.0, 50.0))
    parser.add_argument("--cells", type=int, default=300, help="along each side of the area")
    parser.add_argument("--blur", type=float, default=1 / 32, help="in sides of a city")
    arguments = parser.parse_args()
    arguments.area = (arguments.area[:2], arguments.area[2:])
    warnings.simplefilter("ignore", PrivacyWarning)
    cities, names = [], []
    for name, X, people in read_all(arguments):
        names.append(name)
        print(f"{name}: {len(X)} check-ins of {len(np.unique(people))} users")
        cities += find_cities(X, people, arguments.area, arguments.cells, least=200)
    if not cities:
        raise SystemExit("Nothing to do: give --gowalla, --brightkite or --data.")
    cities = sorted(cities, key=lambda city: -len(city.X))[:30]
    print(f"{len(cities)} cities with at least 200 users")
    results = []
    for value, runs in settings(arguments.experiment, cities):
        found = [
            one_run(city, n, epsilon, side, arguments.blur, trial)
            for city, n, epsilon, side, trial in runs
        ]
        summary = summarize(found)
        show(arguments.experiment, value, len(runs), summary)
        row = {"data": names, arguments.experiment: value, "runs": len(runs)}
        results.append(row | {"metrics": summary})
    Results(f"heatmap_cities_{arguments.experiment}").write(results)


if __name__ == "__main__":
    main()
