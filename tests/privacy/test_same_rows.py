"""Rows under two parts of one budget: refused where the charge can see it."""

import gc
import mmap
import os
import sys
import threading
from multiprocessing.shared_memory import SharedMemory

import dask
import dask.array as dask_array
import dask.dataframe as dask_frame
import duckdb
import numpy as np
import pandas as pd
import polars
import pyarrow
import pytest
import xarray
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import FeatureUnion, make_pipeline

from skdp_bary import (
    BudgetAccountant,
    DomainScaler,
    PrivateKMeans,
    PrivateMeasure,
    PrivateWassersteinBarycenter,
    RowByRow,
)
from skdp_bary.exceptions import BudgetError, LeakError
from skdp_bary.model_selection import PrivateSearchCV
from skdp_bary.privacy import SpendingPolicy
from tests.cases import every
from tests.world import home, origin_of

_same_rows = home("_SEEN")

pytestmark = pytest.mark.filterwarnings("ignore::skdp_bary.exceptions.PrivacyWarning")


@pytest.fixture
def budget():
    return BudgetAccountant(2.0)


@pytest.fixture
def X():
    return np.random.default_rng(0).random((60, 2))


def measure(accountant, epsilon=0.5):
    return PrivateMeasure(epsilon, bounds=(0, 1), n_hint=60, accountant=accountant)


def clusters(accountant):
    return PrivateKMeans(2, epsilon=0.5, bounds=(0, 1), n_hint=60, accountant=accountant)


def union(budget, second="b"):
    return FeatureUnion([("a", clusters(budget.part("a"))), ("b", clusters(budget.part(second)))])


@pytest.mark.parametrize("kind", [np.asarray, pd.DataFrame])
def test_two_parts_in_one_union_are_refused(budget, X, kind):
    with pytest.raises(
        LeakError, match="charged under part 'a' of this budget, got them under part"
    ):
        union(budget).fit(kind(X))
    assert [entry.part for entry in budget.entries] == ["a"]


def test_one_part_or_the_whole_adds_up_and_other_budgets_do_not(budget, X):
    union(budget, second="a").fit(X)
    measure(budget).fit(X)
    assert budget.total()[0] == 1.5
    measure(budget.part("a")).fit(X)
    measure(BudgetAccountant(1.0).part("b")).fit(X)


def test_columns_and_searches_of_the_same_rows_are_seen(budget, X):
    steps = [
        ("a", clusters(budget.part("a")), slice(0, 1)),
        ("b", clusters(budget.part("b")), slice(1, 2)),
    ]
    with pytest.raises(LeakError):
        ColumnTransformer(steps).fit(X)
    measure(budget.part("a")).fit(X)
    inner = PrivateWassersteinBarycenter(bounds=(0, 1), n_hint=60)
    search = PrivateSearchCV(inner, {"n_init": [1]}, mean_trials=2, accountant=budget.part("b"))
    with pytest.raises(LeakError):
        search.fit(X)


@every("wrapped", [RowByRow, lambda step: make_pipeline(DomainScaler((0, 1)), step)])
@every("first", [True, False])
def test_rows_that_a_step_makes_of_others_are_the_others(wrapped, first, X):
    budget = BudgetAccountant(2.0)
    steps = [measure(budget.part("a")), wrapped(clusters(budget.part("b")))]
    steps[first].fit(X)
    with pytest.raises(LeakError):
        steps[not first].fit(X)
    steps[not first].fit(X.copy())


def test_a_refused_fit_is_forgotten(budget, X):
    with pytest.raises(BudgetError):
        measure(budget.part("a"), epsilon=3.0).fit(X)
    measure(budget.part("b")).fit(X)
    with pytest.raises(LeakError):
        measure(budget.part("a")).fit(X)
    measure(budget.part("b")).fit(X)


def test_nothing_is_kept_of_rows_that_are_gone(budget, X):
    _same_rows._SEEN.clear()
    measure(BudgetAccountant(1.0).part("a")).fit(X.copy())
    gc.collect()
    measure(budget.part("a")).fit(X)
    assert [len(charged) for charged in _same_rows._SEEN.values()] == [1]


def test_of_two_threads_at_most_one_is_charged(budget, X):
    barrier, refused = threading.Barrier(2), []

    def fit(part):
        barrier.wait()
        try:
            measure(budget.part(part)).fit(X)
        except LeakError:
            refused.append(part)

    threads = [threading.Thread(target=fit, args=(part,)) for part in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(refused) >= 1
    assert len({entry.part for entry in budget.entries}) <= 1


class Tensor:
    """Memory that is handed on by DLPack alone, as other libraries do."""

    def __init__(self, X):
        self._X, self.shape, self.ndim = X, X.shape, X.ndim

    def __dlpack__(self, **options):
        return self._X.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._X.__dlpack_device__()

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self._X, dtype=dtype)


COLUMNS = ["x", "y"]


def _frame(X):
    return pd.DataFrame(X, columns=COLUMNS, copy=False)


def _of_arrow(X):
    return pyarrow.table(dict(zip(COLUMNS, X.T.copy(), strict=True)))


def _of_polars(X):
    return polars.DataFrame(dict(zip(COLUMNS, X.T.copy(), strict=True)))


def _column(table):
    return table["x"].chunk(0).to_numpy()[:, None]


# What a source is made of, and two views of the same rows in it.
SAME = {
    "list of chunks": lambda X: ([X[:30], X[30:]], [X[:30], X[30:]]),
    "one list twice": lambda X: ([chunks := [X.copy()], chunks][::1]),
    "list of rows": lambda X: (X[20:30], list(X[25:])),
    "array in a list": lambda X: (X, [X]),
    "array in a tuple": lambda X: (X, [(X,)]),
    "an overlap": lambda X: (X[:31], X[30:]),
    "turned and strided": lambda X: (X[::-1], X[::3]),
    "columns of Fortran": lambda X: ((F := np.asfortranarray(X))[:, :1], F[:, 1:]),
    "frame on array": lambda X: (X, _frame(X)),
    "frame to array": lambda X: ((frame := _frame(X.copy())), frame.to_numpy()),
    "iloc": lambda X: ((frame := _frame(X.copy())), frame.iloc[:]),
    "part of a frame": lambda X: ((frame := _frame(X.copy())), frame.iloc[20:30]),
    "columns of a frame": lambda X: ((frame := _frame(X.copy()))[["x"]], frame.loc[:, "x":"y"]),
    "copy on write": lambda X: ((frame := _frame(X.copy())), frame.rename(columns=str)),
    "a column more": lambda X: ((frame := _frame(X.copy())), frame.assign(z=0.5)),
    "frames in lists": lambda X: ((frame := _frame(X.copy())), [frame.iloc[:9], frame.iloc[9:]]),
    "xarray": lambda X: (X, xarray.DataArray(X)),
    "memory map": lambda X: (np.load(_saved(X), mmap_mode="r"), np.load(_saved(X), mmap_mode="r")),
    "pairs of rows": lambda X: (X.reshape(30, 4), X[1::2]),
    "slices of a reshaped array": lambda X: ((S := X.reshape(12, 10))[2:8:3], S[5:9]),
    "lines cut into rows": lambda X: ((S := X.reshape(6, 20).copy().reshape(60, 2))[5:], S[9:12]),
    "bytes of another type": lambda X: (X.view(np.int16).reshape(20, -1)[::-1], X[3:6]),
    "tensor": lambda X: (X, Tensor(X)),
    "two tensors": lambda X: (Tensor(X), Tensor(X[5:])),
    "buffer": lambda X: tuple(np.frombuffer(B, dtype=X.dtype).reshape(60, 2) for B in [X.data] * 2),
    "arrow": lambda X: ((table := _of_arrow(X)), table.slice(3)),
    "arrow columns": lambda X: ((table := _of_arrow(X)), table.select(["y"])),
    "arrow to array": lambda X: ((t := _of_arrow(X)).select(["x"]), _column(t)),
    "arrow batches": lambda X: ((table := _of_arrow(X)), table.to_batches()[0]),
    "polars clone": lambda X: ((frame := _of_polars(X)), frame.clone()),
    "polars slice": lambda X: ((frame := _of_polars(X)), frame[7:9]),
    "polars columns": lambda X: ((frame := _of_polars(X)), frame.with_columns(z=0.5)),
    "polars to arrow": lambda X: ((frame := _of_polars(X)), frame.to_arrow()),
}  # fmt: skip
_FILES = {}


def _saved(X):
    return _FILES["folder"] / "rows.npy"


@pytest.mark.parametrize("word", [None, "by hospital"])  # which changes nothing here
@pytest.mark.parametrize("kind", SAME)
def test_the_same_memory_is_refused_however_it_comes(budget, X, kind, word, tmp_path):
    _FILES["folder"] = tmp_path
    np.save(_saved(X), X)
    first, second = SAME[kind](X)[:: -1 if word else 1]
    measure(budget.part("a", disjoint=word)).fit(first)
    with pytest.raises(LeakError, match="charged under part 'a'"):
        measure(budget.part("b", disjoint=word)).fit(second)
    measure(budget.part("a", disjoint=word)).fit(second)
    assert [entry.part for entry in budget.entries] == ["a", "a"]


def _chunked(function):
    return lambda X: function([X[:30], X[30:]])


UNKNOWN = {
    "function": _chunked(lambda chunks: lambda: iter(chunks)),
    "generator": _chunked(iter),
    "plain lists": lambda X: X.tolist(),
    "lists of lists": _chunked(lambda chunks: [chunk.tolist() for chunk in chunks]),
    "dask array": lambda X: dask_array.from_array(X, chunks=(30, 2)),
    "dask frame": lambda X: dask_frame.from_pandas(_frame(X), npartitions=2),
    "delayed": _chunked(lambda chunks: [dask.delayed(chunk) for chunk in chunks]),
    "lazy": lambda X: _of_polars(X).lazy(),
    "query": lambda X: duckdb.from_arrow(_of_arrow(X)),
    "reader": lambda X: _of_arrow(X).to_reader(),
}


@pytest.mark.parametrize("kind", UNKNOWN)
def test_what_cannot_be_compared_needs_a_word(budget, X, kind):
    def fit(X, part, word=None):
        estimator = measure(budget.part(part, disjoint=word)).set_params(method="haar")
        estimator.fit(UNKNOWN[kind](X))  # one step: some sources are read once only

    with pytest.raises(LeakError, match=r"part\('north', disjoint=\"by hospital\"\)"):
        fit(X, "north")
    assert not budget.entries
    fit(X, "north", "by hospital")
    fit(X[:40] / 2, "south", "by hospital")
    assert budget.total()[0] == 0.5
    assert {entry.note for entry in budget.entries} == {"parts disjoint by hospital"}


DISJOINT = {
    "rows of an array": lambda X: (X[:30], X[30:]),
    "every other row": lambda X: (X[::2], X[1::2]),
    "of Fortran": lambda X: ((F := np.asfortranarray(X))[:30], F[30:]),
    "of a frame": lambda X: ((frame := _frame(X)).iloc[:30], frame.iloc[30:]),
    "every third of a frame": lambda X: ((frame := _frame(X)).iloc[::3], frame.iloc[1::3]),
    "of a table": lambda X: ((table := _of_arrow(X))[:30], table[30:]),
    "of polars": lambda X: ((frame := _of_polars(X))[:30], frame[30:]),
    "lists of rows": lambda X: (list(X[:9]), list(X[9:])),
    "of chunks": lambda X: ([X[:10], X[20:30]], [X[10:20], X[30:]]),
    "chosen": lambda X: (_frame(X)[X[:, 0] < 0.5], _frame(X)[X[:, 0] >= 0.5]),
    "without rows": lambda X: ([X[:0]], [X]),
}


@pytest.mark.parametrize("kind", DISJOINT)
def test_other_rows_of_one_memory_are_not_the_same(budget, X, kind):
    first, second = DISJOINT[kind](X)
    measure(budget.part("a")).fit(first)
    measure(budget.part("b")).fit(second)
    assert budget.total()[0] == 0.5


def _saved_arrow(X, folder):
    path, table = folder / "rows.arrow", _of_arrow(X)
    with pyarrow.OSFile(str(path), "wb") as file, pyarrow.ipc.new_file(file, table.schema) as ipc:
        ipc.write_table(table)
    return lambda: pyarrow.ipc.open_file(pyarrow.memory_map(str(path))).read_all()


def _mapped(X, folder):
    path = folder / "rows.bin"
    path.write_bytes(X.tobytes())

    def read():
        with path.open("rb") as file:
            return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)).reshape(
                -1, 2
            )

    return read


@pytest.mark.skipif(sys.platform != "linux", reason="nothing tells what memory is mapped from")
@pytest.mark.parametrize("kind", [_saved_arrow, _mapped])
def test_one_file_mapped_twice_is_one(budget, X, tmp_path, kind):
    read = kind(X, tmp_path)
    first, second = read(), read()
    measure(budget.part("a")).fit(first)
    with pytest.raises(LeakError, match="charged under part 'a'"):
        measure(budget.part("b", disjoint="by hospital")).fit(second)
    measure(budget.part("b")).fit(X)


@pytest.mark.skipif(sys.platform != "linux", reason="nothing tells what memory is mapped from")
def test_shared_memory_attached_twice_is_one(budget, X):
    one = SharedMemory(create=True, size=X.nbytes)
    other = SharedMemory(one.name)
    first, second = (np.ndarray(X.shape, X.dtype, each.buf) for each in (one, other))
    first[:] = X
    try:
        measure(budget.part("a")).fit(first)
        with pytest.raises(LeakError, match="charged under part 'a'"):
            measure(budget.part("b", disjoint="by hospital")).fit(second)
    finally:
        del first, second
        gc.collect()
        other.close()
        one.close()
        one.unlink()


def test_views_that_share_memory_are_never_other_rows():
    rng = np.random.default_rng(0)
    for _ in range(3000):
        views, root = [], np.zeros((12, 4), order="CF"[rng.integers(2)])
        for _ in range(2):
            view = root if root.flags.c_contiguous else root.T
            view = view.view([np.float64, np.float32, np.int16][rng.integers(3)])
            view = view.reshape(-1, [1, 2, 3, 4, 6, 8][rng.integers(6)])
            start, left, step = rng.integers(len(view)), rng.integers(view.shape[1]), [-2, -1, 1, 2]
            view = view[start :: step[rng.integers(4)], left :: rng.integers(1, 3)]
            views.append(view.T if rng.random() < 0.2 else view)
        if np.shares_memory(*views):
            assert origin_of(views[0]).meets(origin_of(views[1])) is True


@pytest.fixture
def rows_file(tmp_path, X, monkeypatch):
    path = tmp_path / "rows" / "part.parquet"
    path.parent.mkdir()
    _frame(X).to_parquet(path)
    (tmp_path / "link.parquet").symlink_to(path)
    os.link(path, tmp_path / "hard.parquet")
    monkeypatch.chdir(tmp_path)
    return path


def _refilled(frame):
    for name in COLUMNS:
        frame[name] = frame[name] + 0.0
    frame.index = range(60)
    return frame


def _by_columns(X):
    return pd.DataFrame({name: X[:, i].copy() for i, name in enumerate(COLUMNS)})


# Rows, and what is there after their fit, of which nobody can tell whether it is they.
NEAR = {
    "an object refilled": lambda X, file: [(f := _frame(X.copy())), lambda: _refilled(f)],
    # every second row, or every second column
    "rows between rows": lambda X, file: [(r := X.flatten().reshape(60, 2))[::2], lambda: r[1::2]],
    "a file written anew": lambda X, file: [file, lambda: os.utime(file, ns=(1, 1)) or file],
    "a clone that is gone": lambda X, file: [(f := _of_polars(X)).clone(), lambda: f],
    "a frame copied": lambda X, file: [(f := _by_columns(X))[["x"]], lambda: f.copy()],
    "a frame computed": lambda X, file: [(f := _by_columns(X))[["x"]], lambda: f[["y"]] * 2],
}


@pytest.mark.parametrize("kind", NEAR)
def test_what_may_be_the_same_rows_needs_a_word(budget, X, kind, rows_file):
    made = NEAR[kind](X, rows_file)
    measure(budget.part("a")).fit(made.pop(0))
    other = made.pop()()
    with pytest.raises(LeakError, match="X may hold the rows that were charged"):
        measure(budget.part("b")).fit(other)
    measure(budget.part("b", disjoint="by hospital")).fit(other)
    measure(budget.part("c")).fit(pd.DataFrame(X))


@pytest.mark.parametrize(
    "other",
    ["rows/part.parquet", "rows/../rows/part.parquet", "link.parquet", "hard.parquet", "rows",
     "rows/*.parquet"],
)  # fmt: skip
def test_one_file_under_several_names_is_one(budget, rows_file, other):
    measure(budget.part("a")).fit(str(rows_file))
    with pytest.raises(LeakError, match="charged under part 'a'"):
        measure(budget.part("b", disjoint="by hospital")).fit(other)
    _frame(np.full((9, 2), 0.5)).to_parquet("south.parquet")
    measure(budget.part("b")).fit("south.parquet")


@pytest.mark.parametrize("word", ["", "  ", 3, "\ud800"])
def test_a_word_is_text(budget, word):
    for view in (budget, budget.under(SpendingPolicy(1.0))):
        with pytest.raises((TypeError, ValueError), match="disjoint must"):
            view.part("a", disjoint=word)


def test_the_word_is_in_the_ledger(tmp_path, X):
    budget = BudgetAccountant(1.0, ledger=tmp_path / "budget.db")
    measure(budget.part("a", disjoint="by hospital")).fit(X)
    budget.under(SpendingPolicy(1.0)).part("b", disjoint="by hospital").spend(0.1, note="paper")
    notes = [entry.note for entry in BudgetAccountant.open(tmp_path / "budget.db").entries]
    assert notes == ["parts disjoint by hospital", "paper; parts disjoint by hospital"]
