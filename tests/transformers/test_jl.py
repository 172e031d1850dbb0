import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from skdp_bary import JLTransformer
from skdp_bary.geometry import Ball, Box
from tests.cases import every


def rows(n=300, d=60, seed=0):
    return np.random.default_rng(seed).normal(0, 1, (n, d))


@pytest.mark.parametrize("bounds", [None, (-2, 2)])
def test_nothing_depends_on_the_rows(bounds):
    jl = JLTransformer(7, bounds=bounds, random_state=3)
    neighbors = [rows(), rows(301), rows(1, seed=9), np.full((2, 60), 1e6), np.zeros((5, 60))]
    states = {pickle.dumps(clone(jl).fit(X)) for X in neighbors}
    assert len(states) == 1


def test_auto_depends_on_public_numbers_only():
    few, many = rows(3, 5000), rows(50, 5000)
    jl = JLTransformer(n_hint=100, random_state=0)
    assert jl.fit(few).n_components_ == clone(jl).fit(many).n_components_ == 222


@pytest.mark.parametrize("bounds", [None, (-1, 1), Ball(np.full(60, 0.2), 3.0)])
def test_a_row_gives_the_same_bits_beside_any_other_rows(bounds):
    X = rows(103)
    jl = JLTransformer(20, bounds=bounds, random_state=0).fit(X)
    whole = jl.transform(X)
    order = np.random.default_rng(1).permutation(103)
    for size in (1, 3, 64, 102):
        parts = [jl.transform(X[order][i : i + size]) for i in range(0, 103, size)]
        assert np.concatenate(parts)[np.argsort(order)].tobytes() == whole.tobytes()
    assert jl.transform(np.asfortranarray(X)).tobytes() == whole.tobytes()
    assert jl.transform(sparse.csr_array(X)).tobytes() == whole.tobytes()
    with np.errstate(all="raise"):  # no row alone may raise
        jl.transform(np.full((1, 60), 5e-324))


def test_projection_is_the_product_with_components():
    X = rows()
    jl = JLTransformer(15, random_state=0).fit(X)
    assert jl.components_.shape == (15, 60)
    np.testing.assert_allclose(jl.transform(X), X @ jl.components_.T, atol=1e-10)


@pytest.mark.parametrize(
    "bounds", [(-1, 1), Box(np.zeros(60), np.arange(1, 61)), Ball(np.full(60, 9.0), 2.0)]
)
def test_rows_stay_within_the_bounds_handed_on(bounds):
    X = rows() * np.geomspace(1e-3, 1e9, 300)[:, None]
    jl = JLTransformer(10, bounds=bounds, random_state=0).fit(X)
    out = jl.output_bounds_
    assert out.contains(jl.transform(X)).all()
    assert (np.linalg.norm(jl.transform(X), axis=1) > 0.99 * out.radius).any()
    assert out.n_features == 10
    center = jl.inverse_transform(np.zeros((1, 10)))
    np.testing.assert_allclose(jl.transform(center), np.zeros((1, 10)), atol=1e-9)


def test_inverse_transform_comes_back():
    X = rows(20, 64)
    jl = JLTransformer(16, bounds=(-9, 9), random_state=0).fit(X)
    Y = jl.transform(X)
    np.testing.assert_allclose(jl.transform(jl.inverse_transform(Y)), Y, atol=1e-8)
    with pytest.raises(ValueError, match="16 features"):
        jl.inverse_transform(X)


def test_identity_where_nothing_is_gained():
    X = rows(20, 6)
    jl = JLTransformer(n_hint=10**6).fit(X)
    np.testing.assert_array_equal(jl.transform(X), X)
    np.testing.assert_array_equal(jl.inverse_transform(X), X)
    np.testing.assert_array_equal(jl.components_.toarray(), np.eye(6))
    clipped = JLTransformer(n_hint=10**6, bounds=(-1, 3)).fit(X).transform(X)
    np.testing.assert_array_equal(clipped, np.clip(X, -1, 3) - 1)
    turned = JLTransformer(6, random_state=0).fit_transform(X)
    assert not np.allclose(turned, X)


@every(
    "parameters, message",
    [
        ({}, "needs the public number n_hint"),
        ({"n_components": 61}, "n_features=60"),
        ({"n_components": 3, "bounds": Ball([0.0], 1.0)}, "n_features=60"),
    ],
)
def test_wrong_parameters_are_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        JLTransformer(**parameters).fit(rows())


def test_sparse_entries_at_one_place_are_added_alike_beside_any_other_rows():
    """scipy sorts all rows, and not stably, as soon as one of them is out of order."""
    rng = np.random.default_rng(0)
    columns = np.sort(rng.integers(8, size=(200, 60)), axis=1)
    values = rng.standard_normal(columns.shape)
    jl = JLTransformer(3, random_state=0).fit(np.zeros((1, 8)))

    def image(columns):
        rows = np.repeat(np.arange(len(columns)), columns.shape[1])
        entries = (values[: len(columns)].ravel(), (rows, columns.ravel()))
        return jl.transform(sparse.coo_array(entries, shape=(len(columns), 8)))

    unsorted = np.vstack([columns[:-1], columns[-1:, ::-1]])
    assert image(columns)[:-1].tobytes() == image(unsorted)[:-1].tobytes()
    assert image(columns)[:-1].tobytes() == image(columns[:-1]).tobytes()
