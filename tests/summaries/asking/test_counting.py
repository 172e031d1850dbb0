"""The same integers however the rows come, and memory bounded by the chunk."""

import subprocess
import sys
import threading
import tracemalloc

import joblib
import numpy as np
import pandas as pd
import pytest

from skdp_bary.geometry import Ball, Box
from skdp_bary.geometry._cell_tree import CellTree
from skdp_bary.geometry._directions import public_directions
from skdp_bary.geometry._lattice import CentredLattice
from skdp_bary.geometry._slices import SliceLattice
from skdp_bary.summaries.asking import counting
from skdp_bary.summaries.asking.by_class import ByClass
from skdp_bary.summaries.asking.counting import collect
from skdp_bary.summaries.asking.query import Sketch
from skdp_bary.summaries.asking.row_mapped import RowMapped
from skdp_bary.summaries.clusters.cell_spreads import CellSpreads
from skdp_bary.summaries.clusters.cell_sums import CellSums
from skdp_bary.summaries.clusters.losses import NearestLoss
from skdp_bary.summaries.moments.bounds import ClippedSum, Count, DistanceHistogram
from skdp_bary.summaries.moments.moments import Moments
from skdp_bary.summaries.rows import arrays
from skdp_bary.summaries.rows.opening import Rows, open_source
from skdp_bary.summaries.rows.persons import WEIGHT_UNITS, Chunk
from skdp_bary.summaries.slices.histogram import ProjectedHistogram
from skdp_bary.summaries.trees.hierarchy import CellCounts, HaarDifferences

N, D = 997, 3
CLASSES = np.array(["a", "b", "c"])
EDGES = tuple(2.0**e for e in range(-6, 3))
POINTS, ZERO = np.eye(D), np.zeros((1, D))
LATTICES = (
    lambda: CellSums(POINTS, ZERO, POINTS, 1.0),
    lambda: CellSpreads(POINTS, ZERO, POINTS[None], 1.0),
    lambda: ClippedSum(1.5, D),
    lambda: Moments(ZERO, 1.0),
    lambda: NearestLoss(POINTS, 1.0),
)


def make_rows():
    """Rows that float32 represents, with ties, borders of cells and outliers."""
    rng = np.random.default_rng(0)
    X = rng.normal(0.5, 0.4, size=(N, D))
    X[::5] = np.round(X[::5] * 8) / 8
    X[7], X[8], X[9] = 1e30, -1e30, 0.0
    X = X.astype(np.float32).astype(np.float64)
    return X, CLASSES[rng.integers(3, size=N)], np.round(rng.random(N), 3)


X, Y, W = make_rows()


def queries(units):
    box, ball = Box([0.0] * D, [1.0] * D), Ball([0.5] * D, 0.6)
    return [
        CellCounts(CellTree(box, 7), 3, units),
        HaarDifferences(CellTree(ball, 5), 3, units),
        Count(units),
        DistanceHistogram((0.25,) * D, EDGES, units),
        ClippedSum(1.5, D, units),
    ]


def integers(source_of, weighted):
    units = WEIGHT_UNITS if weighted else 1
    answers = []
    for query in queries(units):
        answers += collect(query, Rows(source_of())).exact_blocks()
    return [block.tolist() for block in answers]


def as_array(kind):
    frame = pd.DataFrame(X, columns=list("abc"))
    return {
        "numpy": X,
        "fortran": np.asfortranarray(X),
        "strided": np.repeat(np.repeat(X, 2, axis=0), 2, axis=1)[::2, ::2],
        "reversed": X[::-1][::-1],
        "float32": X.astype(np.float32),
        "big endian": X.astype(">f8"),
        "list": X.tolist(),
        "pandas": frame,
        "pandas float32": frame.astype(np.float32),
        "pandas mixed": frame.astype({"b": np.float32}),
    }[kind]


def cut(sizes, weighted):
    """Chunks of the given sizes, over and over."""
    start = i = 0
    chunks = []
    while start < N:
        rows = slice(start, start + sizes[i % len(sizes)])
        chunks.append((X[rows], Y[rows], W[rows]) if weighted else (X[rows], Y[rows]))
        start, i = start + sizes[i % len(sizes)], i + 1
    return chunks


@pytest.fixture(scope="module", params=[False, True], ids=["rows", "weighted"])
def expected(request):
    weighted = request.param
    whole = integers(
        lambda: open_source(X, Y, sample_weight=W if weighted else None, classes=CLASSES), weighted
    )
    return weighted, whole


@pytest.mark.parametrize(
    "kind",
    ["fortran", "strided", "reversed", "float32", "big endian", "list"]
    + ["pandas", "pandas float32", "pandas mixed"],
)
def test_every_array_gives_the_same_integers(expected, kind):
    weighted, whole = expected
    weights = W if weighted else None
    given = as_array(kind)
    labels = pd.Series(Y) if "pandas" in kind else Y
    assert whole == integers(
        lambda: open_source(given, labels, sample_weight=weights, classes=CLASSES), weighted
    )


@pytest.mark.parametrize("sizes", [(N,), (1,), (13, 1, 200), (500, 0)], ids=str)
@pytest.mark.parametrize("kind", ["list", "iterator", "function"])
def test_all_chunks_give_the_same_integers(expected, sizes, kind):
    weighted, whole = expected
    chunks = cut(sizes, weighted)
    make = {"list": lambda: chunks, "iterator": lambda: iter(chunks), "function": lambda: make_it}

    def make_it():
        return iter(chunks)

    assert whole == integers(lambda: open_source(make[kind](), classes=CLASSES), weighted)


def test_order_of_rows_does_not_matter(expected):
    weighted, whole = expected
    order = np.random.default_rng(1).permutation(N)
    weights = W[order] if weighted else None
    assert whole == integers(
        lambda: open_source(X[order], Y[order], sample_weight=weights, classes=CLASSES), weighted
    )


@pytest.mark.parametrize("workers", [2, 5])
@pytest.mark.parametrize("part", [100, 331, 1 << 19])
def test_threads_give_the_same_integers(expected, part, workers, monkeypatch):
    weighted, whole = expected
    pieces = []
    update = Sketch.update
    monkeypatch.setattr(arrays, "CHUNK_ROWS", part)
    monkeypatch.setattr(counting, "_LEAST_EFFORT", 1)
    monkeypatch.setattr(Sketch, "update", lambda own, c: pieces.append(len(c.X)) or update(own, c))
    with joblib.parallel_config(backend="threading", n_jobs=workers):
        assert whole == integers(
            lambda: open_source(X, Y, sample_weight=W if weighted else None, classes=CLASSES),
            weighted,
        )
    assert min(pieces) <= N // workers


def test_threads_count_chunks_of_a_stream(expected, monkeypatch):
    weighted, whole = expected
    monkeypatch.setattr(counting, "_LEAST_EFFORT", 1)
    chunks = cut((200, 1, 57), weighted)
    with joblib.parallel_config(backend="threading", n_jobs=2):
        assert whole == integers(lambda: open_source(iter(chunks), classes=CLASSES), weighted)


def test_threads_are_not_worth_it_for_few_rows(monkeypatch):
    def refuse(*_):
        raise AssertionError("threads for few rows")

    monkeypatch.setattr(counting, "share_out", refuse)
    with joblib.parallel_config(backend="threading", n_jobs=2):
        collect(queries(1)[0], Rows(open_source(X, Y, classes=CLASSES)))
        with pytest.raises(AssertionError, match="few rows"):
            collect(Count(), Rows(open_source(np.zeros((1 << 17, 2)))))


class Levels(ProjectedHistogram):
    shape = (1,)

    def _answer(self, histogram, mass):
        return histogram[:, :1], 1

    def _change(self):
        return 1.0, 1.0


def test_slices_are_counted_in_threads(monkeypatch):
    box = Box([0.0] * D, [1.0] * D)
    query = Levels(SliceLattice(box, public_directions("tight", 4, D)))
    whole = Sketch(query).update(Chunk(X, None, None))
    monkeypatch.setattr(counting, "_LEAST_EFFORT", 1)
    monkeypatch.setattr(Sketch, "size", 1)  # as if rows were many more than counters
    others, share_out = [], counting.share_out
    monkeypatch.setattr(
        counting, "share_out", lambda *task: others.append(task[2]) or share_out(*task)
    )
    with joblib.parallel_config(backend="threading", n_jobs=3):
        together = collect(query, Rows(open_source(X)))
    assert others == [3]
    for one, many in zip(whole._state, together._state, strict=True):
        assert np.array_equal(one, many)
        assert one.sum() >= len(X)


def test_a_function_of_somebody_else_is_called_by_one_thread(monkeypatch):
    monkeypatch.setattr(counting, "_LEAST_EFFORT", 1)
    found = set()

    def row_map(row):
        found.add(threading.get_ident())
        return row

    query = RowMapped(row_map, ClippedSum(1.5, D))
    with joblib.parallel_config(backend="threading", n_jobs=2):
        collect(query, Rows(open_source(X)))
        collect(ByClass((query,) * 3), Rows(open_source(X, Y, classes=CLASSES)))
    assert found == {threading.get_ident()}


def test_a_person_has_the_same_mass_in_every_thread(monkeypatch):
    """Rows with person ids, in coarser units than they are read in."""
    groups = np.random.default_rng(3).integers(200, size=N)
    source = open_source(X, Y, groups=groups, classes=CLASSES)
    for query in queries(1 << 17):
        alone = collect(query, Rows(source)).exact_blocks()
        with monkeypatch.context() as patch, joblib.parallel_config("threading", n_jobs=3):
            patch.setattr(counting, "_LEAST_EFFORT", 1)
            together = collect(query, Rows(source)).exact_blocks()
        assert all((a == b).all() for a, b in zip(alone, together, strict=True))


def test_joblib_processes_give_the_same_integers():
    rng = np.random.default_rng(2)
    many = rng.random((2 * arrays.CHUNK_ROWS + 17, 2))
    query = CellCounts(CellTree(Box([0.0, 0.0], [1.0, 1.0]), 6))
    alone = collect(query, Rows(open_source(many))).exact_blocks()
    with joblib.parallel_config(n_jobs=2):
        together = collect(query, Rows(open_source(many))).exact_blocks()
    assert all((a == b).all() for a, b in zip(alone, together, strict=True))


def test_groups_give_the_same_integers_in_any_order():
    groups = np.random.default_rng(3).integers(200, size=N)
    order = np.random.default_rng(4).permutation(N)
    answers = []
    for rows in (np.arange(N), order):
        for given in (X[rows], np.asfortranarray(X[rows]), pd.DataFrame(X[rows])):
            source = open_source(given, Y[rows], groups=groups[rows], classes=CLASSES)
            found = [collect(q, Rows(source)).exact_blocks() for q in queries(1 << 20)]
            answers.append([b.tolist() for blocks in found for b in blocks])
    assert all(answer == answers[0] for answer in answers)


def test_an_error_in_a_worker_is_the_error_of_the_fit(monkeypatch):
    monkeypatch.setattr(arrays, "CHUNK_ROWS", 100)
    bad = X.copy()
    bad[-1, 0] = np.nan
    with (
        joblib.parallel_config(n_jobs=2, backend="threading"),
        pytest.raises(ValueError, match="Input X contains NaN"),
    ):
        collect(Count(), Rows(open_source(bad)))


# Memory


def test_memory_is_bounded_by_the_chunk():
    rows, n_chunks = 20_000, 60
    total = rows * n_chunks * 2 * 8

    def generate():
        rng = np.random.default_rng(0)
        for _ in range(n_chunks):
            yield rng.random((rows, 2))

    tree = CellTree(Box([0.0, 0.0], [1.0, 1.0]), 8)
    tracemalloc.start()
    sketch = collect(CellCounts(tree), Rows(open_source(generate())))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert sketch.exact_blocks()[0].tolist() == [[rows * n_chunks]]
    assert peak < total / 8


_PEAK = """
from pathlib import Path
import numpy as np
from skdp_bary.geometry import Box
from skdp_bary.geometry._cell_tree import CellTree
from skdp_bary.geometry._lattice import CentredLattice
from skdp_bary.summaries.trees.hierarchy import CellCounts
from skdp_bary.summaries.asking import counting
from skdp_bary.summaries.asking.by_class import ByClass
from skdp_bary.summaries.asking.counting import collect
from skdp_bary.summaries.asking.query import Sketch
from skdp_bary.summaries.asking.row_mapped import RowMapped
from skdp_bary.summaries.rows.opening import Rows
from skdp_bary.summaries.rows.opening import open_source
X = np.zeros((4_000_000, 2)) + 0.3
query = CellCounts(CellTree(Box([0.0, 0.0], [1.0, 1.0]), 10))
# getrusage would count what the parent held; this does not
peak = lambda: int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) * 1024
before = peak()
collect(query, Rows(open_source(X)))
print((peak() - before) / X.nbytes)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_counting_an_array_takes_a_third_of_its_size_at_most():
    out = subprocess.run([sys.executable, "-c", _PEAK], capture_output=True, text=True, check=True)
    assert float(out.stdout) < 0.35


@pytest.mark.parametrize("make", LATTICES, ids=lambda make: make().__class__.__name__)
def test_blocks_of_one_question_share_a_lattice(make, monkeypatch):
    made, build = [], CentredLattice.__post_init__

    def count(lattice):
        made.append(lattice)
        build(lattice)

    monkeypatch.setattr(CentredLattice, "__post_init__", count)
    sketch = Sketch(make())
    for start in range(0, N, 100):
        sketch.update(Chunk(X[start : start + 100], None, None))
    assert len(made) == 1
