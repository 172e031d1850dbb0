"""Numbers of persons: every way of finding them tells the same ids apart."""

import sys

import numpy as np
import pytest

from tests.cases import every
from tests.world import number_objects, number_values


def assert_same_parts(found, ids):
    """The numbers are 0, 1, ... and equal exactly where the ids are."""
    assert found.dtype == np.int64
    places = {}
    expected = np.array([places.setdefault(value, len(places)) for value in ids], dtype=int)
    assert sorted(set(found.tolist())) == list(range(len(places)))
    assert len(set(zip(found.tolist(), expected.tolist(), strict=True))) == len(places)


@every("dtype", ["i1", "u1", "i4", "i8", "u8"])
@every("ends", ["low", "high", "both"])
def test_integers_up_to_the_ends_of_their_type(dtype, ends):
    info = np.iinfo(dtype)
    low, high = np.arange(40) + info.min, info.max - np.arange(40, dtype=np.uint64).astype(dtype)
    parts = {"low": [low], "high": [high], "both": [low, high]}[ends]
    ids = np.random.default_rng(0).choice(np.concatenate([p.astype(dtype) for p in parts]), 3000)
    found = number_values(ids)
    assert_same_parts(found, ids.tolist())
    assert (found == np.unique(ids, return_inverse=True)[1]).all()


TEXTS = ["a", "b", "", "ä", "a ", "\x00", "x" * 40]


@pytest.mark.parametrize("plain", [True, False])
@pytest.mark.parametrize("more", [[], ["\ud800", "\udfff"]], ids=["", "surrogates"])
@pytest.mark.parametrize("arrow", [True, False])
def test_texts(plain, more, arrow, monkeypatch):
    if arrow:
        pytest.importorskip("pyarrow")
    else:
        monkeypatch.setitem(sys.modules, "pyarrow", None)
    values = [text for text in [*TEXTS, *more] if not plain or "\x00" not in text]
    ids = np.array(values, dtype=None if plain else object)
    ids = ids[np.random.default_rng(0).integers(len(ids), size=500)]
    assert_same_parts((number_values if plain else number_objects)(ids), ids.tolist())
