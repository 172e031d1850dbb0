"""Facts that a fit gets or estimates before its own queries: settings, classes, sizes, domains."""

from dataclasses import fields, replace

import numpy as np

from ..geometry.domains import Box
from ..privacy.mechanisms import REPLACE_ONE
from ..queries.sizes import ClippedSum, Count, DistanceHistogram, tail_bin, top_bin
from ..rows.opening import distinct_labels
from ..rows.persons import coarser_units

# Steps that buy, before an estimator's own, the public facts its user did not give.

SIZE_SHARES = {"count": 0.05}
DOMAIN_SHARES = {"scale": 0.06, "center": 0.04, "radius": 0.10}

_MAGNITUDES = tuple(2.0**e for e in range(-64, 64))  # public, from 5e-20 to 9e18
_OCTAVES, _PER_OCTAVE = 8, 8  # of distances from the center, up to twice the reach
_MARGIN = 1.2  # widening of the bought radius: noise may have hidden the outermost rows


def buy_size(facts):
    """Ask for the number of people, and return the facts with it and with units to suit it."""
    released = yield "count", Count(facts.units, facts.mass_public)
    size = max(1, round(int(released.values[0][0]) / facts.units))
    return replace(facts, size=size, units=coarser_units(facts.units, size))


def buy_domain(facts):
    """Ask where the rows lie, and return the facts with a box around them."""
    origin = (0.0,) * facts.n_features
    released = yield "scale", DistanceHistogram(origin, _MAGNITUDES, facts.units)
    top = top_bin(released)  # the outermost bin that stands out: few far rows are clipped
    reach = 1.0 if top is None else _MAGNITUDES[top]
    query = ClippedSum(reach, facts.n_features, facts.units, facts.mass_public)
    released = yield "center", query
    center = query.center(released)
    edges = [reach * 2.0 ** (b / _PER_OCTAVE - _OCTAVES + 1) for b in range(_OCTAVES * _PER_OCTAVE)]
    query = DistanceHistogram(tuple(center.tolist()), tuple(edges), facts.units)
    released = yield "radius", query
    place = tail_bin(released)
    edge = edges[-1] if place is None else edges[place]
    radius = min(_MARGIN * edge, edges[-1])
    box = Box(center - radius, center + radius)
    return replace(facts, domain=box, domain_guessed=top is None or place is None)


# The public parameters of an estimator, as its methods see them.


def setting_of(kind, estimator, **others):
    """Return a setting whose fields are parameters of the estimator, but for those given.

    Parameters
    ----------
    kind : type
        A dataclass; a field that is not among `others` has the name of a parameter.
    estimator : BasePrivateEstimator
    **others
        Fields that are no parameters, or not as they were given.
    """
    names = {field.name for field in fields(kind)} - others.keys()
    return kind(**{name: getattr(estimator, name) for name in names}, **others)


# The public labels by which rows are divided.


def named_or_found_classes(classes, y, relation):
    """Return the labels named, or those that occur where the relation makes them public.

    None where rows have no labels.
    """
    if classes is not None:
        return np.asarray(classes)
    if y is None:
        return None
    if relation == REPLACE_ONE:
        return distinct_labels(y)
    raise ValueError(
        "classes must name the public set of labels when y is given, got None. Under "
        f"neighbors={relation!r} the labels that occur are private. For example classes=[0, 1]."
    )


def number_of_classes(classes):
    """Return the number of public labels; rows without any are one class."""
    return 1 if classes is None else np.size(classes)


def class_shares(given, name, n_classes):
    """Return public weights of the classes, summing to one, or raise where they are not that."""
    weights = np.asarray(given, dtype=float)
    if weights.shape != (n_classes,) or not np.isfinite(weights).all() or weights.min() <= 0:
        raise ValueError(
            f"{name} must be {n_classes} positive numbers, got {given!r}. Leave out the rows of a "
            "class that should not count."
        )
    return weights / weights.sum()
