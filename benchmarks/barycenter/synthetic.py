"""The papers' synthetic experiment: their private coreset method beside ours.

Rows are drawn from four equal Gaussians at (+-0.25, +-0.25, 0, ..., 0) in ten dimensions; the
papers do not say how wide they are, here the standard deviation is 0.1. Eight atoms; one of n,
epsilon and the dimension d' of the projection varies, the others stay at 1000, 1 and 5. Every run
draws new rows. Costs are exact transport costs of the atoms to the rows, as a ratio to those of the
barycenter of the rows themselves; means over the runs with 95 % intervals.

"paper" is their Algorithm 2: the private measure mechanism of He, Vershynin and Zhu on the domain
(-0.75, 0.75)^10, a Johnson-Lindenstrauss projection to d' dimensions, POT's Sinkhorn barycenter
with reg 0.04 and 50 x 100 iterations, and the weighted means of the private points. Its noise is
scaled so that the guarantee holds for the replacement of one row; the placement noise is scaled
down as they say. Ours have the same bounds and relation; "subspace" has delta = 1e-6.

    python -m benchmarks.barycenter.synthetic [--vary n epsilon dimension] [--runs 30]
"""

import argparse
import math
import os
import time
import warnings

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np  # noqa: E402
import ot  # noqa: E402
from scipy.stats import t as student  # noqa: E402

from benchmarks.recording import Results  # noqa: E402
from skdp_bary import PrivateWassersteinBarycenter  # noqa: E402
from skdp_bary.exceptions import PrivacyWarning  # noqa: E402
from skdp_bary.transport import DiscreteMeasure, free_support_barycenter, solve_semidiscrete  # noqa: E402

RESULTS = Results("barycenter_synthetic")
N_FEATURES, N_ATOMS, SPREAD, HALF = 10, 8, 0.1, 0.75
DEFAULTS = {"n": 1000, "epsilon": 1.0, "dimension": 5}
GRIDS = {
    "n": [50, 100, 200, 400, 800, 1600],
    "epsilon": [2.0**j for j in range(-4, 4)],
    "dimension": list(range(1, 10)),
}
OURS = {"coreset": {"method": "coreset"}, "subspace": {"method": "subspace", "delta": 1e-6}}


def draw_rows(n, rng):
    """Draw the rows of one run."""
    centers = np.zeros((4, N_FEATURES))
    centers[:, :2] = [[0.25, 0.25], [0.25, -0.25], [-0.25, 0.25], [-0.25, -0.25]]
    return centers[rng.integers(0, 4, n)] + SPREAD * rng.standard_normal((n, N_FEATURES))


def published_measure(X, epsilon, rng):
    """Return n points of the private measure mechanism, private under replacement of one row."""
    depth = max(1, math.ceil(math.log2(epsilon * len(X))))
    index = np.zeros(len(X), dtype=np.int64)
    low, high = np.full((1, N_FEATURES), -HALF), np.full((1, N_FEATURES), HALF)
    mass = np.array([len(X)])
    # the papers' schedule; two cells of every level change when a row is replaced
    scales = 2.0 ** (-0.5 * (1 - 1 / N_FEATURES) * np.arange(depth))
    scales *= 2 * (1 / scales).sum() / epsilon
    for level, scale in enumerate(scales):
        axis = level % N_FEATURES
        middle = (low[:, axis] + high[:, axis]) / 2
        index = 2 * index + (X[:, axis] >= middle[index])
        count = np.bincount(index, minlength=2 * len(mass))
        stop = -math.expm1(-1 / scale)  # the difference of two geometric draws
        count = count + rng.geometric(stop, len(count)) - rng.geometric(stop, len(count))
        first, second = np.maximum(count, 0).reshape(-1, 2).T
        total = first + second
        share = np.where(total > 0, first / np.maximum(total, 1), 0.5)
        left = np.floor(mass * share).astype(np.int64)
        mass = np.column_stack([left, mass - left]).ravel()
        low, high = np.repeat(low, 2, axis=0), np.repeat(high, 2, axis=0)
        high[0::2, axis], low[1::2, axis] = middle, middle
    center, half = np.repeat((low + high) / 2, mass, axis=0), np.repeat((high - low) / 2, mass, 0)
    shrink = (240 * N_FEATURES) ** (1 / N_FEATURES)
    return center + half / shrink * rng.uniform(-1, 1, center.shape)


def published_atoms(X, epsilon, dimension, rng):
    """Return the atoms of the published private coreset method."""
    points = published_measure(np.clip(X, -HALF, HALF), epsilon, rng)
    projected = points @ rng.normal(scale=dimension**-0.5, size=(N_FEATURES, dimension))
    weights = np.full(len(points), 1 / len(points))
    start = projected[rng.choice(len(points), N_ATOMS, replace=len(points) < N_ATOMS)]
    atoms = ot.bregman.free_support_sinkhorn_barycenter(
        [projected], [weights], start, 0.04, numItermax=50, numInnerItermax=100, warn=False
    )
    plan = ot.emd(weights, np.full(N_ATOMS, 1 / N_ATOMS), ot.dist(projected, atoms))
    return plan.T @ points / plan.sum(axis=0)[:, None]


def our_atoms(X, epsilon, dimension, name, rng):
    """Return the atoms of the estimator."""
    parameters = dict(OURS[name])
    if name == "subspace":
        parameters["n_components"] = dimension
    model = PrivateWassersteinBarycenter(
        N_ATOMS,
        epsilon=epsilon,
        bounds=(-HALF, HALF),
        n_hint=len(X),
        neighbors="replace_one",
        random_state=int(rng.integers(2**31)),
        **parameters,
    )
    return model.fit(X).support_


def one_run(setting, names, seed):
    """Return cost ratio and seconds of every method on one draw of rows."""
    rng = np.random.default_rng((seed, setting["n"]))
    X = draw_rows(setting["n"], rng)
    cloud = DiscreteMeasure(X)
    best = free_support_barycenter([cloud], N_ATOMS, n_init=20, random_state=seed).cost
    found = {}
    for name in names:
        start = time.perf_counter()
        arguments = setting["epsilon"], setting["dimension"]
        if name == "paper":
            atoms = published_atoms(X, *arguments, rng)
        else:
            atoms = our_atoms(X, *arguments, name, rng)
        seconds = time.perf_counter() - start
        cost = solve_semidiscrete(cloud, DiscreteMeasure(atoms)).cost
        found[name] = cost / best, seconds
    return found


def summarize(setting, varied, runs):
    """Return the row of one setting."""
    row = {"varied": varied, **setting, "runs": len(runs), "cost_ratio": {}, "seconds": {}}
    for name in runs[0]:
        ratios, seconds = np.transpose([run[name] for run in runs])
        half = student.ppf(0.975, len(runs) - 1) * ratios.std(ddof=1) / math.sqrt(len(runs))
        row["cost_ratio"][name] = [round(float(ratios.mean()), 4), round(float(half), 4)]
        row["seconds"][name] = round(float(np.median(seconds)), 4)
    return row


def main():
    """Parse the command line and run the settings."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--vary", nargs="+", choices=GRIDS, default=list(GRIDS))
    parser.add_argument("--methods", nargs="+", default=["paper", *OURS])
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("--output", type=Results, default=RESULTS)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", PrivacyWarning)
    for varied in arguments.vary:
        for value in GRIDS[varied]:
            setting = DEFAULTS | {varied: value}
            runs = [one_run(setting, arguments.methods, seed) for seed in range(arguments.runs)]
            row = summarize(setting, varied, runs)
            arguments.output.merge([row], ("varied", *DEFAULTS))
            costs = "  ".join(f"{k} {v[0]:.3f} +- {v[1]:.3f}" for k, v in row["cost_ratio"].items())
            print(f"{varied:9s} = {value:<8g} {costs}   seconds {row['seconds']}", flush=True)


if __name__ == "__main__":
    main()
