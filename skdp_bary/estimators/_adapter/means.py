"""Adapting by class means: rounds of private Lloyd steps between the classes of the source."""

import numpy as np
from scipy import linalg

from ...geometry._ball import Ball
from ...summaries.clusters.cluster_sums import ClippedMeans, digits_of
from ...summaries.moments.frames import Frame
from ...summaries.networks.row_features import FeaturesOf
from .._denoise.shrinkage import NoisyMeans, shrink_rows
from .methods import Adapted, AdapterMethod
from .tuning import TUNED


class ClassMeans(AdapterMethod):
    """Follow the class means of the source in the space that separates them best.

    In the space of linear discriminants, whitened so that classes have unit covariance, a row
    belongs to the nearest class mean. Every round releases, class by class, how many rows there are
    and how far they lie off the mean, and moves the means.
    """

    def shares(self, setting):
        """Return the rounds."""
        rounds = _rounds(setting)
        return {f"round_{i}": 1.0 / rounds for i in range(1, rounds + 1)}

    def questions(self, setting, facts):
        """Follow the means, move the source rows of every class with its mean, and refit."""
        source = setting.source
        axes, start = discriminants(source)
        means = start
        for i in range(1, _rounds(setting) + 1):
            query = class_query(means, setting.delta == 0, facts)
            released = yield f"round_{i}", FeaturesOf(source.features, axes, query)
            means = moved_means(query, query.read(released), facts)
        back = (means - start) @ linalg.pinv(axes).T
        moved = source.tables + back[source.codes].astype(np.float32)
        return Adapted(source.refit(moved))


def _rounds(setting):
    return TUNED.rounds if setting.max_iter is None else setting.max_iter


def class_query(means, pure, facts):
    """Return the question about the classes of some means."""
    width = means.shape[1]
    radius = TUNED.class_radius
    reach = 2.0 * (float(np.sqrt((means**2).sum(axis=1)).max()) + radius)
    frame = Frame(Ball(np.zeros(width), reach), np.zeros(width), digits_of(facts.units).rows)
    radii, shares = np.full(len(means), radius), TUNED.class_shares
    return ClippedMeans(frame, means, radii, shares, pure, facts.units, facts.total_public)


def discriminants(source):
    """Return the whitened discriminants of the source, one a line, and the class means on them."""
    features = source.tables[0].astype(np.float64)
    means = np.stack([features[source.codes == c].mean(axis=0) for c in range(source.n_classes)])
    within = features - means[source.codes]
    covariance = within.T @ within / len(features)
    spread = np.trace(covariance) / len(covariance) or 1.0  # none where the rows are all alike
    covariance += TUNED.ridge * spread * np.eye(len(covariance))
    values, vectors = linalg.eigh(covariance)
    white = (vectors / np.sqrt(values)) @ vectors.T
    middle = means.mean(axis=0)
    _, _, axes = linalg.svd((means - middle) @ white, full_matrices=False)
    width = min(source.n_classes - 1, len(covariance))
    axes = axes[:width] @ white
    return axes, means @ axes.T


def moved_means(query, read, facts):
    """Return the means after a round: shrunken steps, small masses taken for larger ones."""
    floor = TUNED.least_class_mass * facts.size / len(read.mass)
    means = NoisyMeans(query.used_centers, read, max(floor, 1.0))
    return means.asked + shrink_rows(means.steps, means.noise)
