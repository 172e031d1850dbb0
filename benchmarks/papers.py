"""From rows to the figures and tables of five papers, compared with the recorded numbers.

``python -m benchmarks.papers PAPER [--data FOLDER] [--out FOLDER] [--runs N] [--only NAME ...]``
runs the experiments of a paper again and writes, for each, a picture and a table (PNG, and the
table as CSV). It fails and names the numbers that moved, by the test in ``moved.py`` at the runs
of both. Papers:

- ``barycenter``: Differentially private Wasserstein barycenters (arXiv 2510.03021), and
  ``barycenter_earlier``, its earlier version with the same experiments;
- ``kmeans``: Chaturvedi, Nguyen and Xu (AAAI 2021);
- ``heatmap``: Ghazi and others (AAAI 2023);
- ``sliced``: Rakotomamonjy and Ralaivola (ICML 2021). Its Table 1 needs trained networks:
  ``python -m benchmarks.adapter.adaptation``.

Files that are missing are named with the place where they are from, and their experiments are left
out. Recorded numbers are in ``benchmarks/results``; without ``--runs`` an experiment has as many
runs as recorded, which takes minutes to hours. ``--quick`` runs a tiny setting in under a minute,
with numbers of its own: ``--quick --record`` keeps them.
"""

import argparse
import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from types import SimpleNamespace

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import matplotlib  # noqa: E402

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
import numpy as np  # noqa: E402

from benchmarks.barycenter import mnist, synthetic, us  # noqa: E402
from benchmarks.generator import images  # noqa: E402
from benchmarks.heatmap import cities, gaze  # noqa: E402
from benchmarks.kmeans import cover, quality  # noqa: E402
from benchmarks.moved import Number, draw, moved, write_table  # noqa: E402
from benchmarks.recording import Results  # noqa: E402
from benchmarks.sliced import rmse, table4  # noqa: E402
from skdp_bary.geometry import Mask  # noqa: E402

QUICK = Results("papers_quick")
KEY = ("paper", "panel", "at", "series")
_IMAGES = "arrays x_train, y_train, x_test, y_test, images as uint8"
_TRACTS = "CSV with lon and lat of the tracts' centers of population"
WHERE = {
    "mnist.npz": f"{_IMAGES}: storage.googleapis.com/tensorflow/tf-keras-datasets/mnist.npz",
    "fashion_mnist.npz": f"{_IMAGES}, of github.com/zalandoresearch/fashion-mnist",
    "us_tracts_2010_pop.csv.gz": (
        f"{_TRACTS}, total_pop: www2.census.gov/geo/docs/reference/cenpop2010/tract/"
        "CenPop2010_Mean_TR.txt without Alaska, Hawaii and the islands"
    ),
    "us_tracts_2000_race.csv.gz": (
        f"{_TRACTS}, white, black, asian, hispanic: Census 2000, Summary File 1, at www2.census.gov"
    ),
    "us_border.geojson.gz": (
        "the land of the 48 states as one MultiPolygon in lon and lat, of the cartographic "
        "boundaries at www2.census.gov/geo/tiger"
    ),
    "brightkite_last_checkin.csv.gz": (
        "CSV with user, lon, lat: the last check-in of every user of "
        "snap.stanford.edu/data/loc-brightkite_totalCheckins.txt.gz"
    ),
}


@dataclass(frozen=True)
class Experiment:
    """What is measured, what was recorded, and how the two are shown.

    ``measure(options)`` yields keys (panel, place, series) with a `Number`; ``recorded()`` returns
    a dictionary of them. ``pictures`` are functions of the data folder that return a figure.
    """

    title: str
    axis: str
    measure: Callable
    recorded: Callable
    files: tuple = ()
    pictures: tuple = ()
    log: bool = True


def recorded_rows(name):
    """Return the rows of a file of results."""
    found = Results(name).read([])
    return found["rows"] if isinstance(found, dict) else found


# Barycenters.


def measure_synthetic(options, grids=synthetic.GRIDS, runs=30):
    methods = ["paper", *synthetic.OURS]
    for varied, values in grids.items():
        for value in values:
            setting = synthetic.DEFAULTS | {varied: value}
            seeds = range(options.runs or runs)
            found = [synthetic.one_run(setting, methods, seed) for seed in seeds]
            for name in methods:
                ratios = [run[name][0] for run in found]
                yield (varied, value, name), Number.of_runs(ratios)


def recorded_synthetic():
    return {
        (row["varied"], row[row["varied"]], name): Number.of_interval(pair, row["runs"])
        for row in recorded_rows("barycenter_synthetic")
        for name, pair in row["cost_ratio"].items()
    }


def measure_us(options):
    bounds = Mask.from_geojson(options.data / "us_border.geojson.gz")
    settings = SimpleNamespace(
        data=options.data, seeds=options.runs or 10, scale=1.0, neighbors=["replace_one"],
        methods=["published pmm", "coreset", "pyramid"], epsilons=[1.0, 0.1, 0.02],
    )  # fmt: skip
    for case in ("k1", "k4"):
        *_, rows = us.run_case(case, settings, bounds)
        yield from numbers_of_us(rows)


def numbers_of_us(rows):
    for row in rows:
        if row["neighbors"] == "replace_one":
            for what in ("end_to_end", "local"):
                number = Number.of_interval(row[what], row["seeds"])
                yield (f"{row['case']}, {what}", row["epsilon"], row["method"]), number


def measure_digits(options):
    X, y = mnist.load_rows(options.data)
    least = mnist.mean_cost(X, y, mnist.public_atoms(X, y, 0))
    for epsilon in mnist.GOALS:
        seeds = range(options.runs or 5)
        atoms = [mnist.fit(X, y, epsilon, "replace_one", seed)[0] for seed in seeds]
        ratios = [mnist.mean_cost(X, y, each) / least for each in atoms]
        yield ("replace_one", epsilon, "subspace"), Number.of_runs(ratios)


def recorded_digits():
    return {
        (row["relation"], row["epsilon"], "subspace"): Number.of_runs(row["ratios"])
        for row in recorded_rows("barycenter_mnist")
    }


# k-means.


GENERATED = tuple(name for name in cover.SETS if name not in quality.FROM_FILES)


def measure_cover(options, sets=GENERATED, epsilons=cover.EPSILONS, n_rows=None):
    for name in sets:
        for k in quality.SIZES[name]:
            rows = quality.load(name, k, options.data)[:n_rows]
            fitted = quality.KMeans(k, n_init=quality.STARTS.get(name, 10), random_state=0)
            base = quality.cost(rows, fitted.fit(rows).cluster_centers_)
            kept = recorded_cover() if n_rows is None else None
            for epsilon, method in product(epsilons, cover.METHODS):
                key = f"{name}, k = {k}", epsilon, method
                if kept is None or key in kept:
                    centers = [
                        cover.centers_of(method, rows, name, k, epsilon, seed)
                        for seed in range(options.runs or cover.SEEDS)
                    ]
                    yield key, Number.of_runs([quality.cost(rows, c) / base for c in centers])


def recorded_cover():
    kept, numbers = cover.read(), {}
    for key, costs in kept["accuracy"].items():
        name, k, epsilon, method = key.split(" ")
        ratios = np.array(costs) / kept["baselines"][f"{name} {k}"]
        numbers[f"{name}, k = {k}", float(epsilon), method] = Number.of_runs(ratios)
    return numbers


# Heatmaps.


def measure_gaze(options, epsilons=cities.EPSILONS, side=256, trials=20):
    pictures = gaze.pictures(None, 1, seed=0)
    for epsilon in epsilons:
        found = [
            cities.one_run(picture, gaze.N_VIEWERS, epsilon, side, 1 / 32, trial)
            for picture in pictures
            for trial in range(options.runs or trials)
        ]
        yield from numbers_of_maps(epsilon, cities.summarize(found), len(found))


def measure_cities(options, experiment):
    area = (-135.0, 0.0), (-60.0, 50.0)
    source = SimpleNamespace(gowalla=None, brightkite=None, data=options.data, area=area)
    ((_, X, people),) = cities.read_all(source)
    found = cities.find_cities(X, people, area, 300, least=200)
    found = sorted(found, key=lambda city: -len(city.X))[:30]
    for value, runs in cities.settings(experiment, found):
        runs = [run for run in runs if options.runs is None or run[-1] < options.runs]
        errors = [cities.one_run(*run[:4], 1 / 32, run[-1]) for run in runs]
        yield from numbers_of_maps(value, cities.summarize(errors), len(errors))


def numbers_of_maps(value, metrics, runs):
    for name, pairs in metrics.items():
        for metric, pair in pairs.items():
            yield (metric, value, name), Number.of_interval(pair, runs, normal=True)


def recorded_maps(file, varied):
    return {
        key: number
        for row in recorded_rows(file)
        for key, number in numbers_of_maps(row[varied], row["metrics"], row["runs"])
    }


# Sliced distances.

COLUMNS = ("printed", "code_b", "code_c", "proof_b", "tight", "iid", "worst")


def measure_table4(options):
    for run in table4.RUNS:
        yield from numbers_of_table4(table4.measure(run))


def numbers_of_table4(row):
    for column in COLUMNS:
        yield ("Table 4", f"{row['name']} ({row['bound']})", column), Number(row[column])


def measure_rmse(options, names=tuple(rmse.GOALS), runs=20):
    for name in names:
        runs = options.runs or runs
        yield from numbers_of_rmse(name, rmse.measure(name, runs), runs)


def numbers_of_rmse(name, found, runs):
    """Yield errors; the standard error of a root mean square is that of normal errors."""
    for way, value in found["rmse"].items():
        yield ("error", name, way), Number(value, value / (2.0 * runs) ** 0.5, runs)


def recorded_rmse():
    kept = Results("sliced_rmse").read({"settings": {}})
    return {
        key: number
        for name, found in kept["settings"].items()
        for key, number in numbers_of_rmse(name, found, kept["runs"])
    }


def measure_generation(options):
    for name, epsilon in product(images.FILES, (10.0, 1.0)):
        data = images.load(options.data, name, held_out=False)
        found = [
            images.measure(data, epsilon, seed, ["logreg"]) for seed in range(options.runs or 3)
        ]
        yield (name, epsilon, "logreg"), Number.of_runs([each["logreg"] for each in found])


def recorded_generation():
    rows = recorded_rows("generation")
    keys = {(row["set"], row["epsilon"]) for row in rows if row["epsilon"] is not None}
    return {
        (*key, "logreg"): Number.of_runs(images.accuracies(rows, *key, "logreg")) for key in keys
    }


_TRACT_FILES = "us_tracts_2010_pop.csv.gz", "us_tracts_2000_race.csv.gz", "us_border.geojson.gz"


def barycenter(synthetic_figure, us_figure, digits_figure):
    """Return the experiments of a version of the barycenter paper."""
    return {
        "synthetic": Experiment(
            f"{synthetic_figure}: cost over that of the rows' own barycenter, mixtures",
            "n, epsilon or d'",
            measure_synthetic,
            recorded_synthetic,
        ),
        "us": Experiment(
            f"{us_figure}: cost over that of the rows' own barycenter, US population",
            "epsilon",
            measure_us,
            lambda: dict(numbers_of_us(recorded_rows("barycenter_us"))),
            _TRACT_FILES,
            (us.picture,),
            log=False,
        ),
        "digits": Experiment(
            f"{digits_figure}: cost over that of the rows' own barycenter, MNIST",
            "epsilon",
            measure_digits,
            recorded_digits,
            ("mnist.npz",),
            (mnist.picture,),
            log=False,
        ),
    }


def city_maps(figure, experiment):
    """Return an experiment with cities."""
    return Experiment(
        f"{figure}: maps of cities",
        experiment,
        partial(measure_cities, experiment=experiment),
        partial(recorded_maps, f"heatmap_cities_{experiment}", experiment),
        ("brightkite_last_checkin.csv.gz",),
        log=False,
    )


PAPERS = {
    "barycenter": barycenter("Figure 4", "Figures 5 and 14", "Figure 12"),
    "barycenter_earlier": barycenter("Figure 2", "Figures 3 and 9", "Figure 7"),
    "kmeans": {
        "cover": Experiment(
            "Figure 1: cost over that of k-means, generated rows",
            "epsilon",
            measure_cover,
            recorded_cover,
        ),
        "cover_data": Experiment(
            "Figure 1: cost over that of k-means, real rows",
            "epsilon",
            partial(measure_cover, sets=("mnist", "tracts")),
            recorded_cover,
            ("mnist.npz", "us_tracts_2010_pop.csv.gz"),
        ),
    },
    "heatmap": {
        "epsilon": city_maps("Figure 1", "epsilon"),
        "people": city_maps("Figure 2, left, and 4", "people"),
        "resolution": city_maps("Figure 2, right, and 5", "resolution"),
        "gaze": Experiment(
            "Figure 8: maps of gaze, simulated",
            "epsilon",
            measure_gaze,
            partial(recorded_maps, "heatmap_gaze", "epsilon"),
            log=False,
        ),
    },
    "sliced": {
        "noise": Experiment(
            "Table 4: standard deviation of the noise",
            "",
            measure_table4,
            lambda: {
                key: number
                for row in recorded_rows("sliced_table4")
                for key, number in numbers_of_table4(row)
            },
        ),
        "distances": Experiment(
            "Error of squared sliced distances", "", measure_rmse, recorded_rmse
        ),
        "generation": Experiment(
            "Table 2: accuracy in % of logistic regression on synthetic images",
            "epsilon",
            measure_generation,
            recorded_generation,
            ("mnist.npz", "fashion_mnist.npz"),
            log=False,
        ),
    },
}
TINY = {
    "barycenter": partial(measure_synthetic, grids={"n": [50, 100]}, runs=3),
    "kmeans": partial(measure_cover, sets=("blobs2",), epsilons=(1.0,), n_rows=3000),
    "heatmap": partial(measure_gaze, epsilons=(1.0,), side=32, trials=3),
    "sliced": partial(measure_rmse, names=("500,10,50 shift",), runs=4),
}
TINY["barycenter_earlier"] = TINY["barycenter"]  # recorded under its name too


def recorded_quick(paper, results):
    """Return the recorded numbers of the tiny setting."""
    rows = (row for row in results.read([]) if row["paper"] == paper)
    return {
        (row["panel"], row["at"], row["series"]): Number(row["mean"], row["error"], row["runs"])
        for row in rows
    }


def keep_quick(paper, numbers, results):
    """Keep the numbers of the tiny setting."""
    rows = [
        {"paper": paper, "panel": panel, "at": at, "series": series, **vars(number)}
        for (panel, at, series), number in numbers.items()
    ]
    results.merge(rows, KEY)


def run(name, experiment, options):
    """Measure, draw and compare one experiment; return the lines of what moved."""
    numbers = {}
    for key, number in experiment.measure(options):
        numbers[key] = number
        print(f"  {', '.join(map(str, key))}: {number}", flush=True)
    if not numbers:
        return []
    options.out.mkdir(parents=True, exist_ok=True)
    draw(numbers, options.out / name, experiment.title, experiment.axis, experiment.log)
    write_table(numbers, options.out / f"{name}_table")
    for place, picture in enumerate(experiment.pictures):
        figure = picture(options.data)
        figure.savefig(options.out / f"{name}_picture{place}.png", dpi=80)
        plt.close(figure)
    if options.record:
        keep_quick(options.paper, numbers, options.results)
    lines, n_compared = moved(numbers, experiment.recorded())
    print(f"{name}: {n_compared} numbers compared, {len(lines)} moved")
    return lines if n_compared else [f"{name}: no number is recorded"]


def missing_files(experiment, folder):
    """Return the files of an experiment that are not there."""
    if folder is None:
        return list(experiment.files)
    return [file for file in experiment.files if not (folder / file).exists()]


def main(arguments=None):
    """Run the experiments of a paper."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("paper", choices=PAPERS)
    parser.add_argument("--data", type=Path, help="folder with real data")
    parser.add_argument("--out", type=Path, help="folder for pictures and tables: figures/PAPER")
    parser.add_argument("--runs", type=int, help="fewer runs of every experiment than recorded")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="some experiments of the paper")
    parser.add_argument("--quick", action="store_true", help="a tiny setting")
    parser.add_argument("--record", action="store_true", help="keep the numbers of --quick")
    parser.add_argument("--results", type=Results, default=QUICK, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.record and not options.quick:
        parser.error("--record needs --quick; the benchmarks record all other numbers.")
    options.out = options.out or Path("figures") / options.paper
    experiments = PAPERS[options.paper]
    if options.quick:
        recorded = partial(recorded_quick, options.paper, options.results)
        title = f"{options.paper}: a tiny setting"
        experiments = {"quick": Experiment(title, "", TINY[options.paper], recorded)}
    if unknown := set(options.only or ()) - set(experiments):
        parser.error(f"--only takes some of {', '.join(experiments)}, got {', '.join(unknown)}.")
    warnings.simplefilter("ignore")
    failures, done = [], 0
    for name, experiment in experiments.items():
        if options.only and name not in options.only:
            continue
        print(experiment.title, flush=True)
        if files := missing_files(experiment, options.data):
            print("  Left out. Needed in the folder --data:")
            print("".join(f"  - {file}: {WHERE[file]}\n" for file in files), end="")
            continue
        failures += run(name, experiment, options)
        done += 1
    if not done:
        raise SystemExit("Nothing was run: no experiment has its data.")
    print(f"Pictures and tables are in {options.out}.")
    if failures:
        raise SystemExit("Moved:\n" + "\n".join(failures))


if __name__ == "__main__":
    main()
