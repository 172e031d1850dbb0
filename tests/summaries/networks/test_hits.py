"""The count of right answers: its value, how far a person moves it, and that rows stand alone."""

import numpy as np
import pytest

from skdp_bary.geometry import Ball, Box
from skdp_bary.summaries.asking.query import Sketch
from skdp_bary.summaries.networks.hits import HitCount, LinearClassifier
from skdp_bary.summaries.rows.persons import Chunk

RNG = np.random.default_rng(0)
X = RNG.normal(0.5, 0.3, size=(300, 3))
SLOPES, OFFSETS = RNG.normal(size=(4, 3)), RNG.normal(size=4)
CODES = RNG.integers(4, size=len(X))


def total(query, X, codes, masses=None):
    return int(Sketch(query).update(Chunk(X, codes, masses)).exact_blocks()[0][0])


@pytest.mark.parametrize("domain", [Box([0.0] * 3, [1.0] * 3), Ball([0.5] * 3, 0.5)])
@pytest.mark.parametrize("size", [1.0, 1e200, 1e-200])
def test_it_counts_right_answers(domain, size):
    classifier = LinearClassifier(domain, size * SLOPES, size * OFFSETS)
    expected = (domain.clip(X) @ SLOPES.T + OFFSETS).argmax(axis=1)
    assert (classifier.codes(X) == expected).mean() > 0.99  # rows at a border are rounded
    assert total(HitCount(classifier), X, expected) > 0.99 * len(X)
    right = (classifier.codes(X) == CODES).sum()
    assert total(HitCount(classifier), X, CODES) == right


def test_scores_are_exact_in_any_order():
    """Every term is a whole number, and so many of them stay below 2**53."""
    domain = Box([-1e3] * 3, [1.0] * 3)
    classifier = LinearClassifier(domain, 1e9 * SLOPES, 1e-9 * OFFSETS)
    slopes, offsets = classifier._integers
    assert (slopes == np.trunc(slopes)).all() and (offsets == np.trunc(offsets)).all()
    rows = classifier._lattice.quantise(np.array([domain.low, domain.high]))
    assert (np.abs(rows) @ np.abs(slopes).T + np.abs(offsets)).max() < 2.0**53
    assert np.abs(slopes).max() > 2.0**28


def test_a_row_counts_the_same_in_every_block():
    query = HitCount(LinearClassifier(Box([0.0] * 3, [1.0] * 3), SLOPES, OFFSETS))
    alone = sum(total(query, X[i : i + 1], CODES[i : i + 1]) for i in range(len(X)))
    assert total(query, X, CODES) == alone
