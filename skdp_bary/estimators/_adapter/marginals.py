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
from ...summaries.slices.quantiles import ProjectedQuantiles
from ...transport._sliced import monotone_rows, sliced_gradient
from .methods import AdapterMethod, counted_mass, moments_query

N_AXES = 30
_MEAN_SHARE = 0.3  # of mu squared; the second moment has the rest
_FLOOR = 0.05  # of the source variance along an axis: noise may leave less, or none
_SWEEPS = 30
_FEWEST, _MOST = 8, 128


class Marginals(AdapterMethod):
    """Base: move the leading source coordinates, then train the head a little more."""

    needs_gaussian = True

    def finish(self, estimator, source, facts):
        """Move every source table alike and refit."""
        axes = source.axes[:N_AXES]
        flat = source.tables.reshape(-1, source.tables.shape[2]).astype(np.float64)
        here = flat @ axes.T
        moved = flat + (self.move(here, source, facts) - here) @ axes
        return source.refit(moved.reshape(source.tables.shape).astype(np.float32))

    @abstractmethod
    def move(self, here, source, facts):
        """Return where the coordinates of source rows go."""


class MomentsMethod(Marginals):
    """Mean and covariance of the leading coordinates, and the Gaussian optimal transport map."""

    def shares(self, estimator):
        """Return the one step: both moments are one release."""
        return {"moments": 1.0}

    def query(self, estimator, source, step_name, facts):
        """Ask for mass, sum and second moment."""
        weights = (1.0, 2.0 / math.sqrt(_MEAN_SHARE), math.sqrt(2.0 / (1.0 - _MEAN_SHARE)))
        return moments_query(source, source.axes[:N_AXES], facts, "pooled", weights)

    def move(self, here, source, facts):
        """Apply the map between the Gaussians of the source and of the release."""
        released = facts.released["moments"]
        unit = released.query.query.step
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

    def shares(self, estimator):
        """Return the one step."""
        return {"sketch": 1.0}

    def query(self, estimator, source, step_name, facts):
        """Ask for block means of the sorted projections on a tight frame."""
        axes = source.axes[:N_AXES]
        radius = moments_query(source, axes, facts, "none", (1.0, 1.0, 1.0)).query.radius
        directions = public_directions("tight", None, len(axes))
        lattice = SliceLattice(Ball(np.zeros(len(axes)), radius), directions)
        n_min = None if facts.total_public else (max(int(facts.size), 1),)
        balance = math.sqrt(facts.size * facts.mechanisms["sketch"].mu / (2.0 * lattice.norm))
        n_quantiles = int(np.clip(round(balance), _FEWEST, _MOST))
        question = ProjectedQuantiles(lattice, n_min, 1, facts.units, n_quantiles)
        return FeaturesOf(source.features, axes, question)

    def move(self, here, source, facts):
        """Follow the released quantiles; on a tight frame a common shift takes one sweep."""
        released = facts.released["sketch"]
        question = released.query.query
        persons = facts.size if question.n_min is not None else counted_mass(released, facts)
        quantiles = monotone_rows(question.means(released.values[-1][0], persons))
        points = here.copy()
        rate = 0.5 * points.size
        for _ in range(_SWEEPS):
            points -= rate * sliced_gradient(points, question.lattice.directions, quantiles)[1]
        return points


def gaussian_map(before, after):
    """Return the matrix of the optimal transport map between centred Gaussians.

    The second covariance may be noisy: eigenvalues below a small part of the typical variance of
    the first are raised to it.
    """
    before = _raised(before, _FLOOR * float(np.mean(np.diag(before))))
    after = _raised(after, _FLOOR * float(np.mean(np.diag(before))))
    values, vectors = linalg.eigh(before)
    root = (vectors * np.sqrt(values)) @ vectors.T
    inverse = (vectors / np.sqrt(values)) @ vectors.T
    values, vectors = linalg.eigh(root @ after @ root)
    middle = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    return inverse @ middle @ inverse


def _raised(matrix, least):
    values, vectors = linalg.eigh((matrix + matrix.T) / 2.0)
    return (vectors * np.maximum(values, least)) @ vectors.T
