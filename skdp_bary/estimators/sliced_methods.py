"""Ways to release the slices of k distributions: sketches of quantiles, or one cost."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_array

from ..exceptions import check_integer
from ..geometry.lattices import SliceLattice, public_directions
from ..geometry.linear_maps import MatrixMap
from ..privacy.noise import public_generator
from ..queries.slices import ProjectedCost, ProjectedQuantiles, most_persons
from ..transport.measures import fit_particles, monotone_rows
from .comparison import TUNED, padded_sizes, persons_counted, require_sizes, size_shares

if TYPE_CHECKING:
    from ..exceptions import RandomState


# Ways to release what is needed about the slices of k distributions: their one signature.


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
        Numbers of people that the classes are padded to, where they are given.
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
    """Statistics of slices to release.

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
    """Release about the slices of one distribution.

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


# The quantile sketch: project, sort, average in blocks, then add noise, once.

MOST_QUANTILES = 1 << 12


class SketchMethod(SlicedMethod):
    """Noisy block means of the sorted projections, which serve any number of distances."""

    def shares(self, setting):
        """Return the sketch, and before it the sizes of the classes where they are needed.

        Gaussian noise alone fits numbers of which one person moves many.
        """
        if setting.delta == 0:
            raise ValueError(
                "delta must be above zero for method='sketch', which adds Gaussian noise; "
                "method='scalar' has pure privacy."
            )
        return size_shares(setting) | {"sketch": 1.0}

    def questions(self, setting, facts):
        """Ask for sizes that are not known, then for the quantiles of every class."""
        n_min = yield from padded_sizes(setting, facts)
        lattice = setting.lattice(facts.domain)
        n_quantiles = setting.n_quantiles
        if n_quantiles is None:
            n_quantiles = _block_count(setting, facts, n_min, lattice.norm)
        query = ProjectedQuantiles(lattice, n_min, facts.n_classes, facts.units, n_quantiles)
        released = yield "sketch", query
        center = lattice.projected_center[:, None]
        return [
            SlicedSketch(
                query.means(released.values[-1][code], persons) + center,
                float(released.noise_sd[-1] * lattice.step / persons),
                query,
                persons,
            )
            for code, persons in enumerate(persons_counted(released, n_min, facts))
        ]


def _block_count(setting, facts, n_min, norm):
    """Return a number of blocks by public facts: their noise and their width kept in balance."""
    if setting.n_hint is not None or n_min is None:
        persons = facts.size / facts.n_classes
    else:
        persons = min(n_min)
    balance = math.sqrt(persons * facts.mechanisms["sketch"].mu / (2.0 * norm))
    return int(np.clip(round(balance), TUNED.fewest_quantiles, TUNED.most_quantiles))


@dataclass(frozen=True, eq=False)
class SlicedSketch(SlicedRelease):
    """Noisy quantiles of the slices of one distribution.

    Attributes
    ----------
    quantiles : ndarray of shape (n_directions, n_quantiles)
        Means of the sorted projections over blocks of equal mass, with noise.
    noise_std : float
        Standard deviation of the noise on each of them.
    query : ProjectedQuantiles
        The public question that was asked.
    persons : float
        Number of people the noise was made for: a public or an estimated number.
    """

    quantiles: np.ndarray
    noise_std: float
    query: ProjectedQuantiles
    persons: float

    @property
    def directions(self) -> np.ndarray:
        """Public directions of the slices."""
        return self.query.lattice.directions

    @cached_property
    def monotone_quantiles(self) -> np.ndarray:
        """The nearest quantiles that increase, within the domain."""
        center = self.query.lattice.projected_center[:, None]
        reach = self.query.lattice.domain.radius
        return monotone_rows(np.clip(self.quantiles - center, -reach, reach)) + center

    def cost(self, Y: ArrayLike, p: int) -> tuple[float, float]:
        """Return the estimated p-th power of the distance to public rows, and its error."""
        return self._cost(self.public_quantiles(Y), 0.0, p)

    def cost_between(self, other: SlicedSketch, p: int) -> tuple[float, float]:
        """Return the same for another sketch on the same directions and blocks."""
        self.require_comparable(other)
        if self.is_same_release(other):
            raise ValueError(
                "label and other_label must name two distributions, got one release twice, whose "
                "noise would cancel."
            )
        theirs = other.quantiles if p == 2 else other.monotone_quantiles
        return self._cost(theirs, other.noise_std, p)

    def ranks(self, X: np.ndarray) -> np.ndarray:
        """Return the share of the mass below each row on every slice, of shape (n_rows, k)."""
        k, m = self.quantiles.shape
        center, reach = self.query.lattice.projected_center, self.query.lattice.domain.radius
        levels = np.concatenate([[0.0], (np.arange(m) + 0.5) / m, [1.0]])
        # a product of floats would round a row otherwise beside other rows
        ranks = MatrixMap(self.directions.T).apply(X)
        for j, quantiles in enumerate(self.monotone_quantiles):
            ends = np.concatenate([[center[j] - reach], quantiles, [center[j] + reach]])
            ranks[:, j] = np.interp(ranks[:, j], ends, levels)
        return ranks

    def sample(self, n_samples: int, random_state: RandomState | None = None) -> np.ndarray:
        """Return points within the domain whose slices are near the quantiles."""
        n_samples = check_integer(n_samples, "n_samples", low=1)
        rng = public_generator(random_state)
        points = fit_particles(self.directions, self.monotone_quantiles, n_samples, rng)
        return self.query.lattice.domain.clip(points)

    def public_quantiles(self, Y: ArrayLike) -> np.ndarray:
        """Return the quantiles of public rows, clipped and rounded as the private ones were."""
        return self.query.public_means(Y) + self.query.lattice.projected_center[:, None]

    def is_same_release(self, other: SlicedSketch) -> bool:
        """Whether two sketches have the same noise: a release and itself, or a copy."""
        return np.array_equal(self.quantiles, other.quantiles)

    def require_comparable(self, other: SlicedSketch) -> None:
        """Raise where two sketches have other directions or blocks."""
        if self.quantiles.shape != other.quantiles.shape or not np.allclose(
            self.directions, other.directions, rtol=0.0, atol=1e-6
        ):
            raise ValueError(
                "Sketches can be compared when they have the same directions and the same "
                f"n_quantiles, got shapes {self.quantiles.shape} and {other.quantiles.shape}. "
                "Give n_projections and n_quantiles the same values in all fits."
            )

    def _cost(self, theirs, their_noise, p):
        """Subtract what the noise adds to a mean square; for p=1 smooth the noise away.

        The mean of ``(d + noise)**2`` has variance ``(4 s**2 mean(d**2) + 2 s**4) / n``. Isotonic
        regression and the mean of absolute values are Lipschitz, with constants 1 and 1 / sqrt(n),
        so for p=1 the standard deviation is at most ``s / sqrt(n)``.
        """
        variance = self.noise_std**2 + their_noise**2
        count = self.quantiles.size
        if p == 1:
            cost = float(np.mean(np.abs(self.monotone_quantiles - theirs)))
            return cost, math.sqrt(variance / count)
        cost = float(np.mean((self.quantiles - theirs) ** 2)) - variance
        return cost, math.sqrt((4 * variance * max(cost, 0.0) + 2 * variance**2) / count)


def mean_sketch(sketches, weights):
    """Return the sketch of the sliced barycenter: weighted means of the quantiles.

    On a slice the barycenter of distributions is the mean of their quantile functions. The noise of
    different releases is independent; a release that occurs twice counts once, with both weights.
    """
    for sketch in sketches[1:]:
        sketches[0].require_comparable(sketch)
        if sketch.query.lattice.domain != sketches[0].query.lattice.domain:
            raise ValueError(
                "A barycenter needs sketches on one domain: give bounds the same value in all fits."
            )
    quantiles = sum(w * s.quantiles for w, s in zip(weights, sketches, strict=True))
    variance = 0.0
    for i, sketch in enumerate(sketches):
        same = [sketch.is_same_release(other) for other in sketches]
        if not any(same[:i]):
            variance += (np.sum(weights, where=same) * sketch.noise_std) ** 2
    persons = min(sketch.persons for sketch in sketches)
    return SlicedSketch(quantiles, math.sqrt(variance), sketches[0].query, persons)


# One number: the sliced cost to a public reference, with Laplace noise.


class ScalarMethod(SlicedMethod):
    """The cost from each class to the reference, the best there is for a single distance."""

    def shares(self, setting):
        """Return the cost, and before it the sizes of the classes where they are needed.

        Laplace noise on one number needs no delta, and the number needs a reference.
        """
        if setting.delta != 0:
            raise ValueError(
                "delta must be 0 for method='scalar', which has pure privacy, "
                f"got {setting.delta!r}."
            )
        _public_reference(setting)
        if setting.n_min is not None:
            _require_fit("n_min", max(setting.n_min), setting)
        return size_shares(setting) | {"cost": 1.0}

    def check(self, setting, facts):
        """Sizes must be known, and small enough for one 64-bit number."""
        super().check(setting, facts)
        if facts.total_public and setting.n_hint is None:
            _require_fit("The number of persons", facts.size, setting)

    def questions(self, setting, facts):
        """Ask for sizes that are not known, then for the cost of every class."""
        n_min = yield from padded_sizes(
            setting, facts, most_persons(setting.n_directions, setting.p)
        )
        lattice = setting.lattice(facts.domain)
        reference = ProjectedQuantiles(lattice).public_histogram(_public_reference(setting))
        query = ProjectedCost(lattice, n_min, facts.n_classes, facts.units, reference, setting.p)
        released = yield "cost", query
        return [
            SlicedCost(
                lattice.directions,
                float(query.cost(released.values[-1][code, 0], persons)),
                float(query.cost(released.noise_sd[-1], persons)),
                setting.p,
            )
            for code, persons in enumerate(persons_counted(released, n_min, facts))
        ]


@dataclass(frozen=True, eq=False)
class SlicedCost(SlicedRelease):
    """The noisy p-th power of the distance of one distribution to the reference.

    Attributes
    ----------
    directions : ndarray of shape (n_features, n_directions)
    value : float
    noise_std : float
        Standard deviation of the noise on it.
    p : int
    """

    directions: np.ndarray
    value: float
    noise_std: float
    p: int

    quantiles = None  # none are released

    def cost(self, Y, p):
        """Return the released number, which speaks about the reference alone."""
        if Y is not None:
            raise ValueError(
                "Y must be None for method='scalar': the one number that was released is about "
                "the reference. method='sketch' answers about any rows."
            )
        return self.value, self.noise_std


def _public_reference(setting):
    """Return the rows of the reference, or raise where there are none."""
    shape = np.shape(setting.reference)
    if len(shape) != 2 or shape[1] != setting.n_features:
        raise ValueError(
            "reference must be public rows of shape (n_rows, n_features) for method='scalar' and "
            f"n_features={setting.n_features}, got {type(setting.reference).__name__} of shape "
            f"{shape}."
        )
    return check_array(setting.reference, dtype=np.float64, input_name="reference")


def _require_fit(name, persons, setting):
    """Raise where a cost could leave 64-bit integers: whether it does would depend on the rows."""
    most = most_persons(setting.n_directions, setting.p)
    if persons > most:
        raise ValueError(
            f"{name} must be at most {most} for method='scalar' with p={setting.p} and so "
            f"many directions, got {persons}. Lower it, or n_projections."
        )
