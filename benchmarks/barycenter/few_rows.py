"""Barycenters in four to fifty features from few rows: every method beside one private mean.

Clusters, clouds, thin shapes, noise without shape, rows near a flat and rows that are small in the
domain, of one distribution or of three, and persons drawn from the sets that scikit-learn brings
along; 16 atoms, 5 to 200 persons times epsilon an atom, and 200 rows at least. Costs are exact
transport costs from the true rows to the atoms, over that of the barycenter that is searched for on
the rows themselves. In the same run stand one private mean of all rows with the same budget in
place of every atom, and the free barycenter of POT without privacy. Rules were chosen on the
generated sets "seen", on such sets in other numbers of features, and on compact clouds aside from
the center of the domain.

``python -m benchmarks.barycenter.few_rows [--half seen] [--methods auto] [--anew] [--show]``
"""

import argparse
import warnings
from functools import cache
from itertools import product

import numpy as np
import ot
from sklearn import datasets

from benchmarks.recording import Results
from skdp_bary import PrivateKMeans, PrivateWassersteinBarycenter
from skdp_bary.papers import CoresetBarycenter
from skdp_bary.transport import DiscreteMeasure, free_support_barycenter, solve_semidiscrete

RESULTS = Results("barycenter_few_rows")
KEYS = ("half", "set", "d", "epsilon", "n", "noise", "method")
ATOMS = 16
WIDTHS = (4, 6, 10, 50)
SIZES = ((1.0, 320), (0.3, 2667), (5.0, 640), (0.3, 267))  # epsilon and rows
NOISES = {"Laplace": 0.0, "Gaussian": 1e-6}
METHODS = ("auto", "coreset", "perturbation", "projected", "clusters")
UNHINTED = "auto, no n_hint"
PEERS = ("one mean", "POT")


def clusters(rng, n, d):
    """Draw rows of six tight clusters."""
    centers = rng.uniform(0.1, 0.9, (6, d))
    return centers[rng.integers(6, size=n)] + 0.03 * rng.normal(size=(n, d))


def overlapping(rng, n, d):
    """Draw rows of six clusters that overlap."""
    centers = 0.5 + 0.1 * rng.normal(size=(6, d))
    return centers[rng.integers(6, size=n)] + 0.12 * rng.normal(size=(n, d))


def curve(rng, n, d):
    """Draw rows along a smooth curve."""
    t = rng.random((n, 1))
    waves = np.sin(2 * np.pi * t * rng.uniform(0.3, 1.2, d) + rng.uniform(0, 6, d))
    return 0.5 + 0.35 * waves + 0.01 * rng.normal(size=(n, d))


def uniform(rng, n, d):
    """Draw rows without any shape."""
    return rng.random((n, d))


def flat(rng, n, d):
    """Draw rows near a flat of three dimensions."""
    spread = np.linalg.qr(rng.normal(size=(d, 3)))[0].T * np.array([[0.5], [0.3], [0.2]])
    return 0.45 + rng.normal(size=(n, 3)) @ spread + 0.02 * rng.normal(size=(n, d))


def groups(rng, n, d):
    """Draw rows of four clusters for each of three distributions."""
    centers = rng.uniform(0.1, 0.9, (3, 4, d))
    return centers[labels(n), rng.integers(4, size=n)] + 0.05 * rng.normal(size=(n, d))


def small(rng, n, d):
    """Draw rows of clusters in a tenth of the domain."""
    return 0.55 + clusters(rng, n, d) / 10


def unequal(rng, n, d):
    """Draw rows of ten clusters of unequal masses and widths."""
    centers, code = rng.random((10, d)), rng.choice(10, n, p=rng.dirichlet(np.full(10, 1.5)))
    return centers[code] + rng.uniform(0.01, 0.1, 10)[code][:, None] * rng.normal(size=(n, d))


def tails(rng, n, d):
    """Draw rows of one cloud with heavy tails, aside from the center of the domain."""
    length = np.sqrt(rng.chisquare(3, size=(n, 1)) / 3)
    return 0.35 + 0.08 * rng.normal(size=(n, d)) / length


def roads(rng, n, d):
    """Draw rows along six lines."""
    ends, code = rng.random((6, 2, d)), rng.integers(6, size=n)
    start, end = ends[code, 0], ends[code, 1]
    return start + (end - start) * rng.random((n, 1)) + 0.01 * rng.normal(size=(n, d))


def ball(rng, n, d):
    """Draw rows of one round cloud at a corner of the domain."""
    return 0.3 + 0.1 * rng.normal(size=(n, d))


def bits(rng, n, d):
    """Draw rows of zeros and ones that four types make likely."""
    return (rng.random((n, d)) < rng.beta(0.4, 0.8, (4, d))[rng.integers(4, size=n)]).astype(float)


def moved(rng, n, d):
    """Draw rows of one cloud that is elsewhere in each of three distributions."""
    spread = np.linalg.qr(rng.normal(size=(d, d)))[0] * 0.3 * 0.7 ** np.arange(d)
    centers = rng.uniform(0.35, 0.65, (3, d))
    return centers[labels(n)] + rng.normal(size=(n, d)) @ spread.T


def far(rng, n, d):
    """Draw rows along lines in an eighth of the domain, at a corner."""
    return roads(rng, n, d) / 8


def labels(n):
    """Return three labels in turn."""
    return np.arange(n) % 3


HALVES = {
    "seen": (clusters, overlapping, curve, uniform, flat, groups, small),
    "aside": (unequal, tails, roads, ball, bits, moved, far),
}
SETS = {make.__name__: make for half in HALVES.values() for make in half}
BUNDLED = {"seen": {"wine": 13, "digits": 61}, "aside": {"iris": 4, "breast_cancer": 30}}
THREE = ("groups", "moved")


def bundled(name, rng, n):
    """Draw persons from a set of scikit-learn, in the unit box."""
    X = getattr(datasets, f"load_{name}")().data
    low, high = X.min(axis=0), X.max(axis=0)
    varied = high > low
    return ((X - low)[:, varied] / (high - low)[varied])[rng.integers(len(X), size=n)]


@cache
def load(name, d, n):
    """Return the rows, their labels, and the measures of their distributions."""
    if name in SETS:
        rng = np.random.default_rng((*name.encode(), d, n))
        X = np.clip(SETS[name](rng, n, d), 0.0, 1.0)
    else:
        X = bundled(name, np.random.default_rng(n), n)
    y = labels(n) if name in THREE else np.zeros(n, dtype=int)
    return X, y, [DiscreteMeasure(X[y == code]) for code in np.unique(y)]


def cost(name, d, n, support):
    """Return the mean exact transport cost from the distributions to the atoms."""
    atoms = DiscreteMeasure(support)
    return float(np.mean([solve_semidiscrete(cloud, atoms).cost for cloud in load(name, d, n)[2]]))


@cache
def best(name, d, n):
    """Return the cost of the barycenter of the rows."""
    clouds = load(name, d, n)[2]
    return cost(
        name, d, n, free_support_barycenter(clouds, ATOMS, n_init=5, random_state=0).support
    )


def public_barycenter(name, d, n):
    """Return the barycenter that POT finds on the rows."""
    X, y, _ = load(name, d, n)
    clouds = [X[y == code] for code in np.unique(y)]
    start = X[np.random.default_rng(0).choice(n, ATOMS, replace=False)]
    shares = [np.full(len(cloud), 1.0 / len(cloud)) for cloud in clouds]
    return ot.lp.free_support_barycenter(clouds, shares, start, numItermax=20)


def one_mean(name, d, n, epsilon, delta):
    """Return as many copies of a private mean as there are atoms."""
    mean = PrivateKMeans(
        1,
        init=np.full((1, d), 0.5),
        max_iter=1,
        epsilon=epsilon,
        delta=delta,
        bounds=(0, 1),
        n_hint=n,
        random_state=0,
    ).fit(load(name, d, n)[0])
    return np.repeat(mean.cluster_centers_, ATOMS, axis=0)


def atoms(name, d, epsilon, n, noise, method):
    """Return the atoms of a method."""
    delta = NOISES[noise]
    if method == "POT":
        return public_barycenter(name, d, n)
    if method == "one mean":
        return one_mean(name, d, n, epsilon, delta)
    X, y, clouds = load(name, d, n)
    rounds = method in ("perturbation", "projected")
    cls = CoresetBarycenter if rounds else PrivateWassersteinBarycenter
    fitted = cls(
        ATOMS,
        method="auto" if method == UNHINTED else method,
        classes=range(len(clouds)),
        n_components=3 if method == "projected" else None,
        epsilon=epsilon,
        delta=delta,
        bounds=(0, 1),
        n_hint=None if method == UNHINTED else n,
        random_state=0,
    )
    return fitted.fit(X, y).support_


def methods_of(noise, d):
    """Return the methods that there are."""
    own = METHODS if noise == "Laplace" else (*METHODS, "subspace")
    return (*own, "pyramid") if d <= 10 else own


def cells(halves, methods):
    """Yield what there is to measure."""
    for half in halves:
        rows = [(make.__name__, d) for d, make in product(WIDTHS, HALVES[half])]
        rows += BUNDLED[half].items()
        for (epsilon, n), (name, d), noise in product(SIZES, rows, NOISES):
            for method in (*methods_of(noise, d), UNHINTED, *PEERS):
                if method in (methods or (method,)):
                    yield half, name, d, epsilon, n, noise, method


def measure(half, name, d, epsilon, n, noise, method):
    """Return one row of the results."""
    atoms_found = atoms(name, d, epsilon, n, noise, method)
    ratio = cost(name, d, n, atoms_found) / best(name, d, n)
    values = (half, name, d, epsilon, n, noise, method)
    return dict(zip(KEYS, values, strict=True)) | {"ratio": round(ratio, 4)}


def by_setting(kept):
    """Return the ratios of all methods for every setting."""
    table = {}
    for row in kept:
        table.setdefault(tuple(row[key] for key in KEYS[:-1]), {})[row["method"]] = row["ratio"]
    return table


def show(kept):
    """Print every setting, and "auto" beside the best method and beside one mean."""
    losses = {half: ([], [], []) for half in HALVES}
    for setting, ratios in sorted(by_setting(kept).items(), key=lambda item: item[0]):
        print(*setting, " ".join(f"{method} {ratio:.3f}" for method, ratio in ratios.items()))
        best_method = min(ratios[m] for m in methods_of(setting[-1], setting[2]))
        found = (
            ratios["auto"] / best_method,
            ratios["auto"] / ratios["one mean"],
            ratios[UNHINTED] / ratios["one mean"],
        )
        for known, ratio in zip(losses[setting[0]], found, strict=True):
            known.append(ratio)
    names = ("auto over best method", "auto over one mean", f"{UNHINTED}, over one mean")
    for half, three in losses.items():
        for name, found in zip(names, three, strict=True):
            if found:
                mean, worst = np.exp(np.mean(np.log(found))), max(found)
                print(f"{half:6} {name:32} {mean:.3f}, at most {worst:.3f}")


def main():
    """Measure what is missing, and print all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--half", choices=list(HALVES), nargs="+", default=list(HALVES))
    parser.add_argument("--methods", nargs="+", default=())
    parser.add_argument("--anew", action="store_true", help="also what was kept before")
    parser.add_argument("--show", action="store_true", help="print what is kept and stop")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    done = {tuple(row[key] for key in KEYS) for row in RESULTS.read([])}
    for key in () if options.show else cells(options.half, options.methods):
        if options.anew or key not in done:
            RESULTS.merge([measure(*key)], KEYS)
    show(RESULTS.read([]))


if __name__ == "__main__":
    main()
