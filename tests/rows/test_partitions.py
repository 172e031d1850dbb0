"""Partitions are counted slice by slice: same integers, little memory, same errors."""

import numpy as np
import pytest

from skdp_bary.base import Moments
from tests.world import GatheredReader, PartReader, _count_tables, home, sketch

partitions, _frame = home("PartReader"), home("GatheredReader")._frame

pd = pytest.importorskip("pandas")

rng = np.random.default_rng(0)
ROWS, LABELS, WEIGHTS = rng.random((3001, 2)), rng.integers(2, size=3001), rng.random(3001)
PEOPLE = rng.integers(400, size=3001)
QUERY = Moments(np.full((2, 2), 0.5), 0.7, second="pooled")


def answer(grouped, *part, weighted=False):
    units = (1 << 20) if grouped else (1 << 16) if weighted else 1
    query = Moments(QUERY.centers, QUERY.radius, second="pooled", units=units)
    names = ["a", "b"] if hasattr(part[0], "iloc") else None
    reader = PartReader(2, np.array([0, 1]), weighted, grouped, None, names)
    return sketch(query).add_bytes(_count_tables(query, reader, [part]).to_bytes()).exact_blocks()


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("weights", [None, WEIGHTS])
@pytest.mark.parametrize(
    "rows", [ROWS, pd.DataFrame(ROWS, columns=["a", "b"]), "tuple"], ids=["array", "frame", "tuple"]
)
def test_slices_change_no_integer(rows, weights, grouped, monkeypatch):
    ids = PEOPLE if grouped else None
    part = (rows, LABELS, weights, ids, None)
    if isinstance(rows, str):
        part = ((ROWS, LABELS, weights), None, None, ids, None)
    whole = answer(grouped, *part, weighted=weights is not None)
    monkeypatch.setattr(partitions, "_SLICE_VALUES", 70)
    monkeypatch.setattr(partitions, "_PIECE_VALUES", 70)
    sliced = answer(grouped, *part, weighted=weights is not None)
    assert all(map(np.array_equal, whole, sliced))


@pytest.mark.parametrize("ids", [PEOPLE, [f"p{i}" for i in PEOPLE], "gathered"], ids=type)
@pytest.mark.parametrize("labels", [PEOPLE % 2, LABELS], ids=["one class", "two"])
def test_pieces_of_whole_persons_tell_the_same_of_them(ids, labels, monkeypatch):
    reader = PartReader(2, np.array([0, 1]), False, True, None, None)
    part = (ROWS, labels, None, np.array(ids), None)
    if isinstance(ids, str):
        part = (_frame(reader, ROWS, labels, None, PEOPLE, None),)
        reader = GatheredReader(**vars(reader))
    monkeypatch.setattr(partitions, "_PIECE_VALUES", 70)
    pieces = [reader.read(*piece) for piece in reader.of_whole_persons(reader._piece_rows(), *part)]
    assert len(pieces) > 50 and sum(len(X) for X, *_ in pieces) == len(ROWS)
    assert reader.n_persons(*part) == len(np.unique(PEOPLE))
    assert reader.one_class(*part) == (labels is not LABELS)
