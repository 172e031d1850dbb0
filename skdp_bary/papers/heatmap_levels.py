"""Heatmaps from cells that are kept level by level, as published, and what they were compared with.

B. Ghazi, J. He, K. Kohlhoff, R. Kumar, P. Manurangsi, V. Navalpakkam, N. Valliappan.
Differentially private heatmaps. AAAI 2023.

Claimed: noisy masses of few cells on every level, and the measure nearest to them, come near the
best map with k places in earth mover's distance, whatever the resolution. Wrong: nothing in the
proof, but it draws real numbers, whose last bits tell counts apart on a computer, and the budget of
levels far too fine to be seen is lost, so maps have two to three times the error of the default of
:class:`~skdp_bary.PrivateEMDHeatmap`. Here masses and noise are integers, only the cells that are
looked at get noise, which has the same law, and the linear program is solved exactly in near-linear
time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..base import Integer, Number, Option
from ..estimators.heatmap import (
    HeatmapFit,
    HeatmapMethod,
    HeatmapSetting,
    PrivateEMDHeatmap,
    measure,
)
from ..exceptions import Neighbors, RandomState
from ..geometry.bounds import Bounds
from ..privacy.spending import SharedBudget
from ..queries.cells import MAX_GRID_DEPTH, Partition
from ..transport.trees import Tree, child_codes

_MAX_DENSE_DEPTH = 12  # methods that measure every cell of a grid stop here: 2**24 cells
_DECAY = 2.0**-0.5  # budget of a level over that of the level above: best in the bound

# The histogram engine works on blocks of cells by slopes, the segment engine on lists: the first
# is taken while its blocks are at most this many times the cells listed, or small in any case.
_BLOCK_FACTOR = 8
_SMALL_BLOCK = 2**16


@dataclass(frozen=True)
class LevelSetting(HeatmapSetting):
    """Public facts, and how many cells are kept.

    Attributes
    ----------
    n_kept : int
    top_share : float
    """

    n_kept: int
    top_share: float


class SelectedCells(HeatmapMethod):
    """Algorithms 1 and 2: the children of the largest cells of a level, level by level.

    Every level is its own step, and asks about what the steps before kept.
    """

    def shares(self, setting):
        """Return a geometric schedule from the finest level that may be kept whole."""
        first = self.first_level(setting)
        return {
            f"level_{level}": _DECAY ** (level - first) for level in range(first, setting.depth + 1)
        }

    def first_level(self, setting):
        """Return the finest level that has at most as many cells as are kept."""
        return min(int(math.log2(setting.n_kept) / 2.0 + 1e-12), setting.depth)

    def questions(self, setting, facts):
        """Ask for the children of the cells kept on the level above."""
        first = self.first_level(setting)
        cells, measurements = Partition.complete(setting.depth, first), []
        for level in range(first, setting.depth + 1):
            (here,) = yield from measure(setting, facts, f"level_{level}", cells)
            measurements.append(here)
            if level < setting.depth:
                codes = child_codes(here.code[top_cells(here.mass, setting.n_kept)])
                cells = Partition(setting.depth, np.full(len(codes), level + 1), codes)
        return measurements

    def rebuild(self, setting, measurements):
        """Return the nearest measure to the masses of the kept cells, 0 for all others."""
        masses = tuple(m.mass for m in measurements)
        chosen = tuple(top_cells(m, setting.n_kept) for m in masses)
        tree = Tree(chosen, (4,) * (len(chosen) - 1), self.first_level(setting))
        return HeatmapFit(*tree.leaves(minimize_l1(tree, masses)))


class FullLevel(HeatmapMethod):
    """Appendix D: all cells of side about ``1 / sqrt(epsilon * n)``, then the nearest measure.

    Nearest on this level and all above, whose masses are sums of those measured.
    """

    needs_size = True

    def shares(self, setting):
        """Return the one step."""
        return {"cells": 1.0}

    def questions(self, setting, facts):
        """Ask for one full level."""
        level = math.log2(max(setting.size * setting.epsilon / setting.reach, 1.0)) / 2.0
        level = min(round(level), setting.depth, _MAX_DENSE_DEPTH)
        whole = Partition.complete(setting.depth, level)
        return (yield from measure(setting, facts, "cells", whole))

    def rebuild(self, setting, measurements):
        """Return the masses of least absolute deviation on all levels."""
        (whole,) = measurements
        values = [whole.mass]
        while len(values[0]) > 1:
            values.insert(0, values[0].reshape(-1, 4).sum(axis=1))
        masses = minimize_l1(Tree.complete(len(values) - 1), values)
        return HeatmapFit(whole.level, whole.code, masses[-1])


class EveryCell(HeatmapMethod):
    """The baseline: noise on every cell of the grid, negative masses set to zero."""

    def shares(self, setting):
        """Return the one step."""
        if setting.depth > _MAX_DENSE_DEPTH:
            raise ValueError(
                f"resolution must be at most {2**_MAX_DENSE_DEPTH} where every cell is measured, "
                f"got {2**setting.depth}."
            )
        return {"cells": 1.0}

    def questions(self, setting, facts):
        """Ask for all cells of the grid."""
        whole = Partition.complete(setting.depth, setting.depth)
        return (yield from measure(setting, facts, "cells", whole))

    def rebuild(self, setting, measurements):
        """Return positive noisy masses as they are."""
        (last,) = measurements
        kept = self._kept(setting, last.mass)
        return HeatmapFit(last.level[kept], last.code[kept], np.maximum(last.mass[kept], 0.0))

    def _kept(self, setting, masses):
        return np.ones(len(masses), dtype=bool)


class LargestCells(EveryCell):
    """The baseline with a threshold: only the cells with the largest noisy masses are kept."""

    def _kept(self, setting, masses):
        return top_cells(masses, max(1, math.ceil(setting.top_share * len(masses))))


class LevelwiseEMDHeatmap(PrivateEMDHeatmap):
    """Private heatmap by the methods of Ghazi et al. (2023), for comparison.

    :class:`~skdp_bary.PrivateEMDHeatmap` is more accurate in all but one case: where every person
    has one row and epsilon is above about 5, integer noise on every cell is mostly zero.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy loss of one fit.

    delta : float, default=0.0
        Must be 0: the guarantee is pure, with Laplace noise.

    bounds : (low, high), Box, Ball or Mask
        Public map, in the units of the rows. Rows outside carry no mass. It must be given.

    resolution : int, default=256
        Cells of the map along each side, a power of two.

    bandwidth : float, default=1/32
        Standard deviation of the blur of the heatmap, in units of the side of the map.

    method : {"paper", "dense", "laplace", "topk"}, default="paper"
        - "paper": Algorithms 1 and 2, on each level the children of the largest cells of the level
          above, and the masses of least weighted absolute deviation;
        - "dense": Appendix D, one level with about ``n * epsilon`` cells;
        - "laplace": noise on every cell of the grid;
        - "topk": the same, of which the cells with the largest masses are kept.

    n_kept : int, default=20
        Cells kept on each level, for "paper".

    top_share : float, default=0.01
        Share of the cells that is kept, for "topk".

    n_hint : int, default=None
        Public estimate of the number of people. None: "dense" takes a noisy count with 5% of the
        budget under "add_remove"; the other methods do without.

    neighbors : {"add_remove", "replace_one", "replace_any"}, default=None
        Neighboring relation. None takes the accountant's, by default "add_remove".

    accountant : BudgetAccountant, default=None
        Budget shared by several fits. None limits each fit separately.

    random_state : int or RandomState, default=None
        None, except in tests: other values make releases reproducible and not private.

    verbose : {0, 1, 2}, default=0
        Progress output: none, a bar, or every step.

    Attributes
    ----------
    heatmap_ : ndarray of shape (side, side)
        The blurred heatmap, which sums to 1.
    cells_ : HeatmapCells
        Level, code, corners and mass (in people) of the cells of the release.
    coreset_ : DiscreteMeasure
        Their middles, weighted by mass. For "paper" with `n_kept` of order k Corollary A.1 bounds
        what k centers cost on it next to what they cost the people.
    total_ : float
        Mass of the cells, in people; "laplace" and "topk" keep too many.
    measurements_ : list of Measurement
        The noisy masses.
    grid_ : QuadGrid
        The grid of the map.
    domain_ : Box, Ball or Mask
        The map.
    privacy_ : Plan
        Releases and charges of the fit.
    n_features_in_ : int
        Number of features, 2.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Feature names, if `X` has string column names.

    Privacy
    -------
    Neighbors
        The relation in ``neighbors``; "add_remove" of one person unless stated.
    Mechanism
        DiscreteLaplace
    Sensitivity
        As of :class:`~skdp_bary.PrivateEMDHeatmap`: the cells of a step are disjoint, so its
        masses move by 1 in L1 when a person joins and by 2 when one is replaced. An estimated
        count moves by 1.
    Budget
        The steps of a fit share epsilon: for "paper" one per level, each with ``1 / sqrt(2)`` of
        the share of the level above.
    Released
        heatmap_, cells_, coreset_, total_, measurements_, grid_, domain_, privacy_,
        n_features_in_, feature_names_in_
    Not covered
        score_samples, score, transform, fit_transform: exact functions of their input.

    References
    ----------
    B. Ghazi, J. He, K. Kohlhoff, R. Kumar, P. Manurangsi, V. Navalpakkam, N. Valliappan.
    Differentially private heatmaps. AAAI 2023.

    Examples
    --------
    >>> from skdp_bary.datasets import CITY_BOUNDS, make_city_checkins
    >>> from skdp_bary.papers import LevelwiseEMDHeatmap
    >>> X, people = make_city_checkins(n_people=500, random_state=0)
    >>> city = LevelwiseEMDHeatmap(epsilon=1.0, bounds=CITY_BOUNDS).fit(X, groups=people)
    >>> [step.name for step in city.privacy_.steps][0], len(city.privacy_.steps)
    ('level_2', 7)
    """

    _fewest_steps = 'method="laplace"'
    _methods = {
        "paper": SelectedCells(),
        "dense": FullLevel(),
        "laplace": EveryCell(),
        "topk": LargestCells(),
    }
    _parameter_rules = PrivateEMDHeatmap._parameter_rules | {
        "method": Option(tuple(_methods)),
        "n_kept": Integer(1, 2**MAX_GRID_DEPTH),
        "top_share": Number(0.0, 1.0, open_low=True),
    }

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 0.0,
        bounds: Bounds | None = None,
        resolution: int = 256,
        bandwidth: float = 1 / 32,
        *,
        method: Literal["paper", "dense", "laplace", "topk"] = "paper",
        n_kept: int = 20,
        top_share: float = 0.01,
        n_hint: int | None = None,
        neighbors: Neighbors | None = None,
        accountant: SharedBudget | None = None,
        random_state: RandomState | None = None,
        verbose: Literal[0, 1, 2] = 0,
    ) -> None:
        super().__init__(
            epsilon,
            delta,
            bounds,
            resolution,
            bandwidth,
            method=method,
            n_hint=n_hint,
            neighbors=neighbors,
            accountant=accountant,
            random_state=random_state,
            verbose=verbose,
        )
        self.n_kept = n_kept
        self.top_share = top_share

    def _method_setting(self, size, units):
        known = vars(super()._method_setting(size, units))
        return LevelSetting(**known, n_kept=self.n_kept, top_share=self.top_share)


def top_cells(values, w):
    """Return the mask of the `w` largest values; of equal ones, those that come first."""
    chosen = np.ones(len(values), dtype=bool)
    if w < len(values):
        chosen[np.argsort(-values, kind="stable")[w:]] = False
    return chosen


# Exact least absolute deviations on a tree of cells, by slope histograms.
#
# The problem is ``min_{s >= 0} || y - P s ||_1``: s is a mass on the finest cells, P the scaled
# pyramidal transform (row of cell c at level i: 2**-i times the mass of s inside c), y the scaled
# measurements of the chosen cells and 0 for every other cell of the levels listed.
#
# Let f_c(m) be the smallest cost of the cell c and all below it when c holds mass m. In units of
# the weight of the last level l, the weight of level i is b_i = 2**(l - i), and
#
# - f is convex and piecewise linear: a list of (slope, length), the last segment without end;
# - for a chosen cell, f(m) = b_i |a - m| + g(m) with g the infimal convolution of its children's f,
#   that is, their segments merged in the order of their slopes;
# - adding b_i |a - m| lowers the slopes before a by b_i and raises those after a by b_i;
# - the slope of a left-out cell is b_i + ... + b_l, the same as that of the endless segment of a
#   chosen cell: all mass inside it is a deviation from 0 in each of these levels;
# - b_i exceeds the sum of all finer weights, so the smallest value of f is at m = max(a, 0).
#
# So the slopes at level i are odd integers between -(2 b_i - 1) and 2 b_i - 1, a cell is a
# histogram of lengths over them, merging is addition and the absolute value cuts a histogram in
# two. Going down, a cell fills its children's segments in the order of their slopes.


def minimize_l1(tree, values):
    """Masses of least weighted absolute deviation from measurements of the chosen cells.

    Minimizes the sum of ``2**-i |value - mass|`` over the chosen cells of all levels i, plus the
    sum of ``2**-i mass`` over the other cells of all levels down to the last, over non-negative
    masses on the cells of the last level.

    Parameters
    ----------
    tree : Tree
        Level k of the tree has weight ``2**-(top + k)``.
    values : sequence of ndarray
        Measured masses, not scaled; those of left-out cells are ignored.

    Returns
    -------
    masses : tuple of ndarray
        Mass of every cell listed. Of all optimal solutions, the one that spreads ties evenly: what
        costs the same in several children is shared in proportion to how much of it each can
        take, and what would cost the same everywhere goes to the left-out children in equal parts
        (to all children where none is left out), uniformly inside each.

    Notes
    -----
    The time is that of sorting the chosen cells below each level; for a complete tree it is linear
    in the number of cells.
    """
    values = tree.check(values, "values")
    clipped = [np.maximum(v[mask], 0.0) for v, mask in zip(values, tree.chosen, strict=True)]
    blocks = [tree.sizes[k + 1] * (2 ** (tree.depth - k) - 1) for k in range(tree.depth)]
    if sum(blocks) <= max(_BLOCK_FACTOR * sum(tree.sizes), _SMALL_BLOCK):
        return _minimize_by_histograms(tree, clipped)
    return _minimize_by_segments(tree, clipped)


def _minimize_by_histograms(tree, targets):
    histograms = [None] * tree.depth
    own = targets[-1][None]
    for k in reversed(range(tree.depth)):
        # shape (slopes, parents, children); left-out children have no segments
        if own.shape[1] < tree.sizes[k + 1]:
            listed, own = own, np.zeros((len(own), tree.sizes[k + 1]))
            own[:, tree.chosen[k + 1]] = listed
        histograms[k] = own.reshape(len(own), -1, tree.branching[k])
        if k:
            own = _cut(_sum_last(histograms[k]), targets[k])
    masses = [_place_roots(tree, targets)]
    for k, histogram in enumerate(histograms):
        mass = masses[k][tree.chosen[k]]
        lengths = _sum_last(histogram)
        filled = _fill(lengths, mass)
        shares = np.divide(filled, lengths, out=np.zeros_like(lengths), where=lengths > 0)
        children = np.einsum("snb,sn->nb", histogram, shares)
        rest = np.maximum(mass - lengths.sum(axis=0), 0.0)
        masses.append((children + _rest_shares(tree, k) * rest[:, None]).ravel())
    return tuple(masses)


def _sum_last(histogram):
    """Sum over the children; additions of slices are faster than a reduction over a short axis."""
    total = histogram[..., 0].copy()
    for child in range(1, histogram.shape[2]):
        total += histogram[..., child]
    return total


def _fill(lengths, mass):
    """Length of each slope that is used when `mass` is poured in, lowest slope first."""
    room = mass - lengths.cumsum(axis=0)
    room += lengths
    return np.minimum(np.maximum(room, 0.0, out=room), lengths, out=room)


def _cut(lengths, target):
    """Add the absolute deviation from `target`: slopes before it go down, those after it up."""
    n_slopes = len(lengths)
    cut = np.empty((2 * n_slopes + 1, len(target)))
    cut[:n_slopes] = _fill(lengths, target)
    np.maximum(target - lengths.sum(axis=0), 0.0, out=cut[n_slopes])
    np.subtract(lengths, cut[:n_slopes], out=cut[n_slopes + 1 :])
    return cut


def _place_roots(tree, targets):
    roots = np.zeros(tree.sizes[0])
    roots[tree.chosen[0]] = targets[0]
    return roots


def _rest_shares(tree, k):
    """Division of the mass beyond all segments among the children."""
    left_out = ~tree.chosen[k + 1].reshape(-1, tree.branching[k])
    left_out[left_out.sum(axis=1) == 0] = True
    return left_out / left_out.sum(axis=1, keepdims=True)


def _minimize_by_segments(tree, targets):
    steps = _merge_up(tree, targets)
    masses = [_place_roots(tree, targets)]
    for k, (parent, child, starts, lengths) in enumerate(steps):
        mass = masses[k][tree.chosen[k]]
        n_parents, n_children = len(mass), tree.sizes[k + 1]
        tied = np.add.reduceat(lengths, starts) if len(starts) else lengths
        of_group = parent[starts]
        filled = _fill_segments(of_group, tied, mass)
        shares = np.repeat(filled / tied, np.diff(starts, append=len(lengths)))
        children = np.bincount(child, shares * lengths, minlength=n_children)
        rest = np.maximum(mass - np.bincount(of_group, tied, minlength=n_parents), 0.0)
        masses.append(children + (_rest_shares(tree, k) * rest[:, None]).ravel())
    return tuple(masses)


def _merge_up(tree, targets):
    """For each step: the segments of the children by parent and slope, and where ties start."""
    steps = [None] * tree.depth
    cell = np.flatnonzero(targets[-1])
    slope, length = np.full(len(cell), -1), targets[-1][cell]
    for k in reversed(range(tree.depth)):
        child = np.flatnonzero(tree.chosen[k + 1])[cell]
        weight = 2 ** (tree.depth - k)
        key = child // tree.branching[k] * (2 * weight) + slope
        order = np.argsort(key, kind="stable")
        child, slope, length, key = child[order], slope[order], length[order], key[order]
        parent = child // tree.branching[k]
        starts = np.flatnonzero(np.diff(key, prepend=np.iinfo(np.int64).min))
        steps[k] = parent, child, starts, length
        before = _fill_segments(parent, length, targets[k])
        beyond = targets[k] - np.bincount(parent, length, minlength=len(targets[k]))
        slope = np.concatenate([slope - weight, slope + weight, np.full(len(beyond), -1)])
        length = np.concatenate([before, length - before, beyond])
        keep = length > 0
        cell = np.concatenate([parent, parent, np.arange(len(beyond))])[keep]
        slope, length = slope[keep], length[keep]
    return steps


def _fill_segments(parent, lengths, mass):
    """As `_fill`, for segments in the order of parent and slope."""
    before = np.cumsum(lengths) - lengths
    first = np.flatnonzero(np.diff(parent, prepend=-1))
    before -= np.repeat(before[first], np.diff(first, append=len(parent)))
    return np.clip(mass[parent] - before, 0.0, lengths)
