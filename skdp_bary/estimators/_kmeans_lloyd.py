"""Plain noisy Lloyd from public centers: the comparator that everyone knows."""

import numpy as np

from ..summaries._cluster_sums import ClusterMoments, digits_of
from ..summaries._frames import Frame
from ._kmeans_methods import CoarseData, KMeansMethod, PrivateClusters, is_gaussian

_ROUNDS = 5
_SHARES = (0.5, 1.0, 0.1)


class LloydMethod(KMeansMethod):
    """Noisy counts and sums of the clusters, round after round, with equal shares."""

    def shares(self, estimator, n_features):
        """Return one step a round."""
        rounds = _ROUNDS if estimator.max_iter == "auto" else max(estimator.max_iter, 1)
        return {f"round_{i + 1}": 1.0 / rounds for i in range(rounds)}

    def query(self, estimator, step_name, facts):
        """Return the moments of the clusters about the centers so far."""
        domain = facts.domain
        frame = Frame(domain, domain.center, digits_of(facts.units).rows)
        number = int(step_name[6:])
        if number == 1:
            centers = domain.clip(public_centers(estimator, facts.n_features))
        else:
            centers = _read(facts, number - 1)[0]
        radii = np.full(len(centers), domain.radius)
        pure = not is_gaussian(facts)
        return ClusterMoments(
            frame, centers - frame.center, radii, _SHARES, pure, facts.units, facts.mass_public
        )

    def finish(self, estimator, facts):
        """Read the last round."""
        rounds = sum(name.startswith("round_") for name in facts.released)
        centers, noise, read = _read(facts, rounds)
        masses = np.maximum(read.mass, 0.0)
        within = max(float(read.spread.sum()) / max(float(masses.sum()), 1.0), 0.0)
        coarse = CoarseData(centers, masses, read.mass_sd, within)
        return PrivateClusters(centers, masses, np.sqrt(noise), rounds, coarse)


def public_centers(estimator, n_features):
    """Return `init` as an array of centers, or raise."""
    centers = np.asarray(estimator.init, dtype=np.float64)
    if centers.shape != (estimator.n_clusters, n_features) or not np.isfinite(centers).all():
        raise ValueError(
            'init must be "grid" or finite public centers of shape (n_clusters, n_features) = '
            f"({estimator.n_clusters}, {n_features}), got {estimator.init!r}."
        )
    return centers


def _read(facts, number):
    """Return the centers after a round, the noise of each coordinate, and the round's readout."""
    released = facts.released[f"round_{number}"]
    query = released.query
    read = query.read(released)
    mass = np.maximum(read.mass, 2.0 * read.mass_sd)
    steps = read.sums / mass[:, None]
    steps[read.mass <= 2.0 * read.mass_sd] = 0.0
    centers = facts.domain.clip(query.frame.center + query.used_centers + steps)
    return centers, (read.sums_sd / mass) ** 2, read
