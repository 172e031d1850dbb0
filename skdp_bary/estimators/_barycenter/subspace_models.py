"""A released subspace, and models of the classes in it: points that are corrected cell by cell."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...transport import DiscreteMeasure
from .._denoise.shrinkage import shrink_steps, shrink_together
from .tuning import TUNED


@dataclass(frozen=True, eq=False)
class Subspace:
    """The leading axes of a noisy scatter, and where the classes lie.

    Attributes
    ----------
    means : ndarray of shape (n_classes, n_features)
        Means of the classes.
    axes : ndarray of shape (n_axes, n_features)
        Leading axes, as rows.
    values : ndarray of shape (n_features,)
        Eigenvalues of the noisy scatter, largest first.
    vectors : ndarray of shape (n_features, n_features)
        All axes.
    edge : float
        Eigenvalue that noise alone reaches.
    radius : float
        Distance from their class mean that most rows are within.
    """

    means: np.ndarray
    axes: np.ndarray
    values: np.ndarray
    vectors: np.ndarray
    edge: float
    radius: float

    @cached_property
    def places(self):
        """Coordinates of the class means in the subspace."""
        return self.means @ self.axes.T

    @cached_property
    def beside(self):
        """Part of every class mean that is not in the subspace."""
        return self.means - self.places @ self.axes

    def restored(self, points):
        """Return points of the subspace, one line a class, in the space of the rows."""
        return points @ self.axes + self.beside[:, None]

    def reach(self, factor, square):
        """Return a clipping radius for residuals of a mean square, noisy as that may be."""
        least, largest = (TUNED.least_radius * self.radius) ** 2, self.radius**2
        return factor * math.sqrt(min(max(square, least), largest))

    def residual_radius(self, means, class_weights):
        """Return that of residuals with all features, by the scatter that means of cells leave."""
        apart = ((means - self.places[:, None]) ** 2).sum(axis=2).mean(axis=1)
        left = float(self.values.sum() - class_weights @ apart)
        return self.reach(TUNED.residual_reach, left)


def drawn(means, roots, size, rng):
    """Draw `size` points of a Gaussian for every class.

    Standard normal rows times a root of a covariance have that covariance.
    """
    return [
        DiscreteMeasure(mean + rng.standard_normal((size, len(mean))) @ root)
        for mean, root in zip(means, roots, strict=True)
    ]


def corrected(models, cells, released):
    """Give the part of every model in every cell the released mass, mean and width.

    The points of class i in cell j move by one step and are scaled about their mean, and their
    weights are multiplied by one factor.

    Parameters
    ----------
    models : list of DiscreteMeasure
    cells : CellSpreads
        About the cells of these models.
    released : Release
        Its answer.
    """
    labels = [
        cells.cells_of(each.support, np.full(each.n_points, code))
        for code, each in enumerate(models)
    ]
    own = [_profile(*each) for each in zip(models, labels, cells.origins, strict=True)]
    shares, widths = (np.stack(part) for part in zip(*own, strict=True))
    factors, moves, scales = _corrections(cells, released, shares, widths)
    moved = []
    for code, (each, label) in enumerate(zip(models, labels, strict=True)):
        origins = cells.origins[code]
        offsets = (each.support - origins[label]) * scales[code, label, None]
        points = (origins + moves[code])[label] + offsets
        moved.append(DiscreteMeasure(points, each.weights * factors[code, label]))
    return moved


def at_least(masses):
    """Return masses as floats, none below a fraction of the mean one."""
    masses = np.asarray(masses, dtype=float)
    return np.maximum(masses, TUNED.least_class * max(float(masses.mean()), 1.0))


def _corrections(cells, released, shares, widths):
    """Factors of mass, steps and scales of every class and cell."""
    masses, sums, squares = released.values
    noise, (n_classes, n_atoms) = released.noise_sd, masses.shape
    least = TUNED.least_class * abs(masses.sum()) / n_classes
    sizes = np.maximum(np.maximum(masses.sum(axis=1, keepdims=True), least), 1.0)
    expected = np.maximum(sizes * shares, TUNED.hardly * sizes / n_atoms)
    masses = expected + shrink_together(masses - expected, noise[0] ** 2)
    masses = np.maximum(masses, TUNED.least_kept * expected)
    heavy = np.maximum(masses, TUNED.least_mass * sizes / n_atoms)
    steps = sums / heavy[..., None] * cells.row_step
    variance = (noise[1] * cells.row_step / heavy) ** 2
    flat = steps.reshape(-1, steps.shape[-1])
    moves = shrink_steps(flat, variance.ravel(), masses.ravel(), reach=cells.radius)
    moves = moves.reshape(steps.shape)
    found = squares * cells.square_step / heavy - (moves**2).sum(axis=2)
    widths = np.maximum(widths, 1e-6 * max(float(widths.max()), 1e-300))
    wrong = noise[2] * cells.square_step / (heavy * widths)
    ratio = 1.0 + (found / widths - 1.0) / (1.0 + (2.0 * wrong) ** 2)
    scales = np.clip(np.sqrt(np.maximum(ratio, 0.0)), *TUNED.scale_range)
    return masses / expected, moves, scales


def _profile(measure, labels, origins):
    """Share of a drawn class in every cell, and its mean square distance from the origins."""
    lengths = ((measure.support - origins[labels]) ** 2).sum(axis=1)
    weights = measure.weights / measure.weights.sum()
    shares = np.bincount(labels, weights, minlength=len(origins))
    squares = np.bincount(labels, weights * lengths, minlength=len(origins))
    return shares, squares / np.maximum(shares, 1e-12)
