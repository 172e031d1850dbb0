"""The kinds of rows that can be read, and what is said about the others."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from skdp_bary.summaries.rows.arrays import ArraySource
from skdp_bary.summaries.rows.chunks import ChunkSource
from skdp_bary.summaries.rows.opening import (
    Rows,
    distinct_labels,
    open_rows,
    open_source,
    source_for,
)
from skdp_bary.summaries.rows.persons import PERSON_UNITS, WEIGHT_UNITS

X = np.arange(12.0).reshape(6, 2)


def read_all(source):
    return [chunk for part in range(source.n_parts) for chunk in source.read(part)]


@pytest.mark.parametrize(
    ("given", "chunked"),
    [
        (X, False),
        (X.tolist(), False),
        (pd.DataFrame(X), False),
        ([X, X], True),
        ((X, X), True),
        ([X.tolist(), X.tolist()], True),
        ([(X,), (X,)], True),
        ([(X, X[:, 0])], True),
        (iter([X]), True),
        ((x for x in [X]), True),
        (lambda: iter([X]), True),
        ([pd.DataFrame(X)], True),
        ([], False),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_counts_as_chunks(given, chunked):
    assert source_for(given) is (ChunkSource if chunked else ArraySource)


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_columns_of_frames_may_be_named(kind):
    frame = kind({"u": X[:, 0], "who": [1, 1, 2, 2, 3, 3], "v": X[:, 1], "label": list("abbaab")})
    rows = open_rows(frame, "label", groups="who", find_classes=distinct_labels)
    plain = open_rows(X, list("abbaab"), groups=[1, 1, 2, 2, 3, 3], find_classes=distinct_labels)
    assert rows.names == ["u", "v"]
    (one,), (other,) = read_all(rows.source), read_all(plain.source)
    for part in ("X", "codes", "masses"):
        assert (getattr(one, part) == getattr(other, part)).all()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (X, "groups='who' names a column, and X has no columns with names"),
        (pd.DataFrame(X), r"groups='who' is no column of X; it has \[0, 1\]"),
        (pd.DataFrame(X, columns=["who", "who"]), "groups='who' names several columns"),
    ],
)
def test_columns_that_are_not_there(given, message):
    with pytest.raises(ValueError, match=message):
        open_rows(given, groups="who")


@pytest.mark.parametrize("given", [X, X.tolist(), pd.DataFrame(X), X.astype(np.float32)])
def test_arrays(given):
    source = open_source(given)
    assert isinstance(source, ArraySource)
    assert (source.n_features, source.n_parts, source.count_persons()) == (2, 1, 6)
    (chunk,) = read_all(source)
    assert (chunk.X == X).all()
    assert chunk.codes is None
    assert chunk.masses is None
    assert Rows(source).person_units == 1


def test_arrays_are_read_in_parts(monkeypatch):
    monkeypatch.setattr("skdp_bary.summaries.rows.arrays.CHUNK_ROWS", 4)
    source = open_source(X, list("abbaab"), classes=np.array(["a", "b"]), sample_weight=np.ones(6))
    assert source.n_parts == 2
    first, second = read_all(source)
    assert (len(first.X), len(second.X)) == (4, 2)
    assert second.codes.tolist() == [0, 1]
    assert second.masses.tolist() == [WEIGHT_UNITS] * 2
    assert Rows(source).person_units == WEIGHT_UNITS


def test_groups_make_persons():
    source = open_source(X, groups=list("aababb"))
    assert source.count_persons() == 2
    assert Rows(source).person_units == PERSON_UNITS
    assert sum(chunk.masses.sum() for chunk in read_all(source)) == 2 * PERSON_UNITS


@pytest.mark.parametrize(
    ("chunks", "reread"),
    [
        (lambda: [X[:1], X[1:]], True),
        (lambda: iter([X[:1], X[1:]]), False),
        (lambda: lambda: iter([X[:1], X[1:]]), True),
        (lambda: lambda: (x for x in (X[:5].tolist(), X[5:])), True),
        (lambda: [X[:0], X], True),
    ],
)
def test_chunks(chunks, reread):
    source = open_source(chunks())
    assert isinstance(source, ChunkSource)
    assert source.rereadable is reread
    assert source.n_features == 2
    assert np.vstack([chunk.X for chunk in read_all(source)]).tolist() == X.tolist()
    if reread:
        assert source.count_persons() == 6
        assert len(read_all(source)) == 2
    else:
        with pytest.raises(ValueError, match="an iterator of chunks is spent after one reading"):
            read_all(source)
        with pytest.raises(ValueError, match="give n_hint"):
            source.count_persons()


def test_chunks_carry_labels_and_weights():
    classes = np.array(["a", "b"])
    chunks = [(X[:2], ["b", "a"], [0.5, 1.0]), (X[2:], list("aabb"), np.ones(4))]
    first, second = read_all(open_source(chunks, classes=classes))
    assert first.codes.tolist() == [1, 0]
    assert first.masses.tolist() == [WEIGHT_UNITS // 2, WEIGHT_UNITS]
    assert second.codes.tolist() == [0, 0, 1, 1]
    assert Rows(open_source(chunks)).person_units == WEIGHT_UNITS


def test_a_generator_is_read_no_further_than_needed():
    taken = []

    def generate():
        for i in range(4):
            taken.append(i)
            yield X

    open_source(generate())
    assert taken == [0]


@pytest.mark.parametrize(
    ("chunks", "message"),
    [
        (iter([]), "X has no chunks"),
        (lambda: iter([]), "X has no chunks"),
        ([X, X[:, :1]], "A chunk has 1 features, but the first one has 2"),
        ([(X, None, np.ones(6)), (X, None)], "Either every chunk carries sample_weight or none"),
        ([(X, None, None, None, None)], "got a tuple of 5"),
        ([X, X * np.nan], "Input X contains NaN"),
        ([np.full_like(X, np.inf)], "Input X contains"),
        ([(X, None, np.ones(5))], "sample_weight must have one value a row"),
        ([(X, None, -np.ones(6))], "finite non-negative"),
    ],
)
def test_bad_chunks(chunks, message):
    with pytest.raises(ValueError, match=message):
        read_all(open_source(chunks))


FRAME = pd.DataFrame(X, columns=["u", "v"])


@pytest.mark.parametrize("kind", [pd.DataFrame, lambda f: pl.from_pandas(f)], ids=["pandas", "pl"])
def test_chunks_of_frames_are_matched_by_name(kind):
    parts = [kind(FRAME[:3]), kind(FRAME[3:][["v", "u"]])]
    for chunks in (parts, iter(parts), lambda: iter(parts)):
        source = open_source(chunks)
        assert list(source.named.columns) == ["u", "v"]
        assert np.concatenate([chunk.X for chunk in read_all(source)]).tolist() == X.tolist()


@pytest.mark.parametrize(
    ("second", "message"),
    [
        (FRAME.rename(columns={"v": "w"}), r"missing \['v'\], not known \['w'\]"),
        (FRAME.assign(w=1), r"not known \['w'\]"),
        (FRAME[["u"]], r"missing \['v'\]"),
        (X, "no names of columns"),
        (pd.concat([FRAME, FRAME], axis=1), "several columns of one name"),
    ],
)
def test_chunks_with_other_columns_are_refused(second, message):
    with pytest.raises(ValueError, match=message):
        read_all(open_source([FRAME, second]))
    if isinstance(second, np.ndarray):
        with pytest.raises(ValueError, match="names of columns"):
            read_all(open_source([second, FRAME]))


def test_bad_labels_in_chunks():
    classes = np.array([0, 1])
    for y, message in (
        (None, "y is needed"),
        ([0, 1, 2, 0, 0, 0], "not among"),
        ([0], "one value"),
    ):
        with pytest.raises(ValueError, match=message):
            read_all(open_source([(X, y)], classes=classes))


@pytest.mark.parametrize("name", ["y", "groups", "sample_weight"])
def test_what_belongs_inside_chunks_is_refused_beside_them(name):
    with pytest.raises(ValueError, match=f"{name}"):
        open_source([X, X], **{name: np.ones(12)})


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (np.zeros((0, 2)), "0 sample"),
        (pd.DataFrame(np.zeros((0, 2))), "0 sample"),
        (np.zeros(4), "2D array|1D array"),
        (pd.Series(np.zeros(4)), r"1D array.*two brackets"),
        ([], "X has no rows"),
    ],
)
def test_bad_arrays(bad, message):
    with pytest.raises(ValueError, match=message):
        open_source(bad)


@pytest.mark.parametrize("given", [{"groups": 3}, {"y": 3, "classes": [0, 1]}])
def test_one_number_is_no_column(given):
    with pytest.raises(TypeError, match="must have one value a row, got a value of type int"):
        open_source(X, **given)


def test_rows_are_checked_with_groups_before_anything_is_counted():
    bad = X.copy()
    bad[2, 0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        open_source(bad, groups=np.arange(6))
    with pytest.raises(ValueError, match="groups must have one value a row"):
        open_source(X, groups=np.arange(5))


def test_a_function_that_returns_the_same_iterator_is_refused():
    chunks = iter([np.zeros((3, 2)), np.ones((5, 2))])
    with pytest.raises(ValueError, match="new iterator"):
        open_source(lambda: chunks)
