"""Nearest centers that stay for one more question are those that would be found again."""

import numpy as np

from skdp_bary.base import Chunk, ClippedMeans, Frame
from skdp_bary.geometry import Box
from tests.cases import every
from tests.world import ClusterMoments, Sketch, TotalSpread, labeled_blocks

WIDTH = 20


def ask(cls, frame, centers, n_shares):
    return cls(frame, centers, np.full(len(centers), 0.7), (1.0,) * n_shares)


def question(kept=True, width=WIDTH):
    rng = np.random.default_rng(0)
    frame = Frame(Box([-1.0] * width, [1.0] * width), np.full(width, 0.1), 16, kept=kept)
    return frame, rng.uniform(-0.5, 0.5, (3, width)), rng.uniform(-1.2, 1.2, (400, width))


def answer(query, X, memo):
    sketch = Sketch(query)
    sketch.update(Chunk(X, None, None, memo))
    return sketch.exact_blocks()


@every("cls, shares", [(ClippedMeans, 2), (ClusterMoments, 3)])
@every("moved", [0.0, 0.2, -0.3])
def test_an_answer_is_the_same_after_a_question_about_any_centers(cls, shares, moved):
    frame, centers, X = question()
    memo = {}
    answer(ask(TotalSpread, frame, centers, 1), X, memo)
    query = ask(cls, frame, centers + moved, shares)
    for found, expected in zip(answer(query, X, memo), answer(query, X, {}), strict=True):
        assert np.array_equal(found, expected)


@every("kept, width, stopped", [(False, WIDTH, False), (True, 5, False), (True, WIDTH, True)])
def test_nothing_stays_where_integer_rows_do_not_or_are_short(kept, width, stopped):
    """Nor of a count that stops half way."""
    frame, centers, X = question(kept, width)
    memo, query = {}, ask(TotalSpread, frame, centers, 1)
    if stopped:
        blocks = labeled_blocks(query, Chunk(X, None, None, memo), True)
        next(blocks)
        blocks.close()
    else:
        answer(query, X, memo)
    assert [key for key in memo if not isinstance(key, Frame)] == []
