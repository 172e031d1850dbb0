"""One person's id or label must not change how those of others are read."""

from enum import Enum

import dask
import dask.array as da
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from skdp_bary import BudgetAccountant, PrivateMeasure, SortedPersons, SpilledPersons
from tests.cases import every
from tests.world import encode_labels, encode_persons, person_keys, plain_ids

LARGE = [2**60 + i for i in range(40)]


def same_partition(a, b):
    return len(set(zip(a, b, strict=True))) == len(set(a)) == len(set(b))


@every("odd", [2**63 + 5, True])
def test_an_odd_id_leaves_the_others_apart(odd):
    codes = encode_persons([*LARGE, odd], 41)
    assert same_partition(codes[:40], LARGE)
    assert codes[40] == 40


READERS = {
    "memory": lambda ids, n: encode_persons(ids, n),
    "chunk": lambda ids, n: plain_ids(ids, n),
    "workers": lambda ids, n: person_keys(ids, n),
}


MIXED = "integers in all rows and chunks, or text in all"
MISSING = "an ID in every row, got missing ones"


def _delayed(first, second):
    ids = [dask.delayed(first), dask.delayed(second)]
    return {
        "X": [dask.delayed(np.zeros((len(each), 1))) for each in (first, second)],
        "groups": ids,
    }


def _dask_array(first, second):
    parts = [np.array(each, dtype=object) for each in (first, second)]
    ids = da.concatenate([da.from_array(each, chunks=len(each)) for each in parts])
    return {"X": da.zeros((ids.size, 1), chunks=(ids.chunks[0], 1)), "groups": ids}


def _chunks(rule):
    def make(first, second):
        chunks = [(np.zeros((len(ids), 1)), None, None, ids) for ids in (first, second)]
        return {"X": chunks, "groups": rule}

    return make


def _frame(ids):
    return pd.DataFrame({"x": 0.0, "id": pd.Series(ids, dtype=object)})


CUT = {
    "delayed": _delayed,
    "dask array": _dask_array,
    "sorted": _chunks(SortedPersons()),
    "spilled": _chunks(SpilledPersons(n_parts=4)),
    "default": _chunks(None),
    "memory": lambda *ids: {"X": np.zeros((sum(map(len, ids)), 1)), "groups": [*ids[0], *ids[1]]},
    "frame": lambda *ids: {"X": _frame([*ids[0], *ids[1]]), "groups": "id"},
}


@pytest.mark.parametrize("kind", CUT)
@every(
    "ids, message",
    [
        *((ids, MIXED) for ids in (([1, 2], ["3", "4"]), (["1", "2"], [3, 4]))),
        (([1, 2**70], ["3", "4"]), MIXED),
        (([1, 2], [3, None]), MISSING),
    ],
)
def test_ids_that_do_not_go_together_are_refused_before_a_charge(kind, ids, message):
    """In one chunk they are integers, in the next one text, or one is missing."""
    budget = BudgetAccountant(1.0)
    measure = PrivateMeasure(bounds=(0, 1), depth=2, n_hint=4, accountant=budget)
    with pytest.raises(ValueError, match=message):
        measure.fit(**CUT[kind](*ids))
    assert not budget.entries
    measure.fit(**CUT[kind](*(list(map(str, part)) for part in ids)))
    assert len(budget.entries) == 1


DAYS = pd.Timestamp("2026-05-01"), pd.Timestamp("2026-05-02")
# numpy makes integers of these, and times of all other units stay times
NANOSECONDS = pa.array([1, None], pa.timestamp("ns"))
SPANS = pl.Series([1, 2]).cast(pl.Duration("ns"))


class Scalar:
    """As of torch, in a list of its tensors: compared, it answers with another one."""

    __hash__ = object.__hash__

    def __eq__(self, other):
        return Scalar()


@every(
    "ids",
    [
        [Scalar(), Scalar()],
        [1, 0.5],
        ["a", ("x", 1)],
        [1, np.timedelta64(1, "D")],
        list(DAYS),
        np.array([1.0, 2.0]),
        np.array(DAYS, dtype="M8[s]"),
        np.array([b"a", b"b"]),
        pd.Series([0.5, None], dtype="Float64"),
        pd.Series(DAYS, dtype="category"),
        pd.DataFrame({"id": pd.Series(DAYS, dtype="M8[ns]")}),
        NANOSECONDS,
        pa.table({"id": NANOSECONDS}),
        SPANS,
        pl.DataFrame({"id": SPANS}),
        np.array([np.array([1, 2]), np.array([3])], dtype=object),  # of columns of lists
    ],
)
@every("read", [encode_persons, plain_ids, person_keys])
def test_ids_of_other_kinds_are_refused_wherever_rows_come_from(ids, read):
    """One rule: integers or text; in memory, in chunks and on workers."""
    with pytest.raises(ValueError, match="groups must hold integers or strings"):
        read(ids, 2)


Words = Enum("Words", {"YES": "yes"}, type=str)


def test_equal_texts_have_one_key_whatever_they_are_formatted_as():
    """A person was split in two: by the text "Words.YES" on one worker, "yes" on another."""
    keys = {tuple(np.ravel(person_keys([text], 1))) for text in (Words.YES, "yes", np.str_("yes"))}
    assert Words.YES == "yes" and len(keys) == 1


def test_a_large_label_leaves_the_others_apart():
    classes = np.array([2**60, 2**60 + 1, 2**63 + 5], dtype=np.uint64)
    labels = [2**60, 2**60 + 1] * 3 + [2**63 + 5]
    assert encode_labels(labels, classes, 7).tolist() == [0, 1] * 3 + [2]
    assert encode_labels(np.array(labels, dtype=np.uint64), classes, 7).tolist()[-1] == 2
