"""Rows as the public transformers read them: float64, whatever the types of the columns are."""

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from .._values import (
    as_floats,
    canonical_csr,
    column_names,
    refuse_other_shapes,
    refuse_sparse,
    with_width,
)


def read_rows(estimator, X, *, reset, accept_sparse=False):
    """Return rows as a float64 array or canonical CSR, each a function of its row alone, or raise.

    Names and number of the features are recorded, or compared with those recorded.
    """
    known = getattr(estimator, "_known_features", int)() if reset else estimator.n_features_in_
    X = with_width(X, known)
    rows = finite_rows(X, accept_sparse=accept_sparse, estimator=estimator)
    validate_data(estimator, X, skip_check_array=True, reset=reset)
    return rows


def read_points(estimator, X):
    """Return public points as float64, or raise: names are compared only where they have any."""
    if column_names(X) is not None:
        return read_rows(estimator, X, reset=False)
    return rows_of_width(X, estimator.n_features_in_, estimator=estimator)


def rows_of_width(X, n_features, *, estimator=None):
    """Return rows of so many finite numbers as float64, or raise."""
    rows = finite_rows(X, estimator=estimator)
    if rows.shape[1] != n_features:
        raise ValueError(f"X must have {n_features} features, got {rows.shape[1]}.")
    return rows


def finite_rows(X, *, accept_sparse=False, estimator=None):
    """Return rows of finite numbers as float64; no error names a value."""
    if not accept_sparse:
        refuse_sparse(X)
    rows = canonical_csr(X) if issparse(X) else as_floats(X)
    refuse_other_shapes(rows)
    with np.errstate(all="ignore"):  # it adds up all numbers to see whether all are finite
        return check_array(
            rows,
            accept_sparse=accept_sparse,
            dtype=np.float64,
            ensure_min_samples=0,
            estimator=estimator,
            input_name="X",
        )


def names_seen(transformer):
    """Return the names of the columns that ``fit`` saw, or None where they had none."""
    names = getattr(transformer, "feature_names_in_", None)
    return None if names is None else list(names)
