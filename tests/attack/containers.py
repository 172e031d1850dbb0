"""However rows are cut, ordered and laid out, exact answers are the same integers.

That is: what one row adds to an answer depends on that row alone, bit for bit.
"""

import numpy as np
from sklearn.base import clone

from skdp_bary import SortedPersons, SpilledPersons
from tests.world import ArrowStream, make_arguments, record_fit, replay_after, settings

from .promises import Promise, Trial, repeated
from .sensitivity import REPLAYED


def lay_out_otherwise(rng, estimators=REPLAYED):
    """Fit rows twice, in two layouts, with the same releases."""
    estimator = estimators[rng.integers(len(estimators))]
    candidates = settings(estimator)
    candidate = clone(candidates[rng.integers(len(candidates))]).set_params(random_state=0)
    n_rows = int(rng.integers(1, 200))
    kind = "persons" if rng.random() < 0.3 else "rows"
    arguments = make_arguments(candidate, n_rows, seed=int(rng.integers(2**31)), kind=kind)
    arguments = {name: np.asarray(values) for name, values in arguments.items()}
    before = record_fit(candidate, arguments)
    if before.error is not None:  # too few rows
        return None
    other = _shuffled(rng, arguments)
    layouts = _OF_PERSONS if "groups" in arguments else _LAYOUTS
    report = replay_after(before, candidate, layouts[rng.integers(len(layouts))](rng, other))
    moved = [step.name for step in report.steps if any(step.l1)]
    moved += report.violations
    return Trial(violation=f"{candidate!r}: {n_rows} rows: {moved}" if moved else "")


def _shuffled(rng, arguments):
    order = rng.permutation(len(arguments["X"]))
    return {name: values[order] for name, values in arguments.items()}


def _chunks(rng, arguments):
    n_rows = len(arguments["X"])
    cuts = np.sort(rng.integers(n_rows + 1, size=rng.integers(0, 9)))
    parts = [part for part in np.split(np.arange(n_rows), cuts) if len(part)]
    chunks = [tuple(values[part] for values in arguments.values()) for part in parts]
    return {"X": chunks if len(arguments) > 1 else [chunk[0] for chunk in chunks]}


def _one_by_one(rng, arguments):
    chunks = [tuple(v[i : i + 1] for v in arguments.values()) for i in range(len(arguments["X"]))]
    return {"X": chunks if len(arguments) > 1 else [chunk[0] for chunk in chunks]}


def _fortran(rng, arguments):
    return arguments | {"X": np.asfortranarray(arguments["X"])}


def _float32(rng, arguments):
    return arguments | {"X": arguments["X"].astype(np.float32)}


def _strided(rng, arguments):
    X = arguments["X"]
    wide = rng.normal(size=(3 * len(X), X.shape[1] + 2))
    wide[::3, 1:-1] = X
    return arguments | {"X": wide[::3, 1:-1]}


def _unaligned(rng, arguments):
    X = arguments["X"]
    memory = np.frombuffer(b"x" + X.tobytes(), dtype=np.uint8)[1:]
    return arguments | {"X": memory.view(np.float64).reshape(X.shape)}


def _arrow_stream(rng, arguments):
    columns = {f"x{i}": values for i, values in enumerate(arguments["X"].T)}
    beside = {name: values for name, values in arguments.items() if name != "X"}
    stream = ArrowStream(columns | beside, int(rng.integers(1, 50)))
    return {"X": stream} | {name: name for name in beside}


def _persons_on_disk(rng, arguments):
    n_parts = int(rng.integers(1, 9))
    chunks = _with_ids(rng, arguments)
    return {"X": chunks, "groups": SpilledPersons(n_parts=n_parts)}


def _persons_in_order(rng, arguments):
    order = np.argsort(arguments["groups"], kind="stable")
    chunks = _with_ids(rng, {name: values[order] for name, values in arguments.items()})
    return {"X": chunks, "groups": SortedPersons()}


def _with_ids(rng, arguments):
    columns = [arguments.get(name) for name in ("X", "y", "sample_weight", "groups")]
    n_rows = len(arguments["X"])
    cuts = np.sort(rng.integers(n_rows + 1, size=rng.integers(0, 9)))
    parts = np.split(np.arange(n_rows), cuts)
    return [tuple(None if v is None else v[part] for v in columns) for part in parts]


_LAYOUTS = (_chunks, _one_by_one, _fortran, _float32, _strided, _unaligned, _arrow_stream)
_OF_PERSONS = (_fortran, _strided, _persons_on_disk, _persons_in_order, _arrow_stream)

PROMISE = Promise(
    "layouts",
    "Exact answers do not depend on the order of the rows, their chunks or their layout in memory",
    repeated(lay_out_otherwise),
)
