"""Rows as the public transformers read them: float64, whatever the types of the columns are."""

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from .._values import as_floats, canonical_csr, refuse_sparse


def read_rows(transformer, X, *, reset, accept_sparse=False):
    """Return rows as a float64 array or canonical CSR, each a function of its row alone, or raise.

    Names and number of the features are recorded, or compared with those recorded.
    """
    if not accept_sparse:
        refuse_sparse(X)
    rows = canonical_csr(X) if issparse(X) else as_floats(X)
    with np.errstate(all="ignore"):  # it adds up all numbers to see whether all are finite
        rows = check_array(
            rows,
            accept_sparse=accept_sparse,
            dtype=np.float64,
            estimator=transformer,
            input_name="X",
        )
    validate_data(transformer, X, skip_check_array=True, reset=reset)
    return rows


def names_seen(transformer):
    """Return the names of the columns that ``fit`` saw, or None where they had none."""
    names = getattr(transformer, "feature_names_in_", None)
    return None if names is None else list(names)
