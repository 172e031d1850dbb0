"""Models of the classes in a released subspace: a Gaussian each, corrected cell by cell."""

from dataclasses import dataclass

import numpy as np

from ...transport import DiscreteMeasure
from .._denoise.shrinkage import shrink_steps

_SCALE_RANGE = (0.05, 2.0)  # of the width of a cell's part of a model after a correction


@dataclass(frozen=True, eq=False)
class GaussianModels:
    """One Gaussian a class.

    Attributes
    ----------
    means : ndarray of shape (n_classes, n_axes)
    roots : ndarray of shape (n_classes, n_axes, n_axes)
        A root of each covariance: standard normal rows times it have that covariance.
    """

    means: np.ndarray
    roots: np.ndarray

    def draw(self, size, rng):
        """Draw `size` points of every class."""
        return [
            DiscreteMeasure(mean + rng.standard_normal((size, len(mean))) @ root)
            for mean, root in zip(self.means, self.roots, strict=True)
        ]


@dataclass(frozen=True, eq=False)
class CorrectedModels:
    """Models whose part in every cell was given the released mass, mean and width.

    The points of class i in cell j move by one step and are scaled about their mean, and their
    weights are multiplied by one factor.

    Attributes
    ----------
    models : GaussianModels or CorrectedModels
    release : Release
        Of a Mapped CellSpreads query about the cells of these models.
    """

    models: object
    release: object

    def draw(self, size, rng):
        """Draw points of the models, and correct them."""
        drawn = self.models.draw(size, rng)
        cells = self.release.query.query
        labels = [
            cells.cells_of(each.support, np.full(each.n_points, code))
            for code, each in enumerate(drawn)
        ]
        own = [_profile(*each) for each in zip(drawn, labels, cells.origins, strict=True)]
        shares, widths = (np.stack(part) for part in zip(*own, strict=True))
        factors, moves, scales = self._corrections(cells, shares, widths)
        corrected = []
        for code, (each, label) in enumerate(zip(drawn, labels, strict=True)):
            origins = cells.origins[code]
            offsets = (each.support - origins[label]) * scales[code, label, None]
            points = (origins + moves[code])[label] + offsets
            corrected.append(DiscreteMeasure(points, each.weights * factors[code, label]))
        return corrected

    def _corrections(self, cells, shares, widths):
        """Factors of mass, steps and scales of every class and cell."""
        masses, sums, squares = self.release.values
        noise = self.release.noise_sd
        sizes = np.maximum(
            masses.sum(axis=1, keepdims=True), 0.25 * abs(masses.sum()) / len(masses)
        )
        sizes = np.maximum(sizes, 1.0)
        expected = np.maximum(sizes * shares, 1e-3 * sizes / shares.shape[1])
        masses = np.maximum(expected + _trusted(masses - expected, noise[0]), 0.01 * expected)
        heavy = np.maximum(masses, 0.2 * sizes / shares.shape[1])
        flat = (-1, sums.shape[-1])
        steps = sums / heavy[..., None] * cells.row_step
        variance = (noise[1] * cells.row_step / heavy) ** 2
        moves = shrink_steps(
            steps.reshape(flat), variance.ravel(), masses.ravel(), reach=cells.radius
        )
        moves = moves.reshape(steps.shape)
        found = squares * cells.square_step / heavy - (moves**2).sum(axis=2)
        widths = np.maximum(widths, 1e-6 * max(float(widths.max()), 1e-300))
        wrong = noise[2] * cells.square_step / (heavy * widths)
        ratio = 1.0 + (found / widths - 1.0) / (1.0 + (2.0 * wrong) ** 2)
        scales = np.clip(np.sqrt(np.maximum(ratio, 0.0)), *_SCALE_RANGE)
        return masses / expected, moves, scales


def _profile(measure, labels, origins):
    """Share of a drawn class in every cell, and its mean square distance from the origins."""
    lengths = ((measure.support - origins[labels]) ** 2).sum(axis=1)
    weights = measure.weights / measure.weights.sum()
    shares = np.bincount(labels, weights, minlength=len(origins))
    squares = np.bincount(labels, weights * lengths, minlength=len(origins))
    return shares, squares / np.maximum(shares, 1e-12)


def _trusted(moves, sd):
    """Draw numbers to zero by the share of their mean square that is noise."""
    prior = max(float((moves.astype(float) ** 2).mean()) - sd**2, 0.0)
    return moves * (prior / max(prior + sd**2, 1e-300))
