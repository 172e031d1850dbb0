"""Integer rows that stay in memory are those that would be made again, and do not fill it."""

import numpy as np

from skdp_bary.base import Axes, Chunk, Frame
from skdp_bary.geometry import Ball, Box
from tests.cases import every
from tests.world import haar_frame

N = 300


def rows_of(width):
    """Rows inside and outside of the domains, corners included."""
    X = np.random.default_rng(width).uniform(-1.5, 1.5, (N, width))
    X[0], X[1] = -9.0, 9.0
    return X


def axes_of(width, kept):
    basis = haar_frame(width, width, np.random.default_rng(0)).T
    return Axes(basis, np.ones(kept))


def domains(width):
    uneven = Box(np.linspace(-1.0, -0.9, width), np.linspace(0.8, 1.0, width))
    return [Box(np.full(width, -1.0), np.full(width, 1.0)), uneven, Ball(np.zeros(width), 1.0)]


@every("place", range(3))
@every("width, n_axes", [(5, None), (40, None), (40, 20), (40, 35)])
def test_rows_that_stay_are_the_rows(width, n_axes, place):
    center = np.full(width, 0.05)
    frame = Frame(domains(width)[place], center, 16, kept=True)
    frame = frame if n_axes is None else frame.along(axes_of(width, n_axes))
    chunk = Chunk(rows_of(width), None, np.arange(N))
    expected = frame.integer_rows(chunk.X)
    for _ in range(2):
        found = list(frame.measured_blocks(chunk, 70))
        assert np.array_equal(np.concatenate([rows for rows, _, _ in found]), expected)
        squares = np.concatenate([squares for _, squares, _ in found])
        assert np.array_equal(squares, (expected**2).sum(axis=1))
        assert np.array_equal(np.concatenate([masses for _, _, masses in found]), np.arange(N))
        for rows, _ in frame.blocks(chunk, N):
            rows *= 0.0  # whoever reads rows may write on them


def test_corners_far_from_the_center_fit_into_what_stays():
    """A row at a corner has a coordinate above 2**15, which 2 bytes do not hold."""
    width = 4
    frame = Frame(Box(np.full(width, -1.0), np.array([1.0, 1.0, 1.0, 9.0])), np.zeros(width), 16)
    frame = Frame(frame.domain, frame.center, 16, kept=True)
    chunk = Chunk(np.vstack([rows_of(width)] * 2), None, None)
    expected = frame.integer_rows(chunk.X)
    assert np.abs(expected).max() > 1 << 15
    assert np.array_equal(np.concatenate([r for r, _ in frame.blocks(chunk, 99)]), expected)
    assert frame in chunk.memo


def test_what_stays_takes_half_of_the_memory_of_the_rows_at_most():
    width = 40
    frame = Frame(domains(width)[0], np.zeros(width), 16, kept=True)
    chunk = Chunk(rows_of(width), None, None)
    for n_axes in (10, 12, 11):
        mapped = frame.along(axes_of(width, n_axes))
        for each in (frame, mapped):
            list(each.blocks(chunk, N))
            kept = [arrays for key, arrays in chunk.memo.items() if isinstance(key, Frame)]
            assert sum(a.nbytes for arrays in kept for a in arrays) <= chunk.X.nbytes / 2
            assert each in chunk.memo
    list(Frame(frame.domain, frame.center, 16).blocks(chunk, N))
    assert len([key for key in chunk.memo if isinstance(key, Frame)]) <= 2


def test_rows_stay_where_they_were_mapped_from(monkeypatch):
    width = 40
    frame = Frame(domains(width)[0], np.zeros(width), 16, kept=True)
    chunk = Chunk(rows_of(width), None, None)
    list(frame.blocks(chunk, N))
    monkeypatch.setattr(Frame, "integer_rows", None)  # nothing is made anew
    mapped = frame.along(axes_of(width, 10))
    assert mapped.without_axes() is frame
    assert sum(len(rows) for rows, _ in mapped.blocks(chunk, 70)) == N


@every("place", range(3))
@every("width", [5, 40])
@every("kept", [False, True])
def test_moved_rows_are_those_before_less_integers(width, kept, place):
    frame = Frame(domains(width)[place], np.full(width, 0.05), 16, kept=kept)
    chunk = Chunk(rows_of(width), None, np.arange(N))
    before = np.concatenate([rows for rows, _ in frame.blocks(chunk, 70)])
    moved = frame.moved(np.linspace(-0.2, 0.3, width))
    assert np.abs(moved.center - np.linspace(-0.2, 0.3, width)).max() <= moved.step
    way = (moved.center - frame.center) / frame.step
    for _ in range(2):
        found = list(moved.measured_blocks(chunk, 70))
        rows = np.concatenate([rows for rows, _, _ in found])
        assert np.array_equal(rows, before - np.rint(way))
        squares = np.concatenate([squares for _, squares, _ in found])
        assert np.array_equal(squares, (rows**2).sum(axis=1))
    assert np.array_equal(rows, moved.integer_rows(chunk.X))
    mapped = moved.along(axes_of(width, 4))
    found = np.concatenate([rows for rows, _ in mapped.blocks(chunk, 70)])
    assert np.array_equal(found, mapped.integer_rows(chunk.X))
    assert not (frame in chunk.memo and moved in chunk.memo)


@every("far", [0.999, 1e9])
def test_rows_moved_as_far_as_may_be_still_add_up_exactly(far):
    """A noisy mean may lie anywhere; products of rows must stay below 2**53 all the same."""
    width = 3
    frame = Frame(domains(width)[2], np.zeros(width), 16)
    moved = frame.moved(np.full(width, far))
    ends = np.vstack([np.full(width, 9.0), np.full(width, -9.0)])
    lengths = np.sqrt((moved.integer_rows(ends) ** 2).sum(axis=1))
    assert 1.9 * 2**16 < lengths.max() < 2**17 + 4
