"""Forms of bounds: pairs, names with pairs, domains; read in one way or refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from ..exceptions import shown
from .domains import NARROWEST, Box, Domain, check_vector, is_pair

_FARTHEST = 1e30  # of the rows of an estimator: fourth powers, times persons, are floats
_FINEST = 2.0**-32  # width relative to the coordinates: 2**20 floats lie across
_SHOWN = 6  # features in words

# what `bounds` may be: one pair of numbers or arrays, names with pairs, or a domain
Bounds: TypeAlias = (
    "Domain | tuple[ArrayLike, ArrayLike] | list[ArrayLike] | np.ndarray | "
    "Mapping[str, tuple[float, float]]"
)

ALLOWED = (
    "a (low, high) pair of numbers or arrays, a dict of columns and (low, high) pairs, a Box, a "
    "Ball or a Mask"
)


def check_domain(bounds: Bounds, n_features: int, names: list[str] | None = None) -> Domain:
    """Return `bounds` as a public domain of `n_features` features, or raise.

    Parameters
    ----------
    bounds : (low, high) pair, mapping or Domain
        A pair of numbers (the same bounds for every feature), a pair of arrays with one number per
        feature, a mapping of names of columns to (low, high) pairs, or a Box, Ball or Mask. Four
        numbers in two lists that could as well be one pair for each of two features are rejected.
    n_features : int
        Number of columns of the rows.
    names : list of str, default=None
        Names of the columns; None where they have none.

    Returns
    -------
    domain : Domain
        A pair or a mapping becomes a :class:`Box`.

    Examples
    --------
    >>> from skdp_bary.geometry.bounds import check_domain
    >>> check_domain((-1, 1), n_features=2)
    Box(low=[-1. -1.], high=[1. 1.])
    >>> check_domain({"lat": (30, 31), "lon": (-98, -97)}, 2, names=["lon", "lat"])
    Box(low=[-98.  30.], high=[-97.  31.])
    """
    bounds = in_order(bounds, names)
    if not isinstance(bounds, Domain):
        is_array = isinstance(bounds, np.ndarray) and bounds.ndim > 0
        listed = is_array or isinstance(bounds, (tuple, list))
        if listed and len(bounds) and all(map(is_pair, bounds)):
            _refuse_pairs(bounds)
        if not listed or len(bounds) != 2:
            raise TypeError(
                f"bounds must be {ALLOWED}, got {shown(bounds)}. For example bounds=(0, 1)."
            )
        low = check_vector(bounds[0], "bounds", n_features)
        bounds = Box(low, check_vector(bounds[1], "bounds", n_features))
    if bounds.n_features != n_features:
        raise ValueError(
            f"bounds describes {bounds.n_features} features, but X has n_features={n_features}: "
            "give one (low, high) for each, or one pair for all, for example bounds=(0, 1)."
        )
    # Powers of distances must stay floats, and many floats must lie between low and high.
    low, high = bounds.low, bounds.high
    far = np.maximum(np.abs(low), np.abs(high))
    if not (far <= _FARTHEST).all():
        raise ValueError(
            f"bounds must hold numbers up to {_FARTHEST}, got {far.max()}: scale the rows first."
        )
    least = np.maximum(far * _FINEST, NARROWEST)
    narrow = ~(high - low >= least)
    if narrow.any():
        j = int(narrow.argmax())
        called = f"column {names[j]!r}" if names else f"feature {j}"
        raise ValueError(
            f"bounds must be at least {least[j]:.3g} wide for {called}, so that enough floats lie "
            f"inside, got low={low[j]}, high={high[j]}: move or scale the rows first."
        )
    return bounds


def in_order(bounds: Bounds, names: list[str] | None) -> Bounds:
    """Return bounds by name as a Box in the order of the columns, and all others as they are.

    Parameters
    ----------
    bounds : object
        As given by a user.
    names : list of str or None
        Names of the columns of the rows; None where they have none.
    """
    if not isinstance(bounds, Mapping):
        return bounds
    _refuse_geojson(bounds)
    if names is None:
        pairs = [tuple(np.asarray(p).tolist()) if is_pair(p) else p for p in bounds.values()]
        raise ValueError(
            f"bounds names the columns {list(bounds)}, and the rows have no names of columns. Fit "
            "a dataframe, or give bounds in the order of the columns, as "
            f"Box.of_features({pairs})."
        )
    if set(bounds) != set(names):
        advice = _advice_on_names(list(bounds), names)
        raise ValueError(
            f"bounds must name every column once, got {list(bounds)} for the columns {names}."
            f"{advice}"
        )
    return box_of(bounds, names)


def _advice_on_names(given, names):
    """Fix for bounds that name other columns than there are."""
    without = [name for name in names if name not in given]
    unknown = [name for name in given if name not in names]
    if unknown and without:
        return f" No column is named {unknown}; {without} have no bounds."
    if unknown:
        return f" No column is named {unknown}: leave them out of bounds."
    if len(without) + len(given) != len(names):  # a name that stands twice
        return ""
    return (
        f" Give bounds for {without} too, or drop {without} from the rows; a column of person ids "
        "goes into groups."
    )


def box_of(bounds: Mapping[str, tuple[float, float]], names: list[str] | None = None) -> Box:
    """Return the Box of bounds by name, in the order of `names`, or in their own order."""
    if not bounds:
        raise ValueError(
            "bounds must name every column once, got an empty mapping: {'age': (0, 120)}, say."
        )
    _refuse_geojson(bounds)
    for name, pair in bounds.items():
        if not isinstance(name, str) or not is_pair(pair):
            raise ValueError(
                f"bounds must map names to (low, high) pairs, got {shown(name)}: {shown(pair)}. "
                "Write {'age': (0, 120)}, for example."
            )
        if not _ordered(*pair):
            raise ValueError(
                "bounds must be (low, high) with low < high for every column, "
                f"got {shown(name)}: {shown(pair)}."
            )
    return Box.of_features([bounds[name] for name in (bounds if names is None else names)])


def _refuse_geojson(bounds):
    if isinstance(bounds.get("type"), str):
        raise ValueError(
            f"bounds={{'type': {bounds['type']!r}, ...}} looks like GeoJSON: give "
            "Mask.from_geojson(...), of skdp_bary.geometry, instead."
        )


def width_of(bounds: Bounds | None, default: int) -> int:
    """Return the number of features of public bounds, or `default` where they leave it open."""
    if isinstance(bounds, Domain):
        return bounds.n_features
    if isinstance(bounds, Mapping):
        return len(bounds)
    try:
        return max(np.size(side) for side in bounds) if np.ndim(bounds[0]) else default
    except (TypeError, IndexError, KeyError, ValueError):
        return default


def in_words(bounds: Bounds, names: list[str] | None = None) -> str:
    """Return bounds feature by feature, as text for whoever is about to pay.

    Parameters
    ----------
    bounds : object
        As given by a user; None: they are estimated privately.
    names : list of str, default=None
        Names of the features, in their order.
    """
    if bounds is None:
        return "estimated from the rows, with noise"
    if isinstance(bounds, Mapping):
        bounds, names = box_of(bounds), list(bounds)
    width = width_of(bounds, 1)
    domain = check_domain(bounds, width)
    if not isinstance(domain, Box):
        return repr(domain)
    if not isinstance(bounds, Domain) and np.ndim(bounds[0]) == np.ndim(bounds[1]) == 0:
        return f"every feature from {domain.low[0]:g} to {domain.high[0]:g}"
    called = names if names is not None and len(names) == width else None
    called = called or [f"feature {j}" for j in range(width)]
    sides = zip(called, domain.low.tolist(), domain.high.tolist(), strict=True)
    lines = [f"{name} from {low:.10g} to {high:.10g}" for name, low, high in sides]
    return some_of(lines, ", ")


def some_of(lines: list[str], between: str) -> str:
    """Return a few lines as one text, and how many more there are."""
    if len(lines) > _SHOWN:
        lines = [*lines[: _SHOWN - 1], f"and {len(lines) - _SHOWN + 1} more"]
    return between.join(lines)


def _refuse_pairs(bounds):
    """Refuse four numbers that can be read as (lows, highs) and as one pair for each feature.

    Two arrays are lows and highs: no one makes an array of the range of one feature.
    """
    if isinstance(bounds, (tuple, list)) and any(isinstance(b, np.ndarray) for b in bounds):
        return
    pairs = [tuple(np.asarray(pair).tolist()) for pair in bounds]  # as Python shows them
    written = pairs if len(pairs) <= _SHOWN else "[(low, high), ...]"
    by_feature = f"Box.of_features({written})"
    if len(pairs) != 2:
        raise TypeError(
            f"bounds must be {ALLOWED}, got {shown(bounds)}. For one (low, high) pair per "
            f"feature write {by_feature}."
        )
    (a, b), (c, d) = pairs
    if not _ordered(a, b) or not _ordered(c, d) or b == c:
        return
    if _ordered(a, c) and _ordered(b, d):
        raise ValueError(
            f"bounds={pairs} can be read in two ways. For one (low, high) pair per feature write "
            f"{by_feature} or name the columns: {{'x': {pairs[0]}, 'y': {pairs[1]}}}; for all "
            f"lows and all highs write Box({list(pairs[0])}, {list(pairs[1])}). Box is in "
            "skdp_bary.geometry."
        )
    raise ValueError(
        f"bounds must be (low, high) with low < high for every feature, got {pairs}, which would "
        f"be all lows and all highs. For one (low, high) pair per feature write {by_feature}, "
        "with Box from skdp_bary.geometry."
    )


def _ordered(low, high):
    try:
        return bool(low < high)
    except TypeError:
        return False
