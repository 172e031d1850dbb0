"""Two rounds of messages, the second where the first found people."""

import pickle
from itertools import pairwise

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from skdp_bary.papers import (
    ShuffleAnalyzer,
    ShuffleClient,
    ShufflePlan,
    ShuffleRounds,
    shuffle_messages,
    simulate_shuffle,
)
from tests.cases import every
from tests.world import exact

pytestmark = pytest.mark.filterwarnings("ignore::skdp_bary.exceptions.PrivacyWarning")

SQUARE = ((0.0, 0.0), (1.0, 1.0))
ROUNDS = ShuffleRounds(SQUARE, 4.0, 1e-6, n_guaranteed=40, n_max=60, bandwidth=1 / 8, units=64)


def places(n, seed=0):
    return np.clip(0.3 + 0.05 * np.random.default_rng(seed).standard_normal((n, 2)), 0, 1)


def send(plan, rows, seed=0):
    batches = [ShuffleClient(plan, random_state=seed + i).messages(X) for i, X in enumerate(rows)]
    return shuffle_messages(batches, random_state=seed)


@pytest.fixture(scope="module")
def both():
    """Plans and messages travel as bytes between people who share nothing else."""
    rows = places(50)[:, None]
    first = ShuffleAnalyzer(ROUNDS.first)
    first.fit(send(pickle.loads(pickle.dumps(ROUNDS.first)), rows))
    plan = ROUNDS.second(first)
    messages = send(pickle.loads(pickle.dumps(plan)), rows, seed=1000)
    return first, ShuffleAnalyzer(plan, earlier=first).fit(messages)


@every("epsilon, delta", [(4.0, 1e-6), (0.1, 1e-12), (1 / 3, 3e-7)])
def test_both_rounds_together_spend_what_was_declared(both, epsilon, delta):
    rounds = ShuffleRounds(SQUARE, epsilon, delta, n_guaranteed=40, n_max=60, bandwidth=1 / 8)
    plans = rounds.first, rounds.second(both[0])
    assert 0.999999 * exact(epsilon) <= sum(exact(p.epsilon) for p in plans) <= exact(epsilon)
    assert 0.999999 * exact(delta) <= sum(exact(p.delta) for p in plans) <= exact(delta)
    assert [len(p.partitions) for p in plans] == [1, 1]
    assert [p.rate * p.units == exact(p.epsilon) for p in plans] == [True, True]


def test_geojson_states_what_all_rounds_cost_together(both):
    for analyzer, spent in ((both[0], ROUNDS.first), (both[1], ROUNDS)):
        stated = analyzer.to_geojson(period="May")["release"]
        assert stated["epsilon"] == pytest.approx(spent.epsilon, rel=1e-6)
        assert stated["delta"] == pytest.approx(spent.delta, rel=1e-6)
        assert stated["relation"] and stated["period"] == "May"


def test_the_second_round_looks_where_people_are_and_both_count(both):
    first, second = both
    (coarse,), (fine,) = first.plan.partitions, second.plan.partitions
    starts, ends = fine.intervals()
    assert (ends[:-1] <= starts[1:]).all() and fine.levels.max() > coarse.levels.max()
    low, high = second.plan.grid.corners(fine.levels, fine.codes)
    inside = ((low <= 0.3) & (high > 0.3)).all(axis=1)
    assert fine.levels[inside] == fine.levels.max()
    first, second = both
    assert len(first.measurements_) == 1 and len(second.measurements_) == 2
    exact_counts = np.zeros(second.plan.n_cells)
    for X in places(50):
        exact_counts += ShuffleClient(second.plan)._counts(X[None], None) / second.plan.units
    noise = second.measurements_[1].mass - exact_counts
    assert exact_counts.sum() == 50
    assert 0 < np.abs(noise).max() < 20 / float(second.plan.rate * second.plan.units)
    alone = ShuffleAnalyzer(second.plan).fit(send(second.plan, places(50)[:, None], seed=1000))
    assert np.array_equal(alone.measurements_[0].mass, second.measurements_[1].mass)
    assert not np.array_equal(alone.cells_.mass, second.cells_.mass)
    assert second.count_persons(return_std=True)[1] < first.count_persons(return_std=True)[1]


def test_the_second_plan_follows_from_the_first_release_alone_and_fits(both):
    again = ROUNDS.second(both[0])
    assert again.cells == both[1].plan.cells
    other = ShuffleAnalyzer(ROUNDS.first).fit(send(ROUNDS.first, 1 - places(50)[:, None]))
    assert ROUNDS.second(other).cells != again.cells
    with pytest.raises(NotFittedError):
        ROUNDS.second(ShuffleAnalyzer(ROUNDS.first))
    elsewhere = ShufflePlan((0, 2), 1.0, 1e-6, n_guaranteed=40, n_max=60, levels=(1,))
    with pytest.raises(ValueError, match="the same map"):
        ShuffleAnalyzer(elsewhere, earlier=both[0]).fit(send(elsewhere, places(40)[:, None]))


@every("cells", [((1, 0), (2, 3)), ((0, 0),), ((1, 4),), ()])
def test_bad_cells_are_refused(cells):
    with pytest.raises(ValueError, match="cell|codes"):
        ShufflePlan(SQUARE, 1.0, 1e-6, n_guaranteed=40, n_max=60, cells=cells)


@pytest.mark.parametrize("plan", [ROUNDS, ROUNDS.first])
def test_simulation_sends_the_messages_of_every_person_in_every_round(plan, monkeypatch):
    sent = []
    send_one = ShuffleClient._messages

    def record(client, X, sample_weight=None):
        sent.append((client.plan.n_cells, np.sort(X, axis=0).tolist()))
        return send_one(client, X, sample_weight)

    monkeypatch.setattr(ShuffleClient, "_messages", record)
    X = places(100)
    people = np.random.default_rng(0).permutation(np.arange(100) % 50)
    analyzer = simulate_shuffle(plan, X, people, random_state=0)
    assert analyzer.n_participants_ == 50
    rounds = 2 if plan is ROUNDS else 1
    assert len(analyzer.measurements_) == rounds
    own = [np.sort(X[people == person], axis=0).tolist() for person in range(50)]
    assert len(sent) == 50 * rounds
    for start, stop in pairwise(range(0, 50 * rounds + 1, 50)):
        assert len({n for n, _ in sent[start:stop]}) == 1
        assert sorted(rows for _, rows in sent[start:stop]) == sorted(own)
    again = simulate_shuffle(plan, X, people, random_state=0)
    assert np.array_equal(again.cells_.mass, analyzer.cells_.mass)
    assert simulate_shuffle(plan, X[:50]).n_participants_ == 50
