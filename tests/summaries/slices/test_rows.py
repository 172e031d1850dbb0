"""Rows as an answer: integers of each row alone, how far one row moves them, and in which order."""

from collections import Counter
from fractions import Fraction
from math import factorial

import numpy as np
import pytest

from skdp_bary.exceptions import RelationError
from skdp_bary.geometry import Ball
from tests.cases import every
from tests.world import (
    ProjectedRows,
    RoundedGaussian,
    SliceLattice,
    answer,
    haar_frame,
    noise_generator,
    shuffled,
    sketch,
    tight_frame,
)


def independent(d, k, rng):
    U = rng.standard_normal((d, k))
    return U / np.linalg.norm(U, axis=0)


FRAMES = [(haar_frame, 5, 2), (haar_frame, 3, 3), (tight_frame, 3, 8), (independent, 4, 6)]


def make_query(frame, d, k, n_classes=1, seed=0):
    rng = np.random.default_rng(seed)
    domain = Ball(rng.standard_normal(d), 2.0)
    return ProjectedRows(SliceLattice(domain, frame(d, k, rng)), n_classes)


@every("frame, d, k", FRAMES)
def test_levels_are_the_projections(frame, d, k):
    query = make_query(frame, d, k)
    domain = query.lattice.domain
    X = domain.center + np.random.default_rng(1).standard_normal((50, d))
    (block,) = answer(query, X)
    assert block.dtype == np.int64 and block.shape == (50, k)
    exact = (domain.clip(X) - domain.center) @ query.lattice.directions
    assert np.abs(block * query.lattice.step - exact).max() <= 0.501 * query.lattice.step


@every("frame, d, k", FRAMES)
def test_a_replaced_row_moves_its_own_numbers_by_at_most_what_is_stated(frame, d, k):
    query = make_query(frame, d, k)
    stated = query.sensitivity("replace_one")
    center, rng = query.lattice.domain.center, np.random.default_rng(2)
    along = np.linalg.svd(query.lattice.directions)[0][:, 0]
    worst = 0.0
    for trial in range(300):
        z = along if trial % 3 == 0 else rng.standard_normal(d)
        first, second = center + 9 * z, center - 9 * z
        if trial % 3 == 2:
            second = center + rng.standard_normal(d)
        X = center + rng.standard_normal((6, d))
        X[2] = first
        before = answer(query, X)[0]
        X[2] = second
        moved = (answer(query, X)[0] - before).astype(object)
        assert not moved[[0, 1, 3, 4, 5]].any()
        assert (abs(moved)).sum() <= stated.l1[0][0]
        assert (moved**2).sum() <= stated.l2_squared[0][0]
        worst = max(worst, (moved**2).sum() / stated.l2_squared[0][0])
    assert worst > 0.99


def test_classes_are_blocks_and_one_of_them_changes():
    query = make_query(tight_frame, 2, 5, n_classes=3)
    X = np.random.default_rng(0).standard_normal((7, 2))
    codes = np.array([2, 0, 2, 2, 0, 1, 2])
    blocks = answer(query, X, codes)
    assert [block.shape for block in blocks] == [(2, 5), (1, 5), (4, 5)]
    single = make_query(tight_frame, 2, 5)
    np.testing.assert_array_equal(blocks[2], answer(single, X[codes == 2])[0])
    stated = query.sensitivity("replace_one")
    alone = single.sensitivity("replace_one")
    scales = RoundedGaussian(0.7).scales(stated)
    assert scales == RoundedGaussian(0.7).scales(alone) * 3


@every("relation", ["add_remove", "replace_any"])
def test_relations_that_hide_the_number_of_rows_are_refused(relation):
    with pytest.raises(RelationError, match="shows their number"):
        make_query(tight_frame, 2, 5).sensitivity(relation)


def test_masses_are_refused():
    query = make_query(tight_frame, 2, 5)
    with pytest.raises(ValueError, match="no masses"):
        sketch(query, np.zeros((2, 2)), None, [1, 1])


def test_noise_covers_the_stated_change_exactly():
    stated = make_query(tight_frame, 3, 8).sensitivity("replace_one")
    mechanism = RoundedGaussian(0.5)
    assert mechanism.loss(stated, mechanism.scales(stated)) <= Fraction(0.5) ** 2


def test_every_order_is_equally_likely():
    """Chi-square over the 24 orders of four rows."""
    rows, noise, n = np.arange(4)[:, None], noise_generator(), 4800
    counts = Counter(tuple(shuffled(rows, noise)[:, 0].tolist()) for _ in range(n))
    expected = n / factorial(4)
    statistic = sum((count - expected) ** 2 / expected for count in counts.values())
    assert len(counts) == 24 and statistic < 60.0  # p-value 4e-5


def test_equal_keys_are_drawn_again():
    class Repeating:
        calls = 0

        def words(self, count):
            self.calls += 1
            return np.zeros(count, np.uint64) if self.calls < 3 else np.arange(count)[::-1]

    source = Repeating()
    assert shuffled(np.arange(5), source).tolist() == [4, 3, 2, 1, 0] and source.calls == 3
