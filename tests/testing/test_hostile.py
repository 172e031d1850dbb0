"""The data of the contract suite: neighbors are neighbors, and what is held is found."""

from collections import Counter

import numpy as np
import pytest

from skdp_bary import PrivateMeasure
from skdp_bary.geometry import Ball, Box
from tests.world import differing_paths, feature_count, feature_counts, hostile_pairs, leaves

RELATIONS = ("add_remove", "replace_one", "replace_any")
KINDS = ("rows", "persons", "weights")


class Labeled(PrivateMeasure):
    """Public labels for the pairs to change."""

    classes = ("a", "b", "c")


def persons(arguments):
    """The multiset of persons: each with the multiset of its rows, labels and weights."""
    rows = arguments["X"].tolist()
    n_rows = len(rows)
    labels = arguments.get("y", np.zeros(n_rows)).tolist()
    weights = arguments.get("sample_weight", np.ones(n_rows)).tolist()
    ids = arguments.get("groups", np.arange(n_rows)).tolist()
    held = {}
    for person, row, label, weight in zip(ids, rows, labels, weights, strict=True):
        held.setdefault(person, Counter())[(label, tuple(row), weight)] += 1
    return Counter(frozenset(rows.items()) for rows in held.values())


def labels_of(persons):
    """How many rows of each label there are."""
    counts = Counter()
    for person, times in persons.items():
        for (label, _, _), count in person:
            counts[label] += times * count
    return counts


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("cls", [PrivateMeasure, Labeled])
def test_pairs_differ_in_one_person(cls, relation, kind):
    pairs = list(hostile_pairs(cls(bounds=(0, 1), neighbors=relation), kind))
    assert len({pair.name for pair in pairs}) == len(pairs) >= 8
    for pair in pairs:
        before, after = persons(pair.data), persons(pair.neighbor)
        gone, come = before - after, after - before
        assert gone.total() <= 1 and come.total() <= 1, pair.name
        if relation == "add_remove":
            assert gone.total() + come.total() == 1, pair.name
        else:
            assert gone.total() == come.total(), pair.name
        if relation == "replace_one":
            assert labels_of(before) == labels_of(after), pair.name


@pytest.mark.parametrize(
    "bounds, expected, tried",
    [
        (None, 2, 50),
        ((0, 1), 2, 50),
        (([0, 0, 0], 1), 3, 1),
        (Box([0, 0, 0], 1), 3, 1),
        (Ball([0, 0, 0, 0], 1.0), 4, 1),
    ],
)
def test_bounds_say_how_many_features_to_try(bounds, expected, tried):
    estimator = PrivateMeasure(bounds=bounds)
    assert feature_count(estimator) == expected
    assert len(feature_counts(estimator)) == tried


class Slotted:
    __slots__ = ("held",)

    def __init__(self, held):
        self.held = held


def test_leaves_reach_everything():
    hidden = np.arange(3)
    nested = {"a": [Slotted((hidden, "text"))], "b": {1, 2}, "c": np.array([hidden, None], object)}
    found = dict(leaves(nested))
    assert found["estimator.a[0].held[0]"] is hidden
    assert found["estimator.a.length"] == 1
    assert found["estimator.b.length"] == 2
    assert found["estimator.c[1]"] is None
    circular = []
    circular.append(circular)
    assert list(leaves(circular)) == [("estimator.length", 1)]


def test_differing_paths_see_bits_types_and_missing_parts():
    assert differing_paths({"a": np.zeros(2), "b": np.nan}, {"a": np.zeros(2), "b": np.nan}) == []
    assert differing_paths({"a": 0.0}, {"a": np.float64(0.0)}) == [".a"]
    assert differing_paths({"a": np.zeros(2)}, {"a": -np.zeros(2)}) == [".a"]
    assert differing_paths({"a": 1}, {"a": 1, "b": 2}) == [".b", ".length"]
