"""Queries and reconstruction of heatmaps: a coarse look, closer looks, posterior."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace

import numpy as np

from ..queries.cells import DisjointCounts, GridDivision, Partition, QuadGrid
from ..transport.tree_posterior import glance, infer_masses
from ..transport.trees import Tree, child_codes, refine
from .noisy_means import PYRAMID
from .noisy_trees import Measurement
from .pyramid import learned_priors

# What every way to measure a heatmap has: public facts, steps, questions, and how it rebuilds.


@dataclass(frozen=True)
class HeatmapSetting:
    """Public facts that a method may use.

    Attributes
    ----------
    depth : int
        The grid has ``2**depth`` rows and columns.
    finest : int
        The level beyond which cells are too small to be seen after blurring.
    epsilon : float
        Budget of all steps of the method together.
    size : int or None
        Public or estimated number of people.
    whole : bool
        Whether masses are whole people.
    reach : int
        Number of people that a neighbor can move: 1 when one is added or removed, else 2.
    """

    depth: int
    finest: int
    epsilon: float
    size: int | None
    whole: bool
    reach: int


class HeatmapMethod(ABC):
    """One way to measure a heatmap and to rebuild it."""

    needs_size = False

    @abstractmethod
    def shares(self, setting):
        """Return the share of the budget of each step, by name and in order."""

    @abstractmethod
    def questions(self, setting, facts):
        """Ask for masses of cells, and return the list of Measurement."""

    def rebuild(self, setting, measurements):
        """Return the :class:`HeatmapFit` of the measurements."""
        return fit_posterior(measurements, whole=setting.whole)


def measure(setting, facts, name, *partitions):
    """Ask for the masses of partitions in one step, and return a Measurement of each."""
    cells = GridDivision(QuadGrid(facts.domain, setting.depth), partitions)
    released = yield name, DisjointCounts(cells, facts.units)
    return [
        Measurement(cells.levels, cells.codes, values / facts.units, facts.units / scale)
        for cells, values, scale in zip(partitions, released.values, released.scales, strict=True)
    ]


# Looking closely where a coarse look found masses: in two rounds, or in one at a public level.

_FINEST_LEVEL = 8  # of one look: time


@dataclass(frozen=True)
class AdaptiveMethod(HeatmapMethod):
    """A coarse look with one third of the budget, then cells where it showed mass with the rest."""

    def shares(self, setting):
        """Return a third for the coarse look, two thirds for the fine one."""
        return {"coarse": 1.0, "fine": TUNED.fine_share}

    def questions(self, setting, facts):
        """Ask for a full level, then for cells refined where it shows mass."""
        level = Partition.complete(setting.depth, self.first_level(setting))
        coarse = yield from measure(setting, facts, "coarse", level)
        rate = facts.mechanisms["fine"].epsilon / setting.reach
        fine = yield from measure(setting, facts, "fine", self.fine_cells(setting, coarse, rate))
        return coarse + fine

    def fine_cells(self, setting, coarse, rate):
        """Return cells as fine as the masses of a coarse look, for noise of a rate."""
        fit = fit_posterior(coarse, whole=setting.whole)
        tree = refine(
            covering_tree(coarse), fit.posterior.mean, TUNED.threshold / rate, (4,) * setting.finest
        )
        levels, codes, _ = tree.leaves([np.zeros(n) for n in tree.sizes])
        return Partition(setting.depth, levels, codes)

    def first_level(self, setting):
        """Return the level of the first look, from public numbers alone."""
        level = TUNED.coarse
        if setting.size is not None:
            known = setting.size * setting.epsilon / setting.reach
            level += int(known > TUNED.large) - int(known < TUNED.small)
        return min(level, setting.finest)


@dataclass(frozen=True)
class OneShotMethod(HeatmapMethod):
    """Two full levels at once, of which the finer has about two cells per person and epsilon."""

    needs_size = True

    def shares(self, setting):
        """Return the one step."""
        return {"levels": 1.0}

    def questions(self, setting, facts):
        """Ask for two levels, two apart."""
        fine = self.fine_level(setting)
        # not level 0: where a person is replaced, noise on the total would protect nothing
        levels = sorted({max(fine - TUNED.apart, 1), fine})
        whole = [Partition.complete(setting.depth, level) for level in levels]
        return (yield from measure(setting, facts, "levels", *whole))

    def fine_level(self, setting):
        """Return the level of the finer partition, from the public size."""
        known = setting.size * setting.epsilon / setting.reach
        level = math.log(max(TUNED.cells_a_person * known, 1.0), 4)
        return int(min(max(round(level), 2), setting.finest, _FINEST_LEVEL))


# From noisy masses of quadtree cells to a heatmap: the posterior of the masses.


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
        Masses, in people.
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
        Whether true masses are whole people.
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
        first = glance(tree, rounds, prior=PYRAMID.prior, step=step, width=PYRAMID.width)
        prior = learned_priors(first.parts, PYRAMID)[: tree.depth]
        width = PYRAMID.width
        return infer_masses(tree, rounds, prior=prior, step=step, width=width, start=first)
    except FloatingPointError:  # noise beyond the odds of narrow windows
        return infer_masses(tree, rounds, step=step)


# The tuned numbers of heatmaps, and what each of them trades.


@dataclass(frozen=True)
class HeatmapTuning:
    """Chosen on the populations of ``benchmarks/heatmap/quality.py``.

    None of them changes what is guaranteed: they choose which cells are asked about, and how finely
    is computed with the answers.
    """

    # the coarse look and the fine one
    coarse: int = 3  # level of the first look: cells that hold enough against detail
    small: float = 60.0  # persons times epsilon below which it is one level coarser
    large: float = 2000.0  # ... and above which it is one level finer
    threshold: float = 3.0  # scales of noise for which a cell is split: detail against noise
    fine_share: float = 2.0  # of the fine look, where the coarse one gets 1

    # one look
    cells_a_person: float = 2.0  # of the finer level, for each epsilon: detail against noise
    apart: int = 2  # levels between the two that are asked for

    # posterior
    step: float = 0.35  # of the grid of masses, in scales of the noise: precision against time
    least_step: float = 0.2  # ... and in persons
    sharpest: float = 100.0  # rate of noise that is believed: that grid rounds parts of persons
    learned: float = 50.0  # scales of noise in the total from which splits teach a prior


TUNED = HeatmapTuning()
