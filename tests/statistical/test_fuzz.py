"""Odd rows: every fit ends in a release whose guarantee holds, or in an error before any charge."""

import math

import numpy as np
import pytest
from sklearn.base import clone

from skdp_bary import BudgetAccountant, PrivateTable
from skdp_bary.inspection import replay_sensitivity
from tests.discovery import private_estimators
from tests.estimators import start

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

CASES = 400  # of every estimator
QUICK = {
    "n_init": 1, "n_atoms": 2, "n_clusters": 2, "resolution": 8, "depth": 3,
}  # fmt: skip
ODD_VALUES = [
    0.0, -0.0, 1.0, 0.5, -1e-320, 5e-324, 1e-17, 1.0 - 2.0**-53, 1.0 + 2.0**-52, 2.0, -3.0,
    1e15, -1e150, 1.7e308, -1.7e308,
]  # fmt: skip
NOT_NUMBERS = [math.nan, math.inf, -math.inf]
DTYPES = ["float64", "float32", "float16", "int8", "int64", "uint8", "bool", "object", "U5"]


def odd_table(pick):
    """Return rows of odd values, of an odd kind, in an odd place in memory.

    ``pick(options)`` chooses one of a sequence.
    """
    n_rows = pick([0, 1, 2, 3, 7, 40, 90])
    n_features = pick([0, 1, 2, 2, 2, 3, 5])
    rng = np.random.default_rng(pick(range(2**32)))
    X = _odd_values(pick, rng, n_rows, n_features)
    if X.size and pick(range(10)) == 0:
        X[rng.integers(n_rows), rng.integers(n_features)] = pick(NOT_NUMBERS)
    with np.errstate(all="ignore"):
        X = X.astype(pick(DTYPES + ["float64"] * 6))
    form = pick(["plain", "plain", "fortran", "read-only", "strided", "list"])
    if form == "fortran":
        X = np.asfortranarray(X)
    elif form == "read-only":
        X.setflags(write=False)
    elif form == "strided":
        X = np.repeat(X, 2, axis=0)[::2]
    return X.tolist() if form == "list" else X


def _odd_values(pick, rng, n_rows, n_features):
    X = rng.random((n_rows, n_features))
    style = pick(["uniform", "odd", "constant column", "one row many times", "far"])
    if style == "odd":
        return rng.choice(ODD_VALUES, size=X.shape)
    if style == "constant column" and n_features:
        X[:, 0] = pick(ODD_VALUES)
    elif style == "one row many times" and n_rows:
        X = np.repeat(X[:1], n_rows, axis=0)
    elif style == "far":
        X = rng.normal(size=X.shape) * pick([1e-300, 1e-8, 1e8, 1e300])
    return X


def quick(estimator, relation, delta, bounded):
    """Return the estimator made quick to fit, with public bounds or without."""
    bounds = (0, 1) if bounded else None
    wanted = QUICK | {"bounds": bounds, "neighbors": relation, "delta": delta}
    if isinstance(estimator, PrivateTable):
        wanted |= {"n_components": 2, "max_iter": 2}
    names = estimator.get_params()
    return clone(estimator).set_params(**{key: wanted[key] for key in wanted if key in names})


def accepted(estimator, n_features):
    try:
        estimator.privacy_plan(max(n_features, 1))
    except (ValueError, TypeError):
        return False
    return True


@pytest.mark.parametrize("name", private_estimators())
def test_odd_rows(name):
    rng, seen = np.random.default_rng(0), {"fitted": 0, "refused": 0}

    def pick(options):
        return options[int(rng.integers(len(options)))]

    for _ in range(CASES):
        X = odd_table(pick)
        relation = pick(["add_remove", "replace_one", "replace_any"])
        estimator = quick(start(name), relation, pick([0.0, 1e-6]), pick([True, False]))
        if accepted(estimator, np.shape(X)[1] if np.ndim(X) == 2 else 1):
            seen["fitted" if fits_or_refuses(estimator, X, relation) else "refused"] += 1
    assert seen["fitted"] > CASES / 10 and seen["refused"] > CASES / 50, seen


def fits_or_refuses(estimator, X, relation):
    """Fit, and return whether it was not refused; fail where it was charged and refused."""
    accountant = BudgetAccountant(10.0, 1e-3, neighbors=relation)
    paying = clone(estimator).set_params(accountant=accountant)
    try:
        paying.fit(X)
    except (ValueError, TypeError, OverflowError):
        assert accountant.entries == ()
        assert not hasattr(paying, "privacy_")
        return False
    assert len(accountant.entries) == 1
    for value in vars(paying).values():
        if isinstance(value, np.ndarray) and value.dtype.kind == "f":
            assert np.isfinite(value).all()
    neighbor = _neighbor(X, relation)
    if neighbor is not None:
        report = replay_sensitivity(estimator, X, neighbor)
        assert report.holds, report
    return True


def _neighbor(X, relation):
    """Return the rows without the last one, or with the first one in its place."""
    rows = np.array(X)
    if len(rows) < 2:
        return None
    if relation == "add_remove":
        return rows[:-1]
    rows[-1] = rows[0]
    return rows
