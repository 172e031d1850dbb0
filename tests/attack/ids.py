"""Person ids in chunks: of two kinds or missing, they are refused for free, wherever they lie."""

import dask
import duckdb
import numpy as np
import pandas as pd
import polars

from skdp_bary import BudgetAccountant, PrivateMeasure, SortedPersons, SpilledPersons

from .promises import Promise, Trial, repeated

_WORDS = "groups must hold"


def bring_odd_ids(rng):
    """Cut ids, of which some may be odd, into chunks and bring them in some container."""
    ids, n = _ids(rng)
    X = rng.random((n, 2))
    cuts = np.sort(rng.integers(0, n + 1, size=2))
    places = [part for part in np.split(np.arange(n), cuts) if len(part)]
    parts = [[ids[i] for i in part] for part in places]
    rows = [X[part] for part in places]
    kind = str(rng.choice(list(_CONTAINERS)))
    budget = BudgetAccountant(1.0)
    measure = PrivateMeasure(bounds=(0, 1), depth=2, n_hint=9, method="haar", accountant=budget)
    try:
        measure.fit(**_CONTAINERS[kind](rows, parts, rng))
        refused = ""
    except (ValueError, TypeError) as error:
        refused = str(error)
    odd = any(each is None for each in ids) or len({type(each) for each in ids}) > 1
    if odd and not refused:
        return Trial(violation=f"{kind}: the ids {parts} are counted")
    if not odd and refused:
        return Trial(violation=f"{kind}: the ids {parts} are refused: {refused}")
    if refused and (budget.entries or _WORDS not in refused):
        return Trial(violation=f"{kind}: {refused}, {len(budget.entries)} charges")
    return None


def _ids(rng):
    n = int(rng.integers(2, 12))
    ids = np.sort(rng.integers(0, 5, size=n)).tolist()
    ids = ids if rng.random() < 0.5 else [f"p{each}" for each in ids]
    if rng.random() < 0.6:
        place = int(rng.integers(n))
        ids[place] = None if rng.random() < 0.3 else 7 if isinstance(ids[place], str) else "7"
    return ids, n


def _chunks(rule):
    def make(rows, parts, rng):
        chunks = [(X, None, None, ids) for X, ids in zip(rows, parts, strict=True)]
        return {"X": chunks if rng.random() < 0.5 else iter(chunks), "groups": rule}

    return make


def _sorted(rows, parts, rng):
    """Only whole ids can be out of order, and that is another refusal."""
    flat = [each for ids in parts for each in ids]
    words = flat == sorted(flat, key=lambda each: (str(type(each)), str(each)))
    return _chunks(SortedPersons() if words else SpilledPersons())(rows, parts, rng)


def _delayed(rows, parts, rng):
    return {"X": [dask.delayed(X) for X in rows], "groups": [dask.delayed(ids) for ids in parts]}


def _frame(rows, parts):
    ids = [each for part in parts for each in part]
    frame = pd.DataFrame(np.concatenate(rows), columns=["x", "y"])
    return frame.assign(id=pd.Series(ids, dtype=object))


def _pandas(rows, parts, rng):
    return {"X": _frame(rows, parts), "groups": "id"}


def _lists(rows, parts, rng):
    return {"X": np.concatenate(rows), "groups": [each for part in parts for each in part]}


def _polars(rows, parts, rng):
    frames = [polars.DataFrame(X, schema=["x", "y"]) for X in rows]
    made = [
        frame.with_columns(polars.Series("id", ids, dtype=_type(ids), strict=False))
        for frame, ids in zip(frames, parts, strict=True)
    ]
    if any(isinstance(each, str) for ids in parts for each in ids if each is not None) and any(
        isinstance(each, int) for ids in parts for each in ids
    ):
        return _lists(rows, parts, rng)  # a column of polars holds one kind
    return {"X": made, "groups": "id"}


def _type(ids):
    return polars.String if any(isinstance(each, str) for each in ids) else polars.Int64


def _duckdb(rows, parts, rng):
    ids = [each for part in parts for each in part]
    if len({type(each) for each in ids if each is not None}) > 1:
        return _lists(rows, parts, rng)
    frame = polars.DataFrame(np.concatenate(rows), schema=["x", "y"])
    frame = frame.with_columns(polars.Series("id", ids, dtype=_type(ids)))
    return {"X": duckdb.from_arrow(frame.to_arrow()), "groups": "id"}


_CONTAINERS = {
    "spilled": _chunks(SpilledPersons(n_parts=3)),
    "in order": _sorted,
    "delayed": _delayed,
    "pandas": _pandas,
    "lists": _lists,
    "polars": _polars,
    "duckdb": _duckdb,
}
PROMISE = Promise(
    "ids",
    "Person ids that are missing or of two kinds are refused before a charge, others are not",
    repeated(bring_odd_ids),
)
