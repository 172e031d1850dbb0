"""What should a private tree release: differences of halves, or counts on every fourth level?

The two forms of ``method="coreset"``, each with its own depth rule, on people of the US census
tracts and on the package's generated population, with 48 atoms under replace_one. Reported is the
cost after moving the atoms of the rows' own barycenter to a minimum of the private measure, over
the cost of the former ("local" of barycenter_us.py), on seeds of its own.

    python -m benchmarks.barycenter.trees [--data DIR] [--seeds 8]
"""

import argparse
import warnings
from pathlib import Path

from benchmarks.barycenter.us import N_ATOMS, exact_cost, interval, load_people
from benchmarks.recording import Results
from skdp_bary import PrivateWassersteinBarycenter
from skdp_bary.datasets import COUNTRY_BOUNDS, make_population
from skdp_bary.estimators.barycenter_methods import CoresetMethod
from skdp_bary.estimators.noisy_trees import BlockCountsMethod, HaarMethod
from skdp_bary.exceptions import PrivacyWarning
from skdp_bary.geometry import Mask
from skdp_bary.parameters import Option
from skdp_bary.transport import DiscreteMeasure, free_support_barycenter

RESULTS = Results("barycenter_trees")
TREES = {"differences": HaarMethod(power=2.0), "counts": BlockCountsMethod(step=4)}
FIRST_SEED = 20
CASES = ((0.1, False), (0.02, False), (1.0, False), (0.1, True), (0.02, True))


class Barycenter(PrivateWassersteinBarycenter):
    """The estimator, with these trees for methods."""

    _methods = {name: CoresetMethod(trees) for name, trees in TREES.items()}
    _parameter_rules = PrivateWassersteinBarycenter._parameter_rules | {
        "method": Option(tuple(_methods))
    }


def draw_people(population, seed, folder):
    """Return 200000 rows and their public domain."""
    if population == "us":
        X, _ = load_people("k1", folder, seed)
        return X, Mask.from_geojson(folder / "us_border.geojson.gz")
    return make_population(200_000, n_classes=1, random_state=seed)[0], COUNTRY_BOUNDS


def compare(population, seed, folder):
    """Return the ratio of every tree in every case, on one draw of people."""
    X, bounds = draw_people(population, seed, folder)
    cloud = DiscreteMeasure(X)
    best = free_support_barycenter([cloud], N_ATOMS, n_init=1, random_state=seed)
    ratios = {}
    for epsilon, gaussian in CASES:
        for name in TREES:
            model = Barycenter(
                N_ATOMS,
                method=name,
                n_init=1,
                epsilon=epsilon,
                delta=1.0 / len(X) if gaussian else 0.0,
                bounds=bounds,
                n_hint=len(X),
                neighbors="replace_one",
                random_state=seed,
            ).fit(X)
            near = free_support_barycenter(
                model.private_measures_, N_ATOMS, init=best.support, n_init=1
            )
            ratio = exact_cost([cloud], near.support) / best.cost
            ratios[f"{name}, epsilon {epsilon:g}{', delta=1/n' if gaussian else ''}"] = ratio
    return ratios


def main():
    """Parse the command line, run the populations and keep the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with the US population tables")
    parser.add_argument("--populations", nargs="+", default=["us", "generated"])
    parser.add_argument("--seeds", type=int, default=8)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", PrivacyWarning)
    found = RESULTS.read({})
    for population in arguments.populations:
        if population == "us" and arguments.data is None:
            continue
        runs = []
        for seed in range(FIRST_SEED, FIRST_SEED + arguments.seeds):
            runs.append(compare(population, seed, arguments.data))
            found[population] = {key: interval([run[key] for run in runs]) for key in runs[0]}
            found[population]["seeds"] = len(runs)
            RESULTS.write(found)
        for key, value in found[population].items():
            print(population, key, value, flush=True)


if __name__ == "__main__":
    main()
