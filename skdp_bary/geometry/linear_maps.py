"""Linear maps of rows, exact bit for bit; random projections, and how many features serve."""

from __future__ import annotations

import math

import numpy as np
from scipy import linalg, sparse

from ..exceptions import check_integer, check_real
from .rowwise import saturated, unit_rows

# Linear maps of rows whose results depend, bit for bit, on each row alone.

_WEIGHT_BITS = 26
_ROW_BITS = 27  # 26 + 27 = 53: dot products of integer vectors of such norms are exact


class IdentityMap:
    """Rows as they are.

    Parameters
    ----------
    n_features : int
        Number of features.
    """

    def __init__(self, n_features):
        self.n_features = self.n_components = n_features

    def apply(self, X):
        """Return a copy of the rows."""
        return X.copy()

    def invert(self, Y):
        """Return a copy of the rows."""
        return Y.copy()

    def matrix(self):
        """Return the map as a sparse matrix."""
        return sparse.csr_array(sparse.identity(self.n_features))


class MatrixMap:
    """Multiplication by a public matrix, computed exactly on rows cut into two integer vectors.

    The matrix is rounded to multiples of a power of two in units of which its rows have norm at
    most 2**26. A data row is divided by a power of two and cut into two vectors of integers of norm
    at most 2**27. By Cauchy and Schwarz every partial sum of a product then stays within 2**53,
    where float64 adds integers exactly, so neither blocking nor threads matter. The part cut off an
    entry is below 2**-44 of the largest entry of its row, up to 1024 features; rows whose
    largest entry is below 1e-300 lose digits.

    Parameters
    ----------
    components : ndarray of shape (n_components, n_features)
        The matrix before rounding.
    """

    def __init__(self, components):
        self.n_components, self.n_features = components.shape
        longest = math.sqrt((components**2).sum(axis=1).max())
        unit = 2.0 ** (math.frexp(longest)[1] - _WEIGHT_BITS + 1)
        self._components = np.rint(components / unit) * unit

    def apply(self, X):
        """Return the products of the rows with the rows of the matrix."""
        shift = _ROW_BITS - math.ceil(math.log2(self.n_features) / 2)
        unit, exponent = unit_rows(X)
        unit *= 2.0**shift
        upper = np.trunc(unit)
        lower = np.trunc((unit - upper) * 2.0**shift)
        across = self._components.T
        product = (upper @ across) * 2.0**-shift + (lower @ across) * 2.0 ** (-2 * shift)
        # Which zero a product of zeros gives is up to the BLAS; adding 0.0 leaves only +0.0.
        return _scale_back(product, exponent)

    def invert(self, Y):
        """Return the shortest rows that this map sends to `Y`, by the pseudo-inverse."""
        return Y @ linalg.pinv(self._components).T

    def matrix(self):
        """Return the map as a matrix."""
        return self._components


def _scale_back(rows, exponent):
    """Multiply rows by powers of two; what is beyond the largest float becomes that float.

    A product of zeros may come out as -0.0; adding 0.0 leaves only +0.0.
    """
    with np.errstate(over="ignore", under="ignore"):
        return saturated(np.ldexp(rows + 0.0, exponent[:, None]))


# Random directions and projections, drawn without data, and how many of them serve.


def haar_frame(n_features: int, n_directions: int, rng: np.random.Generator) -> np.ndarray:
    """Return orthonormal columns, uniform over all such matrices (Haar measure).

    The triangular factor of a Gaussian matrix is given a positive diagonal; without that the law
    of the orthogonal factor would depend on the sign convention of the QR routine
    (Mezzadri 2007).

    Parameters
    ----------
    n_features : int
        Length of a direction.
    n_directions : int
        Number of columns, at most `n_features`.
    rng : numpy.random.Generator or numpy.random.RandomState
        Source of randomness.

    Returns
    -------
    U : ndarray of shape (n_features, n_directions)
        ``U.T @ U`` is the identity.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp_bary.geometry.linear_maps import haar_frame
    >>> U = haar_frame(5, 2, np.random.default_rng(0))
    >>> bool(np.allclose(U.T @ U, np.eye(2)))
    True
    """
    d = check_integer(n_features, "n_features", low=1)
    k = check_integer(n_directions, "n_directions", low=1, high=d)
    Q, R = np.linalg.qr(rng.standard_normal((d, k)))
    return Q * np.where(np.diagonal(R) < 0, -1.0, 1.0)


def tight_frame(n_features: int, n_directions: int, rng: np.random.Generator) -> np.ndarray:
    """Return unit columns with ``U @ U.T = (n_directions / n_features) I``, each one uniform.

    However a row ``z`` points, ``||U.T z||**2 = (n_directions / n_features) ||z||**2``: the
    projections of a row together have a length that does not depend on the draw. The columns are
    Haar frames side by side and one harmonic frame, turned by a Haar rotation, for what is left.

    Parameters
    ----------
    n_features : int
        Length of a direction.
    n_directions : int
        Number of columns, at least `n_features`.
    rng : numpy.random.Generator or numpy.random.RandomState
        Source of randomness.

    Returns
    -------
    U : ndarray of shape (n_features, n_directions)
        Each column is uniform on the sphere; the columns depend on each other.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp_bary.geometry.linear_maps import tight_frame
    >>> U = tight_frame(3, 12, np.random.default_rng(0))
    >>> bool(np.allclose(U @ U.T, 4.0 * np.eye(3)))
    True
    """
    d = check_integer(n_features, "n_features", low=1)
    k = check_integer(n_directions, "n_directions", low=d)
    n_bases = k // d if k % d == 0 else k // d - 1
    parts = [haar_frame(d, d, rng) for _ in range(n_bases)]
    if k > n_bases * d:
        parts.append(haar_frame(d, d, rng) @ _harmonic_frame(d, k - n_bases * d))
    return np.hstack(parts)


def _harmonic_frame(d, k):
    """Return a real harmonic frame of `k` unit columns in `d` dimensions, ``d < k``.

    Cosines and sines of frequencies below k / 2 are orthogonal over k equally spaced points and
    have equal norms; an odd dimension takes the constant row too.
    """
    frequencies = np.arange(1, d // 2 + 1)
    # The remainder of the integer product keeps the angles exact however large the frequency.
    angles = 2 * np.pi / k * (np.outer(frequencies, np.arange(k)) % k)
    rows = [np.sqrt(2 / d) * np.cos(angles), np.sqrt(2 / d) * np.sin(angles)]
    if d % 2:
        rows.append(np.full((1, k), 1 / np.sqrt(d)))
    return np.vstack(rows)


def distance_dimension(n_points, distortion):
    """Return a dimension that keeps all squared distances of `n_points` points.

    ``4 ln(n) / (distortion**2 / 2 - distortion**3 / 3)``, rounded up: with this dimension a
    Gaussian matrix keeps all pairwise squared distances within ``1 +- distortion`` with positive
    probability (Dasgupta and Gupta 2003), and scikit-learn uses the same.
    """
    n_points = check_integer(n_points, "n_points", low=2)
    t = check_real(distortion, "distortion", low=0, high=1, open_low=True, open_high=True)
    # P(| ||Px||^2 / ||x||^2 - 1 | > t) <= 2 exp(-k (t^2 / 4 - t^3 / 6)) for a Gaussian P of k rows.
    return max(1, math.ceil(2 * math.log(n_points) / (t**2 / 4 - t**3 / 6)))
