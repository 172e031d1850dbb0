"""Steps that buy, before an estimator's own, the public facts its user did not give.

The number of persons is a noisy count. The domain is bought in three steps: the magnitude of the
rows, their centre, and their distances from it. It is a box around a noisy centre.
"""

from dataclasses import replace

from ..geometry._domains import Box
from ..summaries.moments.bounds import ClippedSum, Count, DistanceHistogram, tail_bin, top_bin
from ..summaries.rows.persons import coarser_units

SIZE_SHARES = {"count": 0.05}
DOMAIN_SHARES = {"scale": 0.06, "center": 0.04, "radius": 0.10}

_MAGNITUDES = tuple(2.0**e for e in range(-64, 64))
_OCTAVES, _PER_OCTAVE = 8, 8
_MARGIN = 1.2  # widening of the bought radius: noise may have hidden the outermost rows


def buy_size(facts):
    """Ask for the number of persons, and return the facts with it and with units to suit it."""
    released = yield "count", Count(facts.units, facts.mass_public)
    size = max(1, round(int(released.values[0][0]) / facts.units))
    return replace(facts, size=size, units=coarser_units(facts.units, size))


def buy_domain(facts):
    """Ask where the rows lie, and return the facts with a box around them."""
    origin = (0.0,) * facts.n_features
    released = yield "scale", DistanceHistogram(origin, _MAGNITUDES, facts.units)
    top = top_bin(released)  # the outermost bin that stands out
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
