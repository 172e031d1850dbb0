"""How far random directions carry a change of one row, and the Renyi curve that follows.

A. Rakotomamonjy, L. Ralaivola. Differentially private sliced Wasserstein distance. ICML 2021.

Claimed: the squared length of random projections is bounded by Bernstein's inequality or by a limit
law, and noise for that bound is private. Wrong: the first is about twenty times what happens, the
second is no bound, and both may fail in every step. Here the law of that length is exact, and the
worst case of the directions is the default.

Rows x are released as ``x @ U`` plus Gaussian noise, with public directions of unit length as the
columns of U. Given U this is a Gaussian mechanism, and a row that moves by z moves the release by
``|U.T z|``. Only the law of ``H = |U.T z|**2 / |z|**2`` matters:

==============================================  ========================================
directions                                      law of H
==============================================  ========================================
tight frame, at least as many as features       their ratio, always
orthonormal frame (Haar), k of d, average       Beta(k / 2, (d - k) / 2)
k independent ones, average                     sum of k laws Beta(1 / 2, (d - 1) / 2)
any fixed ones, or a frame, in the worst case   the squared operator norm of U
==============================================  ========================================

**The average laws hold for one change that was fixed before U was drawn.** They need directions
drawn freshly, from entropy that no one can influence or repeat, for every release. Whoever can
choose rows, batches or the next question after seeing U is covered by the worst case only.

Every law is rounded up: it is stochastically larger than H, and so is every privacy loss.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from scipy.special import betainc, betaincc, gammaln, logsumexp, ndtri

from ..exceptions import check_integer, check_option, check_real

_LARGEST = 2.0**17  # argument up to which the series is summed
_ROUNDING = 2.0**-50  # relative error of log-gamma and log (tests compare with 40 digits)
DIRECTIONS = ("tight", "iid")
DIRECTION_PRIVACY = ("worst_case", "average")
_MARGIN = 2.0**-40
_BETA_ERROR = 2.0**-26  # above the relative error of the Beta law's tail (tests measure it)
_FFT_ERROR = 1e-12  # above the error of a tail probability by Fourier transform (tests measure it)
_NEAR, _FAR = 1e-16, 1e-30  # tail probabilities up to which atoms lie densely, and at all
_CELLS = 1 << 21
_MOST_TERMS = 1 << 17  # each is rounded up by a cell


def log_kummer(a, b, t):
    """Return ``log 1F1(a; b; t)`` for ``0 < a <= b`` and ``t >= 0``, rounded up.

    A law on [0, 1] has a log moment generating function of slope at most one, which bounds it
    where the series would be long.
    """
    if t == 0.0:
        return 0.0
    summed = _log_series(float(a), float(b), min(float(t), _LARGEST))
    return min((summed + max(t - _LARGEST, 0.0)) * (1.0 + _ROUNDING), float(t))


@lru_cache(maxsize=4096)
def _log_series(a, b, t):
    """Sum the series from its second term on, so that small values keep their digits.

    The ratio of a term to the one before is at most ``t / n``, which bounds what is left out by a
    geometric series.
    """
    n = np.arange(1.0, math.ceil(t + 60.0 * math.sqrt(t)) + 400.0)
    parts = (
        gammaln(a + n),
        -gammaln(b + n),
        -gammaln(n + 1.0),
        n * math.log(t),
        np.full(n.size, gammaln(b) - gammaln(a)),
    )
    size = sum(np.abs(part) for part in parts) + abs(gammaln(b)) + abs(gammaln(a)) + 1.0
    terms = sum(parts) + _ROUNDING * size
    ratio = t / (n[-1] + 1.0)
    tail = terms[-1] + math.log(ratio) - math.log1p(-ratio)
    return float(np.logaddexp(0.0, np.logaddexp(logsumexp(terms), tail))) * (1.0 + _ROUNDING)


@dataclass(frozen=True)
class FixedLaw:
    """H is the same for every draw: tight frames, and the worst case of given directions.

    Parameters
    ----------
    value : float
        Squared length of the longest projection of a unit vector.
    """

    value: float

    @property
    def mean(self):
        """Mean of H."""
        return self.value

    def log_mgf(self, t):
        """Return ``log E exp(t H)``."""
        return t * self.value

    def atoms(self, count):
        """Return values and weights of a law that is stochastically larger than H."""
        return np.array([self.value]), np.array([1.0])


class _SpreadLaw:
    """Common parts of the distributions that are not a point."""

    def chernoff(self, values):
        """Return upper bounds of ``P(H > value)``: the best of a fixed set of exponents."""
        exponents, log_moments = self._moments
        logs = log_moments[:, np.newaxis] - np.multiply.outer(exponents, values)
        return np.exp(np.minimum(logs.min(axis=0), 0.0))

    def atoms(self, count):
        """Return values and weights of a law that is stochastically larger than H.

        Mass between two values is moved to the upper one, and what lies beyond the last one to the
        largest possible H.
        """
        low = max(self.mean - 7.0 * self.standard_deviation, self.mean / 64.0)
        near, far = self.quantile(_NEAR), self.quantile(_FAR)
        values = np.r_[np.linspace(low, near, count), np.linspace(near, far, count // 8 + 2)[1:-1]]
        above = np.minimum(self.survival(values), self.chernoff(values))
        above = np.minimum.accumulate(np.minimum(above, 1.0))
        weights = -np.diff(np.r_[1.0, above, 0.0])
        return np.r_[values, self.largest], weights

    def quantile(self, tail):
        """Return a value that H exceeds with probability at most `tail`, by Chernoff's bound."""
        low, high = self.mean, float(self.largest)
        for _ in range(60):
            middle = (low + high) / 2.0
            if self.chernoff(np.array([middle]))[0] <= tail:
                high = middle
            else:
                low = middle
        return high

    @cached_property
    def _moments(self):
        exponents = np.geomspace(0.01, 100.0, 200) / self.standard_deviation
        return exponents, np.array([self.log_mgf(t) for t in exponents])


@dataclass(frozen=True)
class FrameLaw(_SpreadLaw):
    """A frame of fewer orthonormal directions than features, uniform among all of them.

    Parameters
    ----------
    n_features, n_projections : int
        Fewer projections than features.
    """

    n_features: int
    n_projections: int
    largest = 1.0

    @property
    def mean(self):
        """Mean of H."""
        return self.n_projections / self.n_features

    @property
    def standard_deviation(self):
        """Standard deviation of H."""
        return math.sqrt(2.0 * self.mean * (1.0 - self.mean) / (self.n_features + 2))

    def log_mgf(self, t):
        """Return ``log E exp(t H)``."""
        return log_kummer(self.n_projections / 2.0, self.n_features / 2.0, t)

    def survival(self, values):
        """Return upper bounds of ``P(H > value)``."""
        a, b = self.n_projections / 2.0, (self.n_features - self.n_projections) / 2.0
        return betaincc(a, b, values) * (1.0 + _BETA_ERROR)


@dataclass(frozen=True)
class IndependentLaw(_SpreadLaw):
    """Directions drawn independently and uniformly from the sphere.

    Parameters
    ----------
    n_features : int
        At least two.
    n_projections : int
    """

    n_features: int
    n_projections: int

    @property
    def largest(self):
        """Largest possible H: all directions along the change."""
        return float(self.n_projections)

    @property
    def mean(self):
        """Mean of H."""
        return self.n_projections / self.n_features

    @property
    def standard_deviation(self):
        """Standard deviation of H."""
        d = self.n_features
        return math.sqrt(2.0 * self.n_projections * (d - 1) / (d + 2)) / d

    def log_mgf(self, t):
        """Return ``log E exp(t H)``."""
        return self.n_projections * log_kummer(0.5, self.n_features / 2.0, t)

    def survival(self, values):
        """Return upper bounds of ``P(H > value)``."""
        width, tail = self._tail
        cells = np.minimum(np.floor(values / width * (1.0 - _MARGIN)).astype(int), tail.size - 1)
        return tail[cells] + _FFT_ERROR

    @cached_property
    def _tail(self):
        """Width of the cells, and the probability of every cell and all above it, H rounded up.

        Every term is rounded up to the next cell border. The sum so rounded leaves the grid with
        the probability that H exceeds what Chernoff's bound excludes, so nothing wraps around.
        """
        k = self.n_projections
        width = self.quantile(_FAR) / (_CELLS - k - 1)
        borders = np.minimum(width * np.arange(_CELLS), 1.0)
        single = np.diff(betainc(0.5, (self.n_features - 1) / 2.0, borders), prepend=0.0)
        total = np.fft.irfft(np.fft.rfft(single) ** k, _CELLS)
        return width, np.cumsum(total[::-1])[::-1]


def projection_law(n_features, n_projections, directions="tight", direction_privacy="worst_case"):
    """Return the law of H for directions that are drawn in a known way.

    Parameters
    ----------
    n_features, n_projections : int
    directions : {"tight", "iid"}
        "tight" is a tight frame, or an orthonormal (Haar) frame when there are fewer directions
        than features.
    direction_privacy : {"worst_case", "average"}
        See the module. Both are the same for tight frames.
    """
    d = check_integer(n_features, "n_features", low=1)
    k = check_integer(n_projections, "n_projections", low=1)
    check_option(directions, "directions", DIRECTIONS)
    average = check_option(direction_privacy, "direction_privacy", DIRECTION_PRIVACY) == "average"
    if d == 1:
        return FixedLaw(float(k))  # every direction is the same line
    if directions == "iid":
        if not average:
            raise ValueError(
                'The worst case of directions="iid" depends on the draw: give the directions '
                'themselves, or direction_privacy="average" where they are new for every release.'
            )
        check_integer(k, 'n_projections with directions="iid"', high=_MOST_TERMS)
        return FrameLaw(d, 1) if k == 1 else IndependentLaw(d, k)
    if k < d:
        return FrameLaw(d, k) if average else FixedLaw(1.0)
    return FixedLaw(k / d * (1.0 + _MARGIN))


def operator_law(directions):
    """Return the law of given directions, the columns of a matrix: their worst case."""
    U = np.asarray(directions, dtype=np.float64)
    if U.ndim != 2 or not U.size or not np.isfinite(U).all():
        raise ValueError(
            "directions must be a finite matrix of shape (n_features, n_projections), got shape "
            f"{U.shape}."
        )
    gram = U @ U.T if U.shape[0] <= U.shape[1] else U.T @ U
    # products and eigenvalues have errors of a few (n + k) 2**-53 of the trace
    error = sum(U.shape) * 2.0**-48 * float(np.trace(gram))
    return FixedLaw(float(np.linalg.eigvalsh(gram)[-1]) + error)


def bernstein_bound(n_features: int, n_projections: int, failure: float) -> float:
    """Return the published bound of the squared sensitivity by Bernstein's inequality.

    A comparison only. No calibration here takes it: it is far above what happens, and a bound that
    may fail has to be paid for in every release.

    Parameters
    ----------
    n_features, n_projections : int
        Length and number of directions, drawn independently from the sphere.
    failure : float
        Probability with which the bound may be exceeded.

    Returns
    -------
    bound : float
        For two rows at distance one (Rakotomamonjy and Ralaivola, 2021, Lemma 2).
    """
    d, k, failure = _check_bound(n_features, n_projections, failure)
    log = -math.log(failure)
    return k / d + 2.0 / 3.0 * log + 2.0 / d * math.sqrt(k * (d - 1) / (d + 2) * log)


def clt_bound(n_features: int, n_projections: int, failure: float) -> float:
    """Return the published value for the squared sensitivity by the central limit theorem.

    A comparison only, and **not a bound**: the law is skewed, and exceeds it several times as often
    as stated.

    Parameters
    ----------
    n_features, n_projections : int
        Length and number of directions, drawn independently from the sphere.
    failure : float
        Probability with which the value is meant to be exceeded.

    Returns
    -------
    value : float
        For two rows at distance one (Rakotomamonjy and Ralaivola, 2021, Section 3.1).
    """
    d, k, failure = _check_bound(n_features, n_projections, failure)
    return k / d - float(ndtri(failure)) / d * math.sqrt(2.0 * k * (d - 1) / (d + 2))


def _check_bound(n_features, n_projections, failure):
    return (
        check_integer(n_features, "n_features", low=1),
        check_integer(n_projections, "n_projections", low=1),
        check_real(failure, "failure", low=0.0, high=1.0, open_low=True, open_high=True),
    )
