"""The sliced transport cost from rows to a public reference, as one number a class."""

import math
from dataclasses import dataclass

import numpy as np

from ...geometry._slices import SliceLattice
from .histogram import ProjectedHistogram

_LIMB_BITS = 21  # limbs of a mass; times a squared level and summed they stay below 2**62
_SHIFTS = (0, _LIMB_BITS, 2 * _LIMB_BITS)
_LARGEST_ANSWER = 1 << 61  # leaves 64-bit integers room for noise


@dataclass(frozen=True, eq=False)
class ProjectedCost(ProjectedHistogram):
    """Sum over the directions of the exact cost between projected rows and a public reference.

    Both sides are distributions on the same levels, of any two masses; the cost is that of the
    monotone coupling.

    Parameters
    ----------
    reference : ndarray of int64 of shape (n_directions, n_levels)
        Histogram of the public reference on the same lattice.
    p : {1, 2}, default=1
        Power of the distance between levels.

    Notes
    -----
    Let a row be replaced by another that has a part ``a`` of the mass. The plan before, with the
    row's part redirected, is a plan after it, so the cost changes by at most ``a`` times the
    change of the cost of the redirected row against what it was coupled with.

    For ``p=1`` that is at most the L1 distance between two vectors of levels. For ``p=2``, with v
    and w the centered levels before and after and y the mean of the reference's levels that v was
    coupled with, it is ``|w - y|**2 - |v - y|**2``, at most ``(|w| + |y|)**2`` and at most
    ``|w|**2 + 2 |v - w| |y|``.
    """

    reference: np.ndarray | None = None
    p: int = 1

    @property
    def shape(self):
        """One number."""
        return (1,)

    def cost(self, number, persons):
        """Return the mean cost over the directions, from the answer of a class."""
        return number / persons * self.unit

    @property
    def unit(self):
        """What a cost of one between levels, in one direction, adds to the mean."""
        return self.lattice.step**self.p / self.lattice.n_directions

    def _answer(self, histogram, mass):
        """Return the cost in units of the product of the two masses.

        Refused is a public number of persons alone: where it is private, the answer counts `n_min`
        of them, which was checked before the charge.
        """
        if self.n_min is None and mass > self.units * most_persons(len(histogram), self.p):
            raise ValueError("X has too many rows for costs in 64 bits.")
        theirs = int(self.reference[0].sum())
        total = sum(
            coupling_cost(ours, mass, other, theirs, self.p)
            for ours, other in zip(histogram, self.reference, strict=True)
        )
        return np.array([total], dtype=object), mass * theirs

    def _change(self):
        """Return the bounds of the notes; a single number has one norm."""
        lattice = self.lattice
        if self.p == 1:
            bound = math.sqrt(lattice.n_directions) * lattice.spread
        else:
            filled = self.reference > 0
            levels = np.arange(lattice.n_levels) - lattice.center_level
            farthest = np.where(filled, np.abs(levels), 0).max(axis=1)
            length = math.sqrt(float((farthest.astype(np.float64) ** 2).sum()))
            bound = min(
                (lattice.reach + length) ** 2, lattice.reach**2 + 2.0 * lattice.spread * length
            )
        return bound, bound


def most_persons(n_directions, p):
    """Return the largest number of persons for whom any cost fits an answer.

    A person is at most all levels apart from the reference in every direction.
    """
    return (_LARGEST_ANSWER - 1) // (n_directions * (SliceLattice.n_levels - 1) ** p)


def coupling_cost(first, first_mass, second, second_mass, p):
    """Return the cost of the monotone coupling of two histograms, times both masses, exactly.

    Parameters
    ----------
    first, second : ndarray of int64 of shape (n_levels,)
        Masses by level.
    first_mass, second_mass : int
        Their sums.
    p : {1, 2}
        Power of the difference between levels.
    """
    wide = first_mass * second_mass >= 1 << 62
    dtype = object if wide else np.int64
    places = [np.flatnonzero(side) for side in (first, second)]
    ours = np.cumsum(first[places[0]]).astype(dtype) * second_mass
    theirs = np.cumsum(second[places[1]]).astype(dtype) * first_mass
    ends = np.sort(np.concatenate([ours, theirs]))
    moved = np.diff(ends, prepend=0)
    one = places[0][np.searchsorted(ours, ends)]
    other = places[1][np.searchsorted(theirs, ends)]
    return _exact_dot(moved, np.abs(one - other) ** p)


def _exact_dot(masses, values):
    """Return the dot product of masses and integers up to 2**24 as a Python integer."""
    if masses.dtype == object:
        return int(masses @ values.astype(object))
    limbs = [(masses >> shift) & ((1 << _LIMB_BITS) - 1) for shift in _SHIFTS]
    return sum(int(limb @ values) << shift for limb, shift in zip(limbs, _SHIFTS, strict=True))
