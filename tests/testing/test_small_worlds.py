"""Every neighbor of small worlds: stated sensitivities hold, and are reached or explained."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from skdp_bary.base import Sensitivity
from tests.small_worlds import SLACKS, asked_in, explore, query_classes, small_worlds, world_size

WORLDS = small_worlds()
NAMES = [f"{asked_in(world).__name__}: {world.name}" for world in WORLDS]
GUARANTEES = Path(__file__).parents[2] / "doc" / "explanation" / "guarantees.rst"
LAST = (1 << 63) - 1
PLAIN = [
    world
    for world in WORLDS
    if (world.linear or world.n_classes == 1) and not world.name.endswith("pure")
]
ALONE = [replace(world, kinds=("rows",)) for world in PLAIN if "rows" in world.kinds]


def names(worlds):
    return [f"{asked_in(world).__name__}: {world.name}" for world in worlds]


def violations(findings):
    return [finding.violation for finding in findings if finding.violation]


def test_every_question_has_a_world():
    """A new question without a world fails here."""
    assert {asked_in(world) for world in WORLDS} == set(query_classes())
    assert len(set(NAMES)) == len(NAMES)


@pytest.mark.parametrize("world", PLAIN, ids=names(PLAIN))
def test_the_largest_change_is_the_stated_one(world):
    findings = explore(world, **world_size(world))
    assert violations(findings) == []
    assert sum(finding.n_pairs for finding in findings) > 0


@pytest.mark.slow
@pytest.mark.parametrize("world", WORLDS, ids=NAMES)
def test_larger_worlds(world):
    assert violations(explore(world, **world_size(world, large=True))) == []


@pytest.mark.parametrize("world", ALONE, ids=names(ALONE))
def test_a_unit_less_is_found(world, monkeypatch):
    """Planted: a sensitivity that is one unit too small, or half of one that is not reached."""
    cls = asked_in(world)
    stated = cls.sensitivity

    def smaller(self, relation):
        full = stated(self, relation)
        return Sensitivity(*(tuple(map(less, cases)) for cases in (full.l1, full.l2_squared)))

    def less(case):
        return tuple(n // 2 if cls in SLACKS else max(n - 1, 0) for n in case)

    monkeypatch.setattr(cls, "sensitivity", smaller)
    assert any("moved" in text for text in violations(explore(world)))


@pytest.mark.parametrize("norm", ["L1", "L2"])
def test_a_bound_that_nobody_reaches_is_found(norm, monkeypatch):
    world = WORLDS[NAMES.index("Count: line")]
    cls = asked_in(world)
    stated = cls.sensitivity

    def larger(self, relation):
        full = stated(self, relation)
        more = {"L1": full.l1, "L2": full.l2_squared}
        more[norm] = tuple(tuple(2 * n for n in case) for case in more[norm])
        return Sensitivity(more["L1"], more["L2"])

    monkeypatch.setattr(cls, "sensitivity", larger)
    found = violations(explore(world))
    assert found and all("of it reached" in text and norm in text for text in found)


LINEAR = [world for world in ALONE if world.linear and asked_in(world).__name__ != "CoverQuery"]


@pytest.mark.parametrize("world", LINEAR, ids=names(LINEAR))
def test_sums_that_wrap_around_move_no_further(world, monkeypatch):
    """Sums begin just below the largest integer: neighbors lie on both sides of the border."""
    plain = explore(world)
    zeros = asked_in(world).zeros
    monkeypatch.setattr(
        asked_in(world), "zeros", lambda query: tuple(part + (LAST - 1) for part in zeros(query))
    )
    assert explore(world) == plain


def test_reasons_are_in_the_documentation():
    text = " ".join(GUARANTEES.read_text().split())
    for cls, slacks in SLACKS.items():
        assert f"``{cls.__name__}``" in text
        for slack in slacks.values():
            assert slack.reason in text


def test_persons_with_ids_and_weights_are_among_them():
    kinds = {kind for world in WORLDS for kind in world.kinds}
    assert kinds == {"rows", "weights", "persons"}
    assert np.mean([world.kinds == ("rows", "weights", "persons") for world in WORLDS]) > 0.9
