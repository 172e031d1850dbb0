"""Neighbors that are placed for one recorded question, where generic ones do not hurt enough."""

from functools import singledispatch
from itertools import product

import numpy as np

from ..privacy._neighbors import ADD_REMOVE
from ..summaries._cluster_sums import ClusterQuery
from ..summaries._frame_counts import Gram
from ..summaries._moments import Moments
from ..summaries._projected_histogram import ProjectedHistogram
from ._crowds import crowded_pairs
from ._hostile import rewritten

_MOST_PAIRS = 12
_INSIDE = 1.0 - 1e-3  # of the clipping radius, so that rounding does not clip
_SIGN_AXES = 3  # directions run over all signs of so many blocks of axes


def aimed_pairs(estimator, kind, query):
    """Yield neighbors for a question that a recorded fit asked."""
    if isinstance(query, ProjectedHistogram):
        yield from crowded_pairs(estimator, kind, query)
        return
    places = aimed_rows(query)
    if estimator.neighbors == ADD_REMOVE:
        for row, _ in places[:_MOST_PAIRS]:
            yield rewritten(estimator, kind, None, row)
        return
    # opposite rows of one part first, then rows of two parts
    ranked = sorted(
        (
            (part != other, -float(((row - mate) ** 2).sum()), i, j)
            for i, (row, part) in enumerate(places)
            for j, (mate, other) in enumerate(places[:i])
        ),
    )
    within = [pair for pair in ranked if not pair[0]][: _MOST_PAIRS // 2]
    across = [pair for pair in ranked if pair[0]][: _MOST_PAIRS // 2]
    for *_, i, j in within + across:
        yield rewritten(estimator, kind, places[i][0], places[j][0])


@singledispatch
def aimed_rows(query):
    """Return rows at which a question is most sensitive, each with the part that it belongs to."""
    return []


@aimed_rows.register
def _(query: ClusterQuery):
    frame = query.frame
    back = np.eye(frame.width) if frame.axes is None else frame.axes.kept
    found = []
    for part, (center, radius) in enumerate(zip(query.used_centers, query.used_radii, strict=True)):
        residuals = _INSIDE * radius * _sign_directions(frame.width)
        rows = frame.center + (center + residuals) @ back
        inside = frame.domain.contains(rows)
        own = query.nearest(frame.integer_rows(rows))[0] == part
        found += [(row, part) for row in rows[inside & own]]
    return found


@aimed_rows.register
def _(query: Gram):
    frame = query.frame
    ends = query.radius * np.eye(frame.width)
    rows = frame.center + np.vstack([ends, -ends])
    inside = frame.domain.contains(rows)
    axes = np.tile(np.arange(frame.width), 2)
    return [(row, axis) for row, axis in zip(rows[inside], axes[inside], strict=True)]


@aimed_rows.register
def _(query: Moments):
    """Two rows at the cosine -1/8: of sums with twice the noise and squares, the worst."""
    first, second = np.zeros((2, query.width))
    first[0], second[0] = 1.0, -1.0
    if query.width > 1:
        second[:2] = -1 / 8, np.sqrt(63) / 8
    rows = query.radius * np.stack([first, second])
    back = np.eye(query.width) if query.components is None else query.components
    return [(row, 0) for row in query.centers[0] + rows @ back]


def _sign_directions(width):
    """Return unit vectors of equal entries up to sign: the longest in L1 among them."""
    blocks = np.arange(width) % min(width, _SIGN_AXES)
    signs = np.array(list(product((1.0, -1.0), repeat=min(width, _SIGN_AXES))))
    return signs[:, blocks] / np.sqrt(width)
