"""The shuffle protocol with real messages, in one process."""

import copy
import math
import pickle
import warnings

import numpy as np
import pytest

from skdp_bary.exceptions import PrivacyWarning
from skdp_bary.papers import (
    ShuffleAnalyzer,
    ShuffleClient,
    ShufflePlan,
    ShuffleRounds,
    shuffle_distance,
    shuffle_messages,
    simulate_shuffle,
)
from tests.cases import every
from tests.world import home

_noise = home("_system_words")

pytestmark = pytest.mark.filterwarnings("ignore::skdp_bary.exceptions.PrivacyWarning")

PLAN = ShufflePlan(
    ((0.0, 0.0), (1.0, 1.0)), 1.0, 1e-6, n_guaranteed=30, n_max=60, levels=(1, 2), units=64
)


def places(n, seed=0):
    return np.clip(0.3 + 0.1 * np.random.default_rng(seed).standard_normal((n, 2)), 0, 1)


def send(rows, plan=PLAN):
    return [ShuffleClient(plan, random_state=i).messages(X) for i, X in enumerate(rows)]


def test_sums_are_the_counts_and_the_noise():
    rows = [np.tile(x, (3, 1)) + [[0, 0], [0.3, 0.3], [9, 9]] for x in places(40)]
    batches = send(rows)
    analyzer = ShuffleAnalyzer(PLAN).fit(shuffle_messages(batches, random_state=0))
    assert analyzer.n_participants_ == 40
    exact = np.zeros(PLAN.n_cells)
    for X in rows:
        exact += ShuffleClient(PLAN)._counts(X, None) / PLAN.units
    noisy = np.concatenate([m.mass for m in analyzer.measurements_])
    assert exact[:4].sum() == exact[4:].sum() == 40
    assert 0 < np.abs(noisy - exact).max() < 15 / float(PLAN.rate * PLAN.units)


def test_messages_do_not_depend_on_the_rows_and_hold_all_units_at_most():
    for X in ([], [[0.5, 0.5]] * 7, [[0.1, 0.1], [0.9, 0.9], [0.4, 0.2]], [[5.0, 5.0]]):
        counts = ShuffleClient(PLAN)._counts(np.reshape(X, (-1, 2)), None)
        inside = len(X) > 0 and X[0][0] < 1
        assert counts.min() >= 0
        assert [counts[:4].sum(), counts[4:].sum()] == [PLAN.units * inside] * 2
    shapes = {
        tuple(ShuffleClient(PLAN).messages(X)[:, 0].tolist())
        for X in (np.empty((0, 2)), places(1), places(50))
    }
    assert len(shapes) == 1
    assert ShuffleClient(PLAN).messages(places(1))[:, 1].max() < PLAN.modulus


@every("n_people", [3, 6])
def test_the_noise_of_the_guaranteed_participants_is_discrete_laplace(n_people):
    """With exactly as many as are guaranteed; those beyond add noise of their own."""
    small = ShufflePlan((0, 1), 1.0, 1e-3, n_guaranteed=3, n_max=6, levels=(1,), units=4)
    noise = []
    for round_ in range(600):
        batches = [
            ShuffleClient(small, random_state=10 * round_ + i).messages(np.empty((0, 2)))
            for i in range(n_people)
        ]
        noise.append(ShuffleAnalyzer(small)._add_up(np.concatenate(batches)))
    a = math.exp(-1 / 4)
    variance = 2 * a / (1 - a) ** 2
    assert np.var(noise) == pytest.approx(variance * n_people / 3, rel=0.2)
    if n_people == 3:
        assert np.mean(np.array(noise) == 0) == pytest.approx((1 - a) / (1 + a), abs=0.03)
    assert small.rate * small.units * len(small.levels) == 1


@every(
    "rows, match",
    [
        (np.ma.masked_array([[0.2, 0.4]], mask=[[True, False]]), "masked entries"),
        (np.array([["2020-01-01", "2020-01-02"]], dtype="datetime64[D]"), "dates"),
        (np.array([[0.4242j, 0.1]]), "Complex"),
        ([["x4242", "0.1"]], "real numbers"),
        (np.full((2, 3), 0.4242), "got 3 features"),  # were read as three rows
        (np.full(4, 0.4242), "Reshape"),
    ],
)
def test_rows_of_a_client_are_read_as_those_of_a_fit(rows, match):
    with pytest.raises((ValueError, TypeError), match=match) as caught:
        ShuffleClient(PLAN).messages(rows)
    assert "4242" not in str(caught.value)
    assert ShuffleClient(PLAN).messages([]).shape == ShuffleClient(PLAN).messages(places(1)).shape


def test_with_too_few_participants_the_analyzer_stops():
    batches = send(list(places(30)))
    ShuffleAnalyzer(PLAN).fit(shuffle_messages(batches))
    analyzer = ShuffleAnalyzer(PLAN)
    with pytest.raises(ValueError, match="Only 29 took part, but the guarantee needs 30"):
        analyzer.fit(shuffle_messages(batches[:29]))
    assert not hasattr(analyzer, "cells_") and not hasattr(analyzer, "measurements_")


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda m: m | np.array([1 << 62, 0]), "must name cells in"),
        (lambda m: m - np.array([m[0, 0] + 1, 0]), "must name cells in"),
        (lambda m: np.where([True, False], PLAN.n_cells, m), "must name cells in"),
        (lambda m: m.astype(np.uint64) | np.array([1 << 63, 0], np.uint64), "must name cells in"),
        (lambda m: m.astype(np.uint64) | np.array([0, 1 << 63], np.uint64), "whole shares"),
        (lambda m: m * [1, -1], "whole shares"),
        (lambda m: m & [-1, 0xFF], "whole shares"),  # shares cut to fewer bits
        (lambda m: m & [-1, ~0xFF], "whole shares"),
        (lambda m: np.column_stack([m[:, 0], m[:, 1].astype(np.int16)]), "whole shares"),
        (lambda m: m + [0, PLAN.modulus], "whole shares"),
        (lambda m: [[1 << 70, 0]], "must be integers"),
        (lambda m: [[1, 2], [3]], "must be integers"),
        (lambda m: "messages", "must be integers"),
        (lambda m: np.broadcast_to(m[:1], (1 << 45, 2)), "at most 60 participants"),
    ],
)
def test_messages_out_of_range_are_refused_before_memory_is_asked_for(spoil, words):
    """A cell number is no length of a table, and more messages than there can be are not read."""
    messages = np.concatenate(send(list(places(31))))
    with pytest.raises(ValueError, match=words):
        ShuffleAnalyzer(PLAN).fit(spoil(messages))


def test_messages_are_the_fewest_that_delta_allows_and_counted_anew():
    """Who sends a plan says what it promises, and not how few messages keep it."""
    weak = ShufflePlan((0, 1), 1.0, 1e-6, n_guaranteed=30, n_max=60, levels=(1,))
    needed = weak.n_messages
    object.__setattr__(weak, "n_messages", 1)
    object.__setattr__(weak, "modulus", 2)
    for read in (pickle.loads(pickle.dumps(weak)), copy.deepcopy(weak)):
        assert read.n_messages == needed and read.modulus > 2
    object.__setattr__(weak, "delta", 2.0)
    with pytest.raises(ValueError, match="delta"):
        pickle.loads(pickle.dumps(weak))
    rounds = ShuffleRounds((0, 1), 1.0, 1e-6, n_guaranteed=30, n_max=60)
    object.__setattr__(rounds.first, "n_messages", 1)
    assert pickle.loads(pickle.dumps(rounds)).first.n_messages > 1
    allowed = PLAN.delta / (PLAN.n_cells * (1 + math.exp(PLAN.epsilon)))
    distance = shuffle_distance(PLAN.n_max, PLAN.n_messages, PLAN.modulus)[PLAN.n_guaranteed - 1 :]
    assert distance.max() <= allowed < PLAN.distance(PLAN.n_messages - 1)
    bits = 5 + 16  # one of 20 cells, one share below 2**16
    assert PLAN.modulus == 2**16
    assert PLAN.bytes_per_person == math.ceil(bits / 8) * PLAN.n_messages * PLAN.n_cells


@every(
    "draw",
    [
        lambda seed: ShuffleClient(PLAN, random_state=seed).messages(places(1)),
        lambda seed: shuffle_messages([np.zeros((3, 2), dtype=np.int64)], random_state=seed),
        lambda seed: simulate_shuffle(PLAN, places(30), random_state=seed),
    ],
)
def test_what_is_drawn_from_a_seed_warns_once(draw):
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        draw(None)
        assert not heard
        draw(0)
    assert [w.category for w in heard] == [PrivacyWarning]
    assert heard[0].filename == __file__


def test_messages_are_shuffled_by_the_generator_of_the_noise(monkeypatch):
    """Not by numpy's, whose next order follows from those that were seen."""
    messages = np.column_stack([np.zeros(50, dtype=np.int64), np.arange(50)])
    first = shuffle_messages([messages])
    assert sorted(first[:, 1]) == list(range(50)) and (first != messages).any()
    drawn = []
    monkeypatch.setattr(
        _noise, "_system_words", lambda n: drawn.append(n) or np.arange(n, 0, -1, dtype=np.uint64)
    )
    assert (shuffle_messages([messages])[:, 1] == np.arange(49, -1, -1)).all()
    assert drawn == [50]


def test_every_order_of_messages_is_equally_likely():
    messages = np.column_stack([np.zeros(4, dtype=np.int64), np.arange(4)])
    orders = [tuple(shuffle_messages([messages])[:, 1]) for _ in range(24 * 200)]
    counts = np.unique(orders, axis=0, return_counts=True)[1]
    assert len(counts) == 24
    assert ((counts - 200) ** 2 / 200).sum() < 75  # chi squared with 23 degrees: 1 in 10**6
