"""Trees that go deeper where masses call for it."""

import numpy as np

from .nodes import Tree


def refine(tree, masses, least, branching):
    """Return the tree in which every leaf is split, again and again, while its parts show.

    A leaf is split while its mass is at least `least` and it is above the last level; each of its
    parts counts with an equal share of its mass.

    Parameters
    ----------
    tree : Tree
    masses : sequence of ndarray
        Of the cells of each of its levels.
    least : float
    branching : tuple of int
        Number of children of a cell of each level of the deepest tree there may be.
    """
    chosen, origin, mass = [], np.arange(tree.sizes[0]), masses[0]
    for k, b in enumerate(branching):
        inner = np.zeros(len(origin), dtype=bool)
        if k < tree.depth:
            inner = np.where(origin >= 0, tree.chosen[k][origin], False)
        split = inner | (mass >= least)
        if not split.any():
            break
        chosen.append(split)
        origin = origins_below(tree, k, origin, split, b)
        mass = np.repeat(mass[split] / b, b)
        if k < tree.depth:
            mass = np.where(origin >= 0, masses[k + 1][origin], mass)
    chosen.append(np.zeros(len(origin), dtype=bool))
    return Tree(tuple(chosen), tuple(branching[: len(chosen) - 1]))


def origins_below(tree, k, origin, split, branching):
    """Places in `tree` of the children of the split cells, -1 for cells that it does not list.

    `origin` holds the places of the cells of level k.
    """
    parents = origin[split]
    if k >= tree.depth:
        return np.full(branching * len(parents), -1)
    rank = np.cumsum(tree.chosen[k]) - 1
    known = (parents >= 0) & tree.chosen[k][parents]
    first = np.where(known, branching * rank[parents], -1)
    return np.where(known[:, None], first[:, None] + np.arange(branching), -1).ravel()
