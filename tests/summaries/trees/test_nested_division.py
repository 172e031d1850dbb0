"""Counts on nested cells: exact, and moved by one person as far as they say."""

import numpy as np
import pytest

from skdp_bary import PrivateKMeans
from skdp_bary.estimators._kmeans import looks
from skdp_bary.geometry import Box
from skdp_bary.geometry._nested_cells import NestedCells
from skdp_bary.inspection import replay_sensitivity
from skdp_bary.summaries.rows.persons import Chunk
from skdp_bary.summaries.trees.disjoint_counts import DisjointCounts
from skdp_bary.summaries.trees.divisions import NestedDivision

pytestmark = pytest.mark.filterwarnings("ignore::skdp_bary.exceptions.PrivacyWarning")
ROWS = np.random.default_rng(0).uniform(-1, 1, (40, 2))
FAR = np.array([[0.93, -0.97]])


def kmeans(**settings):
    return PrivateKMeans(3, n_init=1, epsilon=30.0, bounds=(-1, 1), n_hint=40, **settings)


def test_every_row_counts_once():
    cells = NestedCells.grid(Box(-np.ones(2), np.ones(2)), 5, 2)
    cells = cells.cut(np.arange(len(cells)) % 3)
    query = DisjointCounts(NestedDivision(cells))
    state = query.zeros()
    for part in (ROWS[:15], ROWS[15:]):
        query.count(state, Chunk(part, None, None))
    expected = np.bincount(cells.locate(ROWS), minlength=len(cells))
    np.testing.assert_array_equal(query.blocks(state)[0], expected)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_one_person_moves_the_looks_as_far_as_they_say(delta):
    added = replay_sensitivity(kmeans(delta=delta), ROWS, np.vstack([ROWS, FAR]))
    assert added.holds and added.tightness == pytest.approx(1.0)
    moved = kmeans(delta=delta, neighbors="replace_one")
    report = replay_sensitivity(moved, ROWS, np.vstack([ROWS[:-1], FAR]))
    assert report.holds and report.tightness == pytest.approx(1.0)


class SkipsEmptyCells(DisjointCounts):
    """No noise for cells without rows: the shape of the answer tells which are empty."""

    def blocks(self, state):
        return (state[0][state[0] > 0],)


class CountsNeighbors(DisjointCounts):
    """A row counts in the cell beside its own too."""

    def count(self, state, chunk):
        super().count(state, chunk)
        (places,) = self.cells.places(chunk.X, None)
        state[0][:] += np.bincount((places + 1) % len(state[0]), minlength=len(state[0]))


@pytest.mark.parametrize("planted", [SkipsEmptyCells, CountsNeighbors])
def test_planted_bugs_are_caught(planted, monkeypatch):
    monkeypatch.setattr(looks, "DisjointCounts", planted)
    try:
        holds = replay_sensitivity(kmeans(), ROWS, np.vstack([ROWS, FAR])).holds
    except (ValueError, IndexError):
        holds = False
    assert not holds
