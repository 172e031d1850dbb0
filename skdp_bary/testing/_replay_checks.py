"""Checks by replay: sensitivities, and that everything fitted is a function of the releases."""

from importlib.util import find_spec

import numpy as np

from ..inspection._recording import record_fit
from ..inspection._replay import replay_after
from ..privacy._neighbors import ADD_REMOVE
from ..summaries.asking.by_class import ByClass
from ..summaries.clusters.cluster_sums import ClusterQuery
from ..summaries.moments.frame_counts import Gram
from ..summaries.networks.row_features import FeaturesOf
from ..summaries.slices.collisions import MeetingsQuery
from ..summaries.slices.planes import PairLaw
from ..summaries.slices.waves import WavesOf
from ._hostile import hostile_pairs, make_arguments, met_first
from ._settings import default_setting, require, settings
from ._state import differing_paths
from ._worst_neighbors import worst_pairs

_TIGHT = 0.9
_TIGHT_IN_PARTS = 0.33
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
            "that hurt are missing.",
        )


def _try_pairs(candidate, kind):
    """Return the largest share of its sensitivity that each step was moved by, and what is asked.

    Every move and every place is tried, then rows placed for the questions that were not moved
    nearly as far as stated, and all other pairs where a question is still not moved enough.
    """
    base = record_fit(candidate, make_arguments(candidate, kind=kind), answers_only=True)
    asked = {record.released.name: _asked(record.query) for record in base.records}
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


def _asked(question):
    """Return how much of a stated sensitivity some pair has to reach.

    Questions about released parts are as sensitive as stated only where the part has room for the
    rows that hurt most, so less is asked of them.
    """
    question = question.query if isinstance(question, FeaturesOf) else question
    question = question.queries[0] if isinstance(question, ByClass) else question
    if isinstance(question, PairLaw):
        return _TIGHT_LAW
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
