from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.linalg import hadamard

from tests.cases import every
from tests.world import HadamardMap, IdentityMap, MatrixMap, walsh_hadamard


def make_map(kind, d, k, seed=0):
    rng = np.random.default_rng(seed)
    if kind == "dense":
        return MatrixMap(rng.standard_normal((k, d)) / np.sqrt(k))
    if kind == "sparse":
        return MatrixMap(sparse.random(k, d, density=0.3, random_state=seed, format="csr"))
    return HadamardMap(d, k, rng) if kind == "hadamard" else IdentityMap(d)


def dense(matrix):
    return matrix.toarray() if sparse.issparse(matrix) else matrix


kinds = pytest.mark.parametrize("kind", ["dense", "sparse", "hadamard", "identity"])


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


def test_the_padded_inverse_is_right_on_average():
    total = np.zeros((5, 5))
    for seed in range(1000):
        mapped = HadamardMap(5, 3, np.random.default_rng(seed))
        total += mapped.invert(mapped.apply(np.eye(5)))
    np.testing.assert_allclose(total / 1000, 3 / 5 * np.eye(5), atol=0.06)


@every("d, k", [(64, 64), (100, 30), (1, 1), (5, 5)])
def test_hadamard_maps_have_orthogonal_rows_of_equal_length(d, k):
    matrix = HadamardMap(d, k, np.random.default_rng(6)).matrix()
    np.testing.assert_allclose(abs(matrix), np.sqrt(1 / k))
    if d == 64:
        np.testing.assert_allclose(matrix @ matrix.T, d / k * np.eye(k), atol=1e-12)
    assert len(np.unique(matrix, axis=0)) == k
    values = np.random.default_rng(5).standard_normal((64, 7))
    before = values.copy()
    np.testing.assert_allclose(walsh_hadamard(values), hadamard(64) @ values, atol=1e-12)
    np.testing.assert_array_equal(values, before)
