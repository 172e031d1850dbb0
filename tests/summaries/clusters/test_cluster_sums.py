"""Cluster sums: exact integers, sensitivities that hold and are reached, bugs that are caught."""

from fractions import Fraction
from math import isqrt

import numpy as np
import pytest

from skdp_bary.geometry import Ball, Box
from skdp_bary.privacy.noise.mechanisms import Sensitivity
from skdp_bary.summaries.asking.query import Sketch
from skdp_bary.summaries.clusters import cluster_sums as _cluster_sums
from skdp_bary.summaries.clusters.cluster_sums import (
    ClippedMeans,
    ClusterMoments,
    TotalSpread,
    clip_factors,
    digits_of,
)
from skdp_bary.summaries.moments.frames import Axes, Frame
from skdp_bary.summaries.rows.persons import PERSON_UNITS, Chunk

RELATIONS = ("add_remove", "replace_one", "replace_any")
QUERIES = (ClippedMeans, ClusterMoments, TotalSpread)
SHARES = {ClippedMeans: (0.3, 1.0), ClusterMoments: (0.3, 1.0, 0.4), TotalSpread: (1.0,)}
CENTERS = np.array([[-2.0, 0.0, 0.0], [2.0, 0.0, 0.0], [0.0, 3.0, 1.0]])
RADII = np.array([0.5, 1.0, 0.02])


def ask(cls, *, pure=False, axes=None, radii=RADII, **settings):
    units = settings.get("units", 1)
    frame = Frame(Box([-4.0] * 3, [4.0] * 3), np.array([0.1, 0.0, -0.2]), digits_of(units).rows)
    if axes is not None:
        frame = Frame(frame.domain, frame.center, frame.bits, axes)
    centers = CENTERS if axes is None else CENTERS @ axes.kept.T
    return cls(frame, centers, radii, SHARES[cls], pure, **settings)


def blocks_of(query, X, masses=None):
    return Sketch(query).update(Chunk(np.atleast_2d(X), None, masses)).exact_blocks()


def places(query):
    """Rows that hurt: on the clipping sphere, far out, at centers, on borders between clusters."""
    directions = np.array([[1, 1, 1], [1, -1, 1], [-1, 1, -1], [-1, -1, -1], [0, 1, 0], [0, -1, 0]])
    unit = directions / np.linalg.norm(directions, axis=1, keepdims=True)
    points = [query.frame.center + query.used_centers]
    for center, radius in zip(query.used_centers, query.used_radii, strict=True):
        for length in (0.999 * radius, 0.5 * radius, 10.0 * radius, 100.0):
            points.append(query.frame.center + center + length * unit)
    return np.vstack(points)


def loss(query, before, after, norm):
    """Change of the answer per stated sensitivity, with the noise that the query asks for."""
    weights = [Fraction(w) for w in query.weights()]
    changes = [(a - b).astype(object).ravel() for a, b in zip(before, after, strict=True)]
    if norm == "l1":
        moved = sum(abs(c).sum() / w for c, w in zip(changes, weights, strict=True))
    else:
        moved = sum((c * c).sum() / w**2 for c, w in zip(changes, weights, strict=True))
    return moved


def stated(query, relation, norm):
    cases = getattr(query.sensitivity(relation), "l1" if norm == "l1" else "l2_squared")
    power = 1 if norm == "l1" else 2
    weights = [Fraction(w) ** power for w in query.weights()]
    return max(sum(n / w for n, w in zip(case, weights, strict=True)) for case in cases)


def worst(query, relation, norm):
    """Largest loss over all pairs of hostile rows, relative to what is stated."""
    rows = places(query)
    mass = np.array([query.units]) if query.units > 1 else None
    answers = [blocks_of(query, row, mass) for row in rows]
    nothing = query.blocks(query.zeros())
    others = answers if relation != "add_remove" else [nothing]
    losses = [loss(query, a, b, norm) for a in answers for b in others]
    return float(max(losses) / stated(query, relation, norm))


@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("cls", QUERIES)
def test_sensitivity_holds_and_is_reached(cls, relation, norm):
    query = ask(cls, pure=norm == "l1")
    assert 0.97 < worst(query, relation, norm) <= 1.0


@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("cls", QUERIES)
def test_sensitivity_of_persons(cls, norm):
    query = ask(cls, pure=norm == "l1", units=PERSON_UNITS)
    assert 0.9 < worst(query, "replace_one", norm) <= 1.0


def test_sensitivity_within_one_cluster_with_a_public_total():
    query = ClusterMoments(
        Frame(Ball([0.0, 0.0], 1.0), np.zeros(2), 16),
        np.zeros((1, 2)),
        np.ones(1),
        (1.0, 1.0, 1.0),
        total_public=True,
    )
    assert query.sensitivity("replace_one").l2_squared[0][0] == 0
    angles = np.linspace(0, 2 * np.pi, 9)
    rows = np.outer([0.0, 0.3, 0.7, 1.0], np.ones(9)).ravel()[:, None] * np.column_stack(
        [np.tile(np.cos(angles), 4), np.tile(np.sin(angles), 4)]
    )
    answers = [blocks_of(query, row) for row in rows]
    most = stated(query, "replace_one", "l2")
    assert max(loss(query, a, b, "l2") for a in answers for b in answers) <= most


def test_nearest_is_exact_and_ties_go_to_the_first():
    rng = np.random.default_rng(0)
    query = ask(ClippedMeans)
    rows = query.frame.integer_rows(rng.uniform(-4, 4, (200, 3)))
    label, square = query.nearest(rows)
    centers = query.integer_centers.astype(int).tolist()
    for row, j, found in zip(rows.astype(int).tolist(), label, square, strict=True):
        squares = [sum((a - b) ** 2 for a, b in zip(row, c, strict=True)) for c in centers]
        assert (j, found) == (squares.index(min(squares)), min(squares))
    middle = query.integer_centers[:2].mean(axis=0, keepdims=True)
    assert query.nearest(middle)[0].tolist() == [0]


@pytest.mark.parametrize("mapped", [False, True])
@pytest.mark.parametrize("cls", QUERIES)
def test_blocks_chunks_and_layout_give_identical_integers(cls, mapped, monkeypatch):
    rng = np.random.default_rng(1)
    axes = Axes(np.linalg.qr(rng.standard_normal((3, 3)))[0], np.ones(2)) if mapped else None
    X = rng.uniform(-5, 5, (300, 3))
    query = ask(cls, axes=axes)
    whole = blocks_of(query, X)
    parts = Sketch(query)
    for part in np.array_split(X[::-1], 7):
        parts.merge(Sketch(query).update(Chunk(np.asfortranarray(part), None, None)))
    monkeypatch.setattr("skdp_bary.summaries.moments.frames._BLOCK_VALUES", 5)
    for other in (parts.exact_blocks(), blocks_of(query, X)):
        assert all(np.array_equal(a, b) for a, b in zip(whole, other, strict=True))


def test_sums_are_those_of_clipped_residuals():
    rng = np.random.default_rng(2)
    X = rng.uniform(-3, 3, (500, 3))
    query = ask(ClippedMeans, radii=np.array([0.5, 1.0, 0.7]))
    factors, sums = blocks_of(query, X)
    residuals = X - query.frame.center
    label = ((residuals[:, None] - query.used_centers) ** 2).sum(axis=2).argmin(axis=1)
    residuals = residuals - query.used_centers[label]
    lengths = np.linalg.norm(residuals, axis=1)
    clip = np.minimum(1.0, query.used_radii[label] / lengths)
    expected = np.zeros((3, 3))
    np.add.at(expected, label, residuals * clip[:, None])
    np.testing.assert_allclose(sums * query.sum_units[:, None], expected, atol=0.02)
    np.testing.assert_allclose(factors / 2**16, np.bincount(label, weights=clip), atol=0.02)


def test_moments_read_back():
    X = np.array([[2.0, 0.5, 0.0], [2.0, -0.5, 0.0], [-2.0, 0.0, 0.25]])
    query = ask(ClusterMoments, radii=np.ones(3))
    count, sums, spread = blocks_of(query, X)
    assert count.tolist() == [1, 2, 0]
    residual = X - query.frame.center - query.used_centers[[1, 1, 0]]
    np.testing.assert_allclose(
        spread / 2**20, [(residual[2] ** 2).sum(), (residual[:2] ** 2).sum(), 0.0], atol=1e-3
    )
    np.testing.assert_allclose(sums[1] * query.sum_units[1], residual[:2].sum(axis=0), atol=1e-3)


@pytest.mark.parametrize("reach", [1, 2**14, 2**31])
def test_clip_factors_are_the_largest_allowed(reach):
    rng = np.random.default_rng(3)
    squares = np.concatenate(
        [np.arange(1, 50), rng.integers(1, 2**34, 300), [2**34], np.arange(1, 60) ** 2]
    )
    squares = squares[squares <= min(reach**2, 2**34)].astype(float)
    for f, square in zip(clip_factors(squares, reach), squares, strict=True):
        assert int(f) == isqrt(reach**2 // int(square))


def test_rounding_factors_to_the_nearest_is_caught(monkeypatch):
    monkeypatch.setattr(
        _cluster_sums, "clip_factors", lambda squares, reach: np.ceil(reach / np.sqrt(squares))
    )
    assert worst(ask(ClippedMeans), "add_remove", "l2") > 1.0


class ReplacesLikeTwoAdditions(ClippedMeans):
    """Two rows of one cluster may face each other, which this sensitivity forgets."""

    def sensitivity(self, relation):
        joined = super().sensitivity("add_remove")
        twice = tuple(tuple(2 * n for n in case) for case in joined.l2_squared)
        return Sensitivity(joined.l1, twice)


class TakesCountsForPublic(ClusterMoments):
    """Under replace_one the total is public, the clusters' counts are not."""

    def sensitivity(self, relation):
        stated = super().sensitivity(relation)
        return Sensitivity(
            *(tuple((0, *case[1:]) for case in s) for s in (stated.l1, stated.l2_squared))
        )


@pytest.mark.parametrize(
    ("cls", "shares"),
    [(ReplacesLikeTwoAdditions, (0.3, 1.0)), (TakesCountsForPublic, (2.0, 1.0, 0.4))],
)
def test_wrong_sensitivities_are_caught(cls, shares, monkeypatch):
    monkeypatch.setitem(SHARES, cls, shares)
    assert worst(ask(cls), "replace_one", "l2") > 1.0
