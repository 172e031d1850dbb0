"""What every way to measure a heatmap has: public facts, steps, questions, and how it rebuilds."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from ...summaries.trees.disjoint_counts import DisjointCounts
from ...summaries.trees.divisions import GridDivision
from ...summaries.trees.partition import QuadGrid
from .._denoise.measurements import Measurement
from .fit import HeatmapFit, fit_l1, fit_posterior


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
        Public or estimated number of persons.
    n_kept : int
    top_share : float
    whole : bool
        Whether masses are whole persons.
    reach : int
        How many persons a neighbor can move: 1 when one is added or removed, else 2.
    """

    depth: int
    finest: int
    epsilon: float
    size: int | None
    n_kept: int
    top_share: float
    whole: bool
    reach: int


class HeatmapMethod(ABC):
    """One way to measure a heatmap and to rebuild it."""

    needs_size = False
    max_depth = None
    reconstruction = "posterior"

    @abstractmethod
    def shares(self, setting):
        """Return the share of the budget of each step, by name and in order."""

    @abstractmethod
    def questions(self, setting, facts):
        """Ask for masses of cells, and return the list of Measurement."""

    def rebuild(self, reconstruction, setting, measurements):
        """Return the :class:`HeatmapFit` of the measurements.

        `reconstruction` is "posterior", "l1" or, for methods with one of their own, "clip".
        """
        if reconstruction == "posterior":
            return fit_posterior(measurements, whole=setting.whole)
        if reconstruction == "l1":
            return fit_l1(measurements)
        return self._clip(setting, measurements)

    def _clip(self, setting, measurements):
        """Return positive noisy masses as they are: the finest cells measured."""
        last = measurements[-1]
        return HeatmapFit(last.level, last.code, np.maximum(last.mass, 0.0))


def measure(setting, facts, name, *partitions):
    """Ask for the masses of partitions in one step, and return a Measurement of each."""
    cells = GridDivision(QuadGrid(facts.domain, setting.depth), partitions)
    released = yield name, DisjointCounts(cells, facts.units)
    return [
        Measurement(cells.levels, cells.codes, values / facts.units, facts.units / scale)
        for cells, values, scale in zip(partitions, released.values, released.scales, strict=True)
    ]
