"""Neighbors that are placed for one recorded question, where generic ones do not hurt enough."""

from functools import singledispatch
from itertools import product

import numpy as np
from scipy.spatial.distance import cdist

from ..privacy._neighbors import ADD_REMOVE
from ..summaries.asking.by_class import ByClass
from ..summaries.clusters.cell_grams import CellGrams
from ..summaries.clusters.cluster_sums import ClusterQuery
from ..summaries.moments.frame_counts import Gram
from ..summaries.moments.moments import Moments
from ..summaries.networks.head_gradients import ClippedGradients, PredictedClasses
from ..summaries.networks.row_features import FeaturesOf
from ..summaries.rows.persons import Chunk
from ..summaries.slices.collisions import MeetingsQuery
from ..summaries.slices.histogram import ProjectedHistogram
from ..summaries.slices.waves import WavesOf
from ._crowds import crowded_pairs, parted_pairs
from ._hostile import Pair, rewritten

_MOST_PAIRS = 12
_INSIDE = 1.0 - 1e-3  # of the clipping radius, so that rounding does not clip
_PROBES = 300  # along every slice
_PROBED_ROWS = 100
_SIGN_AXES = 3  # directions run over all signs of so many blocks of axes


def worst_pairs(estimator, kind, query):
    """Yield neighbors for a question that a recorded fit asked."""
    if isinstance(query, ProjectedHistogram):
        yield from crowded_pairs(estimator, kind, query)
        return
    if isinstance(query, MeetingsQuery):
        yield from parted_pairs(estimator, kind, query)
        return
    if isinstance(query, FeaturesOf) and isinstance(query.query, ProjectedHistogram):
        for pair in crowded_pairs(estimator, kind, query.query):
            yield Pair(pair.name, *(_before_map(query, end) for end in (pair.data, pair.neighbor)))
        return
    places = worst_rows(query)
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
def worst_rows(query):
    """Return rows at which a question is most sensitive, each with the part that it belongs to."""
    return []


@worst_rows.register
def _(query: ClusterQuery):
    frame = query.frame
    back = np.eye(frame.width) if frame.axes is None else frame.axes.kept
    directions = _INSIDE * _sign_directions(frame.width)
    return _around_centers(query, directions, lambda points: points @ back)


@worst_rows.register
def _(query: WavesOf):
    """The two of many rows whose waves, and outer products of waves, are farthest apart."""
    slices = query.slices
    axes = np.linspace(-1.0, 1.0, _PROBES)[:, None] * (slices.domain.high - slices.domain.center)
    waves = query.features(slices.unscaled(axes))
    cosines = waves @ waves.T
    _, mean, square = (weight**-2.0 for weight in query.query.block_weights)
    apart = mean * (2.0 - 2.0 * cosines) + square * (2.0 - 2.0 * cosines**2)
    pair = np.unravel_index(np.argmax(apart), apart.shape)
    return [(row, 0) for row in slices.unscaled(axes[list(pair)])]


@worst_rows.register
def _(query: ByClass):
    return worst_rows(query.queries[0])  # rows are placed in the first class


@worst_rows.register
def _(query: CellGrams):
    """Rows on the clipping spheres; in one cell, two at the cosine at which one replaces another
    at the full price."""
    frame, cosine = query.frame, -query.shares[1] / query.shares[0]
    first, second = np.zeros((2, frame.width))
    first[0] = 1.0
    second[: min(frame.width, 2)] = (cosine, np.sqrt(1.0 - cosine**2))[: frame.width]
    return _around_centers(query, np.stack([first, second, -first, -second]))


@worst_rows.register
def _(query: Gram):
    frame = query.frame
    ends = query.radius * np.eye(frame.width)
    rows = frame.center + np.vstack([ends, -ends])
    inside = frame.domain.contains(rows)
    axes = np.tile(np.arange(frame.width), 2)
    return [(row, axis) for row, axis in zip(rows[inside], axes[inside], strict=True)]


@worst_rows.register
def _(query: Moments):
    """Two rows at the cosine -1/8: of sums with twice the noise and squares, the worst."""
    first, second = np.zeros((2, query.width))
    first[0], second[0] = 1.0, -1.0
    if query.width > 1:
        second[:2] = -1 / 8, np.sqrt(63) / 8
    rows = query.radius * np.stack([first, second])
    back = np.eye(query.width) if query.components is None else query.components
    return [(row, 0) for row in query.centers[0] + rows @ back]


@worst_rows.register(ClippedGradients)
@worst_rows.register(PredictedClasses)
def _(query):
    return _probed(query, len(query.frame.features.center))


@worst_rows.register
def _(query: FeaturesOf):
    return _probed(query, len(query.features.center))


def _around_centers(query, directions, lift=np.asarray):
    """Return rows in these directions at the clipping radius, where they stay in their own part."""
    frame, found = query.frame, []
    for part, (center, radius) in enumerate(zip(query.used_centers, query.used_radii, strict=True)):
        rows = frame.center + lift(center + radius * directions)
        inside = frame.domain.contains(rows)
        own = query.nearest(frame.integer_rows(rows))[0] == part
        found += [(row, part) for row in rows[inside & own]]
    return found


def _probed(query, n_features):
    """Ask about single random rows of many sizes: the longest answers, and answers far apart.

    For questions about rows that went through somebody else's code, where nothing better is known.
    """
    rng = np.random.default_rng(0)
    sizes = rng.choice([0.1, 0.5, 1.0, 2.0, 5.0], size=(_PROBED_ROWS, 1))
    rows = sizes * rng.normal(size=(_PROBED_ROWS, n_features))
    answers = np.stack([_answer_about(query, row) for row in rows])
    found = []
    for order in (1, 2):
        found.append((rows[np.linalg.norm(answers, order, axis=1).argmax()], 0))
        apart = cdist(answers, answers, "minkowski", p=order)
        for _ in range(_MOST_PAIRS // 6):
            pair = np.unravel_index(apart.argmax(), apart.shape)
            part = len(found)
            found += [(rows[place], part) for place in pair]
            apart[list(pair)] = apart[:, list(pair)] = -1.0
    return found


def _before_map(query, arguments):
    """Return arguments of ``fit`` whose rows have the given rows as mapped features."""
    maps = query.features
    return arguments | {"X": maps.center + maps.scale * (arguments["X"] @ query.components)}


def _answer_about(query, row):
    """Return what one row adds to the blocks, each relative to its noise."""
    state = query.zeros()
    query.count(state, Chunk(row[None], None, None))
    blocks = query.blocks(state)
    weights = query.weights() or (1.0,) * len(blocks)
    scaled = [b.ravel() / w for b, w in zip(blocks, weights, strict=True)]
    return np.concatenate(scaled).astype(np.float64)


def _sign_directions(width):
    """Return unit vectors of equal entries up to sign: the longest in L1 among them."""
    blocks = np.arange(width) % min(width, _SIGN_AXES)
    signs = np.array(list(product((1.0, -1.0), repeat=min(width, _SIGN_AXES))))
    return signs[:, blocks] / np.sqrt(width)
