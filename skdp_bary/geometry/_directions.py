"""Public directions of slices: the same for every fit, so that releases can be compared."""

import math

import numpy as np

from ._projections import haar_frame, tight_frame
from ._slices import check_directions

DIRECTIONS = ("tight", "iid")

_LEAST = 100  # the error of few slices against time
_MOST = 1000  # ... where there are more features than that
_SEED = 20210701  # any public number would do


def direction_count(directions, n_projections, n_features):
    """Return the number of directions: the one given, or at least 100 in whole frames.

    More directions cost no accuracy: noise grows with the root of their number, and so do the
    numbers that it is averaged over. Above 1000 features 1000 orthonormal directions are taken. On
    the line all directions are one.
    """
    if not isinstance(directions, str):
        given = check_directions(directions, n_features).shape[1]
        if n_projections is not None and n_projections != given:
            raise ValueError(
                f"n_projections must be None or {given}, the number of columns of directions, got "
                f"{n_projections!r}."
            )
        return given
    if n_projections is not None:
        return n_projections
    if n_features == 1:
        return 1
    return n_features * math.ceil(_LEAST / n_features) if n_features <= _MOST else _MOST


def public_directions(directions, n_projections, n_features):
    """Return the directions of an estimator's parameters, of shape (n_features, n_directions).

    Names stand for matrices drawn from a public seed and the two numbers alone. What is paid for
    holds for every row and every matrix: it is the matrix' largest singular value.
    """
    count = direction_count(directions, n_projections, n_features)
    if not isinstance(directions, str):
        return np.asarray(directions, dtype=np.float64)
    rng = np.random.default_rng([_SEED, n_features, count])
    if directions == "iid":
        columns = rng.standard_normal((n_features, count))
        return columns / np.linalg.norm(columns, axis=0)
    frame = tight_frame if count >= n_features else haar_frame
    return frame(n_features, count, rng)
