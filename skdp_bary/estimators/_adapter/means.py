"""Adapting by class means: rounds of private Lloyd steps between the classes of the source."""

import numpy as np
from scipy import linalg

from ...geometry._ball import Ball
from ...summaries.clusters.cluster_sums import ClippedMeans, digits_of
from ...summaries.moments.frames import Frame
from ...summaries.networks.row_features import FeaturesOf
from .._denoise.shrinkage import shrink_rows
from .methods import AdapterMethod

_RADIUS = 6.0  # of residuals, where a class has unit covariance
_SHARES = (0.3, 1.0)  # of the noise's precision: masses and sums
_FLOOR = 0.2  # of an equal share of the rows: smaller masses are mostly noise
_RIDGE = 1e-3


class ClassMeans(AdapterMethod):
    """Follow the class means of the source in the space that separates them best.

    In the space of linear discriminants, whitened so that classes have unit covariance, a row
    belongs to the nearest class mean. Every round releases, class by class, how many rows there are
    and how far they lie off the mean, and moves the means.
    """

    default_steps = 6

    def shares(self, estimator):
        """Return the rounds."""
        rounds = self.steps(estimator)
        return {f"round_{t}": 1.0 / rounds for t in range(1, rounds + 1)}

    def query(self, estimator, source, step_name, facts):
        """Ask about the classes of the means so far."""
        axes, means = discriminants(source)
        number = int(step_name.rpartition("_")[2])
        if number > 1:
            means = moved_means(facts.released[f"round_{number - 1}"], facts)
        reach = 2.0 * (float(np.sqrt((means**2).sum(axis=1)).max()) + _RADIUS)
        width = len(axes)
        frame = Frame(Ball(np.zeros(width), reach), np.zeros(width), digits_of(facts.units).rows)
        question = ClippedMeans(
            frame,
            means,
            np.full(len(means), _RADIUS),
            _SHARES,
            estimator.delta == 0,
            facts.units,
            facts.total_public,
        )
        return FeaturesOf(source.features, axes, question)

    def finish(self, estimator, source, facts):
        """Move the source rows of every class with its mean, and refit."""
        axes, means = discriminants(source)
        shifts = moved_means(facts.released[f"round_{self.steps(estimator)}"], facts) - means
        back = shifts @ linalg.pinv(axes).T
        moved = source.tables + back[source.codes].astype(np.float32)
        return source.refit(moved)


def discriminants(source):
    """Return the whitened discriminants of the source, one a line, and the class means on them."""
    features = source.tables[0].astype(np.float64)
    means = np.stack([features[source.codes == c].mean(axis=0) for c in range(source.n_classes)])
    within = features - means[source.codes]
    covariance = within.T @ within / len(features)
    covariance += _RIDGE * np.trace(covariance) / len(covariance) * np.eye(len(covariance))
    values, vectors = linalg.eigh(covariance)
    white = (vectors / np.sqrt(values)) @ vectors.T
    middle = means.mean(axis=0)
    _, _, axes = linalg.svd((means - middle) @ white, full_matrices=False)
    width = min(source.n_classes - 1, len(covariance))
    axes = axes[:width] @ white
    return axes, means @ axes.T


def moved_means(released, facts):
    """Return the means after a round: shrunken steps, small masses taken for larger ones."""
    question = released.query.query
    found = question.read(released)
    floor = _FLOOR * facts.size / len(found.mass)
    mass = np.maximum(found.mass, max(floor, 1.0))
    noise = (found.sums_sd / mass) ** 2
    return question.used_centers + shrink_rows(found.sums / mass[:, None], noise)
