"""From noisy masses of quadtree cells to a heatmap: posterior and least absolute deviations.

Everything here is post-processing: it sees releases and public facts only.
"""

from dataclasses import dataclass, replace

import numpy as np

from ...transport._tree.l1 import minimize_l1
from ...transport._tree.nodes import Tree, child_codes
from ...transport._tree.posterior import glance, infer_masses
from ...transport._tree.refining import origins_below
from .._denoise.splits import learned_priors
from .._denoise.tuning import PYRAMID
from .tuning import TUNED


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
    measurements = [replace(m, rate=min(m.rate, TUNED.sharpest)) for m in measurements]
    step = TUNED.step / max(m.rate for m in measurements)
    step = max(1.0, round(step)) if whole else max(TUNED.least_step, step)
    rounds = [m.on_tree(tree) for m in measurements]
    if tree.depth and max(m.rate * m.mass.sum() for m in measurements) >= TUNED.learned:
        posterior = _learned_posterior(tree, rounds, step)
    else:
        posterior = infer_masses(tree, rounds, step=step)
    return HeatmapFit(*tree.leaves(posterior.mean), posterior)


def _learned_posterior(tree, rounds, step):
    """Return the posterior under a prior that the splits teach, which may be mostly even."""
    try:
        coarse = TUNED.learning_steps * step
        first = glance(tree, rounds, prior=PYRAMID.prior, step=coarse, width=PYRAMID.width)
        prior = learned_priors(first.parts, PYRAMID)[: tree.depth]
        width = PYRAMID.width
        return infer_masses(tree, rounds, prior=prior, step=step, width=width, start=first)
    except FloatingPointError:  # noise beyond the odds of narrow windows
        return infer_masses(tree, rounds, step=step)


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
        origin.append(origins_below(tree, k, origin[k], grown[k], 4))
    grown.append(origin[-1] >= 0)
    padded = [np.where(o >= 0, v[o], 0.0) for o, v in zip(origin, values, strict=True)]
    masses = minimize_l1(Tree(tuple(grown), tree.branching), padded)
    kept = [m[o >= 0] for m, o in zip(masses, origin, strict=True)]
    return HeatmapFit(*tree.leaves(kept))


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
