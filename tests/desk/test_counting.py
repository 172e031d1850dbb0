"""Counting in threads and processes: the same integers, in memory bounded by the chunk."""

import threading

import joblib
import numpy as np
import pytest

from skdp_bary.base import CellTree, ClippedSum, Count
from skdp_bary.geometry import Ball, Box
from tests import world
from tests.world import home, integers, rows, same, sketch

N, D = 997, 3
CLASSES = np.array(["a", "b", "c"])
RNG = np.random.default_rng(0)
X, Y = RNG.normal(0.5, 0.4, size=(N, D)), CLASSES[RNG.integers(3, size=N)]
X[::5] = np.round(X[::5] * 8) / 8  # ties, and borders of cells
GROUPS = RNG.integers(200, size=N)
counting = home("collect")


def queries(units):
    box, ball = Box([0.0] * D, [1.0] * D), Ball([0.5] * D, 0.6)
    return [
        world.LevelCounts(CellTree(box, 7), 3, units),
        world.HaarDifferences(CellTree(ball, 5), 3, units),
        Count(units),
        world.DistanceHistogram((0.25,) * D, (0.1, 0.5, 2.0), units),
        ClippedSum(1.5, D, units),
    ]


def in_threads(n_jobs=2):
    return joblib.parallel_config(backend="threading", n_jobs=n_jobs)


@pytest.mark.parametrize("part", [100, 331])
@pytest.mark.parametrize("beside", [{}, {"groups": GROUPS}, {"sample_weight": RNG.random(N)}])
def test_threads_give_the_same_integers(part, beside, monkeypatch):
    """Also in coarser units than rows are read in, and of the chunks of a stream."""
    units = {"groups": 1 << 17, "sample_weight": 1 << 16}.get(*beside, 1) if beside else 1
    whole = [integers(q, rows(X, Y, classes=CLASSES, **beside)) for q in queries(units)]
    pieces, update = [], world.Sketch.update
    monkeypatch.setattr(home("ArraySource"), "CHUNK_ROWS", part)
    monkeypatch.setattr(counting, "_LEAST_EFFORT", 1)
    monkeypatch.setattr(
        world.Sketch, "update", lambda own, c: pieces.append(len(c.X)) or update(own, c)
    )
    cuts = [slice(0, 200), slice(200, 201), slice(201, N)]
    for n_jobs in (2, 5):
        with in_threads(n_jobs):
            for query, expected in zip(queries(units), whole, strict=True):
                assert same(integers(query, rows(X, Y, classes=CLASSES, **beside)), expected)
                if not beside:
                    stream = iter([(X[cut], Y[cut]) for cut in cuts])
                    assert same(integers(query, rows(stream, classes=CLASSES)), expected)
    assert min(pieces) <= N // 5


def test_threads_are_not_worth_it_for_few_rows(monkeypatch):
    def refuse(*_):
        raise AssertionError("threads for few rows")

    monkeypatch.setattr(counting, "share_out", refuse)
    with in_threads():
        integers(queries(1)[0], rows(X, Y, classes=CLASSES))
        with pytest.raises(AssertionError, match="few rows"):
            integers(Count(), rows(np.zeros((1 << 17, 2))))


class Levels(world.ProjectedHistogram):
    shape = (1,)

    def _answer(self, histogram, mass):
        return histogram[:, :1], 1

    def _change(self):
        return 1.0, 1.0


def test_slices_are_counted_in_threads(monkeypatch):
    box = Box([0.0] * D, [1.0] * D)
    query = Levels(world.SliceLattice(box, world.public_directions("tight", 4, D)))
    whole = sketch(query, X)
    monkeypatch.setattr(counting, "_LEAST_EFFORT", 1)
    monkeypatch.setattr(world.Sketch, "size", 1)  # as if rows were many more than counters
    others, share_out = [], counting.share_out
    monkeypatch.setattr(
        counting, "share_out", lambda *task: others.append(task[2]) or share_out(*task)
    )
    with in_threads(3):
        together = counting.collect(query, rows(X))
    assert others == [3]
    assert same(whole._state, together._state) and min(s.sum() for s in whole._state) >= len(X)


def test_a_function_of_somebody_else_is_called_by_one_thread(monkeypatch):
    monkeypatch.setattr(counting, "_LEAST_EFFORT", 1)
    found = set()

    def row_map(row):
        found.add(threading.get_ident())
        return row

    query = world.RowMapped(row_map, ClippedSum(1.5, D))
    with in_threads():
        integers(query, rows(X))
        integers(world.ByClass((query,) * 3), rows(X, Y, classes=CLASSES))
    assert found == {threading.get_ident()}
