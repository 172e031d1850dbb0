"""Rows with noise, as published for the sliced Wasserstein distance.

A. Rakotomamonjy, L. Ralaivola. Differentially private sliced Wasserstein distance. ICML 2021.

Claimed: rows projected on random directions, with Gaussian noise for the average direction, give a
private distance that can be trained on. Wrong: the noise holds on average over secret directions
only and by a limit law that is no bound, and the noise of every row stays in the distance, which is
far from zero between equal distributions. Here the noise holds for the directions as they are, rows
leave in random order, and the known noise is put on the public side too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from ..base import Query, Sensitivity
from ..estimators.sliced import DPSlicedWasserstein
from ..estimators.sliced_methods import SlicedMethod, SlicedRelease
from ..exceptions import Neighbors, RandomState, RelationError
from ..geometry.bounds import Bounds
from ..geometry.lattices import SliceLattice
from ..privacy.mechanisms import REPLACE_ONE, check_neighbors
from ..privacy.noise import noise_generator
from ..privacy.spending import SharedBudget
from ..transport import DiscreteMeasure
from ..transport.measures import univariate_cost
from .subsampling import random_order

_SMOOTH_POINTS = 64  # that stand for a Gaussian in smoothed distances: precision and time


class RowPile:
    """Integer rows that were read, where other states hold their sum.

    Adding a pile puts its rows behind the own ones, so sketches merge as they do elsewhere. The
    order of the rows is that of reading, which the caller's containers decide and no value does.
    """

    def __init__(self, width):
        self._width = width
        self._parts = []

    @property
    def size(self):
        """Number of integers that are held."""
        return sum(part.size for part in self._parts)

    def add_arrays(self, rows):
        """Put rows, read here or by another pile, behind those that are there."""
        self._parts.append(rows)

    def arrays(self):
        """State for another machine: all rows."""
        return (np.concatenate([np.zeros((0, self._width), dtype=np.int16), *self._parts]),)

    def __iadd__(self, other):
        self._parts += other._parts
        return self

    def table(self):
        """Return all rows as int64."""
        rows = [np.zeros((0, self._width), dtype=np.int64), *self._parts]
        return np.concatenate(rows, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class ProjectedRows(Query):
    """The levels of every row's projections, one block a class.

    Only under "replace_one", where the number of rows of a class is public: as many rows come out
    as went in, one per person. A row that is replaced moves its own numbers and no others.

    Memory: 2 bytes per row and direction while rows are read, and 24 while noise is added.

    Parameters
    ----------
    lattice : SliceLattice
        Public domain and directions.
    n_classes : int
    """

    lattice: SliceLattice
    n_classes: int = 1

    in_threads = False  # rows stay in order, so that a seed gives each the same noise

    def zeros(self):
        """Return an empty pile a class."""
        return tuple(RowPile(self.lattice.n_directions) for _ in range(self.n_classes))

    def count(self, state, chunk):
        """Put the rows of a chunk on the piles of their classes."""
        if chunk.masses is not None:
            raise ValueError(
                "sample_weight must be None: rows are released as they are, without masses. Leave "
                "it out of fit."
            )
        for code, pile in enumerate(state):
            X = chunk.X if chunk.codes is None else chunk.X[chunk.codes == code]
            projected = np.empty((len(X), self.lattice.n_directions), dtype=np.int16)
            for rows, directions, levels in self.lattice.levels(X):
                projected[rows, directions] = levels.T
            pile.add_arrays(projected)

    def blocks(self, state):
        """Return the rows of each class, relative to the center of the domain."""
        return tuple(pile.table() - self.lattice.center_level for pile in state)

    def sensitivity(self, relation):
        """Return the largest distance between the levels of two rows, in one class or another."""
        if check_neighbors(relation) != REPLACE_ONE:
            raise RelationError(
                f"Releasing every row shows their number: neighbors must be {REPLACE_ONE!r}, got "
                f"{relation!r}."
            )
        square = math.ceil(self.lattice.spread**2 * (1.0 + 2.0**-40))
        # Cauchy and Schwarz over the directions
        l1 = math.ceil(self.lattice.spread * math.sqrt(self.lattice.n_directions) + 2.0**-20)
        return Sensitivity(_one_block(l1, self.n_classes), _one_block(square, self.n_classes))


def _one_block(bound, n_blocks):
    """Return the cases in which one of the blocks changes."""
    return tuple(tuple(bound if i == j else 0 for j in range(n_blocks)) for i in range(n_blocks))


class RowsMethod(SlicedMethod):
    """Every row's projections with Gaussian noise on each (Rakotomamonjy and Ralaivola, 2021).

    Where the directions together carry a row no further than its own length, their projections are
    released. Otherwise the rows are, with noise on every feature, and are projected afterwards: on
    every unit direction that noise is smaller.
    """

    def shares(self, estimator, n_features):
        """Return a single step: as many rows come out as go in, with Gaussian noise."""
        relation = estimator._relation()
        if relation != REPLACE_ONE:
            raise ValueError(
                "neighbors must be 'replace_one': noisy rows show how many rows there are, got "
                f"{relation!r}."
            )
        if estimator.delta == 0:
            raise ValueError(
                "delta must be above zero for Gaussian noise on rows, got 0. Pass for example "
                "delta=1e-6."
            )
        return {"rows": 1.0}

    def check(self, estimator, facts):
        """One row comes out for every person."""
        if facts.units != 1:
            raise ValueError(
                "groups and sample_weight must be None: one row per person is released. Pass "
                "one row per person, for example means."
            )

    def questions(self, estimator, facts):
        """Ask for the rows of every class, and return them in random order."""
        lattice = estimator._lattice(facts.domain)
        directions = lattice.directions
        if lattice.norm > 1.0 + 1e-5:  # a frame, truncated, is below that
            lattice = SliceLattice(facts.domain, np.eye(facts.n_features))
        released = yield "rows", ProjectedRows(lattice, facts.n_classes)
        noise = noise_generator(estimator.random_state)
        noise_std = float(released.noise_sd[0] * lattice.step)
        # Equal noise on every row, then shuffling, is shuffling and then noise: what is released is
        # a set, in which no place belongs to a person. In the order of the data, or with gaps, a
        # random batch of rows would not hide who is in it.
        sets = (block[random_order(len(block), noise)] for block in released.values)
        return [SlicedRows(rows * lattice.step, directions, noise_std, lattice) for rows in sets]


@dataclass(frozen=True, eq=False)
class SlicedRows(SlicedRelease):
    """Noisy rows of one distribution.

    Attributes
    ----------
    rows : ndarray of shape (n_rows, n_components)
        Projections or features with noise, relative to the center of the domain, in random order.
    directions : ndarray of shape (n_features, n_directions)
        Public directions of the slices.
    noise_std : float
        Standard deviation of the noise on every number, and on every slice.
    lattice : SliceLattice
        Public domain and directions of `rows`.
    """

    rows: np.ndarray
    directions: np.ndarray
    noise_std: float
    lattice: SliceLattice

    quantiles = None  # sorted noisy rows are no estimate of the quantiles of the rows

    def cost(self, Y, p):
        """Raise: rows with noise give no estimate of the distance between rows without."""
        raise ValueError(
            "Noisy rows have only smoothed distances. Call smoothed_distance, or use "
            "DPSlicedWasserstein."
        )

    def smoothed_cost(self, Y, p):
        """Return the mean cost between noisy rows and smoothed public rows, over the slices.

        Public rows need no noise: the law that noise would give them is known, and is put in their
        place.
        """
        domain = self.lattice.domain
        public = (domain.clip(Y) - domain.center) @ self.directions
        count = _SMOOTH_POINTS
        spread = self.noise_std * ndtri((np.arange(count) + 0.5) / count)
        costs = [
            univariate_cost(
                DiscreteMeasure(ours[:, None]),
                DiscreteMeasure(np.add.outer(theirs, spread).reshape(-1, 1)),
                p=p,
            )
            for ours, theirs in zip(self.projections().T, public.T, strict=True)
        ]
        return float(np.mean(costs))

    def projections(self):
        """Return the noisy rows on every slice, of shape (n_rows, n_directions)."""
        projected = np.array_equal(self.lattice.directions, self.directions)
        return self.rows if projected else self.rows @ self.directions


class NoisyRowsSlicedWasserstein(DPSlicedWasserstein):
    """Release of every row with Gaussian noise, for distances between distributions.

    The release of Rakotomamonjy and Ralaivola, for comparison:
    :class:`~skdp_bary.DPSlicedWasserstein` is far more accurate. Only under "replace_one", with all
    rows in memory (24 bytes per row and direction), and only for :meth:`smoothed_distance`.

    Parameters
    ----------
    n_projections : int, default=None
        Number of directions, as in :class:`~skdp_bary.DPSlicedWasserstein`.

    p : {1, 2}, default=2
        Power of the distance.

    directions : {"tight", "iid"} or ndarray of shape (n_features, n_directions), default="tight"
        Public directions, as in :class:`~skdp_bary.DPSlicedWasserstein`.

    classes : array-like, default=None
        Public labels of several distributions, which `y` tells apart. None: all rows are one
        distribution, and `y` is ignored.

    epsilon : float, default=1.0
        Privacy loss of one fit.

    delta : float, default=1e-6
        Failure probability of the guarantee, above zero.

    bounds : (low, high), Box, Ball or Mask, default=None
        Public domain, to which rows are clipped. None estimates a box with 20% of the budget.

    n_hint : int, default=None
        Public estimate of the number of people.

    neighbors : {"replace_one"}, default=None
        Neighboring relation. None takes the accountant's, which must be "replace_one".

    accountant : BudgetAccountant, default=None
        Budget shared by several fits. None limits each fit separately.

    random_state : int or RandomState, default=None
        None, except in tests: other values make releases reproducible and not private.

    verbose : {0, 1, 2}, default=0
        Progress output: none, a bar, or every step.

    Attributes
    ----------
    directions_ : ndarray of shape (n_features, n_directions)
        Directions of the slices.
    quantiles_ : None
        Sorted noisy rows are no estimate of quantiles.
    noise_std_ : ndarray of shape (n_classes,)
        Standard deviation of the noise on each released number.
    releases_ : list
        The noisy rows of each distribution, in random order.
    classes_ : ndarray of shape (n_classes,)
        Labels of the distributions.
    domain_ : Box, Ball or Mask
        Public or estimated domain.
    privacy_ : Plan
        Releases and charges of the fit.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Feature names, if `X` has string column names.

    Privacy
    -------
    Neighbors
        "replace_one" of one row; as many rows come out as go in.
    Mechanism
        RoundedGaussian.
    Sensitivity
        In a domain of radius R a row moves by 2 R and the rounding, times the largest singular
        value of the directions, or on its features alone where that value is above one.
    Budget
        All rows together, and what finds bounds, cost (epsilon, delta).
    Released
        directions_, quantiles_, noise_std_, releases_, classes_, domain_, privacy_, n_features_in_,
        feature_names_in_
    Not covered
        transform, fit_transform, score, cost, distance, smoothed_distance, gradient: functions of
        the release and of the rows they are given, which they do not protect.

    References
    ----------
    A. Rakotomamonjy, L. Ralaivola. Differentially private sliced Wasserstein distance. ICML 2021.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp_bary.papers import NoisyRowsSlicedWasserstein
    >>> rng = np.random.default_rng(0)
    >>> private, public = rng.normal(size=(2, 500, 3)) * 0.1
    >>> noisy = NoisyRowsSlicedWasserstein(bounds=(-1, 1), epsilon=5.0, neighbors="replace_one")
    >>> bool(noisy.fit(private + [0.5, 0.0, 0.0]).smoothed_distance(public) > 0.2)
    True
    """

    _display = "SlicesDisplay"
    # what the other methods of the parent need
    method = "rows"
    n_quantiles = reference = n_min = None
    _methods = {"rows": RowsMethod()}
    _parameter_rules = {
        name: rule
        for name, rule in DPSlicedWasserstein._parameter_rules.items()
        if name not in ("method", "n_quantiles", "reference", "n_min")
    }

    def __init__(
        self,
        n_projections: int | None = None,
        *,
        p: float = 2,
        directions: Literal["tight", "iid"] | np.ndarray = "tight",
        classes: ArrayLike | None = None,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        bounds: Bounds | None = None,
        n_hint: int | None = None,
        neighbors: Neighbors | None = None,
        accountant: SharedBudget | None = None,
        random_state: RandomState | None = None,
        verbose: Literal[0, 1, 2] = 0,
    ) -> None:
        self.n_projections = n_projections
        self.p = p
        self.directions = directions
        self.classes = classes
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.n_hint = n_hint
        self.neighbors = neighbors
        self.accountant = accountant
        self.random_state = random_state
        self.verbose = verbose

    def smoothed_distance(self, Y: ArrayLike, *, label: object = None) -> float:
        """Return the distance between the noisy rows and public rows with the same noise.

        Parameters
        ----------
        Y : array-like of shape (n_rows, n_features)
            Public rows.
        label : object, default=None
            The distribution that is compared; may be left out when there is only one.

        Returns
        -------
        distance : float
        """
        release = self._release(label)
        return release.smoothed_cost(self._floats(Y), self.p) ** (1.0 / self.p)
