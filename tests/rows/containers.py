"""The rows of one table in every container that rows may come in, with what stands beside them."""

import functools

import numpy as np
import pandas as pd
import polars as pl
import pytest

from skdp_bary import SortedPersons, SpilledPersons

arrow = pytest.importorskip("pyarrow")
dataset = pytest.importorskip("pyarrow.dataset")
parquet = pytest.importorskip("pyarrow.parquet")

N, CLASSES, NAMES = 103, np.array(["a", "b"]), ["u", "v", "w"]
RNG = np.random.default_rng(0)
X = np.round(RNG.normal(0.5, 0.4, size=(N, 3)) * 64) / 64  # ties, borders of cells, and float32
X[7:10] = np.array([[1e30], [-1e30], [0.0]])
X = X.astype(np.float32).astype(float)
WHO = np.sort(RNG.integers(-3, 30, size=N))  # in ascending order, as some chunks have to be
BESIDE = {"y": CLASSES[RNG.integers(2, size=N)], "sample_weight": RNG.random(N), "groups": WHO}
TEXT = np.array([f"é{i:02}" for i in WHO + 3], dtype=object)
PARTS = ((), ("y",), ("sample_weight",), ("groups",), ("y", "groups"), tuple(BESIDE))
CUTS = [slice(0, 0), slice(0, 1), slice(1, 50), slice(50, 50), slice(50, N)]


class Tensor:
    """What arrays of xarray and tensors of torch have in common: a way to become an array."""

    def __init__(self, values):
        self.values, self.shape, self.ndim = values, values.shape, values.ndim

    def __array__(self, dtype=None, copy=None):
        return self.values.astype(dtype or self.values.dtype)


class Labeled(Tensor):
    """An array of xarray makes streams too, with a row for every entry and a column of places."""

    ndim = None

    def __arrow_c_stream__(self, requested_schema=None):
        raise AssertionError


class Capsule:
    """Anything that makes streams of Arrow, and nothing else."""

    def __init__(self, table, cut=40):
        self.table, self.cut = table, cut

    def __arrow_c_stream__(self, requested_schema=None):
        return reader(self.table, self.cut).__arrow_c_stream__(requested_schema)


def reader(table, cut=40):
    batches = table.to_batches(max_chunksize=cut)
    return arrow.RecordBatchReader.from_batches(table.schema, batches)


def lazy(table):
    if not hasattr(pl.LazyFrame, "collect_batches"):
        pytest.skip("polars is older")
    return pl.from_arrow(table).lazy()


def duckdb(table):
    return pytest.importorskip("duckdb").from_arrow(table)


def xarray(values, *dims):
    return pytest.importorskip("xarray").DataArray(values, dims=dims or ("row", "feature"))


ARRAYS = {
    "fortran": np.asfortranarray,
    "strided": lambda X: np.repeat(np.repeat(X, 2, axis=0), 2, axis=1)[::2, ::2],
    "reversed": lambda X: X[::-1][::-1],
    "float32": lambda X: X.astype(np.float32),
    "big endian": lambda X: X.astype(">f8"),
    "list": lambda X: X.tolist(),
    "pandas": pd.DataFrame,
    "pandas mixed": lambda X: pd.DataFrame(X).astype({1: np.float32}),
    "polars": pl.DataFrame,
    "with __array__": Tensor,
    "with __array__ and streams": Labeled,
    "xarray": xarray,
}
COLUMNS = {"list": list, "pandas": pd.Series, "polars": pl.Series, "arrow": arrow.array}
COLUMNS |= {"column": lambda v: v[:, None], "xarray": lambda v: xarray(v, "row")}
TABLES = {"pandas": lambda t: t.to_pandas(), "polars": pl.from_arrow, "arrow": lambda table: table}
STREAMS = {
    "capsule": Capsule,
    "duckdb": duckdb,
    "lazy": lazy,
    "dataset": dataset.dataset,
    "reader": reader,
    "collected": lambda table: lazy(table).collect_batches(),
}
ONCE = ("reader", "collected", "iterator")


def beside(part, like=np.asarray):
    """Return labels, weights and ids; ids are text beside both others."""
    values = BESIDE | ({"groups": TEXT} if len(part) == 3 else {})
    return {name: like(values[name]) for name in part}


def table_of(part):
    return arrow.table(dict(zip(NAMES, X.T, strict=True)) | beside(part))


def in_chunks(part, kind, cuts=CUTS):
    """Rows in tuples; with persons it is said how those are found."""
    columns = [X, *map(beside(part).get, BESIDE)]
    chunks = [tuple(v if v is None else v[cut] for v in columns) for cut in cuts]
    chunks = [chunk[: 4 if "groups" in part else 3] for chunk in chunks]
    return {"list": chunks, "iterator": iter(chunks), "function": lambda: iter(chunks)}[kind]


def in_frames(part, make, kind, cuts=CUTS):
    table = table_of(part)
    frames = [make(table.slice(cut.start, cut.stop - cut.start)) for cut in cuts if cut.stop]
    return {"list": frames, "iterator": iter(frames), "function": lambda: iter(frames)}[kind]


def dask_parts(part, kind, folder):
    """Return rows on a cluster, and what stands beside them."""
    dask = pytest.importorskip("dask")
    da, dd = pytest.importorskip("dask.array"), pytest.importorskip("dask.dataframe")
    frame, named = table_of(part).to_pandas(), {name: name for name in part}
    if kind == "array":
        cut = (0, 40, 0, 63)
        return da.from_array(X, chunks=(cut, 2)), beside(part, lambda v: da.from_array(v, (cut,)))
    if kind == "frame":
        return dd.from_pandas(frame, npartitions=5), named
    if kind == "index" and "groups" in part:  # in order: no shuffle is needed
        frame = dd.from_pandas(frame.set_index("groups"), npartitions=4)
        assert frame.known_divisions
        return frame, named
    if kind in ("parquet", "folder"):
        folder.mkdir(exist_ok=True)
        for number, cut in enumerate(CUTS):
            file = folder / f"{'_'.join(part)}.{number}.parquet"
            parquet.write_table(table_of(part)[cut], file, row_group_size=20)
        return f"{folder}/{'_'.join(part)}.*.parquet", named
    delayed = [dask.delayed(chunk[:3]) for chunk in in_chunks(part, "list")]
    groups = beside(part).get("groups")
    return delayed, {} if groups is None else {"groups": [dask.delayed(groups[c]) for c in CUTS]}


def containers(folder):
    """Yield kind and name of every container, and a function from what it holds to `opened`."""
    for name, like in ARRAYS.items():
        yield "array", name, lambda part, like=like: (like(X), beside(part))
    for name, like in COLUMNS.items():
        yield "columns", name, lambda part, like=like: (X, beside(part, like))
    for name, make in TABLES.items():
        yield "table", name, lambda part, make=make: (make(table_of(part)), {p: p for p in part})
    for name, make in STREAMS.items():
        yield "stream", name, lambda part, make=make: (make(table_of(part)), {p: p for p in part})
    spilled = functools.partial(SpilledPersons, n_parts=3)
    for rule, cuts in ((SortedPersons, CUTS), (spilled, CUTS[::-1])):
        for name in ("list", "iterator", "function"):

            def chunks(part, name=name, rule=rule, cuts=cuts):
                return in_chunks(part, name, cuts), {"groups": rule()} if "groups" in part else {}

            def frames(part, make, name=name, rule=rule, cuts=cuts):
                named = {p: rule("groups") if p == "groups" else p for p in part}
                return in_frames(part, make, name, cuts), named

            yield "chunks", name, chunks
            for table, make in TABLES.items():
                yield f"chunks of {table}", name, lambda part, f=frames, make=make: f(part, make)
        for name, make in STREAMS.items():

            def stream(part, make=make, rule=rule):
                return make(table_of(part)), {p: rule(p) if p == "groups" else p for p in part}

            yield "stream in chunks", name, stream
    for name in ("array", "frame", "index", "parquet", "delayed"):
        yield "dask", name, lambda part, name=name: dask_parts(part, name, folder)
