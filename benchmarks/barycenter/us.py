"""Where would 48 centers serve the US population, privately? Costs beside the optimum.

People are drawn with replacement at the centers of their census areas, as in the papers: everyone
(one distribution), or four groups. Every seed draws new people and new noise. Reported, as mean
with a 95 % interval over the seeds, relative to the cost of the barycenter of the rows themselves:

- ``end_to_end``: cost of the private atoms. A search from other starts can find another local
  minimum, so that values scatter around 1 by half a percent even without noise;
- ``local``: cost after moving the atoms of the rows' own barycenter to a minimum of the private
  measures; this is what the noise costs without the luck of the starts;
- ``time``: of the whole private fit over that of the barycenter of the rows, same process.

All costs are exact transport costs to the true rows, in squared degrees. Parameters follow public
rules: nothing below was chosen on a seed.

    python -m benchmarks.barycenter.us --data DIR [--cases k1] [--epsilons 1 0.1] [--seeds 10]
"""

import argparse
import math
import os
import time
import warnings
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np  # noqa: E402
from scipy.stats import t as student  # noqa: E402

from benchmarks.measure.published import PublishedCounts  # noqa: E402
from benchmarks.recording import Results  # noqa: E402
from skdp_bary import PrivateWassersteinBarycenter  # noqa: E402
from skdp_bary.estimators.barycenter_methods import CoresetMethod  # noqa: E402
from skdp_bary.exceptions import PrivacyWarning  # noqa: E402
from skdp_bary.geometry import Mask  # noqa: E402
from skdp_bary.parameters import Option  # noqa: E402
from skdp_bary.transport import DiscreteMeasure, free_support_barycenter, solve_semidiscrete  # noqa: E402

RESULTS = Results("barycenter_us")
N_ATOMS = 48
GROUPS = ("white", "black", "asian", "hispanic")
PANELS = {"k1": ("everybody",), "k4": GROUPS}  # of the picture
CASES = {
    # name: (table, groups, people in each)
    "k1": ("us_tracts_2010_pop", ("total_pop",), 200_000),
    "k4": ("us_tracts_2000_race", GROUPS, 100_000),
    "k4_zcta": ("us_zcta_2013_race", GROUPS, 100_000),
}
STARTS = {"k1": 20, "k4": 2, "k4_zcta": 2}  # of both sides; with four groups they hardly differ
METHODS = {
    # name: (method, whether there is a delta)
    "published pmm": ("published", False),
    "coreset": ("coreset", False),
    "coreset, delta=1/n": ("coreset", True),
    "pyramid": ("pyramid", False),
    "pyramid, delta=1/n": ("pyramid", True),
}
GOALS = {
    # (case, method, epsilon): largest end_to_end and local wanted under replace_one
    ("k1", "coreset", 1.0): (1.01, 1.004),
    ("k1", "coreset, delta=1/n", 1.0): (1.01, 1.004),
    ("k1", "coreset", 0.1): (1.05, 1.035),
    ("k1", "coreset, delta=1/n", 0.1): (1.03, 1.02),
    ("k1", "coreset, delta=1/n", 0.02): (1.17, 1.15),
    ("k1", "pyramid", 0.1): (1.05, 1.035),
    ("k1", "pyramid, delta=1/n", 0.02): (1.17, 1.15),
    ("k4", "coreset", 1.0): (1.001, None),
    ("k4", "coreset", 0.1): (1.003, None),
    ("k4", "coreset, delta=1/n", 1.0): (1.001, None),
    ("k4", "coreset, delta=1/n", 0.1): (1.003, None),
}


class Barycenter(PrivateWassersteinBarycenter):
    """The estimator, with the published counts for a method more."""

    _methods = PrivateWassersteinBarycenter._methods | {
        "published": CoresetMethod(PublishedCounts())
    }
    _parameter_rules = PrivateWassersteinBarycenter._parameter_rules | {
        "method": Option(("auto", *_methods))
    }


def load_people(case, folder, seed, scale=1.0):
    """Draw the rows of a case and their labels."""
    import pandas as pd

    table, groups, n_people = CASES[case]
    frame = pd.read_csv(folder / f"{table}.csv.gz")
    places = frame[["lon", "lat"]].to_numpy()
    rng = np.random.default_rng((2015, seed))
    n_people = round(n_people * scale)
    rows = []
    for group in groups:
        people = frame[group].to_numpy(dtype=float)
        rows.append(places[rng.choice(len(places), n_people, p=people / people.sum())])
    return np.concatenate(rows), np.repeat(np.arange(len(groups)), n_people)


def clouds_of(X, y):
    """Return one measure a group."""
    return [DiscreteMeasure(X[y == label]) for label in np.unique(y)]


def exact_cost(clouds, atoms):
    """Return the mean exact transport cost from the rows to equal masses on `atoms`."""
    atoms = DiscreteMeasure(atoms)
    return float(np.mean([solve_semidiscrete(cloud, atoms).cost for cloud in clouds]))


def timed(action):
    """Return what `action` returns, and its seconds."""
    start = time.perf_counter()
    result = action()
    return result, time.perf_counter() - start


class Truth:
    """The rows of one seed, and their own barycenter."""

    def __init__(self, case, folder, seed, scale):
        self.n_init = STARTS[case]
        self.X, self.y = load_people(case, folder, seed, scale)
        self.clouds = clouds_of(self.X, self.y)
        self.best, self.seconds = timed(
            lambda: free_support_barycenter(
                self.clouds, N_ATOMS, n_init=self.n_init, random_state=np.random.default_rng(seed)
            )
        )

    def compare(self, model):
        """Return the two ratios of a fitted model."""
        near = free_support_barycenter(
            model.private_measures_, N_ATOMS, init=self.best.support, n_init=1
        )
        return {
            "end_to_end": exact_cost(self.clouds, model.support_) / self.best.cost,
            "local": exact_cost(self.clouds, near.support) / self.best.cost,
        }


def fit(truth, name, epsilon, neighbors, bounds, seed):
    """Fit one model; return it and its seconds."""
    method, gaussian = METHODS[name]
    model = Barycenter(
        N_ATOMS,
        method=method,
        classes=np.unique(truth.y),
        n_init=truth.n_init,
        epsilon=epsilon,
        delta=1.0 / np.bincount(truth.y).max() if gaussian else 0.0,  # of the papers; see pitfalls
        bounds=bounds,
        n_hint=len(truth.X),
        neighbors=neighbors,
        random_state=1000 + seed,
    )
    return timed(lambda: model.fit(truth.X, truth.y))


def interval(values):
    """Return the mean and half the length of its 95 % interval."""
    values = np.asarray(values, dtype=float)
    if len(values) < 2:
        return [round(float(values.mean()), 5), None]
    half = student.ppf(0.975, len(values) - 1) * values.std(ddof=1) / math.sqrt(len(values))
    return [round(float(values.mean()), 5), round(float(half), 5)]


def run_case(case, arguments, bounds):
    """Measure one case; yield one row a setting after every seed."""
    found, costs = {}, []
    for seed in range(arguments.seeds):
        truth = Truth(case, arguments.data, seed, arguments.scale)
        costs.append(truth.best.cost)
        for neighbors in arguments.neighbors:
            for name in arguments.methods:
                for epsilon in arguments.epsilons:
                    model, seconds = fit(truth, name, epsilon, neighbors, bounds, seed)
                    ratios = truth.compare(model) | {"time": seconds / truth.seconds}
                    found.setdefault((neighbors, name, epsilon), []).append(ratios)
        print(f"{case}: seed {seed} done, cost {costs[-1]:.4f}", flush=True)
        yield [summarize(case, *key, ratios, costs) for key, ratios in found.items()]


def summarize(case, neighbors, name, epsilon, ratios, costs):
    """Return the row of one setting."""
    goals = GOALS.get((case, name, epsilon)) if neighbors == "replace_one" else None
    return {
        "case": case,
        "neighbors": neighbors,
        "method": name,
        "epsilon": epsilon,
        "seeds": len(ratios),
        "cost_of_rows": interval(costs),
        **{key: interval([ratio[key] for ratio in ratios]) for key in ratios[0]},
        "median_time": round(float(np.median([ratio["time"] for ratio in ratios])), 3),
        "goals": None if goals is None else {"end_to_end": goals[0], "local": goals[1]},
    }


def picture(folder):
    """Draw private atoms over the private measures of one and of four groups."""
    import matplotlib.pyplot as plt

    from skdp_bary.plotting import BarycenterDisplay

    bounds = Mask.from_geojson(folder / "us_border.geojson.gz")
    figure, panels = plt.subplots(2, 1, figsize=(7.5, 8), layout="constrained")
    for axes, (case, groups) in zip(panels, PANELS.items(), strict=True):
        X, codes = load_people(case, folder, seed=0)
        y = np.asarray(groups)[codes]
        model = PrivateWassersteinBarycenter(
            N_ATOMS, classes=np.unique(y), n_init=1, bounds=bounds, n_hint=len(X), random_state=0
        ).fit(X, y)
        BarycenterDisplay.from_estimator(model, ax=axes)
        axes.set(xlabel="longitude", ylabel="latitude")
    return figure


def show(row):
    """Print one setting."""
    goals = row["goals"] and tuple(row["goals"].values())
    print(
        f"{row['case']:8s} {row['neighbors']:11s} {row['method']:19s} eps {row['epsilon']:<5g}"
        f" end to end {row['end_to_end'][0]:.4f} +- {row['end_to_end'][1] or 0:.4f}"
        f"  local {row['local'][0]:.4f} +- {row['local'][1] or 0:.4f}"
        f"  time x{row['median_time']:.2f}  goals {goals}",
        flush=True,
    )


def main():
    """Parse the command line and run the cases."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with the US population tables")
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--epsilons", nargs="+", type=float, default=[1.0, 0.1, 0.02])
    parser.add_argument("--neighbors", nargs="+", default=["replace_one", "add_remove"])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--scale", type=float, default=1.0, help="share of the people to draw")
    parser.add_argument("--output", type=Results, default=RESULTS)
    arguments = parser.parse_args()
    if arguments.data is None or not (arguments.data / "us_border.geojson.gz").exists():
        print("No US population tables and border in --data: nothing to measure.")
        return
    warnings.simplefilter("ignore", PrivacyWarning)
    bounds = Mask.from_geojson(arguments.data / "us_border.geojson.gz")
    for case in arguments.cases:
        for rows in run_case(case, arguments, bounds):
            arguments.output.merge(rows, ("case", "neighbors", "method", "epsilon"))
        for row in rows:
            show(row)


if __name__ == "__main__":
    main()
