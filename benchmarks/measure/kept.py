"""How much is kept of a few rows far from all others, by the deviations to which they are known.

A group is 2, 5 or 9 % of the rows: on one value, in a blob or spread evenly. Its region is made of
the cells of one level, of at most an eighth of a side, that hold rows of it (spread evenly: all
cells) and no others. ``s``, the standard deviation of the least-squares estimate of the mass there
from all counts of the fit, is that of the level with most rows a deviation. Printed are, by rows
over ``s``, the share of fits that have less than half of the rows there; in brackets the share of
which the estimate itself has less: noise took them away. A breach is an estimate of ``KNOWN``
deviations or more, on any level, less than half of which the release has there.

``python -m benchmarks.measure.kept [--fits 300] [--family measure heatmap] [--first 0]``
"""

import argparse
import math
import warnings
from itertools import product
from unittest import mock

import numpy as np
from scipy.sparse import csc_array
from scipy.sparse.linalg import splu

from benchmarks.recording import Results
from skdp_bary import PrivateEMDHeatmap, PrivateKMeans, PrivateMeasure
from skdp_bary.estimators import heatmap, kmeans_low
from skdp_bary.estimators.noisy_trees import Pyramid, cells_of
from skdp_bary.exceptions import PrivacyWarning
from skdp_bary.transport.trees import cell_codes

RESULTS = Results("measure_kept")
KEYS = ("family", "d", "noise", "main", "shape")
EDGES = (4.0, 5.0, 6.0, 7.0, 8.0, 10.0, 12.0, 16.0)
SHARES, KNOWN, HALVINGS, SIDE = (0.02, 0.05, 0.09), 5.0, 3, 256
DEVIATIONS = {"laplace": (1.7, 2.1, 2.8), "gaussian": (3.6, 4.2)}  # of the best cell, about
MAINS = ("point", "normal", "square")
SPREAD = {"spike": 1.0, "blob": 1.5, "even": 10.0}  # ... and how many times that of each shape
RELEASES = [("measure", d, noise) for d in (1, 2) for noise in ("laplace", "gaussian")]
RELEASES.append(("heatmap", 2, "laplace"))
RELEASES += [("kmeans", d, "laplace") for d in (1, 2, 3)]
ABOUT = 0.28  # of a side: less than the distance of a group from the others


def make_rows(main, shape, n, n_others, d, rng):
    """Return rows of the unit cube; the first `n_others` are those far from the others."""
    middle, place = rng.uniform(0.15, 0.85, d), rng.random(d)
    while np.abs(place - middle).max() < 0.35:
        place = rng.random(d)
    spread = {"point": np.zeros((n, d)), "normal": 0.04 * rng.standard_normal((n, d))}
    X = middle + spread.get(main, rng.uniform(-0.15, 0.15, (n, d)))
    width = {"spike": 0.0, "blob": 0.02}.get(shape)
    even = rng.random((n_others, d))
    X[:n_others] = even if width is None else place + width * rng.standard_normal((n_others, d))
    return X.clip(0.0, 1.0 - 1e-9)


def release(family, d, noise, X, seed):
    """Return tree, counts, the path of every row and the masses of all paths of a release."""
    settings = {"bounds": (0, 1), "n_hint": len(X), "random_state": seed}
    if family == "heatmap":
        seen = mock.Mock(side_effect=heatmap.fit_posterior)
        with mock.patch.object(heatmap, "fit_posterior", seen):
            model = PrivateEMDHeatmap(resolution=SIDE, **settings).fit(X)
        kept, cells, depth = seen.call_args.args[0], model.cells_, 2 * int(math.log2(SIDE))
        held = np.zeros(SIDE**2)
        held[cells.code << (depth - 2 * cells.level)] = cells.mass
        places = (X * SIDE).astype(np.int64)
        return heatmap.covering_tree(kept), kept, cell_codes(places[:, 1], places[:, 0]), held
    settings["delta"] = 1e-6 if noise == "gaussian" else 0.0
    seen = mock.Mock(side_effect=Pyramid.posterior)
    with mock.patch.object(Pyramid, "posterior", lambda *own: seen(*own)):
        model = PrivateMeasure(method="pyramid", **settings).fit(X)
    (pyramid, tree, kept, _), cells = seen.call_args.args, model.cells_
    full = pyramid.tree
    path_of = full.paths_of(np.arange(full.n_cells))
    held = np.zeros(full.n_cells)
    for level in np.unique(cells.level).tolist():
        here, masses = cells.level == level, np.zeros(1 << level)
        masses[cells.index[here]] = cells.mass[here] * model.total_
        paths = type(full)(full.domain, level).paths_of(np.arange(1 << level))
        held[paths << (full.depth - level)] += masses
    return tree, kept, path_of[full.leaf_index(X)], held


def least_squares(bits, starts, kept, noise):
    """Return what solves for the variance of a sum of cells, and the vector that estimates it."""
    information, weighted = csc_array((len(starts), len(starts))), np.zeros(len(starts))
    for counts in kept:
        first = counts.code << (bits[-1] - bits[counts.level])
        order = np.argsort(first)
        owner = order[np.searchsorted(first[order], starts, side="right") - 1]
        inside = np.flatnonzero(
            starts < first[owner] + (1 << (bits[-1] - bits[counts.level]))[owner]
        )
        cells = (np.ones(len(inside)), (owner[inside], inside))
        sums = csc_array(cells, shape=(len(first), len(starts)))
        precision = counts.rate**2 / (1.0 if noise == "gaussian" else 2.0)
        information = information + precision * (sums.T @ sums)
        weighted += precision * (sums.T @ counts.mass)
    return splu(csc_array(information)).solve, weighted


def measure_fit(family, d, noise, main, shape, seed):
    """Return rows over `s`, the shares of them released and estimated, and if there is a breach."""
    rng = np.random.default_rng((seed, d))
    share, known = SHARES[seed % 3], rng.uniform(EDGES[0], EDGES[-1])
    n_others = round(known * DEVIATIONS[noise][d - 1] * SPREAD[shape])
    X = make_rows(main, shape, round(n_others / share), n_others, d, rng)
    tree, kept, paths, held = release(family, d, noise, X, seed)
    depth = int(math.log2(len(held)))
    bits = np.minimum(np.cumsum([0, *np.log2(tree.branching).astype(int)]), depth)
    bits = np.append(bits, depth)
    levels, codes = cells_of(tree)
    starts = codes << (depth - bits[levels])
    order = np.argsort(starts)
    starts, levels = starts[order], levels[order]
    solve, weighted = least_squares(bits, starts, kept, noise)
    masses = np.add.reduceat(held, starts)
    found, breach = [], False
    for k in range(tree.depth + 1):
        if bits[k] < HALVINGS * d and k < tree.depth:
            continue
        width = depth - bits[np.minimum(k, levels)]
        cells = starts >> width << width
        of_rows = cells[np.searchsorted(starts, paths, side="right") - 1]
        own = np.setdiff1d(cells if shape == "even" else of_rows[:n_others], of_rows[n_others:])
        rows, region = np.isin(of_rows[:n_others], own).sum(), np.isin(cells, own).astype(float)
        if rows:
            covered = solve(region)
            s, estimate, mass = math.sqrt(region @ covered), covered @ weighted, masses @ region
            breach |= bool(estimate >= KNOWN * s and mass < estimate / 2)
            found.append((rows / s, mass / rows, estimate / rows))
    return (*max(found), breach) if found else None


def measure_clusters(family, d, noise, main, shape, seed):
    """Return the same as :func:`measure_fit`, of k-means."""
    rng = np.random.default_rng((seed, d))
    share, known = SHARES[seed % 3], rng.uniform(EDGES[0], EDGES[-1])
    n_others = round(known * DEVIATIONS[noise][d - 1])
    X = make_rows(main, shape, round(n_others / share), n_others, d, rng)
    seen = mock.Mock(side_effect=kmeans_low._points)
    with mock.patch.object(kmeans_low, "_points", seen):
        model = PrivateKMeans(3, bounds=(0, 1), n_hint=len(X), random_state=seed).fit(X)
    cells, *counts = seen.call_args.args[:4]
    looks = list(zip(*kmeans_low.least_squares(*counts), strict=True))
    place, found = X[0], []
    for estimates, variances in reversed(looks):
        around = (np.abs(cells.middles - place) <= cells.widths / 2).all(axis=1)
        of_others = (np.abs(cells.middles - X[-1]) <= cells.widths / 2).all(axis=1)
        if around.any() and not (around & of_others).any():
            s = math.sqrt(variances[around][0])
            found.append((n_others / s, estimates[around][0] / s))
        cells = cells.coarser
    if not found:
        return None
    near = (np.abs(model.coarse_.support - place) < ABOUT).all(axis=1)
    rows, estimate = max(found)
    kept = model.coarse_.weights[near].sum() * len(X) / n_others
    breach = any(e >= KNOWN and kept * known < e / 2 for known, e in found)
    return rows, kept, estimate / rows, breach


def measure_cell(key, seeds):
    """Return the number of fits, lost masses, lost estimates and breaches by rows over `s`."""
    measured = measure_clusters if key[0] == "kmeans" else measure_fit
    found = np.array([fit for seed in seeds if (fit := measured(*key, seed)) is not None])
    known, kept, estimated, breach = found.T
    place = np.digitize(known, EDGES)
    rows = []
    for i in range(1, len(EDGES)):
        here = place == i
        counts = here, here & (kept < 0.5), here & (estimated < 0.5), here & (breach > 0)
        rows.append([int(mask.sum()) for mask in counts])
    return rows


def report(name, counts):
    """Print losses by rows over `s`."""
    n, lost, gone, breaches = np.array(counts).T
    with np.errstate(invalid="ignore"):
        shown = " ".join(f"{a:5.3f}({b:5.3f})" for a, b in zip(lost / n, gone / n, strict=True))
    print(f"{name:40s} {shown} breaches {breaches.sum()} of {n.sum()}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fits", type=int, default=300)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--family", nargs="+", default=["measure", "heatmap", "kmeans"])
    parser.add_argument("--output", type=Results, default=RESULTS)
    options = parser.parse_args()
    warnings.simplefilter("ignore", PrivacyWarning)
    print("rows over s from", *EDGES)
    sums = {}
    for setting, main_shape, shape in product(RELEASES, MAINS, SPREAD):
        if setting[0] not in options.family or (setting[0] == "kmeans" and shape != "spike"):
            continue
        key = (*setting, main_shape, shape)
        counts = measure_cell(key, range(options.first, options.first + options.fits))
        row = dict(zip(KEYS, key, strict=True)) | {"fits": options.fits, "counts": counts}
        options.output.merge([row], KEYS)
        report(" ".join(map(str, key)), counts)
        sums.setdefault(setting, []).append(counts)
    for setting, counts in sums.items():
        report(" ".join(map(str, setting)), np.sum(counts, axis=0))


if __name__ == "__main__":
    main()
