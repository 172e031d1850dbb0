"""Lower bounds of the epsilon of PrivateKMeans on classic worst cases, beside what it claims.

Each case is a pair of neighbors on which a careless clustering gives itself away: a far outlier, a
row alone in its cluster, two equal rows of which one leaves, a row that moves by one unit in the
last place across the border of a cell. A fit is run thousands of times on both, and an event is
looked for that tells them apart; the bound holds with 95 % confidence. A bound above the claim
would refute it; one far below it says little. ``python -m benchmarks.kmeans.audit [--runs 1000]``
"""

import argparse
import warnings

import numpy as np

from benchmarks.recording import Results
from skdp_bary import PrivateKMeans
from skdp_bary.inspection import epsilon_lower_bound

RESULTS = Results("kmeans_audit")
EPSILON, DELTA = 1.0, 1e-5
ROWS = 20
SETTINGS = (("laplace", 2), ("gaussian", 2), ("gaussian", 5))


def cases(n_features):
    """Return two neighbors and their relation for every case."""
    spread = np.random.default_rng(0).random((ROWS, n_features))
    corner = np.full((ROWS, n_features), 0.125)
    middle = np.full((1, n_features), 0.5)
    far = np.full((1, n_features), 1e6)
    other_corner = np.full((1, n_features), 1.0)
    below = np.nextafter(middle, 0.0)
    return {
        "a far outlier": (spread, np.vstack([spread, far]), "add_remove"),
        "an empty cluster": (corner, np.vstack([corner, other_corner]), "add_remove"),
        "two identical points": (np.vstack([middle, middle]), middle, "add_remove"),
        "a row on a cell border": (
            np.vstack([corner, middle]),
            np.vstack([corner, below]),
            "replace_one",
        ),
    }


def audit(case, noise, n_features, n_runs):
    """Return one line of the table."""
    rows, neighbor, relation = cases(n_features)[case]
    estimator = PrivateKMeans(
        2,
        n_init=1,
        epsilon=EPSILON,
        delta=0.0 if noise == "laplace" else DELTA,
        bounds=(0, 1),
        n_hint=ROWS,
        neighbors=relation,
    )
    report = epsilon_lower_bound(
        estimator, rows, neighbor, n_runs=n_runs, delta=estimator.delta, random_state=0
    )
    return {
        "case": case,
        "noise": noise,
        "features": n_features,
        "neighbors": relation,
        "claim": EPSILON,
        "delta": estimator.delta,
        "lower_bound": report.epsilon,
        "runs": n_runs,
        "event": report.event,
    }


def main():
    """Audit the cases that have not been, and keep what was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--noise", nargs="+", default=["laplace", "gaussian"])
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    for noise, n_features in SETTINGS:
        for case in cases(n_features) if noise in arguments.noise else ():
            place = (case, noise, n_features, arguments.runs)
            if any(place == _place(line) for line in read()):
                continue
            line = audit(*place)
            RESULTS.write([*read(), line])
            print(
                f"{case:<24} {noise:<9} d={n_features} {line['neighbors']:<12} "
                f"epsilon >= {line['lower_bound']:.3f}, claimed {EPSILON:g} ({line['event']})",
                flush=True,
            )


def read():
    """Return what was kept."""
    return RESULTS.read([])


def _place(line):
    return line["case"], line["noise"], line["features"], line["runs"]


if __name__ == "__main__":
    main()
