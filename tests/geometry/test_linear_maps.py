from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from tests.world import IdentityMap, MatrixMap


def make_map(kind, d, k, seed=0):
    rng = np.random.default_rng(seed)
    return IdentityMap(d) if kind == "identity" else MatrixMap(rng.standard_normal((k, d)))


def dense(matrix):
    return matrix.toarray() if sparse.issparse(matrix) else matrix


kinds = pytest.mark.parametrize("kind", ["dense", "identity"])


@kinds
@pytest.mark.parametrize("d", [1, 2, 31, 64, 500])
def test_a_row_gives_the_same_bits_in_every_block(kind, d):
    k = d if kind == "identity" else max(1, d // 2)
    mapped = make_map(kind, d, k)
    rng = np.random.default_rng(1)
    X = rng.standard_normal((403, d)) * np.exp(rng.normal(0, 5, (403, 1)))
    whole = mapped.apply(X)
    order = rng.permutation(403)
    for size in (1, 2, 5, 64, 402):
        parts = [mapped.apply(X[order][i : i + size]) for i in range(0, 403, size)]
        assert np.concatenate(parts)[np.argsort(order)].tobytes() == whole.tobytes()
    other = np.where(np.arange(403)[:, None] == 17, 1e9, X)
    assert (
        np.delete(mapped.apply(other), 17, axis=0).tobytes()
        == np.delete(whole, 17, axis=0).tobytes()
    )
    assert mapped.apply(np.asfortranarray(X)).tobytes() == np.ascontiguousarray(whole).tobytes()


@kinds
@pytest.mark.parametrize("scale", [1e-290, 1e-200, 1.0, 1e200, 1e306])
def test_maps_agree_with_their_matrix(kind, scale):
    mapped = make_map(kind, 40, 40 if kind == "identity" else 11)
    X = np.random.default_rng(2).uniform(-1, 1, (20, 40)) * scale
    exact = dense(mapped.matrix()).astype(np.longdouble) @ X.astype(np.longdouble).T
    np.testing.assert_allclose(
        mapped.apply(X).T, exact.astype(float), rtol=1e-9, atol=1e-12 * scale
    )


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 10**6), d=st.sampled_from([1, 3, 16, 1000]))
def test_products_with_a_matrix_are_exact(seed, d):
    # The largest partial sums allowed: rows and weights of equal sign and nearly equal size.
    rng = np.random.default_rng(seed)
    mapped = MatrixMap(rng.uniform(0.99, 1.0, (2, d)))
    row = rng.uniform(0.99, 1.0, d)
    weights = mapped.matrix()
    shift = 27 - int(np.ceil(np.log2(d) / 2))
    short = np.trunc(row * 2.0**shift) / 2.0**shift
    exact = [sum(Fraction(a) * Fraction(b) for a, b in zip(short, w, strict=True)) for w in weights]
    computed = mapped.apply(short[None])[0]
    assert [Fraction(float(c)) for c in computed] == [Fraction(float(e)) for e in exact]


@kinds
def test_inverses_project_back(kind):
    k = 32 if kind == "identity" else 9
    mapped = make_map(kind, 32, k)
    Y = np.random.default_rng(4).standard_normal((6, k))
    np.testing.assert_allclose(mapped.apply(mapped.invert(Y)), Y, atol=1e-10)
