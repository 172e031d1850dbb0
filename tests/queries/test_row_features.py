"""Features of rows depend on one row alone, whatever somebody else's code does."""

import warnings

import numpy as np
import pytest

from skdp_bary.base import Moments
from skdp_bary.geometry import Box
from tests.cases import every
from tests.world import FeaturesOf, RowFeatures, answer, same

X = np.random.default_rng(0).normal(size=(20, 3))


def features(*, row_map=None, views=None, extract=None, domain=None, block_rows=1):
    lattice = np.zeros(3), np.ones(3), 10.0
    return RowFeatures(domain, row_map, views, extract, *lattice, block_rows)


def jittered(rows, draws):
    return rows + draws[:, :3]


def test_features_are_rows_on_a_lattice_in_the_ball():
    maps = features()
    np.testing.assert_allclose(maps.lattice.restore(maps.integers(X)), X, atol=2e-5)
    np.testing.assert_array_equal(maps.public(X), maps.lattice.restore(maps.integers(X)))
    maps = features()
    far = maps.integers(np.array([[1e300, 0.0, 0.0], [50.0, -50.0, 50.0]]))
    assert ((far**2).sum(axis=1) <= 4**20).all()
    assert far[0].tolist() == [1 << 20, 0, 0]


def test_maps_come_in_order_before_the_query():
    maps = features(
        domain=Box([-1.0] * 3, [1.0] * 3),
        row_map=lambda rows: rows + 1.0,
        views=lambda rows, draws: rows * 2.0,
        extract=lambda rows: rows - 3.0,
    )
    expected = (np.clip(X, -1.0, 1.0) + 1.0) * 2.0 - 3.0
    np.testing.assert_allclose(maps.lattice.restore(maps.integers(X, view=1)), expected, atol=2e-5)
    maps = features(extract=lambda rows: 2.0 * rows)
    query = FeaturesOf(maps, np.eye(3)[:2], Moments(np.zeros((1, 2)), 5.0))
    mapped = maps.lattice.restore(maps.integers(X))[:, :2]
    assert same(answer(query, X), answer(query.query, mapped))


def test_features_do_not_tell_where_a_row_lay():
    """Kernels round otherwise at other addresses, and a removed row moves all later ones."""

    def by_address(*arrays):
        return arrays[0] + [float(array.ctypes.data % 64 != 0) for array in arrays][-1]

    moved = np.empty(X.size + 3)[3:].reshape(X.shape)
    moved[...] = X
    for maps in (
        features(row_map=by_address),
        features(extract=by_address),
        features(views=by_address, block_rows=4),
    ):
        np.testing.assert_array_equal(maps.integers(X, view=0), maps.integers(moved, view=0))
        view = int(maps.views is not None)
        found = maps.lattice.restore(maps.integers(moved, view))
        np.testing.assert_allclose(found, X, atol=2e-5)


@every("block_rows", [1, 7])
def test_views_follow_their_rows(block_rows):
    maps = features(views=jittered, block_rows=block_rows)
    whole = maps.integers(X, view=1)
    assert (whole != maps.integers(X)).any(axis=1).all()
    assert (whole != maps.integers(X, view=2)).any(axis=1).all()
    np.testing.assert_array_equal(maps.integers(X[::-1], view=1)[::-1], whole)
    np.testing.assert_array_equal(maps.integers(X[1:], view=1), whole[1:])


@every("bad", [np.nan, np.inf])
def test_features_that_are_no_numbers_count_as_the_center(bad):
    maps = features(extract=lambda rows: np.where(rows[:, :1] > 0.0, bad, rows))
    found = maps.integers(X)
    assert not found[X[:, 0] > 0.0].any()
    assert found[X[:, 0] < 0.0].any(axis=1).all()


@every("error", [ValueError, SystemExit, GeneratorExit])
@every("block_rows", [1, 4])
@every("name", ["row_map", "views", "extract"])
def test_private_rows_that_a_map_fails_on_count_as_the_center(name, block_rows, error):
    """An error or a warning would answer a question about one row, and may quote it."""

    def failing(rows, *draws):
        if (rows[:, 0] > 1.0).any():
            warnings.warn(f"odd {rows}", UserWarning, stacklevel=1)
            raise error(f"cannot read {rows}")
        return rows

    maps = features(**{"views": jittered, name: failing}, block_rows=block_rows)
    bad, view = X[:, 0] > 1.0, int(name == "views")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = maps.integers(X, view)
    assert bad.any() and not found[bad].any()
    np.testing.assert_array_equal(found[~bad], maps.integers(X[~bad], view))
    with pytest.raises(error, match="cannot read"), pytest.warns(UserWarning):
        maps.public(X, view)


@every("name", ["row_map", "views", "extract"])
def test_maps_that_lose_rows_are_refused(name):
    maps = features(**{"views": jittered, name: lambda rows, *draws: rows[:0]})
    parameter = "estimator" if name == "extract" else name
    with pytest.raises(ValueError, match=f"{parameter} must return one row for every row"):
        maps.public(X, view=1)
    assert not maps.integers(X, view=1).any()
