"""The quantile sketch: project, sort, average in blocks, then add noise, once."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...geometry._directions import public_directions
from ...geometry._slices import SliceLattice
from ...privacy._checks import check_integer
from ...privacy._neighbors import ADD_REMOVE, REPLACE_ANY
from ...privacy.noise.sampler import public_generator
from ...summaries.slices.histogram import ClassSizes
from ...summaries.slices.quantiles import ProjectedQuantiles
from ...transport._sliced import fit_particles, monotone_rows
from .mechanisms import SlicedMechanism, SlicedRelease

_SIZES_SHARE = 0.05
_MARGIN = 2.5  # standard deviations that a bought number of persons is lowered by
_FEWEST, _MOST = 8, 128
MOST_QUANTILES = 1 << 12
MOST_PERSONS = 1 << 30  # of 2**20 units each, on 2**12 levels: sums fit 64-bit integers


class SketchMechanism(SlicedMechanism):
    """Noisy block means of the sorted projections, which serve any number of distances."""

    def check(self, estimator, relation, n_features):
        """Gaussian noise alone fits numbers of which one person moves many."""
        if estimator.delta == 0:
            raise ValueError(
                "delta must be above zero for method='sketch', which adds Gaussian noise; "
                "method='scalar' has pure privacy."
            )

    def check_facts(self, estimator, facts):
        """Sizes must be known: public, given or bought."""
        require_sizes(estimator, facts)

    def shares(self, estimator, relation, n_features):
        """Return the sketch, and before it the sizes of the classes where they are needed."""
        return size_shares(estimator, relation) | {"sketch": 1.0}

    def query(self, estimator, step_name, facts):
        """Return the query of a step."""
        if step_name == "sizes":
            return ClassSizes(facts.n_classes, facts.units)
        n_min = padding(estimator, facts)
        lattice = slice_lattice(estimator, facts)
        n_quantiles = estimator.n_quantiles
        if n_quantiles is None:
            n_quantiles = _block_count(estimator, facts, n_min, lattice.norm)
        return ProjectedQuantiles(lattice, n_min, facts.n_classes, facts.units, n_quantiles)

    def finish(self, estimator, facts):
        """Return the sketch of every class."""
        released = facts.released["sketch"]
        query = released.query
        center = query.lattice.directions.T @ query.lattice.domain.center
        sketches = []
        for code, persons in enumerate(persons_counted(released, facts)):
            means = query.means(released.values[-1][code], persons) + center[:, None]
            noise_std = released.noise_sd[-1] * query.lattice.step / persons
            sketches.append(SlicedSketch(means, float(noise_std), query, float(persons)))
        return sketches


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
        Number of persons the noise was made for: a public or a bought number.
    """

    quantiles: np.ndarray
    noise_std: float
    query: ProjectedQuantiles
    persons: float

    @property
    def directions(self):
        """Public directions of the slices."""
        return self.query.lattice.directions

    @cached_property
    def monotone_quantiles(self):
        """The nearest quantiles that increase, within the domain."""
        center = self.directions.T @ self.query.lattice.domain.center
        reach = self.query.lattice.domain.radius
        offsets = np.clip(self.quantiles - center[:, None], -reach, reach)
        return monotone_rows(offsets) + center[:, None]

    def cost(self, Y, p):
        """Return the estimated p-th power of the distance to public rows, and its error."""
        return self._cost(self.public_quantiles(Y), 0.0, p)

    def cost_between(self, other, p):
        """Return the same for another sketch on the same directions and blocks."""
        self.require_comparable(other)
        if self.is_same_release(other):
            raise ValueError(
                "label and other_label must name two distributions, got one release twice, whose "
                "noise would cancel."
            )
        theirs = other.quantiles if p == 2 else other.monotone_quantiles
        return self._cost(theirs, other.noise_std, p)

    def smoothed_cost(self, Y, p):
        """Return the p-th power of the distance from quantiles as they were released."""
        return float(np.mean(np.abs(self.quantiles - self.public_quantiles(Y)) ** p))

    def ranks(self, X):
        """Return the share of the mass below each row on every slice, of shape (n_rows, k)."""
        k, m = self.quantiles.shape
        center = self.directions.T @ self.query.lattice.domain.center
        reach = self.query.lattice.domain.radius
        levels = np.concatenate([[0.0], (np.arange(m) + 0.5) / m, [1.0]])
        ranks = np.empty((len(X), k))
        for j, quantiles in enumerate(self.monotone_quantiles):
            ends = np.concatenate([[center[j] - reach], quantiles, [center[j] + reach]])
            ranks[:, j] = np.interp(X @ self.directions[:, j], ends, levels)
        return ranks

    def sample(self, n_samples, random_state=None):
        """Return points within the domain whose slices are near the quantiles."""
        n_samples = check_integer(n_samples, "n_samples", low=1)
        rng = public_generator(random_state)
        points = fit_particles(self.directions, self.monotone_quantiles, n_samples, rng)
        return self.query.lattice.domain.clip(points)

    def public_quantiles(self, Y):
        """Return the quantiles of public rows, clipped and rounded as the private ones were."""
        center = self.directions.T @ self.query.lattice.domain.center
        return self.query.public_means(Y) + center[:, None]

    def is_same_release(self, other):
        """Return whether two sketches have the same noise: a release and itself, or a copy."""
        return np.array_equal(self.quantiles, other.quantiles)

    def require_comparable(self, other):
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


def size_shares(estimator, relation):
    """Return the step that buys the sizes of the classes, where they are private and not given."""
    several = estimator.classes is not None and len(estimator.classes) > 1
    private = relation == ADD_REMOVE or (relation == REPLACE_ANY and several)
    return {"sizes": _SIZES_SHARE} if private and estimator.n_min is None else {}


def slice_lattice(estimator, facts):
    """Return the lattice of a fit's domain and directions."""
    directions = public_directions(estimator.directions, estimator.n_projections, facts.n_features)
    return SliceLattice(facts.domain, directions)


def require_sizes(estimator, facts):
    """Raise where nothing says how many persons noise should be made for."""
    if not facts.total_public and estimator.n_min is None and "sizes" not in facts.mechanisms:
        raise ValueError(
            "n_min is needed with sample_weight: weights are private, and so is how much mass they "
            "leave to a class."
        )


def padding(estimator, facts, most=MOST_PERSONS):
    """Return the number of persons that each class is padded to; None where sizes are public.

    Bought sizes are cut at `most`; fewer are always allowed.
    """
    if facts.total_public:
        return None
    if estimator.n_min is not None:
        return given_sizes(estimator.n_min, facts.n_classes)
    released = facts.released["sizes"]
    lowered = (released.values[0] - _MARGIN * released.noise_sd[0]) / facts.units
    most = min(most, MOST_PERSONS)
    return tuple(min(max(1, math.floor(size)), most) for size in lowered.tolist())


def given_sizes(n_min, n_classes):
    """Return the public lower bounds of the sizes of the classes as integers."""
    if np.ndim(n_min) == 0:
        return (int(n_min),) * n_classes
    if len(n_min) != n_classes:
        raise ValueError(f"n_min must be one number or {n_classes} of them, got {n_min!r}.")
    return tuple(int(size) for size in n_min)


def persons_counted(released, facts):
    """Return the number of persons that the answer about each class counts, at least one unit."""
    query = released.query
    if query.n_min is not None:
        return [float(size) for size in query.n_min]
    return [max(float(mass), 1.0) / facts.units for mass in released.values[0]]


def _block_count(estimator, facts, n_min, norm):
    """Return a number of blocks by public facts: their noise and their width kept in balance."""
    if estimator.n_hint is not None or n_min is None:
        persons = facts.size / facts.n_classes
    else:
        persons = min(n_min)
    balance = math.sqrt(persons * facts.mechanisms["sketch"].mu / (2.0 * norm))
    return int(np.clip(round(balance), _FEWEST, _MOST))
