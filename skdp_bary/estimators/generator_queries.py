"""Queries of PrivateGenerator: means, a pooled scatter, cells of the classes, their moments."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..privacy.mechanisms import ADD_REMOVE
from ..privacy.noise import public_generator
from ..queries.classes import ByClass, frames_of
from ..queries.clusters import ClippedMeans, ClusterMoments, digits_of
from ..queries.frames import Axes
from ..queries.power_cells import CellGrams
from ..queries.sizes import Moments, symmetric
from .generator_mixture import (
    TUNED,
    image_basis,
    largest_variances,
    read_mixture,
    smooth_covariance,
    tied_mixture,
)
from .noisy_means import (
    NoisyMeans,
    mean_within,
    positive_part,
    shrink_steps,
    unlengthened,
    weighted_kmeans,
)
from .notices import NARROW, SURE, noise_of_last

_DRAWN = 4000  # points of a Gaussian on which the first cells are found: time

# What PrivateGenerator asks: means, a pooled scatter, cells of the classes, their moments.


def questions(setting, facts):
    """Ask for the moments of all cells: return the Mixture, shares of classes, if rows are narrow.

    1. *means*: mass, sum and spread of every class about the center of the domain.
    2. *scatter*: second moments of all rows about the released means of their classes.
    3. *cells_1, ...*: if there are several cells, rounds of Lloyd's algorithm in the leading
       axes of the scatter.
    4. *grams*: mass, mean and second moments of every cell.

    Where all classes share one covariance, the scatter and the sums next to it are the last step.
    """
    domain = facts.domain
    classes = yield from class_moments(setting, facts)
    scatter = yield from pooled_scatter(setting, facts, classes)
    if setting.tied:
        mixture = tied_mixture(domain, classes, scatter, image_basis(setting.image_shape))
        return mixture, classes.shares, scatter.is_narrow
    basis, n_cells = image_basis(setting.image_shape), setting.n_cells
    centers = [np.zeros((1, facts.n_features))] * facts.n_classes
    if basis is None or n_cells > 1:
        limits = classes.shares @ largest_variances(domain, classes.means)
        axes = leading_axes(scatter.denoised(limits), domain)
        basis = axes.vectors if basis is None else basis
    if n_cells > 1:
        centers = yield from cell_centers(setting, facts, classes, scatter.radius, axes)
    frames, lengths = class_frames(facts, classes.means), TUNED.gram_reach * classes.reaches
    query = about_cells(CellGrams, facts, frames, centers, lengths, TUNED.gram_shares)
    released = yield "grams", query
    mixture = read_mixture(domain, classes, scatter, basis, query, released)
    return mixture, classes.shares, scatter.is_narrow


@dataclass(frozen=True, eq=False)
class ClassMoments:
    """Release of the first step about the classes.

    Attributes
    ----------
    sizes : ndarray of shape (n_classes,)
        Noisy or public numbers of people, at least one.
    means : ndarray of shape (n_classes, n_features)
        Drawn to the center of the domain where they are noise.
    reaches : ndarray of shape (n_classes,)
        Lengths that rows are clipped to: root mean square distances from the mean.
    """

    sizes: np.ndarray
    means: np.ndarray
    reaches: np.ndarray

    @cached_property
    def shares(self):
        """Shares of the classes."""
        return self.sizes / self.sizes.sum()

    @cached_property
    def reach(self):
        """A length for the rows of all classes together."""
        return math.sqrt(float((self.reaches**2).mean()))


def class_moments(setting, facts):
    """Ask for mass, sum and spread about the center of the domain, and return ClassMoments."""
    domain = facts.domain
    frames = class_frames(facts, np.tile(domain.center, (facts.n_classes, 1)))
    origins = [np.zeros((1, facts.n_features))] * facts.n_classes
    radii = np.full(facts.n_classes, domain.radius)
    query = about_cells(ClusterMoments, facts, frames, origins, radii, (1.0, 1.0, 1.0))
    found = query.read((yield "means", query))
    masses = np.array([read.mass[0] for read in found])
    mass_sds = np.array([read.mass_sd for read in found])
    sizes = np.maximum(masses, np.maximum(2.0 * mass_sds, 1.0))
    sums, sds = first_sums(found)
    noise, basis = (sds / sizes) ** 2, image_basis(setting.image_shape)
    moves = shrink_steps(sums / sizes[:, None], noise, sizes, basis, domain.radius)
    reaches = clipping_lengths(setting, domain, found, sizes)
    return ClassMoments(sizes, domain.clip(domain.center + moves), reaches)


def clipping_lengths(setting, domain, found, sizes):
    """Return root mean square distances of rows from the means of their classes, or the given one.

    They are drawn together by their noise, and stay below the distance from the center of the
    domain, which is known better: if noise hides them, half of its square is a better guess than
    none. In few dimensions distances differ more, and rows are clipped further out.
    """
    wider = _wider(setting.n_features)
    if setting.class_spread is not None:
        return np.full(len(sizes), wider * float(setting.class_spread))
    sums, sds = first_sums(found)
    spreads = np.array([read.spread[0] for read in found])
    wrong = np.array([read.spread_sd[0] for read in found])
    lengths = (sums**2).sum(axis=1)
    # the noise of the sums adds its own square to the length of each, n_features times
    squares = (spreads - (lengths - sums.shape[1] * sds**2) / sizes) / sizes
    noise = (wrong / sizes) ** 2 + 4.0 * lengths * sds**2 / sizes**4
    shares, largest = sizes / sizes.sum(), domain.radius**2
    pooled = float(shares @ squares)
    moves = shrink_steps((squares - pooled)[:, None], noise, sizes)[:, 0]
    least = TUNED.least_reach**2 * largest
    about = min(max(sum(spreads) / sizes.sum(), least), largest)
    pooled = mean_within(pooled, math.sqrt(float(shares**2 @ noise)), least, about)
    return wider * np.sqrt(np.clip(pooled + moves, least, largest))


def _wider(n_features):
    return math.sqrt(1.0 + math.sqrt(8.0 / n_features))


def first_sums(found):
    """Return the sums of the rows of every class about the center, and their noise."""
    return np.stack([r.sums[0] for r in found]), np.array([r.sums_sd[0] for r in found])


@dataclass(frozen=True, eq=False)
class PooledScatter:
    """Covariance of all rows about the means of their classes, as it was released.

    Attributes
    ----------
    matrix : ndarray of shape (n_features, n_features)
    noise_sd : float
        Of an entry off the diagonal.
    radius : float
        Distance that rows were clipped to.
    image_shape : tuple or None
    steps : ndarray of shape (n_classes, n_features)
        Noisy means of the rows of every class, relative to where they were thought to be.
    steps_sd : ndarray of shape (n_classes,)
    is_narrow : bool
        Whether all rows lie in a tiny part of the domain, whatever the noise.
    """

    matrix: np.ndarray
    noise_sd: float
    radius: float
    image_shape: tuple | None
    steps: np.ndarray
    steps_sd: np.ndarray
    is_narrow: bool

    @property
    def edge(self):
        """Largest eigenvalue of the noise."""
        return largest_of_noise(self.noise_sd, len(self.matrix))

    def denoised(self, limits):
        """Return the covariance without most of its noise.

        Parameters
        ----------
        limits : ndarray of shape (n_features,)
            Variances that the means allow, for images.
        """
        if self.image_shape is None:
            return spiked(self.matrix, self.noise_sd)
        noise = self.noise_sd**2
        return positive_part(smooth_covariance(self.matrix, noise, limits, self.image_shape))


def pooled_scatter(setting, facts, classes):
    """Ask for second moments about the means of the classes, and return the PooledScatter."""
    reach, kind = TUNED.scatter_reach * classes.reach, (facts.units, facts.total_public)
    query = _scatter_query(setting.tied, classes.means, reach, kind)
    released = yield "scatter", query
    scale = query.step**2 / (facts.units * classes.sizes.sum())
    matrix = symmetric(released.values[2][0], released.values[3][0]) * scale
    noise_sd = released.noise_sd[3] * scale
    sums = query.step / (facts.units * classes.sizes)
    steps, steps_sd = released.values[1] * sums[:, None], released.noise_sd[1] * sums
    apart = ((classes.means - classes.shares @ classes.means) ** 2).sum(axis=1)
    most = np.trace(matrix) + SURE * released.noise_sd[2] * scale * math.sqrt(len(matrix))
    narrow = bool(most + classes.shares @ apart < (NARROW * facts.domain.radius) ** 2)
    others = setting.image_shape, steps, steps_sd, narrow
    return PooledScatter(matrix, noise_sd, query.radius, *others)


def _scatter_query(tied, means, reach, kind):
    noise = TUNED.other_noise, TUNED.tied_sums if tied else TUNED.other_noise, 1.0
    return Moments(means, reach, None, "pooled", noise, *kind)


def noise_edge(plan, n_features):
    """Return the largest eigenvalue of the noise of a tied scatter of one person, by public facts.

    It is relative to the variance of the rows, for a clipping length that noise does not lengthen.
    """
    reach = TUNED.scatter_reach * _wider(n_features)
    kind = 1, plan.relation != ADD_REMOVE
    query = _scatter_query(True, np.zeros((1, n_features)), reach, kind)
    return largest_of_noise(noise_of_last(query, plan)[3] * query.step**2, n_features)


def leading_axes(covariance, domain):
    """Return the axes of a covariance, the longest first; the leading ones are kept."""
    values, vectors = np.linalg.eigh(covariance)
    kept = min(TUNED.most_axes, len(values))
    return Axes(vectors[:, ::-1].T, np.maximum(values[::-1][:kept], 1e-9 * domain.radius**2))


def cell_centers(setting, facts, classes, largest, axes):
    """Ask for clipped means of the cells, some rounds, in the leading axes.

    Returns the centers of the cells of every class relative to its mean, with all features.
    """
    radius = min(TUNED.scatter_reach * math.sqrt(float(axes.variances.sum())), largest)
    frames, radii = class_frames(facts, classes.means, axes), np.full(facts.n_classes, radius)
    rng = public_generator(setting.random_state)
    points = rng.standard_normal((_DRAWN, len(axes.variances))) * np.sqrt(axes.variances)
    first = weighted_kmeans(points, np.ones(_DRAWN), setting.n_cells, 1, rng)
    centers = [first] * facts.n_classes  # which quantize the pooled Gaussian
    for i in range(TUNED.rounds):
        query = about_cells(ClippedMeans, facts, frames, centers, radii, (1.0, 1.0))
        found = query.read((yield f"cells_{i + 1}", query))
        centers = []
        for of_class, read, size in zip(query.queries, found, classes.sizes, strict=True):
            asked = of_class.used_centers
            means = NoisyMeans(asked, read, TUNED.least_mass * size / len(asked))
            centers.append(asked + shrink_steps(means.steps, means.noise, means.weight))
    return [places @ axes.kept for places in centers]


def class_frames(facts, centers, axes=None):
    """Return a frame about the center of every class."""
    return frames_of(facts.domain, centers, digits_of(facts.units).rows, axes)


def about_cells(query_class, facts, frames, centers, lengths, shares):
    """Return a question about the cells of every class, whose rows are clipped to one length."""
    kind = (shares, False, facts.units, facts.total_public, facts.least)
    each = zip(frames, centers, lengths, strict=True)
    return ByClass(
        tuple(query_class(frame, at, np.full(len(at), length), *kind) for frame, at, length in each)
    )


def largest_of_noise(sd, width):
    """Return the largest eigenvalue of a symmetric matrix of noise, by Wigner's law."""
    return 2.0 * sd * math.sqrt(width)


def spiked(matrix, sd):
    """Return a noisy covariance with the axes above the noise, and variances across them.

    The noise lengthens eigenvalues and turns their axes, by amounts that random matrices tell.
    """
    values, vectors = np.linalg.eigh(matrix)
    edge = largest_of_noise(sd, len(values))
    kept = int((values > TUNED.detected * edge).sum())
    kept = max(kept, min(TUNED.fewest_axes, len(values)))
    top, axes = np.maximum(values[-kept:], edge + 1e-150), vectors[:, -kept:]
    clean = unlengthened(top, edge)
    clean *= np.maximum(1.0 - edge**2 / (4.0 * clean**2), 0.0)
    inside = (axes * clean) @ axes.T
    across = np.maximum(np.diagonal(matrix) - np.diagonal((axes * top) @ axes.T), 0.0)
    # what the axes take of the noise by their choice is missing across them
    missing = max(float(np.trace(matrix) - clean.sum()), 0.0) * (kept < len(values))
    total = float(across.sum())
    return inside + np.diag(across * (missing / total if total > 0.0 else 0.0))


# What PrivateGenerator will ask, by public facts alone: the steps and the number of cells.

_MOST_ENTRIES = 1 << 25  # of all matrices, where nobody asks for more: 256 MB
_LIMIT = 1 << 28  # ... and where somebody does: 2 GB


@dataclass(frozen=True)
class GeneratorSetting:
    """Public facts that the conversation may use.

    Attributes
    ----------
    n_features, n_classes : int
    size : int or None
        Public or estimated number of people; None, before it is known, announces many cells.
    mu : float
        Gaussian parameter of the budget.
    n_components : "auto" or int
    class_spread : float or None
    image_shape : tuple or None
    covariance_type : {"full", "tied"}
    random_state : None, int or RandomState
    """

    n_features: int
    n_classes: int
    size: int | None
    mu: float
    n_components: object
    class_spread: float | None = None
    image_shape: tuple | None = None
    covariance_type: str = "full"
    random_state: object = None

    @property
    def tied(self):
        """Whether all classes share one covariance."""
        return self.covariance_type == "tied"

    @cached_property
    def n_cells(self):
        """Number of cells of a class: a public rule where none is given."""
        if self.tied and self.n_components not in ("auto", 1):
            raise ValueError(
                'n_components must be "auto" or 1 with covariance_type="tied", got '
                f'{self.n_components!r}. Pass covariance_type="full" for more.'
            )
        each = (1 if self.tied else self.n_classes) * (self.n_features + 1) ** 2
        many = self.size is None or self.mu * self.size / self.n_classes >= TUNED.signal
        wanted = self.n_components
        if wanted == "auto":
            most = TUNED.n_cells if many and not self.tied else 1
            wanted = max(1, min(most, _MOST_ENTRIES // each))
        if wanted * each > _LIMIT:
            raise ValueError(
                f"n_components must leave at most {_LIMIT} numbers in all matrices, got {wanted} "
                f"for {self.n_classes} classes of {self.n_features} features. Pass fewer, or "
                "project the features first."
            )
        return int(wanted)


def shares(setting):
    """Return the steps, in order, and their shares of ``mu**2``."""
    n_cells = setting.n_cells
    if setting.tied:
        return {"means": TUNED.tied_means_share, "scatter": 1.0 - TUNED.tied_means_share}
    steps = {"means": TUNED.means_share, "scatter": TUNED.scatter_share}
    if n_cells == 1:
        return steps | {"grams": TUNED.cells_share + TUNED.grams_share}
    rounds = {f"cells_{i + 1}": TUNED.cells_share / TUNED.rounds for i in range(TUNED.rounds)}
    return steps | rounds | {"grams": TUNED.grams_share}
