"""Comparator: plain noisy Lloyd from public centers, which everyone knows."""

import numpy as np

from ..._shown import shown
from ...summaries.clusters.cluster_sums import ClusterMoments, digits_of
from ...summaries.moments.frames import Frame
from .._clusters.methods import KMeansMethod, PrivateClusters, WeightedPoints, about_clusters
from .._clusters.tuning import TUNED
from .._denoise.shrinkage import read_means


class LloydMethod(KMeansMethod):
    """Noisy counts and sums of the clusters, round after round, with equal shares."""

    def shares(self, setting):
        """Return one step a round."""
        _public_centers(setting)
        rounds = _n_rounds(setting)
        return {f"round_{i + 1}": 1.0 / rounds for i in range(rounds)}

    def questions(self, setting, facts):
        """Ask for the moments of the clusters about the centers so far, round after round."""
        domain = facts.domain
        frame = Frame(domain, domain.center, digits_of(facts.units).rows)
        radii = np.full(setting.n_clusters, domain.radius)
        centers, rounds = domain.clip(_public_centers(setting)), _n_rounds(setting)
        for i in range(rounds):
            query = about_clusters(
                ClusterMoments, facts, frame, centers - frame.center, radii, TUNED.lloyd_blocks
            )
            means = read_means((yield f"round_{i + 1}", query))
            centers = domain.clip(frame.center + means.asked + means.of_known(means.steps))
        masses = np.maximum(means.read.mass, 0.0)
        within = max(float(means.read.spread.sum()) / max(float(masses.sum()), 1.0), 0.0)
        coarse = WeightedPoints(centers, masses, means.read.mass_sd, within)
        return PrivateClusters(centers, masses, np.sqrt(means.noise), rounds, coarse)


def _n_rounds(setting):
    return max(setting.rounds(TUNED.lloyd_rounds), 1)


def _public_centers(setting):
    """Return `init` as an array of centers, or raise."""
    centers = np.asarray(setting.init, dtype=np.float64)
    shape = (setting.n_clusters, setting.n_features)
    if centers.shape != shape or not np.isfinite(centers).all():
        raise ValueError(
            'init must be "grid" or finite public centers of shape (n_clusters, n_features) = '
            f"{shape}, got {shown(setting.init)}."
        )
    return centers
