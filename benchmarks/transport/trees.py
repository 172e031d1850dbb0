"""Tree algorithms against linear programs, side by side in one run.

Every line is a ratio of two medians of processor time taken in this run, and how far the two
objectives differ. Goals: at least 8 times faster than HiGHS on the reduced program at w = 20
(resolution 256), 3 times at w = 2000; than the naive program 1000 times at resolution 256 and
20,000 times at 1024; the two posterior passes of a default heatmap of 200 persons in less than 0.15
of the naive program.

Usage: python -m benchmarks.transport.trees [--quick]
"""

import sys
from time import process_time

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_array, eye_array, hstack, vstack

from benchmarks.recording import Results
from skdp_bary.papers.heatmap_levels import minimize_l1, top_cells
from skdp_bary.transport.tree_posterior import infer_masses
from skdp_bary.transport.trees import Tree, cell_codes, child_codes

RESULTS = Results("tree_speed")


def seconds(function, repeats=11):
    """Median processor time of a call, which other work does not stretch, and its last result."""
    times = []
    for _ in range(repeats):
        start = process_time()
        result = function()
        times.append(process_time() - start)
    return float(np.median(times)), result


def city(rng, n_persons, depth):
    """Codes at `depth` of one place of each person, around ten centers."""
    centers = rng.random((10, 2))
    spreads = rng.uniform(0.01, 0.08, size=10)
    of = rng.choice(10, size=n_persons, p=rng.dirichlet(np.ones(10)))
    places = centers[of] + rng.normal(size=(n_persons, 2)) * spreads[of, None]
    rows, columns = (np.clip(places, 0, 1 - 1e-9) * 2**depth).astype(np.int64).T
    return cell_codes(rows, columns)


def count(codes, depth, level, cells):
    """Number of persons in each of the given cells of a level."""
    ordered = np.sort(codes >> 2 * (depth - level))
    return np.searchsorted(ordered, cells, "right") - np.searchsorted(ordered, cells)


def level_budgets(w, depth):
    """First measured level and the share of the budget of each, as in the heatmap paper."""
    top = int(np.log2(np.sqrt(w)))
    shares = 2.0 ** (-np.arange(depth - top + 1) / 2)
    return top, shares / shares.sum()


def paper_selection(rng, codes, depth, w):
    """Selected tree and noisy masses at epsilon 1 of the complete pyramid."""
    top, shares = level_budgets(w, depth)
    pyramid = [
        np.bincount(codes >> 2 * (depth - top - k), minlength=4 ** (top + k))
        + rng.laplace(size=4 ** (top + k)) / share
        for k, share in enumerate(shares)
    ]
    return select_top(pyramid, w, top=top)


def grow(tree, chosen, branching=4):
    """Return a tree one level deeper: children of the `chosen` of its last level, none chosen."""
    chosen = np.asarray(chosen, dtype=bool)
    below = np.zeros(branching * np.count_nonzero(chosen), dtype=bool)
    return Tree((*tree.chosen[:-1], chosen, below), (*tree.branching, branching), tree.top)


def spread_leaves(tree, masses, depth):
    """Return the masses of all cells of one depth, in the order of their codes.

    The mass of a cell whose children are not listed is spread evenly inside it; cells finer than
    `depth` are added up.
    """
    out = np.zeros(4**depth)
    for k, (outer, codes) in enumerate(zip(tree.outer, tree.codes, strict=True)):
        steps = depth - tree.top - k
        if steps >= 0:
            blocks = out.reshape(-1, 4**steps)
            blocks[codes[outer]] += (masses[k][outer] / 4**steps)[:, None]
        else:
            coarse = codes[outer] // 4**-steps
            out += np.bincount(coarse, masses[k][outer], minlength=len(out))
    return out


def select_top(pyramid, w, *, branching=4, top=0):
    """Select the cells to keep of a complete noisy pyramid, from coarse to fine.

    Parameters
    ----------
    pyramid : sequence of ndarray
        Noisy masses of all cells of the levels `top`, `top` + 1, ...: flat, by their codes.
    w : int
        In each level the `w` largest of the children of the cells kept one level above are kept.
    branching, top : int
        As in `Tree`.

    Returns
    -------
    tree : Tree
        The cells kept are chosen; their siblings are left out.
    values : tuple of ndarray
        The noisy masses of the cells of `tree`.

    References
    ----------
    Ghazi et al., "Differentially Private Heatmaps", AAAI 2023, Algorithm 2.
    """
    codes = np.arange(len(pyramid[0]))
    chosen, values = [], []
    for level, noisy in enumerate(pyramid):
        if level:
            codes = child_codes(codes[chosen[-1]], branching)
        values.append(np.asarray(noisy, dtype=float)[codes])
        chosen.append(top_cells(values[-1], w))
    return Tree(tuple(chosen), (branching,) * (len(chosen) - 1), top), tuple(values)


def l1_objective(tree, values, masses):
    """Return what `minimize_l1` minimizes, at given masses of the cells of `tree`."""
    values, masses = tree.check(values, "values"), tree.check(masses, "masses")
    last = 2.0 ** -(tree.top + tree.depth)
    total = 0.0
    for k, mask in enumerate(tree.chosen):
        weight = 2.0 ** -(tree.top + k)
        total += weight * np.abs(values[k] - masses[k])[mask].sum()
        total += (2 * weight - last) * masses[k][~mask].sum()
    return float(total)


def level_sums(tree):
    """For each level: sparse sums of the cells without listed children inside each cell."""
    counts = [np.count_nonzero(mask) for mask in tree.outer]
    sums, end = [None] * (tree.depth + 1), sum(counts)
    columns, entries = [], []
    for k in reversed(range(tree.depth + 1)):
        end -= counts[k]
        parents = np.flatnonzero(tree.chosen[k])
        if k < tree.depth:
            entries = [parents[e // tree.branching[k]] for e in entries]
        columns.append(end + np.arange(counts[k]))
        entries.append(np.flatnonzero(tree.outer[k]))
        sums[k] = np.concatenate(entries), np.concatenate(columns)
    n = sum(counts)
    return [
        coo_array((np.ones(len(i)), (i, j)), (size, n)).tocsr()
        for (i, j), size in zip(sums, tree.sizes, strict=True)
    ]


def reduced_program(tree, values):
    """One variable per cell without listed children, one deviation per chosen cell."""
    levels = level_sums(tree)
    slack = sum(
        (2.0 ** (tree.depth - k + 1) - 1) * np.asarray(s[np.flatnonzero(~c)].sum(axis=0)).ravel()
        for k, (s, c) in enumerate(zip(levels, tree.chosen, strict=True))
    )
    measured = [s[np.flatnonzero(c)] for s, c in zip(levels, tree.chosen, strict=True)]
    return _program(tree, _chosen_values(tree, values), slack, measured)


def naive_program(tree, values):
    """The definition: one variable per pixel and one deviation per cell of all levels."""
    depth = tree.top + tree.depth
    pixels, ones = np.arange(4**depth), np.ones(4**depth)
    sums, target = [], []
    for k, (codes, chosen) in enumerate(zip(tree.codes, tree.chosen, strict=True)):
        size = 4 ** (tree.top + k)
        of_pixel = pixels >> 2 * (depth - tree.top - k)
        sums.append(coo_array((ones, (of_pixel, pixels)), (size, 4**depth)).tocsr())
        target.append(np.zeros(size))
        target[-1][codes[chosen]] = values[k][chosen]
    return _program(tree, target, np.zeros(4**depth), sums)


def folded_program(tree, values):
    """One variable per pixel; only chosen cells have a deviation, the others a cost per mass."""
    depth = tree.top + tree.depth
    pixels = np.arange(4**depth)
    slack, rows = np.full(4**depth, 2.0 ** (tree.depth + 1) - 1), []
    for k, (codes, chosen) in enumerate(zip(tree.codes, tree.chosen, strict=True)):
        row = np.full(4 ** (tree.top + k), -1)
        row[codes[chosen]] = np.arange(np.count_nonzero(chosen))
        row = row[pixels >> 2 * (depth - tree.top - k)]
        inside = np.flatnonzero(row >= 0)
        shape = np.count_nonzero(chosen), 4**depth
        rows.append(coo_array((np.ones(len(inside)), (row[inside], inside)), shape).tocsr())
        slack[inside] -= 2.0 ** (tree.depth - k)
    return _program(tree, _chosen_values(tree, values), slack, rows)


def _chosen_values(tree, values):
    return [v[mask] for v, mask in zip(values, tree.chosen, strict=True)]


def _program(tree, target, slack, sums):
    """Cost, matrix, bound and unit of a program; costs are in units of the last level's weight."""
    weights = [np.full(len(t), 2.0 ** (tree.depth - k)) for k, t in enumerate(target)]
    target, matrix = np.concatenate(target), vstack(sums)
    identity = eye_array(len(target))
    matrix = vstack([hstack([matrix, -identity]), hstack([-matrix, -identity])]).tocsr()
    cost = np.concatenate([slack, *weights])
    return cost, matrix, np.append(target, -target), 2.0 ** -(tree.top + tree.depth)


def solve(program):
    cost, matrix, bound, scale = program
    return linprog(cost, A_ub=matrix, b_ub=bound, method="highs").fun * scale


def compare(name, tree, values, build, goal, repeats):
    """Return a row of results, ratio and difference of the objectives included."""
    ours, masses = seconds(lambda: minimize_l1(tree, values), 5 if repeats == 1 else 11)
    building, program = seconds(lambda: build(tree, values), min(repeats, 3))
    solving, optimum = seconds(lambda: solve(program), repeats)
    gap = abs(l1_objective(tree, values, masses) - optimum) / optimum
    row = {"name": name, "ours_ms": ours * 1e3, "build_ms": building * 1e3}
    row |= {"highs_ms": solving * 1e3, "ratio": solving / ours, "goal": goal, "gap": gap}
    return row


def adaptive_heatmap(rng, codes, depth, epsilon=1.0):
    """Two rounds and two posteriors; returns the tree, the means and the time of the posteriors."""
    rates = epsilon / 3, 2 * epsilon / 3
    deepest = min(depth, 7)  # a bandwidth of a 32nd of the side
    tree = Tree.complete(3)
    first = count(codes, depth, 3, np.arange(64)) + rng.laplace(size=64) / rates[0]
    start = process_time()
    share = infer_masses(
        tree, [([None] * 3 + [first], [None] * 3 + [rates[0]])], step=max(0.35 / rates[1], 0.2)
    ).mean[-1]
    time = process_time() - start
    while tree.depth < deepest and (share * rates[1] >= 3).any():
        split = share * rates[1] >= 3
        tree, share = grow(tree, split), np.repeat(share[split] / 4, 4)
    below = [None] * (tree.depth - 3)
    once = [None] * 3 + [first, *below], [None] * 3 + [rates[0], *below]
    cells = [~mask for mask in (*tree.chosen[:-1], np.zeros(tree.sizes[-1], dtype=bool))]
    noisy = [
        count(codes, depth, k, c) + rng.laplace(size=len(c)) / rates[1]
        for k, c in enumerate(tree.codes)
    ]
    start = process_time()
    posterior = infer_masses(tree, [once, (noisy, [rates[1] * c for c in cells])])
    return tree, posterior.mean, time + process_time() - start


def posterior_time(depth, n_persons=200, repeats=11):
    codes = city(np.random.default_rng(1), n_persons, depth)
    runs = [adaptive_heatmap(np.random.default_rng(i), codes, depth)[2] for i in range(repeats)]
    return float(np.median(runs))


def lazy_selection(rng, codes, depth, w):
    """As `paper_selection`, noise drawn only where it is looked at: any resolution."""
    top, shares = level_budgets(w, depth)
    tree, values = Tree.complete(0, top=top), []
    for k, share in enumerate(shares):
        counts = count(codes, depth, top + k, tree.codes[-1])
        values.append(counts + rng.laplace(size=len(counts)) / share)
        chosen = np.argsort(np.argsort(-values[-1], kind="stable")) < w
        if k < len(shares) - 1:
            tree = grow(tree, chosen)
    return Tree((*tree.chosen[:-1], chosen), tree.branching, top), values


def programs(rng, quick):
    """Rows that compare least absolute deviations with HiGHS."""
    for depth, w, n, goal in ((8, 20, 200, 8), (10, 20, 200, 8), (10, 2000, 5000, 3)):
        tree, values = paper_selection(rng, city(rng, n, depth), depth, w)
        name = f"reduced, resolution {2**depth}, w = {w}"
        yield compare(name, tree, values, reduced_program, goal, 11 if w == 20 else 1)
    for depth, goal in ((8, 1000),) if quick else ((8, 1000), (10, 20_000)):
        tree, values = paper_selection(rng, city(rng, 200, depth), depth, 20)
        repeats = 3 if depth == 8 else 1
        naive = compare(
            f"naive, resolution {2**depth}, w = 20", tree, values, naive_program, goal, repeats
        )
        yield naive
        name = f"naive, resolution {2**depth}, deviations of chosen cells only"
        yield compare(name, tree, values, folded_program, None, repeats)
        whole, _ = seconds(lambda t=tree, v=values, d=depth: spread_leaves(t, minimize_l1(t, v), d))
        name = f"naive, resolution {2**depth}, all pixels written out"
        yield {"name": name, "ours_ms": whole * 1e3, "ratio": naive["highs_ms"] / whole / 1e3}


def alone(rng):
    """Rows with the times of larger problems, which no program is compared with."""
    for depth in (8, 10):
        pyramid = [rng.laplace(1, 2, size=4**k) for k in range(depth + 1)]
        tree = Tree.complete(depth)
        time, _ = seconds(lambda t=tree, v=pyramid: minimize_l1(t, v), 3)
        yield {"name": f"all cells, resolution {2**depth}", "ours_ms": time * 1e3}
    for depth in (8, 16, 24):
        tree, values = lazy_selection(rng, city(rng, 200, depth), depth, 20)
        time, _ = seconds(lambda t=tree, v=values: minimize_l1(t, v))
        yield {"name": f"selection, resolution 2**{depth}, w = 20", "ours_ms": time * 1e3}


def posteriors(naive_ms):
    """Rows with the time of both posteriors of an adaptive heatmap of 200 people."""
    base = posterior_time(8) * 1e3
    row = {"name": "posteriors, resolution 256, of the naive program", "ours_ms": base}
    yield row | {"ratio": base / naive_ms, "goal": 0.15}
    time = posterior_time(20) * 1e3
    row = {"name": "posteriors, resolution 2**20, of those at 256", "ours_ms": time}
    yield row | {"ratio": time / base, "goal": 5}


def show(row):
    line = f"{row['name']:<56} {row['ours_ms']:9.3f} ms"
    if "highs_ms" in row:
        line += f"   {row['build_ms']:9.2f} + {row['highs_ms']:9.2f} ms"
    if "ratio" in row:
        line += f"   ratio {row['ratio']:.4g}"
    if row.get("goal"):
        line += f" (goal {row['goal']})"
    if "gap" in row:
        line += f"   objectives differ by {row['gap']:.1e}"
    print(line, flush=True)


def main(quick):
    rng = np.random.default_rng(0)
    rows = []
    for make in (
        lambda: programs(rng, quick),
        lambda: alone(rng),
        lambda: posteriors(next(r["highs_ms"] for r in rows if r["name"].startswith("naive"))),
    ):
        for row in make():
            rows.append(row)
            show(row)
    if not quick:
        RESULTS.write(rows)


if __name__ == "__main__":
    main("--quick" in sys.argv[1:])
