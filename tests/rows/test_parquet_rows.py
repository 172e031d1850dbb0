"""Parquet files that workers read themselves: the rows of Dask's reader, a few at a time."""

import pickle

import numpy as np
import pytest

from tests.world import DaskSource, ParquetRows, home, open_rows

pytest.importorskip("pyarrow")
dask = pytest.importorskip("dask")
dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")

N = 1003
rng = np.random.default_rng(0)
LABELED = pd.DataFrame(rng.random((N, 3)), columns=["u", "v", "w"]).assign(
    label=rng.choice(["a", "b"], N), weight=rng.random(N)
)
CLASSES = np.array(["a", "b"])


@pytest.fixture(autouse=True)
def one_thread():
    with dask.config.set({"scheduler": "synchronous"}):
        yield


@pytest.fixture
def folder(tmp_path):
    """Return a folder of three files, each with several row groups."""
    for number, rows in enumerate(np.array_split(np.arange(N), 3)):
        file = tmp_path / f"part.{number}.parquet"
        LABELED.iloc[rows].to_parquet(file, row_group_size=100, index=False)
    return tmp_path


def opened(X, **beside):
    return open_rows(X, find_classes=lambda y: CLASSES, **{"y": "label", **beside})


def chunks(rows, n_rows):
    """Return what the workers count, and how many rows were read at once."""
    reader, parts = rows.source.reader, rows.source.parts
    parts = dask.compute(*(dask.delayed(tuple)(part) for part in parts))
    return [chunk for part in parts for chunk in reader.chunks(n_rows, *part)]


def together(found):
    """Return rows, codes and masses in an order of their own."""
    rows = np.vstack([chunk.X for chunk in found])
    order = np.lexsort(rows.T)
    codes, masses = (np.concatenate([getattr(c, a) for c in found]) for a in ("codes", "masses"))
    return rows[order], codes[order], masses[order]


def of_dask(path):
    """Return the same, of partitions that Dask reads."""
    return together(chunks(opened(dd.read_parquet(path), sample_weight="weight"), 1))


def assert_same_rows(rows, path):
    for own, other in zip(together(chunks(rows, 1)), of_dask(path), strict=True):
        np.testing.assert_array_equal(own, other)


@pytest.mark.parametrize(
    ("piece_bytes", "few", "n_parts"), [(1, 9, 12), (1 << 26, 9, 3), (1, 2, 3)]
)
def test_files_are_cut_at_their_row_groups(folder, monkeypatch, piece_bytes, few, n_parts):
    monkeypatch.setattr(home("ParquetRows"), "_PIECE_BYTES", piece_bytes)
    monkeypatch.setattr(home("ParquetRows"), "_FEW_FILES", few)
    rows = opened(folder, sample_weight="weight")
    assert len(rows.source.parts) == n_parts
    assert_same_rows(rows, folder)


def test_what_dask_must_join_or_name_by_folders_it_reads_too(folder, tmp_path):
    frame = dd.read_parquet(folder)
    X, _ = DaskSource.columns(folder, y=frame["label"], groups=None)
    assert not isinstance(X, ParquetRows)
    X, beside = DaskSource.columns(folder, y="label", groups="weight")
    assert not isinstance(X, ParquetRows) and beside["groups"] is not None
    dd.from_pandas(LABELED.assign(day=LABELED.label == "a"), npartitions=2).to_parquet(
        tmp_path / "rows", partition_on="day"
    )
    X, _ = DaskSource.columns(str(tmp_path / "rows"), y="label", groups=None)
    assert not isinstance(X, ParquetRows) and "day" in X.columns


def test_files_of_another_filesystem():
    LABELED.to_parquet("memory://bucket/rows/part.parquet", row_group_size=100)
    rows = opened("memory://bucket/rows/", sample_weight="weight")
    assert_same_rows(rows, "memory://bucket/rows/")


def test_workers_are_sent_names_and_no_row(folder):
    X, _ = DaskSource.columns(folder, y="label", groups=None)
    piece = pickle.loads(pickle.dumps(X.pieces[0]))
    assert sum(len(rows) for rows, *_ in piece.slices(10)) == len(pd.read_parquet(piece.path))
    assert len(pickle.dumps(X.pieces)) < 2000 * len(X.pieces)


def test_recoded_rows_keep_their_names(folder):
    class Halved:
        names = None

        def __call__(self, table):
            return np.stack([np.asarray(table[name]) / 2 for name in ("u", "v", "w")], axis=1)

    rows = open_rows(str(folder), y="label", sample_weight="weight", recode=Halved())
    found = np.vstack([chunk.X for chunk in chunks(rows, 1)])
    assert rows.names == ["u", "v", "w"]
    assert found.sum() == pytest.approx(LABELED[["u", "v", "w"]].to_numpy().sum() / 2)


def test_an_error_of_the_reader_quotes_nothing(folder):
    LABELED.assign(v="secret").to_parquet(folder / "rest.parquet", index=False)
    with pytest.raises(ValueError, match="column .v. of X must hold real numbers") as told:
        chunks(opened(folder, sample_weight="weight"), 1)
    assert "secret" not in str(told.value)


@pytest.mark.parametrize("groups", [None, "id"])
@pytest.mark.parametrize("change", [lambda f: f.assign(more=0.0), lambda f: f.drop(columns="u")])
def test_files_with_other_columns_are_refused(folder, change, groups):
    frame = LABELED.assign(id=np.arange(N))
    frame.to_parquet(folder / "part.0.parquet", index=False)
    for number in (1, 2):
        change(frame).to_parquet(folder / f"part.{number}.parquet", index=False)
    with pytest.raises(ValueError, match="X must name Parquet files with the same columns"):
        opened(str(folder), groups=groups)
