"""Ways to release the slices of k distributions: sketches of quantiles, or one cost."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from ..exceptions import RandomState, check_integer
from ..geometry.lattices import direction_count
from ..geometry.linear_maps import MatrixMap
from ..privacy.noise import public_generator
from ..queries.slices import ProjectedCost, ProjectedQuantiles, most_persons
from ..transport.measures import fit_particles, monotone_rows
from .comparison import (
    block_count,
    given_sizes,
    padded_sizes,
    persons_counted,
    public_reference,
    require_sizes,
    size_shares,
)
from .facts import number_of_classes
from .notices import noise_of_last


class SlicedMethod:
    """Statistics of slices to release: public parameters and own releases are read, never a row.

    ``shares(estimator, n_features)`` returns the share of the budget of each step, by name and in
    order, or raises ValueError where the method cannot keep what the parameters ask for.
    ``noise(estimator, domain, persons, plan)`` says how much noise a class of so many people gets.
    ``questions(estimator, facts)`` asks, and returns a SlicedRelease a class, in their order.
    """

    def check(self, estimator, facts):
        """Raise ValueError where public facts about the rows do not allow this method.

        Called before anything is charged, with the facts that were given. Sizes must be known:
        public, given or estimated.
        """
        require_sizes(estimator, facts)


class SlicedRelease:
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

    ``cost(Y, p)`` returns an estimate of the p-th power of the distance to public rows, for
    ``p=2`` free of the bias that noise brings, and so possibly below zero, and the standard
    deviation that the noise gives to it.
    """

    def cost_between(self, other: SlicedRelease, p: int) -> tuple[float, float]:
        """Return the same as `cost` for another release, where two of them can be compared."""
        raise ValueError(f"A {type(self).__name__} cannot be compared with another release.")


# The quantile sketch: project, sort, average in blocks, then add noise, once.

MOST_QUANTILES = 1 << 12


class SketchMethod(SlicedMethod):
    """Noisy block means of the sorted projections, which serve any number of distances."""

    def shares(self, estimator, n_features):
        """Return the sketch, and before it the sizes of the classes where they are needed.

        Gaussian noise alone fits numbers of which one person moves many.
        """
        if estimator.delta == 0:
            raise ValueError(
                "delta must be above zero for method='sketch', which adds Gaussian noise, got 0. "
                "Pass for example delta=1e-6, or method='scalar', which has pure privacy."
            )
        return size_shares(estimator, number_of_classes(estimator.classes)) | {"sketch": 1.0}

    def noise(self, estimator, domain, persons, plan):
        """Say it of a quantile, and of a distance that is many times as large."""
        lattice, mechanism = estimator._lattice(domain), plan.steps[-1].mechanism
        blocks = estimator.n_quantiles or block_count(persons, mechanism, lattice)
        classes = number_of_classes(estimator.classes)
        query = ProjectedQuantiles(lattice, None, classes, n_quantiles=blocks)
        # a distance is a root of a mean over all quantiles, in which their noise averages out
        noise = noise_of_last(query, plan)[-1] * lattice.step / persons
        return (
            f"A quantile gets noise of standard deviation about {noise:.2g}, a distance well above "
            f"that about {noise / math.sqrt(math.prod(query.shape)):.2g}."
        )

    def questions(self, estimator, facts):
        """Ask for sizes that are not known, then for the quantiles of every class."""
        n_min, _ = yield from padded_sizes(estimator, facts)
        lattice, n_quantiles = estimator._lattice(facts.domain), estimator.n_quantiles
        if n_quantiles is None:
            hinted = estimator.n_hint is not None or n_min is None
            persons = facts.size / facts.n_classes if hinted else min(n_min)
            n_quantiles = block_count(persons, facts.mechanisms["sketch"], lattice)
        query = ProjectedQuantiles(lattice, n_min, facts.n_classes, facts.units, n_quantiles)
        released = yield "sketch", query
        values, unit = released.values[-1], released.noise_sd[-1] * lattice.step
        center = lattice.projected_center[:, None]
        return [
            SlicedSketch(query.means(of, n) + center, float(unit / n), query, n)
            for of, n in zip(values, persons_counted(released, n_min, facts), strict=True)
        ]


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
        lattice = self.query.lattice
        center, reach = lattice.projected_center[:, None], lattice.domain.radius
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
                "noise would cancel. Pass another fit, or two labels of one."
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
        ours, theirs = self.quantiles.shape, other.quantiles.shape
        if ours != theirs or not np.allclose(self.directions, other.directions, 0.0, 1e-6):
            raise ValueError(
                "Sketches must have the same directions and n_quantiles to be compared, got "
                f"shapes {ours} and {theirs}. Pass the same n_projections and n_quantiles to all "
                "fits."
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
                "others must have the domain of this estimator for a barycenter. Pass the same "
                "bounds to all fits."
            )
    # on a line quantile functions are coordinates in which distances are Euclidean (Villani 2003,
    # theorem 2.18), so barycenters are means
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

    def shares(self, estimator, n_features):
        """Return the cost, and before it the sizes of the classes where they are needed.

        Laplace noise on one number needs no delta, and the number needs a reference.
        """
        if estimator.delta != 0:
            raise ValueError(
                "delta must be 0 for method='scalar', which has pure privacy, got "
                f"{estimator.delta!r}. Pass delta=0.0."
            )
        public_reference(estimator.reference, n_features)
        n_classes = number_of_classes(estimator.classes)
        sizes = given_sizes(estimator.n_min, n_classes)
        if sizes is not None:
            _most_persons(estimator, n_features, max(sizes), "n_min")
        return size_shares(estimator, n_classes) | {"cost": 1.0}

    def noise(self, estimator, domain, persons, plan):
        """Say it of the one number."""
        classes, lattice = number_of_classes(estimator.classes), estimator._lattice(domain)
        query = self._query(estimator, lattice, None, classes, 1)
        noise = query.cost(noise_of_last(query, plan)[-1], persons)
        power = "squared distance" if estimator.p == 2 else "distance"
        return f"The {power} gets noise of standard deviation about {noise:.2g}."

    def check(self, estimator, facts):
        """Sizes must be known, and small enough for one 64-bit number."""
        super().check(estimator, facts)
        if facts.total_public and estimator.n_hint is None:
            _most_persons(estimator, facts.n_features, facts.size, "The number of persons")

    def questions(self, estimator, facts):
        """Ask for sizes that are not known, then for the cost of every class."""
        most = _most_persons(estimator, facts.n_features)
        n_min, _ = yield from padded_sizes(estimator, facts, most=most)
        lattice, p = estimator._lattice(facts.domain), estimator.p
        query = self._query(estimator, lattice, n_min, facts.n_classes, facts.units)
        released = yield "cost", query
        values, sd, columns = released.values[-1][:, 0], released.noise_sd[-1], lattice.directions
        return [
            SlicedCost(columns, float(query.cost(of, n)), float(query.cost(sd, n)), p)
            for of, n in zip(values, persons_counted(released, n_min, facts), strict=True)
        ]

    def _query(self, estimator, lattice, *kind):
        """Return the question for the cost of every class to the reference."""
        reference = public_reference(estimator.reference, lattice.domain.n_features)
        reference = ProjectedQuantiles(lattice).public_histogram(reference)
        return ProjectedCost(lattice, *kind, reference, estimator.p)


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
                "Y must be None for method='scalar': only the distance to reference was "
                "released. Fit with method='sketch' for any rows."
            )
        return self.value, self.noise_std


def _most_persons(estimator, n_features, persons=0, name=""):
    """Return how many persons a cost in 64-bit integers has room for.

    Raise where there are more: whether a cost leaves the integers would depend on the rows.
    """
    count = direction_count(estimator.directions, estimator.n_projections, n_features)
    most = most_persons(count, estimator.p)
    if persons > most:
        raise ValueError(
            f"{name} must be at most {most} for method='scalar' with p={estimator.p} and so many "
            f"directions, got {persons}. Lower it, or n_projections."
        )
    return most
