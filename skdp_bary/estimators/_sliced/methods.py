"""Ways to release what is needed about the slices of k distributions: their one signature.

The table of methods by name, ``_methods``, is in the class of the estimator.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ...geometry._directions import public_directions
from ...geometry._slices import SliceLattice
from .sizes import require_sizes


@dataclass(frozen=True, eq=False)
class SlicedSetting:
    """Public facts that a method may use.

    Attributes
    ----------
    n_features, n_classes, n_directions : int
    relation : str
    directions : str or ndarray of shape (n_features, n_directions)
    n_quantiles : int or None
    p : int
    reference : array-like or None
    n_min : tuple of int or None
        Numbers of persons that the classes are padded to, where they are given.
    n_hint : int or None
    delta : float
    random_state : None, int or RandomState
    """

    n_features: int
    n_classes: int
    n_directions: int
    relation: str
    directions: str | np.ndarray
    n_quantiles: int | None
    p: int
    reference: object
    n_min: tuple | None
    n_hint: int | None
    delta: float
    random_state: object

    def lattice(self, domain):
        """Return the lattice of the directions in a domain."""
        columns = public_directions(self.directions, self.n_directions, self.n_features)
        return SliceLattice(domain, columns)


class SlicedMethod(ABC):
    """What is released about slices.

    A method reads public parameters and its own releases, never a row.
    """

    @abstractmethod
    def shares(self, setting):
        """Return the share of the budget of each step, by name and in order.

        ValueError where this method cannot keep what the parameters ask for.
        """

    def check(self, setting, facts):
        """Raise ValueError where public facts about the rows do not allow this method.

        Called before anything is charged, with the facts that were given. Sizes must be known:
        public, given or estimated.
        """
        require_sizes(setting, facts)

    @abstractmethod
    def questions(self, setting, facts):
        """Ask, and return one SlicedRelease a class, in the order of the classes."""


class SlicedRelease(ABC):
    """What was released about the slices of one distribution.

    Attributes
    ----------
    directions : ndarray of shape (n_features, n_directions)
        Public directions of the slices, as they were used: rows project as ``X @ directions``.
    quantiles : ndarray of shape (n_directions, n_quantiles) or None
        Noisy means of the sorted projections over blocks of equal mass; None where none are
        released.
    noise_std : float
        Standard deviation of the noise on every released number.
    """

    @abstractmethod
    def cost(self, Y: ArrayLike, p: int) -> tuple[float, float]:
        """Return an estimate of the p-th power of the distance to public rows, and its error.

        Returns
        -------
        cost : float
            For ``p=2`` free of the bias that noise brings, and so possibly below zero.
        std : float
            Standard deviation that the noise gives to `cost`.
        """

    def cost_between(self, other: SlicedRelease, p: int) -> tuple[float, float]:
        """Return the same as `cost` for another release, where two of them can be compared."""
        raise ValueError(f"A {type(self).__name__} cannot be compared with another release.")
