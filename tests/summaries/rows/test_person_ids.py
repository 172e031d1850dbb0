"""One person's id or label must not change how those of others are read."""

from enum import Enum

import numpy as np
import pandas as pd
import pytest

from skdp_bary import PrivateMeasure
from skdp_bary.inspection import replay_sensitivity
from tests.cases import every
from tests.world import encode_labels, encode_persons, home, person_keys, plain_ids

LARGE = [2**60 + i for i in range(40)]


def same_partition(a, b):
    return len(set(zip(a, b, strict=True))) == len(set(a)) == len(set(b))


@every("odd", [2**63 + 5, None, float("nan"), pd.NA, True, "a"])
def test_an_odd_id_leaves_the_others_apart(odd):
    codes = encode_persons([*LARGE, odd], 41)
    assert same_partition(codes[:40], LARGE)
    assert codes[40] == 40


@every("odd", [2**63 + 5, None, float("nan"), "a"])
def test_adding_a_person_with_an_odd_id_costs_what_was_paid(odd):
    X = np.full((41, 2), 0.5)
    report = replay_sensitivity(
        PrivateMeasure(bounds=(0, 1), depth=2, n_hint=40),
        X,
        X[:40],
        groups=[*LARGE, odd],
        neighbor_groups=LARGE,
    )
    assert report.holds, report


def test_nullable_integers_with_a_missing_id():
    ids = pd.Series([*LARGE, None, None], dtype="Int64")
    codes = encode_persons(ids, 42)
    assert len(set(codes[:40])) == 40
    assert codes[40] == codes[41] == 40


def test_equal_ids_without_an_order_are_one_person():
    ids = np.array([3, np.nan] * 200, dtype=object)
    codes = encode_persons(ids, 400)
    assert set(codes[::2]) == {codes[0]}
    assert set(codes[1::2]) == {codes[1]}


DAYS = pd.Timestamp("2026-05-01"), pd.Timestamp("2026-05-02")


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
    ],
)
@every("read", [encode_persons, plain_ids, person_keys])
def test_ids_of_other_kinds_are_refused_wherever_rows_come_from(ids, read):
    """One rule: integers or text; in memory, in chunks and on workers."""
    with pytest.raises(ValueError, match="groups must hold integers or strings"):
        read(ids, 2)


@pytest.mark.parametrize("read", [encode_persons, plain_ids, person_keys])
def test_times_in_nanoseconds_are_no_integers(read):
    """numpy makes integers of them, and times of all other units stay times."""
    arrow, polars = pytest.importorskip("pyarrow"), pytest.importorskip("polars")
    times = arrow.array([1, None], arrow.timestamp("ns"))
    spans = polars.Series([1, 2]).cast(polars.Duration("ns"))
    for ids in (times, arrow.table({"id": times}), spans, polars.DataFrame({"id": spans})):
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


def test_an_unknown_label_is_not_printed():
    with pytest.raises(ValueError) as caught:
        encode_labels(["a", "secret"], np.array(["a"]), 2)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("low", [-3, 2**62, 0])
def test_columns_of_integers_are_read_as_arrays_are(low, monkeypatch):
    """Not one by one, which took thirty times as long."""
    polars, arrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    ids = low + np.array([1, 0, 1, 5, 3, 5])
    expected = encode_persons(ids, 6).tolist()
    monkeypatch.setattr(home("encode_persons"), "number_objects", None)
    columns = [polars.Series(ids), arrow.array(ids), arrow.chunked_array([ids[:2], ids[2:]])]
    columns += [pd.Series(ids, dtype="Int64"), pd.Series(ids, dtype="category")]
    for column in columns:
        assert encode_persons(column, 6).tolist() == expected


@every("read", [encode_persons, plain_ids, person_keys])
def test_arrays_are_no_missing_ids(read):
    """Columns of lists come as arrays, which do not equal themselves in one word."""
    ids = np.empty(3, dtype=object)
    ids[:] = [np.array([1, 2]), np.array([1, 2]), np.array([3, 4])]
    with pytest.raises(ValueError, match="groups must hold integers or strings"):
        read(ids, 3)


@every("read", [encode_persons, plain_ids, lambda ids, n: person_keys(ids, n)[0]])
def test_text_of_variable_length_is_text_wherever_it_comes_from(read):
    texts = ["a", "b", "a", "longer"]
    codes = read(np.array(texts, dtype=np.dtypes.StringDType()), 4)
    assert same_partition(codes.tolist(), texts)


def test_missing_entries_of_such_text_are_one_person():
    ids = np.array(["a", None, None], dtype=np.dtypes.StringDType(na_object=None))
    assert encode_persons(ids, 3).tolist() == [0, 1, 1]
    assert person_keys(ids, 3)[1].tolist()[1:] == [2, 2]
