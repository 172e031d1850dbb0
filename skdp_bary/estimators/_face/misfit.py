"""Signs in a release that bounds do not fit the rows. Post-processing: they cost nothing."""

import math

import numpy as np

from ..._progress import warn
from ...geometry._domains import Box
from .._denoise.measurements import noisy_total

ENOUGH = 200.0  # persons times epsilon from which noise alone cannot look like this
_DROWNED = 8.0  # ... in a class, below which nothing but noise is seen
_FEW = 0.1  # of the persons expected
_CLEAR = 3.0  # standard deviations of the noise, which no empty map is likely to pass
_THIN = 1.0 / 16.0  # of the width of the domain
_MOST = 0.95  # of the mass
_COARSE = 4  # level of a grid of 256 cells
_FEW_CELLS = 4  # around one corner
_FEATURES = 3  # with more, rows of many zeros lie at a face by nature


def warn_of_missing(total, measurements, facts, epsilon):
    """Warn when a map holds few of the persons expected, or no more than noise would show.

    Parameters
    ----------
    total : float
        Released number of persons on the map.
    measurements : list of Measurement
        The noisy masses that it was made of.
    facts : Facts
    epsilon : float
    """
    known = facts.size is not None and facts.size * epsilon >= ENOUGH
    noisy, deviation = noisy_total(measurements)
    if known and total < _FEW * facts.size:
        found, hint = f"of {facts.size} expected", ", and n_hint if it was given"
    elif noisy < _CLEAR * deviation:
        found = f"on the map, no more than its noise alone would show at epsilon={epsilon:g}"
        hint = "; if they are right, there are too few persons for this epsilon"
    else:
        return
    warn(
        f"The release holds about {max(total, 0.0):.0f} persons {found}. Rows outside of bounds "
        f"carry no mass: check the units and the order of the columns{hint}.",
        stacklevel=5,
    )


def warn_of_hint(total, hint, n_clusters, epsilon):
    """Warn when a release has far more or fewer persons than its budget was divided for.

    Parameters
    ----------
    total : float
        Released number of persons.
    hint : int or None
        What ``n_hint`` says; None: nothing.
    n_clusters : int
    epsilon : float
    """
    if hint is None or max(total, hint) * epsilon < ENOUGH * n_clusters:
        return
    if not _FEW * hint <= total <= hint / _FEW:
        warn(
            f"The release has about {max(total, 0.0):.2g} persons, and n_hint says {hint}. The "
            "budget was divided for that many, so costs can be many times too high.",
            stacklevel=5,
        )


def few_persons(size, n_classes, epsilon, known=""):
    """Return what is wrong with about as many persons in a class as the noise of a count, or "".

    Parameters
    ----------
    size : int or None
        A public or released number of persons; None: not known.
    n_classes : int
    epsilon : float
    known : str, default=""
        How the number is known, where that is not plain.
    """
    if size is None or size * epsilon >= _DROWNED * n_classes:
        return ""
    in_classes = "" if n_classes == 1 else f" in {n_classes} classes"
    enough = math.ceil(2.0 * _DROWNED * n_classes / epsilon)
    return (
        f"About {size} persons{in_classes}{known} are no more than the noise at epsilon="
        f"{epsilon:g} shows: what is released is mostly noise. It needs {enough} persons or more."
    )


def warn_of_few_persons(facts, epsilon):
    """Warn when there are about as many persons in a class as the noise of a count.

    Parameters
    ----------
    facts : Facts
        Their `size` is public, or was released.
    epsilon : float

    Returns
    -------
    warned : bool
    """
    known = "" if facts.mass_public else ", by n_hint or a noisy count,"
    told = few_persons(facts.size, facts.n_classes, epsilon, known)
    if told:
        warn(told, stacklevel=5)
    return bool(told)


def warn_of_guessed_bounds(facts, epsilon):
    """Warn when noise left nothing to be seen of where rows lie, so that bounds are a guess.

    Parameters
    ----------
    facts : Facts
    epsilon : float
    """
    if facts.domain_guessed:
        warn(
            "bounds=None: too few persons to be told from noise, with the share of epsilon="
            f"{epsilon:g} that bounds are bought with. Those in domain_ are a guess, not where "
            "rows lie, and what is released is mostly noise. Public bounds cost nothing.",
            stacklevel=4,
        )


def warn_of_few_cells(fit, facts, epsilon):
    """Warn when nearly all mass of a map lies in a few of the cells of a coarse grid.

    Parameters
    ----------
    fit : HeatmapFit
    facts : Facts
    epsilon : float
    """
    total = fit.mass.sum()
    if fit.level.max() < _COARSE or total * epsilon < ENOUGH:
        return
    above, below = np.maximum(fit.level - _COARSE, 0), np.maximum(_COARSE - fit.level, 0)
    first = (fit.code >> 2 * above) << 2 * below
    rises = np.zeros(4**_COARSE + 1)  # from one coarse cell to the next, in Morton order
    np.add.at(rises, first, fit.mass / 4.0**below)
    np.add.at(rises, first + 4**below, -fit.mass / 4.0**below)
    coarse = np.cumsum(rises[:-1])
    if np.sort(coarse)[-_FEW_CELLS:].sum() > _MOST * total:
        warn(
            f"Nearly all mass of the map lies in {_FEW_CELLS} of {4**_COARSE} equal cells. bounds "
            f"is read as {facts.domain!r}: check it, the units and the order of the columns. If it "
            "is right, narrower bounds tell more.",
            stacklevel=5,
        )


def warn_of_border(points, weights, facts, epsilon, bounds):
    """Warn when nearly all mass of a release lies in a thin layer at one face of the given box.

    Rows outside of a domain are moved to its border, where they look like rows.

    Parameters
    ----------
    points : ndarray of shape (n_points, n_features)
    weights : ndarray of shape (n_points,)
        Both released.
    facts : Facts
    epsilon : float
    bounds : object
        As given to the estimator; bought ones fit.
    """
    domain = facts.domain
    given = bounds is not None and isinstance(domain, Box) and facts.n_features <= _FEATURES
    if not given or facts.size is None or facts.size * epsilon < ENOUGH:
        return
    total, layer = weights.sum(), _THIN * (domain.high - domain.low)
    low, high = domain.low + layer, domain.high - layer
    for name, is_near in (
        ("low", lambda column: points[:, column] <= low[column]),
        ("high", lambda column: points[:, column] >= high[column]),
    ):
        # a feature at a time: of a million points, a table of places is the peak of a fit
        shares = [weights.sum(where=is_near(j)) / total for j in range(facts.n_features)]
        feature = int(np.argmax(shares))
        if shares[feature] > _MOST:
            warn(
                f"Nearly all of the release lies at the {name} end of feature {feature}. Rows "
                "outside of bounds are moved to their border: check the units and the order of "
                "the columns. If the rows do lie there, narrower bounds tell more.",
                stacklevel=5,
            )
            return
