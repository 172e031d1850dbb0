"""The private measure of He, Vershynin and Zhu (COLT 2023), to compare with.

Noisy counts of all cells of all levels, by the published schedule, scaled so that it spends what it
says, and one pass of proportional consistency.
"""

import numpy as np

from skdp_bary import PrivateMeasure
from skdp_bary.estimators.noisy_trees import HaarMethod
from skdp_bary.queries.cells import LevelCounts


def shared(tree, counts):
    """Return masses of every level: halves share their cell as their positive counts do."""
    masses = [np.maximum(counts[0], 0.0)]
    for level, below in enumerate(counts[1:]):
        first, second = (np.maximum(half, 0.0) for half in tree.halves(below, level))
        total = first + second
        share = np.divide(first, total, out=np.full(len(total), 0.5), where=total > 0)
        masses.append(tree.join(masses[-1] * share, masses[-1] * (1.0 - share), level))
    return masses


class PublishedCounts(HaarMethod):
    """Counts in place of differences; noise shrinks by ``2**((1 - 1/d) / 2)`` a level."""

    query_class = LevelCounts

    def level_scales(self, n_features, depth):
        """Return the schedule."""
        return 2.0 ** (-np.arange(depth) * 0.5 * (1.0 - 1.0 / n_features))

    def masses(self, tree, blocks, noise_sd):
        """Return consistent non-negative masses."""
        return shared(tree, blocks)


class PublishedMeasure(PrivateMeasure):
    """The estimator with these counts where it has differences."""

    _tree_method = PublishedCounts()
