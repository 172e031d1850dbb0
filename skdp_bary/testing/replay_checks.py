"""Checks by replay: sensitivities, and that everything fitted is a function of the releases."""

from functools import singledispatch
from importlib.util import find_spec
from itertools import product

import numpy as np
from scipy.spatial.distance import cdist

from ..geometry.lattices import UnitPlanes, UnitSlices
from ..inspection.replay import record_fit, replay_after
from ..privacy.mechanisms import ADD_REMOVE, REPLACE_ANY
from ..queries.classes import ByClass
from ..queries.clusters import ClusterQuery
from ..queries.frames import Gram
from ..queries.maps import Clipped, FeaturesOf
from ..queries.meetings import MeetingsQuery, PairLaw
from ..queries.networks import ClippedGradients, PredictedClasses
from ..queries.power_cells import CellGrams
from ..queries.sizes import Moments
from ..queries.slices import ProjectedHistogram, WavesOf
from ..rows.persons import Chunk
from .hostile import (
    Pair,
    default_setting,
    hostile_pairs,
    make_arguments,
    met_first,
    public_classes,
    require,
    rewritten,
    settings,
)
from .one_fit import differing_paths

# Checks by replay: sensitivities, and that everything fitted is a function of the releases.

_TIGHT = 0.9
_TIGHT_IN_PARTS = 0.33
_TIGHT_MOMENTS = 0.6  # under Laplace noise every block is at its worst, which no pair has at once
_TIGHT_LAW = 0.5  # not all that moves a covariance makes its norm larger
_TIGHT_ON_SLICES = 0.75  # some slices see any two rows in one cell, or on one wave


def check_sensitivity_of_rows(estimator):
    """No hostile neighbor moves an answer further than its noise covers, and some come close."""
    _check_sensitivity(estimator, "rows")


def check_sensitivity_of_persons(estimator):
    """The same when a person is several rows."""
    _check_sensitivity(estimator, "persons")


def check_sensitivity_of_weights(estimator):
    """The same when rows carry weights."""
    _check_sensitivity(estimator, "weights")


def check_state_is_post_processing(estimator):
    """Other rows with the same releases give the same fitted estimator, bit for bit."""
    for candidate in settings(estimator):
        candidate.set_params(random_state=0)
        # the number of rows is private under add_remove, and public under the other relations
        n_rows = 71 if candidate.neighbors == ADD_REMOVE else 60
        before = record_fit(candidate, make_arguments(candidate, 60, seed=0))
        _require_fitted(before)
        other = make_arguments(candidate, n_rows, seed=1)
        other["X"] = other["X"] * 0.5 + 1e-3
        if candidate.neighbors != ADD_REMOVE and "y" in other:
            other["y"] = make_arguments(candidate, 60, seed=0)["y"]
        after = record_fit(candidate, other, script=before.records)
        _require_fitted(after)
        paths = differing_paths(vars(before.fitted), vars(after.fitted))
        require(
            not paths,
            f"Fitted attributes depend on the rows beyond what is released: {paths} "
            f"(neighbors={candidate.neighbors!r}, delta={candidate.delta}).",
        )


def check_same_integers_for_every_container(estimator):
    """However the rows come, the exact answers are the same integers."""
    candidate = default_setting(estimator).set_params(random_state=0)
    arguments = make_arguments(candidate)
    before = record_fit(candidate, arguments)
    for name, other in _containers(arguments):
        report = replay_after(before, candidate, other, answers_only=True)
        moved = [step.name for step in report.steps if any(step.l1)]
        require(
            report.holds and not moved,
            f"Rows given as {name} change the exact answers {moved}. {report}",
        )


def _check_sensitivity(estimator, kind):
    for candidate in settings(estimator):
        candidate.set_params(random_state=0)
        reached, asked = _try_pairs(candidate, kind)
        loose = {name: ratio for name, ratio in reached.items() if ratio < asked[name]}
        require(
            not loose,
            f"No hostile neighbor comes close enough to the loss paid for {loose} ({kind}, "
            f"{candidate.neighbors!r}, delta={candidate.delta}): noise is wasted, or the neighbors "
            f"that hurt are missing.{_missing_hint(candidate)}",
        )


def _missing_hint(candidate):
    """Return the size to give where noise follows from one that is bought, or ""."""
    if getattr(candidate, "n_min", 0) is not None:
        return ""
    classes = public_classes(candidate)
    least = 60 if classes is None else 60 // len(classes)
    return (
        " If the noise follows from a size that is bought, which few rows make too small, give "
        f"n_min={least} to the estimator that is checked."
    )


def _try_pairs(candidate, kind):
    """Return the largest share of its sensitivity that each step was moved by, and what is asked.

    Every move and every place is tried, then rows placed for the questions that were not moved
    nearly as far as stated, and all other pairs where a question is still not moved enough.
    """
    base = record_fit(candidate, make_arguments(candidate, kind=kind), answers_only=True)
    asked = {
        record.released.name: _share_asked(record.query, record.released.mechanism.is_pure)
        for record in base.records
    }
    reached = dict.fromkeys(asked, 0.0)
    pairs, n_needed = met_first(hostile_pairs(candidate, kind))
    recorded = {}  # many pairs share one
    for i, pair in enumerate(pairs[:n_needed]):
        short = i > 0  # one pair is fitted to the end; answers are known before
        if id(pair.data) not in recorded:
            recorded[id(pair.data)] = record_fit(candidate, pair.data, answers_only=short)
        _try(candidate, kind, pair, recorded[id(pair.data)], reached, short)
    for record in base.records:
        name = record.released.name
        for pair in worst_pairs(candidate, kind, record.query):
            if reached[name] >= _TIGHT:
                break
            before = record_fit(candidate, pair.data, base.records, answers_only=True)
            _try(candidate, kind, pair, before, reached, True, f" at {name!r}")
    for pair in pairs[n_needed:]:
        if all(reached[name] >= asked[name] for name in reached):
            break
        before = record_fit(candidate, pair.data, answers_only=True)
        _try(candidate, kind, pair, before, reached, True)
    return reached, asked


def _share_asked(question, is_pure):
    """Share of a stated sensitivity that some pair has to reach.

    Questions about released parts are as sensitive as stated only where the part has room for the
    rows that hurt most, so less is asked of them.
    """
    if isinstance(question, Clipped):  # no row is as far out as one that is not clipped
        return min(_TIGHT_IN_PARTS, _share_asked(question.query, is_pure))
    question = question.query if isinstance(question, FeaturesOf) else question
    question = question.queries[0] if isinstance(question, ByClass) else question
    if isinstance(question, PairLaw):
        return _TIGHT_LAW
    if isinstance(question, Moments) and is_pure:
        return _TIGHT_MOMENTS
    if isinstance(question, (ClusterQuery, Gram)):
        return _TIGHT_IN_PARTS
    return _TIGHT_ON_SLICES if isinstance(question, (MeetingsQuery, WavesOf)) else _TIGHT


def _try(candidate, kind, pair, before, reached, short, where=""):
    report = replay_after(before, candidate, pair.neighbor, answers_only=short)
    require(
        report.holds,
        f"The guarantee fails for {kind} under {candidate.neighbors!r} with "
        f"delta={candidate.delta} when {pair.name}{where}.\n{report}",
    )
    for step in report.steps:
        reached[step.name] = max(step.ratio, reached.get(step.name, 0.0))


def _require_fitted(recording):
    require(recording.error is None, f"fit failed: {recording.error!r}")


def _containers(arguments):
    X = arguments["X"]
    yield "a Fortran-ordered array", arguments | {"X": np.asfortranarray(X)}
    yield "float32", arguments | {"X": X.astype(np.float32)}
    yield "a view with strides", arguments | {"X": np.repeat(X, 2, axis=0)[::2]}
    yield "a list", {name: values.tolist() for name, values in arguments.items()}
    yield "read-only memory", arguments | {"X": np.frombuffer(X.tobytes()).reshape(X.shape)}
    cuts = np.array_split(np.arange(len(X)), 7)
    if "y" in arguments:
        chunks = [(X[rows], arguments["y"][rows]) for rows in cuts]
    else:
        chunks = [X[rows] for rows in cuts]
    yield "a list of chunks", {"X": chunks}
    yield "a function returning chunks", {"X": lambda: iter(chunks[::-1])}
    if find_spec("pandas") is not None:
        import pandas

        yield "a dataframe", arguments | {"X": pandas.DataFrame(X)}
    if find_spec("pyarrow") is not None:
        columns = {f"x{i}": values for i, values in enumerate(X.T)}
        labels = {"y": arguments["y"]} if "y" in arguments else {}
        names = {"y": "y"} if labels else {}
        yield "an Arrow stream", {"X": ArrowStream(columns | labels)} | names


class ArrowStream:
    """Columns that come as a stream of batches, anew whenever one is asked for.

    Parameters
    ----------
    columns : dict
    n_rows : int, default=9
        Of a batch.
    """

    def __init__(self, columns, n_rows=9):
        self._columns, self._n_rows = columns, n_rows

    def __arrow_c_stream__(self, requested_schema=None):
        import pyarrow

        table = pyarrow.table(self._columns)
        batches = table.to_batches(max_chunksize=self._n_rows)
        return pyarrow.RecordBatchReader.from_batches(table.schema, batches).__arrow_c_stream__()


# Neighbors that are placed for one recorded question, where generic ones do not hurt enough.

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
        maps = query.features
        for pair in crowded_pairs(estimator, kind, query.query):  # of mapped features
            ends = (
                end | {"X": maps.center + maps.scale * (end["X"] @ query.components)}
                for end in (pair.data, pair.neighbor)
            )
            yield Pair(pair.name, *ends)
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
        )
    )
    within = [pair for pair in ranked if not pair[0]][: _MOST_PAIRS // 4]
    across = [pair for pair in ranked if pair[0]][: _MOST_PAIRS // 4]
    for *_, i, j in within + across:
        yield rewritten(estimator, kind, places[i][0], places[j][0])


@singledispatch
def worst_rows(query):
    """Return rows at which a question is most sensitive, each with the part that it belongs to."""
    return []


@worst_rows.register
def _(query: Clipped):
    return [(query.domain.clip(row[None])[0], part) for row, part in worst_rows(query.query)]


@worst_rows.register
def _(query: ClusterQuery):
    frame = query.frame
    back = np.eye(frame.width) if frame.axes is None else frame.axes.kept
    # unit vectors of equal entries up to sign: the longest in L1 among them
    blocks = np.arange(frame.width) % min(frame.width, _SIGN_AXES)
    signs = np.array(list(product((1.0, -1.0), repeat=min(frame.width, _SIGN_AXES))))
    sign_directions = signs[:, blocks] / np.sqrt(frame.width)
    directions = _INSIDE * sign_directions
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

    For questions about rows that went through someone else's code, where nothing better is known.
    """
    rng = np.random.default_rng(0)
    sizes = rng.choice([0.1, 0.5, 1.0, 2.0, 5.0], size=(_PROBED_ROWS, 1))
    rows = sizes * rng.normal(size=(_PROBED_ROWS, n_features))
    answers, found = [], []
    for row in rows:  # its contribution to the blocks, each relative to its noise
        state = query.zeros()
        query.count(state, Chunk(row[None], None, None))
        blocks = query.blocks(state)
        weights = query.weights() or (1.0,) * len(blocks)
        scaled = [b.ravel() / w for b, w in zip(blocks, weights, strict=True)]
        answers.append(np.concatenate(scaled).astype(np.float64))
    for order in (1, 2):
        found.append((rows[np.linalg.norm(answers, order, axis=1).argmax()], 0))
        apart = cdist(answers, answers, "minkowski", p=order)
        for _ in range(_MOST_PAIRS // 6):
            pair = np.unravel_index(apart.argmax(), apart.shape)
            part = len(found)
            found += [(rows[place], part) for place in pair]
            apart[list(pair)] = apart[:, list(pair)] = -1.0
    return found


# Neighbors for questions about slices: one person leaves a crowd at the other end of the domain.

_PERSONS = 60  # where their number is public


def crowded_pairs(estimator, kind, query):
    """Yield pairs of neighbors for every direction in which the domain may be widest."""
    counts = [_PERSONS] * query.n_classes if query.n_min is None else query.n_min
    classes = public_classes(estimator)
    for near, far in _ends(query.lattice):
        labels = np.repeat(np.arange(len(counts)), counts)
        if estimator.neighbors == ADD_REMOVE:
            names = "a person joins a crowd far away"
            old, new = (labels, None, None), (labels, far, 0)
        else:
            names = "a person moves far from a crowd"
            old, new = (labels[1:], near, 0), (labels[1:], far, 0)
        yield Pair(names, *(_crowd(kind, classes, near, *end) for end in (old, new)))
        if estimator.neighbors == REPLACE_ANY and len(counts) > 1:
            ends = (labels, far, 0), (labels, far, len(counts) - 1)
            names = "a person goes from one crowd to another"
            yield Pair(names, *(_crowd(kind, classes, near, *end) for end in ends))


def parted_pairs(estimator, kind, query):
    """Yield pairs for questions about how often rows meet.

    All rows are at one end of the domain, or every class is at its own, and one person goes to the
    other end. Who changes the class takes the place of the only row that filled up the other, or is
    one of few at the other end.
    """
    yield from crowded_pairs(estimator, kind, query)
    counts = [_PERSONS] * query.n_classes if query.n_min is None else query.n_min
    classes = public_classes(estimator)
    last = len(counts) - 1
    for near, far in _ends(query.lattice):
        labels = np.repeat(np.arange(len(counts)), counts)
        places = np.where((labels == 0)[:, None], near, far)
        if estimator.neighbors == ADD_REMOVE:
            old, new = (places, labels, None, None), (places, labels, far, 0)
        else:
            old, new = ((places[1:], labels[1:], end, 0) for end in (near, far))
        name = "a person joins the place of the other crowd"
        yield Pair(name, *(_crowd(kind, classes, *end) for end in (old, new)))
        if estimator.neighbors == REPLACE_ANY and last:
            for lost, few in ((1, 0), (0, 2)):
                places = np.tile(near, (len(labels) - lost, 1))
                places[:few] = far
                who = places, labels[: len(places)]
                moves = (*who, far, 0), (*who, near if lost else far, last)
                name = "a person goes to the other crowd"
                yield Pair(name, *(_crowd(kind, classes, *move) for move in moves))


def _ends(lattice):
    """Yield opposite points of the domain: its corners, and two ends of some lines."""
    lattice = lattice.slices if isinstance(lattice, UnitPlanes) else lattice
    domain, directions = lattice.domain, lattice.directions
    widest = np.linalg.svd(directions, full_matrices=False)[0][:, 0]
    along = directions.sum(axis=1)
    reaches = (domain.radius * line for line in (widest, along / np.linalg.norm(along)))
    found = [(domain.low, domain.high), *((domain.center - r, domain.center + r) for r in reaches)]
    for ends in found:
        yield tuple(map(lattice.unscaled, ends)) if isinstance(lattice, UnitSlices) else ends


def _crowd(kind, classes, places, labels, row, label):
    """Return arguments of ``fit``: rows at one point or at many, and one more if it is given."""
    X = np.tile(places, (len(labels), 1)) if places.ndim == 1 else places
    if row is not None:
        X, labels = np.vstack([X, row]), np.append(labels, label)
    arguments = {"X": X}
    if classes is not None:
        arguments["y"] = classes[labels]
    if kind == "persons":
        arguments["groups"] = np.arange(len(X))
    if kind == "weights":
        arguments["sample_weight"] = np.ones(len(X))
    return arguments
