"""Adapting by marginals: the source is moved to what is released of the private features."""

import math
from abc import abstractmethod

import numpy as np
from scipy import linalg

from ...geometry._ball import Ball
from ...geometry._directions import public_directions
from ...geometry._slices import SliceLattice
from ...summaries.moments.moments import symmetric
from ...summaries.networks.row_features import FeaturesOf
from ...summaries.slices.histogram import MOST_PERSONS
from ...summaries.slices.quantiles import ProjectedQuantiles
from ...transport._sliced import monotone_rows, sliced_gradient
from .methods import Adapted, AdapterMethod, clipping_radius, counted_mass, moments_query
from .tuning import TUNED


class Marginals(AdapterMethod):
    """Base: move the leading source coordinates, then train the head a little more."""

    needs_gaussian = True

    def questions(self, setting, facts):
        """Ask where the coordinates of source rows go, move every source table alike and refit."""
        source = setting.source
        axes = source.axes[: TUNED.leading_axes]
        shape = source.tables.shape
        flat = source.tables.reshape(-1, shape[2]).astype(np.float64)
        here = flat @ axes.T
        radius = clipping_radius(here[: shape[1]])  # of rows, without their views
        there = yield from self.moved(here, axes, radius, source.features, facts)
        moved = flat + (there - here) @ axes
        return Adapted(source.refit(moved.reshape(shape).astype(np.float32)))

    @abstractmethod
    def moved(self, here, axes, radius, features, facts):
        """Ask, and return where the coordinates of source rows go.

        Parameters
        ----------
        here : ndarray of shape (n_rows, n_axes)
        axes : ndarray of shape (n_axes, n_features)
        radius : float
            Length that private coordinates are clipped to.
        features : RowFeatures
        facts : Facts
        """


class MomentsMethod(Marginals):
    """Mean and covariance of the leading coordinates, and the Gaussian optimal transport map."""

    def shares(self, setting):
        """Return the one step: both moments are one release."""
        return {"moments": 1.0}

    def moved(self, here, axes, radius, features, facts):
        """Apply the map between the Gaussians of the source and of the release."""
        share = TUNED.mean_share
        weights = (1.0, 2.0 / math.sqrt(share), math.sqrt(2.0 / (1.0 - share)))
        query = moments_query(radius, axes, facts, "pooled", weights)
        released = yield "moments", FeaturesOf(features, axes, query)
        unit = query.step
        persons = counted_mass(released, facts) * facts.units
        mean = released.values[1][0] * (unit / persons)
        second = symmetric(released.values[2][0], released.values[3][0]) * (unit**2 / persons)
        middle = here.mean(axis=0)
        centred = here - middle
        before = centred.T @ centred / len(here)
        scale = np.sqrt(np.maximum(np.diag(before), 1e-12))
        after = (second - np.outer(mean, mean)) / np.outer(scale, scale)
        matrix = gaussian_map(before / np.outer(scale, scale), after)
        return mean + ((centred / scale) @ matrix.T) * scale


class SketchMethod(Marginals):
    """One released sketch of slices, which the source coordinates follow for some sweeps.

    The gradient is that of the public side; the private side is the released sketch.
    """

    def shares(self, setting):
        """Return the one step."""
        return {"sketch": 1.0}

    def moved(self, here, axes, radius, features, facts):
        """Follow the released quantiles; on a tight frame a common shift takes one sweep."""
        directions = public_directions("tight", None, len(axes))
        lattice = SliceLattice(Ball(np.zeros(len(axes)), radius), directions)
        n_min = None if facts.total_public else (min(facts.size, MOST_PERSONS),)
        balance = math.sqrt(facts.size * facts.mechanisms["sketch"].mu / (2.0 * lattice.norm))
        n_quantiles = int(np.clip(round(balance), TUNED.fewest_blocks, TUNED.most_blocks))
        query = ProjectedQuantiles(lattice, n_min, 1, facts.units, n_quantiles)
        released = yield "sketch", FeaturesOf(features, axes, query)
        persons = counted_mass(released, facts) if n_min is None else n_min[0]
        quantiles = monotone_rows(query.means(released.values[-1][0], persons))
        points = here.copy()
        rate = 0.5 * points.size
        for _ in range(TUNED.sweeps):
            points -= rate * sliced_gradient(points, lattice.directions, quantiles)[1]
        return points


def gaussian_map(before, after):
    """Return the matrix of the optimal transport map between centred Gaussians.

    The second covariance may be noisy: eigenvalues below a small part of the typical variance of
    the first are raised to it.
    """
    before = _raised(before, TUNED.floor * float(np.mean(np.diag(before))))
    after = _raised(after, TUNED.floor * float(np.mean(np.diag(before))))
    values, vectors = linalg.eigh(before)
    root = (vectors * np.sqrt(values)) @ vectors.T
    inverse = (vectors / np.sqrt(values)) @ vectors.T
    values, vectors = linalg.eigh(root @ after @ root)
    middle = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    return inverse @ middle @ inverse


def _raised(matrix, least):
    values, vectors = linalg.eigh((matrix + matrix.T) / 2.0)
    return (vectors * np.maximum(values, least)) @ vectors.T
