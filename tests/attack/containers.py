"""However rows are cut, ordered and laid out, exact answers are the same integers.

That is: what one row adds to an answer depends on that row alone, bit for bit.
"""

import numpy as np
from sklearn.base import clone

from skdp_bary.inspection._recording import record_fit
from skdp_bary.inspection._replay import replay_after
from skdp_bary.testing._hostile import make_arguments
from skdp_bary.testing._settings import settings

from .promises import Promise, Trial, repeated
from .sensitivity import REPLAYED


def lay_out_otherwise(rng, estimators=REPLAYED):
    """Fit rows twice, in two layouts, with the same releases."""
    estimator = estimators[rng.integers(len(estimators))]
    candidates = settings(estimator)
    candidate = clone(candidates[rng.integers(len(candidates))]).set_params(random_state=0)
    n_rows = int(rng.integers(1, 200))
    arguments = make_arguments(candidate, n_rows, seed=int(rng.integers(2**31)))
    before = record_fit(candidate, arguments)
    if before.error is not None:  # too few rows
        return None
    other = _shuffled(rng, arguments)
    report = replay_after(before, candidate, _LAYOUTS[rng.integers(len(_LAYOUTS))](rng, other))
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


_LAYOUTS = (_chunks, _one_by_one, _fortran, _float32, _strided, _unaligned)

PROMISE = Promise(
    "layouts",
    "Exact answers do not depend on order, chunks or memory of the rows",
    repeated(lay_out_otherwise),
)
