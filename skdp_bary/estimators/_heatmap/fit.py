"""From noisy masses of quadtree cells to a heatmap: posterior, least absolute deviations, refining.

Everything here is post-processing: it sees releases and public facts only.
"""

from dataclasses import dataclass

import numpy as np

from ...transport._tree.l1 import minimize_l1
from ...transport._tree.nodes import Tree, child_codes
from ...transport._tree.posterior import infer_masses
from .tuning import TUNED


@dataclass(frozen=True, eq=False)
class Measurement:
    """Released masses of disjoint cells, with Laplace noise of one scale.

    Attributes
    ----------
    level, code : ndarray of int
        The cells: level in the quadtree, and Morton code at that level.
    mass : ndarray
        Noisy masses, in persons.
    rate : float
        The noise on a mass has density proportional to ``exp(-rate * abs(noise))``.
    """

    level: np.ndarray
    code: np.ndarray
    mass: np.ndarray
    rate: float

    def on_tree(self, tree):
        """Return masses and rates for every cell of a tree, with rate 0 where nothing is known."""
        values = [np.zeros(n) for n in tree.sizes]
        rates = [np.zeros(n) for n in tree.sizes]
        for k, codes in enumerate(tree.codes):
            here = self.level == tree.top + k
            place = np.searchsorted(codes, self.code[here])
            values[k][place] = self.mass[here]
            rates[k][place] = self.rate
        return values, rates


@dataclass(frozen=True, eq=False)
class HeatmapCells:
    """Disjoint cells and their masses; what they do not cover has no mass.

    Attributes
    ----------
    level, code : ndarray of int
        Level in the quadtree, and Morton code at that level.
    low, high : ndarray of shape (n_cells, 2)
        Corners, in the units of the rows.
    mass : ndarray
        Masses, in persons.
    """

    level: np.ndarray
    code: np.ndarray
    low: np.ndarray
    high: np.ndarray
    mass: np.ndarray

    def __len__(self):
        return len(self.mass)


@dataclass(frozen=True, eq=False)
class HeatmapFit:
    """Masses of disjoint cells, and their posterior where there is one."""

    level: np.ndarray
    code: np.ndarray
    mass: np.ndarray
    posterior: object = None


def covering_tree(measurements):
    """Return the quadtree that lists every measured cell, and no more than that needs."""
    levels = np.concatenate([m.level for m in measurements])
    codes = np.concatenate([m.code for m in measurements])
    depth = int(levels.max())
    chosen, listed = [], np.zeros(1, dtype=np.int64)
    for k in range(depth):
        below = levels > k
        ancestors = np.unique(codes[below] >> 2 * (levels[below] - k))
        chosen.append(np.isin(listed, ancestors))
        listed = child_codes(listed[chosen[-1]])
    chosen.append(np.zeros(len(listed), dtype=bool))
    return Tree(tuple(chosen), (4,) * depth)


def fit_posterior(measurements, *, whole):
    """Return posterior mean masses of the finest measured cells.

    Parameters
    ----------
    measurements : sequence of Measurement
    whole : bool
        Whether true masses are whole persons.
    """
    tree = covering_tree(measurements)
    step = TUNED.step / max(m.rate for m in measurements)
    step = max(1.0, round(step)) if whole else max(TUNED.least_step, step)
    posterior = infer_masses(tree, [m.on_tree(tree) for m in measurements], step=step)
    return HeatmapFit(*tree.leaves(posterior.mean), posterior)


def fit_l1(measurements):
    """Return the masses of least weighted absolute deviation from all measured cells.

    A cell measured more than once counts with the mean of its values, weighted by their precision;
    a cell that was not measured, with the sum of its parts. Finer than it was measured, nothing is
    known: mass is spread evenly.
    """
    tree = covering_tree(measurements)
    values = _summed_values(tree, [m.on_tree(tree) for m in measurements])
    origin, grown = [np.arange(tree.sizes[0])], []
    for k in range(tree.depth):
        grown.append(origin[k] >= 0)
        origin.append(_origins_below(tree, k, origin[k], grown[k]))
    grown.append(origin[-1] >= 0)
    padded = [np.where(o >= 0, v[o], 0.0) for o, v in zip(origin, values, strict=True)]
    masses = minimize_l1(Tree(tuple(grown), tree.branching), padded)
    kept = [m[o >= 0] for m, o in zip(masses, origin, strict=True)]
    return HeatmapFit(*tree.leaves(kept))


def refine(tree, masses, rate, threshold, max_level):
    """Return the tree in which every leaf is split, again and again, while its parts show.

    A leaf is split while its mass times `rate` is at least `threshold` and it is above
    `max_level`; each of its four parts counts with a quarter of its mass.
    """
    chosen, origin, mass = [], np.arange(tree.sizes[0]), masses[0]
    for k in range(max_level):
        inner = np.zeros(len(origin), dtype=bool)
        if k < tree.depth:
            inner = np.where(origin >= 0, tree.chosen[k][origin], False)
        split = inner | (mass * rate >= threshold)
        chosen.append(split)
        origin = _origins_below(tree, k, origin, split)
        mass = np.repeat(mass[split] / 4.0, 4)
        if k < tree.depth:
            mass = np.where(origin >= 0, masses[k + 1][origin], mass)
        if not origin.size:
            break
    chosen.append(np.zeros(len(origin), dtype=bool))
    return Tree(tuple(chosen), (4,) * (len(chosen) - 1))


def _origins_below(tree, k, origin, split):
    """Places in `tree` of the children of the split cells, -1 for cells that it does not list.

    `origin` holds the places of the cells of level k.
    """
    parents = origin[split]
    if k >= tree.depth:
        return np.full(4 * len(parents), -1)
    rank = np.cumsum(tree.chosen[k]) - 1
    known = (parents >= 0) & tree.chosen[k][parents]
    first = np.where(known, 4 * rank[parents], -1)
    return np.where(known[:, None], first[:, None] + np.arange(4), -1).ravel()


def _summed_values(tree, rounds):
    """One value a cell: the mean of its measurements, or the sum of its parts."""
    values = [None] * (tree.depth + 1)
    for k in reversed(range(tree.depth + 1)):
        precision = sum(rates[k] ** 2 for _, rates in rounds)
        weighted = sum(rates[k] ** 2 * v[k] for v, rates in rounds)
        values[k] = weighted / np.where(precision > 0, precision, 1.0)
        if k < tree.depth:
            mask = tree.chosen[k]
            sums = values[k + 1].reshape(-1, tree.branching[k]).sum(axis=1)
            values[k][mask] = np.where(precision[mask] > 0, values[k][mask], sums)
    return values
