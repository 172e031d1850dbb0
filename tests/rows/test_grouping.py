"""Persons in chunks: they have the shares that they have in memory, however they are found."""

import os
import stat
import tempfile

import numpy as np
import pytest

from skdp_bary import BudgetAccountant, PrivateMeasure, SortedPersons, SpilledPersons
from tests.world import home, open_source

spill = home("Spill")

KINDS = {"sorted": SortedPersons(), "spilled": SpilledPersons(n_parts=3)}


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(spill, "_LEAST_ROWS", 7)


@pytest.mark.parametrize(
    "ids", [[1, 2, 1], [5, 5, 4], ["a", "b", "a"], ["b", "B", "B"], [0, 1, -1]]
)
@pytest.mark.parametrize("cut", [1, 2, 3])
def test_an_id_that_comes_back_is_refused_before_a_charge(ids, cut):
    X = np.full((3, 1), 0.5)
    chunks = [(X[:cut], None, None, ids[:cut]), (X[cut:], None, None, ids[cut:])]
    for given in (chunks, iter(chunks)):
        budget = BudgetAccountant(1.0)
        measure = PrivateMeasure(bounds=(0, 1), method="haar", n_hint=3, accountant=budget)
        with pytest.raises(ValueError, match="ascending order of their person ids"):
            measure.fit(given, groups=SortedPersons())
        assert not budget.entries
    source = open_source(chunks, groups=SpilledPersons())
    assert source.count_persons() == 2 + (len(set(ids)) == 3)


@pytest.fixture
def opened(monkeypatch, tmp_path):
    """Files that were opened, whose folder must stay empty: they have no names."""
    files = []
    make = tempfile.TemporaryFile

    def noted(**settings):
        files.append(make(**settings))
        assert settings["dir"] == tmp_path
        assert not os.listdir(tmp_path)
        assert stat.S_IMODE(os.fstat(files[-1].fileno()).st_mode) == 0o600
        return files[-1]

    monkeypatch.setattr(spill.tempfile, "TemporaryFile", noted)
    return files


def day(i=0, bad=None):
    X = np.full((4, 1), 0.5)
    X[0, 0] = np.nan if bad else 0.25
    return X, None, None, [i, i, 7, 8]


@pytest.mark.filterwarnings("ignore:Parts of bounds narrower")  # of so few people
@pytest.mark.parametrize("stop", [None, KeyboardInterrupt, "bad row", "broken source"])
def test_files_are_closed_when_a_fit_ends(opened, tmp_path, stop):
    def chunks():
        yield from (day(i) for i in range(4))
        if stop is KeyboardInterrupt:
            raise KeyboardInterrupt
        if stop == "broken source":
            raise RuntimeError("the disk of the source is gone")
        yield day(5, bad=stop == "bad row")

    groups = SpilledPersons(folder=tmp_path, n_parts=2)
    budget = BudgetAccountant(1.0)
    measure = PrivateMeasure(bounds=(0, 1), accountant=budget)
    if stop is None:
        measure.fit(chunks, groups=groups)
    else:
        kind = stop if stop is KeyboardInterrupt else Exception
        with pytest.raises(kind):
            measure.fit(chunks, groups=groups)
        assert not budget.entries
    assert len(opened) == (2 if stop is None else 1)
    assert all(file.closed for file in opened)
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize("rule", KINDS.values(), ids=KINDS)
def test_a_source_may_write_its_next_chunk_into_the_same_memory(rule):
    def one_buffer():
        rows, ids = np.empty((2, 1)), np.empty(2, dtype=np.int64)
        for numbers, values in (([0, 1], [0.1, 0.2]), ([2, 3], [0.3, 0.4])):
            ids[:], rows[:, 0] = numbers, values
            yield rows, None, None, ids

    source = open_source(one_buffer, groups=rule)
    read = [chunk.X.copy() for chunk in source.read(0)]
    np.testing.assert_array_equal(np.sort(np.concatenate(read).ravel()), [0.1, 0.2, 0.3, 0.4])
