"""What PrivateGenerator asks: means, a pooled scatter, cells of the classes, their moments."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..privacy._calibration import gaussian_mu
from ..privacy._noise import public_generator
from ..summaries._by_class import ByClass, frames_of
from ..summaries._cell_grams import CellGrams
from ..summaries._cluster_sums import ClippedMeans, ClusterMoments, digits_of
from ..summaries._frames import Axes
from ..summaries._moments import Moments, symmetric
from ._generator_images import image_basis, largest_variances, smooth_covariance
from ._shrinkage import positive_part, shrink_steps, unlengthened
from ._weighted_kmeans import weighted_kmeans

# Shares of mu**2, radii and the rule for the number of cells were chosen on 50,000 training rows
# of MNIST and Fashion-MNIST, by classifiers on the other 10,000.
_SHARES = {"means": 0.05, "scatter": 0.20, "cells": 0.15, "grams": 0.60}
_ROUNDS = ("cells_1", "cells_2", "cells_3")
_CELLS = 5
_SIGNAL = 5000.0  # mu times persons of a class from which several cells are better than one
_MOST_ENTRIES = 1 << 25  # of all matrices together, where nobody asks for more: 256 MB
_LIMIT = 1 << 28  # ... and where somebody does: 2 GB
_SCATTER_REACH = 1.05  # clipping radius relative to `Route.reach`
_GRAM_REACH = 0.95
_CELL_REACH = 1.5  # ... in the leading axes
_OTHER_NOISE = 8.0  # of masses and sums beside the scatter, which are not used
_MASS_SHARE = 0.3  # of the precision of masses beside sums
_GRAM_SHARES = (1.0, 0.3)  # squared radius and squared constant of the grams
_LEAST_REACH = 0.1  # of the root mean square distance, relative to the radius of the domain
_MOST_AXES = 30  # in which cells are found
_FEW = 16  # axes are always kept
_DETECTED = 1.02  # an axis counts from this many times the edge of the noise
_DRAWN = 4000  # points of a Gaussian on which the first cells are found; free
_LEAST_MASS = 1.0 / 6.0  # of a cell, relative to the mean one


def shares(n_cells):
    """Return the steps for so many cells a class, and their shares of ``mu**2``."""
    if n_cells == 1:
        rest = {"grams": _SHARES["cells"] + _SHARES["grams"]}
    else:
        rest = dict.fromkeys(_ROUNDS, _SHARES["cells"] / len(_ROUNDS))
        rest["grams"] = _SHARES["grams"]
    return {"means": _SHARES["means"], "scatter": _SHARES["scatter"]} | rest


def number_of_cells(estimator, n_features, n_classes, size):
    """Return the number of cells of a class: a public rule where none is given.

    `size` is a public or noisy number of persons. Before it is known, None announces many cells.
    """
    each = n_classes * (n_features + 1) ** 2
    many = (
        size is None
        or gaussian_mu(estimator.epsilon, estimator.delta) * size / n_classes >= _SIGNAL
    )
    wanted = estimator.n_components
    if wanted == "auto":
        wanted = max(1, min(_CELLS if many else 1, _MOST_ENTRIES // each))
    if wanted * each > _LIMIT:
        raise ValueError(
            f"n_components={wanted} for {n_classes} classes of {n_features} features needs "
            f"matrices of {wanted * each} numbers, and at most {_LIMIT} are supported: take fewer "
            "components, or project the features first."
        )
    return int(wanted)


@dataclass(frozen=True, eq=False)
class Route:
    """Queries, and what follows from the releases so far.

    The first cells are drawn at random; later steps take them from the query that was released.
    """

    estimator: object
    facts: object

    @cached_property
    def n_cells(self):
        """Cells of a class."""
        facts = self.facts
        return number_of_cells(self.estimator, facts.n_features, facts.n_classes, facts.size)

    @cached_property
    def basis(self):
        """Public directions, smooth images first, or None."""
        return image_basis(self.estimator.image_shape)

    def query(self, step_name):
        """Return the query of a step."""
        if step_name in _ROUNDS:
            return self._cells_query(_ROUNDS.index(step_name))
        return {"means": self._means, "scatter": self._scatter, "grams": self._grams}[step_name]()

    def _means(self):
        domain = self.facts.domain
        centers = np.tile(domain.center, (self.facts.n_classes, 1))
        origin, radius = np.zeros((1, len(domain.center))), np.array([domain.radius])
        shares = (1.0, 1.0, 1.0)
        return self._by_class(ClusterMoments, self._frames(centers), origin, radius, shares)

    @cached_property
    def _first_moments(self):
        released = self.facts.released["means"]
        parts = (released.query.released_for(released, i) for i in range(self.facts.n_classes))
        return [part.query.read(part) for part in parts]

    @cached_property
    def class_sizes(self):
        """Noisy or public number of persons of every class, at least one."""
        masses = np.array([read.mass[0] for read in self._first_moments])
        sds = np.array([read.mass_sd for read in self._first_moments])
        return np.maximum(masses, np.maximum(2.0 * sds, 1.0))

    @cached_property
    def class_shares(self):
        """Shares of the classes."""
        return self.class_sizes / self.class_sizes.sum()

    @cached_property
    def _first_sums(self):
        """Sums of the rows of every class about the center of the domain, and their noise."""
        sums = np.stack([read.sums[0] for read in self._first_moments])
        return sums, np.array([read.sums_sd[0] for read in self._first_moments])

    @cached_property
    def class_means(self):
        """First means of the classes, drawn to the center of the domain where they are noise."""
        sizes, domain = self.class_sizes, self.facts.domain
        sums, sds = self._first_sums
        moves = shrink_steps(
            sums / sizes[:, None], (sds / sizes) ** 2, sizes, self.basis, domain.radius
        )
        return domain.clip(domain.center + moves)

    @cached_property
    def reaches(self):
        """Lengths that rows of a class are clipped to: root mean square distances from its mean.

        They are drawn together by their noise. In few dimensions distances differ more, and rows
        are clipped further out.
        """
        domain, sizes = self.facts.domain, self.class_sizes
        wider = math.sqrt(1.0 + math.sqrt(8.0 / self.facts.n_features))
        if self.estimator.radius is not None:
            return np.full(len(sizes), wider * float(self.estimator.radius))
        squares, noise = self._first_squares
        pooled = float(self.class_shares @ squares)
        squares = pooled + shrink_steps((squares - pooled)[:, None], noise, sizes)[:, 0]
        largest = domain.radius
        return wider * np.sqrt(np.clip(squares, (_LEAST_REACH * largest) ** 2, largest**2))

    @property
    def reach(self):
        """Such a length for all rows together."""
        return math.sqrt(float((self.reaches**2).mean()))

    @cached_property
    def _first_squares(self):
        """Mean square distances of rows from the means of their classes, and their noise."""
        sizes = self.class_sizes
        sums, sds = self._first_sums
        spreads = np.array([read.spread[0] for read in self._first_moments])
        wrong = np.array([read.spread_sd[0] for read in self._first_moments])
        lengths = (sums**2).sum(axis=1)
        noise = (wrong / sizes) ** 2 + 4.0 * lengths * sds**2 / sizes**4
        return (spreads - (lengths - sums.shape[1] * sds**2) / sizes) / sizes, noise

    def _scatter(self):
        facts = self.facts
        return Moments(
            self.class_means,
            _SCATTER_REACH * self.reach,
            second="pooled",
            block_weights=(_OTHER_NOISE, _OTHER_NOISE, 1.0),
            units=facts.units,
            total_public=facts.total_public,
        )

    def scatter(self, limits):
        """Return the pooled covariance within the classes without most of its noise.

        Parameters
        ----------
        limits : ndarray of shape (n_features,)
            Variances that the means allow, for images.
        """
        released = self.facts.released["scatter"]
        scale = released.query.step**2 / (self.facts.units * self.class_sizes.sum())
        matrix = symmetric(released.values[2][0], released.values[3][0]) * scale
        noise, shape = released.noise_sd[3] * scale, self.estimator.image_shape
        if shape is None:
            return _spiked(matrix, noise)
        return positive_part(smooth_covariance(matrix, noise**2, limits, shape))

    @cached_property
    def _leading(self):
        """The leading axes, in which cells are found."""
        if "cells_1" in self.facts.released:
            return self._released_cells("cells_1").queries[0].frame.axes
        limits = self.class_shares @ largest_variances(self.facts.domain, self.class_means)
        values, vectors = np.linalg.eigh(self.scatter(limits))
        kept = min(_MOST_AXES, len(values))
        least = 1e-9 * self.facts.domain.radius**2
        return Axes(vectors[:, ::-1].T, np.maximum(values[::-1][:kept], least))

    def _released_cells(self, name):
        return self.facts.released[name].query

    def _cells_query(self, number):
        axes = self._leading
        radius = _CELL_REACH * math.sqrt(float(axes.variances.sum()))
        radius = min(radius, _SCATTER_REACH * self.reach)
        radii = np.full(self.n_cells, radius)
        frames = self._frames(self.class_means, axes)
        return ByClass(
            tuple(
                self._ask(ClippedMeans, frame, centers, radii, (_MASS_SHARE, 1.0))
                for frame, centers in zip(frames, self._cell_centers(number), strict=True)
            )
        )

    def _cell_centers(self, number):
        """Centers of the cells of every class in the leading axes, after some rounds."""
        if number == 0:
            return [self._first_cells()] * self.facts.n_classes
        released = self.facts.released[_ROUNDS[number - 1]]
        parts = (released.query.released_for(released, i) for i in range(self.facts.n_classes))
        return [
            self._moved_cells(part, size)
            for part, size in zip(parts, self.class_sizes, strict=True)
        ]

    def _first_cells(self):
        """Centers that quantize the pooled Gaussian."""
        rng = public_generator(self.estimator.random_state)
        points = rng.standard_normal((_DRAWN, len(self._leading.variances)))
        points *= np.sqrt(self._leading.variances)
        return weighted_kmeans(points, np.ones(_DRAWN), self.n_cells, 1, rng)

    def _moved_cells(self, released, size):
        read = released.query.read(released)
        mass = np.maximum(read.mass, _LEAST_MASS * size / self.n_cells)
        noise = (read.sums_sd / mass) ** 2
        moves = shrink_steps(read.sums / mass[:, None], noise, mass)
        return released.query.used_centers + moves

    @cached_property
    def cell_centers(self):
        """Centers of the cells of every class, relative to its mean."""
        if self.n_cells == 1:
            return [np.zeros((1, self.facts.n_features))] * self.facts.n_classes
        return [low @ self._leading.kept for low in self._cell_centers(len(_ROUNDS))]

    def _grams(self):
        frames = self._frames(self.class_means)
        return ByClass(
            tuple(
                self._ask(CellGrams, frame, centers, np.full(self.n_cells, radius), _GRAM_SHARES)
                for frame, centers, radius in zip(
                    frames, self.cell_centers, _GRAM_REACH * self.reaches, strict=True
                )
            )
        )

    def _by_class(self, query_class, frames, centers, radii, shares):
        return ByClass(
            tuple(self._ask(query_class, frame, centers, radii, shares) for frame in frames)
        )

    def _frames(self, centers, axes=None):
        return frames_of(self.facts.domain, centers, digits_of(self.facts.units).rows, axes)

    def _ask(self, query_class, frame, centers, radii, shares):
        facts = self.facts
        return query_class(frame, centers, radii, shares, False, facts.units, facts.total_public)


def _spiked(matrix, sd):
    """Return a noisy covariance with the axes above the noise, and variances across them.

    The noise lengthens eigenvalues and turns their axes, by amounts that random matrices tell.
    """
    values, vectors = np.linalg.eigh(matrix)
    edge = 2.0 * sd * math.sqrt(len(values))
    kept = max(int((values > _DETECTED * edge).sum()), min(_FEW, len(values)))
    top, axes = np.maximum(values[-kept:], edge + 1e-300), vectors[:, -kept:]
    clean = unlengthened(top, edge)
    clean *= np.maximum(1.0 - edge**2 / (4.0 * clean**2), 0.0)
    inside = (axes * clean) @ axes.T
    across = np.maximum(np.diagonal(matrix) - np.diagonal((axes * top) @ axes.T), 0.0)
    # what the axes take of the noise by their choice is missing across them
    missing = max(float(np.trace(matrix) - clean.sum()), 0.0) * (kept < len(values))
    return inside + np.diag(across * (missing / max(float(across.sum()), 1e-300)))
