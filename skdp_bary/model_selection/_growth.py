"""How numbers grow in a step: how large those can be that it makes of numbers of a known size.

Every function takes a step and the largest absolute value before it, and returns what no number
behind it, nor on the way, exceeds: infinity where it may be beyond all floats.
"""

import numpy as np

from ..geometry._bounds import check_domain, width_of

LARGEST = float(np.finfo(np.float64).max)
LIMIT = 1e308  # what stays below it is a float, however it was rounded on the way
_WIDEST = 1e9  # columns: no table has more
_LONGEST = 2.0**63  # words of a text, and categories


def largest_behind(step, grows, largest):
    """Return what a function of this file says, infinity where it cannot be computed."""
    try:
        with np.errstate(all="ignore"):
            found = float(grows(step, np.float64(largest)))
    except (TypeError, ValueError, AttributeError):  # a fit will say what is wrong
        return np.inf
    return found if found == found else np.inf


def may_overflow(before, behind):
    """Whether a step may make a number too large for floats of one that is not."""
    return not behind < LIMIT and not behind == before <= LARGEST


def powers(step, largest):
    """Products of up to `degree` numbers."""
    degree = step.degree if np.ndim(step.degree) == 0 else max(step.degree)
    return max(1.0, largest) ** degree


def sketched(step, largest):
    """Products of `degree` sums of all columns, transformed."""
    rows = largest * np.sqrt(step.gamma) * _WIDEST + np.sqrt(step.coef0)
    return step.n_components * max(rows, 1.0) ** step.degree


def roots(step, largest):
    """Roots of numbers, times public weights."""
    return 2.0 * largest * max(1.0, step.sample_interval or 1.0)


def sums(step, largest):
    """Sums of all columns over the root of the density."""
    density = 1.0 / _WIDEST if step.density == "auto" else step.density
    return largest * _WIDEST / np.sqrt(density)


def with_fill(step, largest):
    """The numbers themselves, or what is put where one is missing."""
    return max(largest, abs(np.float64(step.fill_value)))


def codes(step, largest):
    """Numbers of categories, or what stands for those that are not listed or missing."""
    marks = [step.unknown_value, step.encoded_missing_value]
    return max(_LONGEST, *(abs(float(m)) for m in marks if m is not None and m == m))


def counts(step, largest):
    """How often words occur in a text."""
    return _LONGEST


def ones(step, largest):
    """Zeros and ones."""
    return 1.0


def splines(step, largest):
    """B-splines: within their knots at most 1; beyond them polynomials, by de Boor's recursion.

    Each of its `degree` steps multiplies by at most twice the distance from a knot, those added
    outside of the given ones included, over the smallest gap between two knots.
    """
    if step.extrapolation in ("constant", "periodic"):
        return 1.0
    knots = np.asarray(step.knots, dtype=np.float64)
    gaps = np.diff(knots, axis=0)
    reach = largest + np.abs(knots).max() + step.degree * gaps.max()
    return (step.degree + 1) * max(1.0, 2.0 * reach / gaps.min()) ** max(1, step.degree)


def scaled(step, largest):
    """Numbers moved and divided by public bounds; those that are clipped fill a unit domain.

    What is not clipped is cut off at the largest float.
    """
    if step.clip:
        return 1.0
    domain = check_domain(step.bounds, width_of(step.bounds, 1))
    if step.target == "box":
        offset, scale = np.abs(domain.low).max(), (domain.high - domain.low).min()
    else:
        offset, scale = np.abs(domain.center).max(), domain.radius
    return min((largest + offset) / scale, LARGEST)


def projected(step, largest):
    """Products with a public matrix, cut off at the largest float or at the radius of `bounds`.

    Its entries are at most 10 standard deviations of a Gaussian, or a root of the number of
    features.
    """
    if step.bounds is not None:
        largest = check_domain(step.bounds, width_of(step.bounds, 1)).radius
    return min(largest * _WIDEST * np.sqrt(_WIDEST), LARGEST)
