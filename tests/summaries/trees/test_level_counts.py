"""How far one person moves counts on some levels of a tree."""

import numpy as np
import pytest

from skdp_bary.privacy._neighbors import RELATIONS
from skdp_bary.summaries.trees.level_counts import LevelCounts
from tests.summaries.trees.moved import CLASSES, TREE, largest_and_stated


@pytest.mark.parametrize("levels", [(0, 2, 4), (2, 4), (0, 4)])
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("total_public", [False, True])
def test_no_neighbor_moves_more_than_stated_and_some_do(relation, levels, total_public):
    if total_public and relation != "replace_one":
        pytest.skip("sizes of classes are private")
    query = LevelCounts(TREE, CLASSES, 2, total_public, levels=levels)
    largest, stated = largest_and_stated(query, relation, len(levels))
    np.testing.assert_array_less(largest, stated * (1 + 1e-12))
    np.testing.assert_allclose(largest, stated)
