"""Comparators of Haar trees: noisy counts on all levels, as in He, Vershynin and Zhu, or fitted."""

from dataclasses import dataclass

import numpy as np

from ...summaries.trees.hierarchy import CellCounts
from ...transport._tree.consistency import make_consistent, project_nonnegative, share_nonnegative
from ...transport._tree.nodes import Tree
from .trees import TreeMethod, halving_orders


@dataclass(frozen=True)
class CountsMethod(TreeMethod):
    """Noisy counts of all cells of all levels, made consistent afterwards.

    Parameters
    ----------
    exponent : float
        Scales shrink by ``2**(exponent * (1 - 1/d))`` a level: 0 spends the same on every level,
        1/2 is the schedule of He, Vershynin and Zhu's private measure mechanism.
    least_squares : bool
        True: weighted least squares over all levels, then the nearest non-negative masses. False:
        one pass down in which two children share their parent in proportion to their noisy counts.
    """

    exponent: float
    least_squares: bool

    query_class = CellCounts

    def level_scales(self, n_features, depth):
        """Return the schedule."""
        return 2.0 ** (-np.arange(depth) * self.exponent * (1.0 - 1.0 / n_features))

    def masses(self, tree, blocks, noise_sd):
        """Return consistent non-negative masses."""
        binary = Tree.complete(tree.depth, branching=2)
        orders = halving_orders(tree)
        values = []
        for block, order in zip(blocks, orders, strict=True):
            values.append(np.empty(block.size))
            values[-1][order] = block
        if self.least_squares:
            variances = [np.full(v.size, sd**2) for v, sd in zip(values, noise_sd, strict=True)]
            values = project_nonnegative(binary, make_consistent(binary, values, variances)[0])
        else:
            values = share_nonnegative(binary, values)
        return [value[order] for value, order in zip(values, orders, strict=True)]
