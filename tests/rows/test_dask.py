"""Dask collections, delayed chunks, Parquet files: the same integers, and only sketches travel."""

import pickle

import cloudpickle
import numpy as np
import pytest

from skdp_bary import BudgetAccountant, PrivateMeasure
from skdp_bary.base import CellTree, ClippedSum
from skdp_bary.geometry import Box
from tests import world
from tests.world import DaskSource, LevelCounts, Quiet, Sketch, home, open_source, person_keys

counting, distinct_labels = home("collect"), home("open_source").distinct_labels

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")

N = 1003
CLASSES = np.array(["a", "b"])
rng = np.random.default_rng(0)
X = rng.random((N, 3))
Y = CLASSES[rng.integers(2, size=N)]
W = rng.random(N)
FRAME = pd.DataFrame(X, columns=["u", "v", "w"])
LABELED = FRAME.assign(label=Y, weight=W)
UNIT_BOX = Box([0.0] * 3, [1.0] * 3)


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture
def one_thread():
    """Nothing runs on the cluster of this module."""
    with dask.config.set({"scheduler": "synchronous", "dataframe.shuffle.method": "tasks"}):
        yield


def integers(source, n_classes=2):
    rows = home("open_source").Rows(source)
    units = rows.person_units
    queries = LevelCounts(CellTree(UNIT_BOX, 6), n_classes, units), ClippedSum(1.2, 3, units)
    return [block.tolist() for q in queries for block in world.integers(q, rows)]


def plain(X, **options):
    return integers(open_source(X, **options), n_classes=1)


def in_memory(**options):
    return integers(open_source(X, Y, sample_weight=W, classes=CLASSES, **options))


def array_source(rows, **options):
    return open_source(
        da.from_array(X, chunks=(rows, 2)),
        da.from_array(Y, chunks=rows),
        sample_weight=da.from_array(W, chunks=rows),
        classes=CLASSES,
        **options,
    )


def frame_source(frame, **options):
    return open_source(
        frame[["u", "v", "w"]],
        frame["label"],
        sample_weight=frame["weight"],
        classes=CLASSES,
        **options,
    )


class TestDelayedChunks:
    def chunks(self, cuts):
        make = dask.delayed(lambda rows: (X[rows], Y[rows], W[rows]), pure=False)
        return [make(rows) for rows in np.split(np.arange(N), cuts)]

    def test_labels_are_in_the_chunks(self):
        with pytest.raises(ValueError, match="labels inside the chunks"):
            open_source(self.chunks([10]), Y)
        with pytest.raises(ValueError, match="as a list"):
            open_source(self.chunks([10])[0])


PEOPLE = rng.integers(60, size=N)


LOW = [-2085204138429401052, -838663554466951795, 3, -1, -4289214879105171210]
HIGH = [6093429853142649967, -8105150779685806165, 0, 0, -4187961790455171307]


class TestPersons:
    def test_keys_follow_from_ids_alone(self):
        """Numbers as they are: what Python hashes strings to differs between processes."""
        for ids, places in ((["a", "né"], slice(2)), ([3, -1, 1 << 70], slice(2, 5))):
            low, high = person_keys(ids, len(ids))
            assert low.tolist() == LOW[places]
            assert high.tolist() == HIGH[places]
        for other in (np.array(["né"]), pd.Series(["né"], dtype="string")):
            assert [words.tolist() for words in person_keys(other, 1)] == [LOW[1:2], HIGH[1:2]]

    def test_ids_of_several_kinds(self, one_thread):
        """They count as equal just where they do in memory."""
        people = np.empty(N, dtype=object)
        people[:] = [[7, True, 1, 2**70, np.int8(7)][i % 5] for i in range(N)]
        parts = [dask.delayed(part) for part in np.array_split(people, 4)]
        source = open_source([dask.delayed(p) for p in np.array_split(X, 4)], groups=parts)
        assert source.count_persons() == 3
        assert integers(source, 1) == plain(X, groups=people)

    @pytest.mark.parametrize("bad", [np.zeros(N), np.full(N, 1).astype(object)])
    def test_ids_that_workers_could_read_differently_are_refused(self, one_thread, bad):
        if bad.dtype == object:
            bad[3] = 1.5
        with pytest.raises(ValueError, match="must hold integers or strings"):
            open_source(da.from_array(X, chunks=(400, 3)), groups=da.from_array(bad, 400))

    def test_divisions_are_not_believed(self, one_thread):
        frame = dd.from_pandas(LABELED.set_index(PEOPLE).sort_index(), npartitions=6)
        wrong = dd.from_delayed(frame.to_delayed()[::-1], divisions=frame.divisions)
        with pytest.raises(ValueError, match="outside the divisions"):
            integers(frame_source(wrong, groups=wrong.index))


def named(X, y=None, groups=None, sample_weight=None):
    X, beside = DaskSource.columns(X, y=y, groups=groups, sample_weight=sample_weight)
    return X, beside["y"], beside["groups"], beside["sample_weight"]


class TestNames:
    def test_what_is_not_there(self):
        with pytest.raises(ValueError, match="groups='ww' is not a column.*groups='w'"):
            named(dd.from_pandas(FRAME, npartitions=1), groups="ww")
        with pytest.raises(ValueError, match="must name Parquet files"):
            named("rows")


class TestWhatTravels:
    def test_only_packed_integers_come_back(self, client, monkeypatch):
        results = []
        delayed = pytest.importorskip("dask.delayed").Delayed
        compute = delayed.compute

        def spy(self, **options):
            results.append(compute(self, **options))
            return results[-1]

        monkeypatch.setattr(delayed, "compute", spy)
        integers(array_source(100))
        assert len(results) == 2 and set(map(type, results)) == {bytes}
        assert Sketch(ClippedSum(1.2, 3)).add_bytes(results[1]).size

    def test_workers_see_neither_budget_nor_randomness(self, monkeypatch):
        """What is sent is the query and facts about columns, from which no noise can be guessed."""
        sent = []
        answers = DaskSource.answers

        def spy(self, count, merge):
            sent.append(cloudpickle.dumps((count, merge, self.reader)))
            return answers(self, count, merge)

        monkeypatch.setattr(DaskSource, "answers", spy)
        budget = BudgetAccountant(3.0)
        budget.spend(0.123, who="somebody")
        measure = PrivateMeasure(bounds=(0, 1), n_hint=N, accountant=budget)
        measure.fit(da.from_array(X, chunks=(500, 3)))
        assert len(sent) == 3
        for word in (b"accountant", b"somebody", b"_noise", b"Generator", b"epsilon", b"_ledger"):
            assert not any(word in each for each in sent)


def test_what_does_not_fit_together_is_refused_and_marks_of_errors_travel():
    given = da.from_array(X, chunks=(100, 3))
    with pytest.raises(ValueError, match="groups must be a Dask collection too"):
        open_source(given, groups=np.arange(N))
    with pytest.raises(ValueError, match="y must be a Dask collection too"):
        open_source(given, Y, classes=CLASSES)
    with pytest.raises(ValueError, match="y must have as many partitions as X, got fewer"):
        open_source(given, da.from_array(Y, chunks=502), classes=CLASSES)
    with pytest.raises(ValueError, match="two dimensions"):
        open_source(da.from_array(W, chunks=100))

    def fail(kind):
        raise kind("no value")

    for kind, shown in ((ValueError, True), (UnicodeError, False)):
        with pytest.raises(kind) as caught:
            Quiet(fail)(kind)
        travelled = pickle.loads(pickle.dumps(caught.value))
        assert vars(travelled) == ({"_quotes_no_row": True} if shown else {})


def test_errors_of_what_reads_the_rows_are_not_shown(one_thread):
    """Those of engines quote values; those of this package do not, and say what is wrong."""

    def read(number):
        if number:
            raise ValueError("could not convert string to float: 'x4242'")
        return pd.DataFrame({"a": [0.5], "who": [1]})

    rows = dd.from_map(read, [0, 1], meta=read(0))
    for groups in (None, "who"):
        with pytest.raises(ValueError, match="its source raised ValueError") as caught:
            PrivateMeasure(bounds=(0, 1), n_hint=9).fit(rows, groups=groups)
        assert "4242" not in str(caught.value) and caught.value.__context__ is None
    chunks = [dask.delayed(read)(number) for number in (1, 0)]
    with pytest.raises(ValueError, match="its source raised ValueError"):
        PrivateMeasure(bounds=(0, 1), n_hint=9).fit(chunks)
