"""Trees that go deeper where masses call for it."""

import numpy as np

from tests.world import Partition, Tree, refine


def test_refine_splits_while_the_mass_shows():
    tree = Tree.complete(1)
    masses = (np.array([124.0]), np.array([0.0, 3.9, 20.0, 100.0]))
    refined = refine(tree, masses, 4.0, (4,) * 6)
    levels, codes, _ = refined.leaves([np.zeros(n) for n in refined.sizes])
    Partition(6, levels, codes)
    # 0 and 3.9 stay; 20, 5 are split and 1.25 not; 100, 25, 6.25 are split and 1.56 not
    assert dict(zip(*np.unique(levels, return_counts=True), strict=True)) == {1: 2, 3: 16, 4: 64}
    assert refine(tree, masses, 4.0, (4,) * 2).depth == 2


def test_refine_keeps_what_was_split_before():
    tree = Tree((np.ones(1, bool), np.array([1, 0, 0, 0], bool), np.zeros(4, bool)), (4, 4))
    masses = (np.array([1.0]), np.array([0.0, 0.0, 1.0, 0.0]), np.array([0.0, 9.0, 0.0, 0.0]))
    refined = refine(tree, masses, 3.0, (4,) * 3)
    levels, codes, _ = refined.leaves([np.zeros(n) for n in refined.sizes])
    leaves = {k: codes[levels == k].tolist() for k in (1, 2, 3)}
    assert leaves == {1: [1, 2, 3], 2: [0, 2, 3], 3: [4, 5, 6, 7]}


def test_refine_takes_any_branching():
    refined = refine(Tree.complete(0), (np.array([100.0]),), 20.0, (4, 2, 2))
    assert refined.sizes == (1, 4, 8)
    assert refined.branching == (4, 2)
