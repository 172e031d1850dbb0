"""Sums that leave 64 bits wrap around, and nothing about a fit depends on whether they do."""

from dataclasses import replace

import numpy as np
import pytest

from skdp_bary import PrivateMeasure
from skdp_bary.inspection import replay_sensitivity
from tests import world
from tests.cases import every
from tests.world import home, record, release_of, same, sketch

_changes, _rows = home("replay")._changes, home("coarser_units")
LAST = (1 << 63) - 1
ONE = np.zeros((1, 1))


@pytest.fixture
def crowded(monkeypatch):
    """Let every sum begin where one person more may make it wrap around."""

    def begin(self, query):
        self.query = query
        self._state = tuple(part + (LAST - world.PERSON_UNITS // 2) for part in query.zeros())

    monkeypatch.setattr(world.Sketch, "__init__", begin)


@every("delta", [0.0, 1e-6])
def test_replay_at_the_border(delta, crowded):
    """The person who makes a sum wrap around is hidden by the noise like any other."""
    X, groups = np.full((20, 2), 0.3), np.arange(20) // 2
    estimator = PrivateMeasure(1.0, delta, bounds=(0, 1), n_hint=20, depth=3, method="haar")
    fewer = {"X": X[:-2], "groups": groups[:-2]}
    report = replay_sensitivity(estimator, {"X": X, "groups": groups}, fewer)
    assert report.holds, str(report)
    assert report.tightness == pytest.approx(1.0)


def test_changes_are_read_modulo_two_to_the_64_and_weights_rounded_down():
    before, after = np.array([LAST, -LAST - 1, 7]), np.array([-LAST - 1, LAST, 3])
    assert _changes(before, after) == [1, -1, -4]
    weights = np.array([0.0, 1.0, 0.3, 1e-3])
    (chunk,) = world.open_source(np.zeros((4, 1)), sample_weight=weights).read(0)
    np.testing.assert_array_equal(chunk.in_units(1 << 13).masses, np.floor(weights * (1 << 13)))
    with pytest.raises(ValueError, match="units"):
        chunk.in_units(3)


@every("mechanism", [world.DiscreteLaplace(0.5), world.RoundedGaussian(0.5)])
def test_noise_is_added_modulo_two_to_the_64(mechanism):
    """What comes out is the exact sum plus the noise, modulo 2**64, also of packed parts."""
    query, step = world.Count(world.PERSON_UNITS), world.Step("count", mechanism)

    def released(*masses):
        total = sketch(query)
        for mass in masses:
            total.add_bytes(sketch(query, ONE, None, [mass]).to_bytes())
        return int(release_of(total, step, "add_remove", world.noise_generator(3)).values[0][0])

    noise = released()
    wrapped = released(LAST, world.PERSON_UNITS * 9)
    assert wrapped < 0
    assert (wrapped - noise - LAST - world.PERSON_UNITS * 9) % (1 << 64) == 0


@pytest.mark.filterwarnings("error")
def test_sums_of_losses_wrap():
    loss = world.NearestLoss(np.zeros((1, 1)), 1.0, units=1 << 40)
    with np.errstate(all="raise"):
        total = sketch(loss)
        for _ in range(8):  # 2**20 units of loss times 2**40 of mass each
            total.merge(sketch(loss, 5.0, None, [1 << 40]))
    assert int(total.exact_blocks()[0][0]) == -(1 << 63)


@every("second", ["none", "pooled"])
def test_too_much_released_mass_is_refused(second):
    """By the release alone: its mass says that sums beside it may have wrapped around."""
    query = world.Moments(np.zeros((1, 1)), 1.0, second=second, units=world.PERSON_UNITS)
    reach = 1 << (20 if second == "pooled" else 10)
    step = world.Step("moments", world.RoundedGaussian(1e6))
    for most, refused in ((0.99, False), (1.01, True)):
        masses = np.full(4, int(most * (1 << 60) / reach))
        counted = sketch(query, np.zeros((4, 1)), None, masses)
        if not refused:
            release_of(counted, step, "add_remove", world.noise_generator(0))
            continue
        with pytest.raises(ValueError, match="n_hint is far too small.*about"):
            release_of(counted, step, "add_remove", world.noise_generator(0))


def test_units_follow_the_size_and_the_noise():
    sizes = [1, 1 << 18, (1 << 18) + 1, 10**7, 1 << 30, 10**15]
    digits = {
        world.PERSON_UNITS: [20, 20, 17, 14, 11, 11],
        world.WEIGHT_UNITS: [16, 16, 16, 13, 10, 10],
    }
    for units, expected in digits.items():
        assert [world.coarser_units(units, n).bit_length() - 1 for n in sizes] == expected
    assert {world.coarser_units(1, n) for n in sizes} == {1}
    assert {world.coarser_units(world.WEIGHT_UNITS, 1 << k) for k in range(60)} == set(
        world.ROW_UNITS
    ) - {1}
    assert not {world.coarser_units(world.PERSON_UNITS, 1 << k) for k in range(60)} & set(
        world.ROW_UNITS
    )
    assert world.coarser_units(world.PERSON_UNITS, 100, 0.5) == world.PERSON_UNITS
    assert world.coarser_units(world.PERSON_UNITS, 100, 1e-2) == world.PERSON_UNITS >> 3
    assert world.coarser_units(world.PERSON_UNITS, 100, 1e-9) == world.PERSON_UNITS >> 9
    assert world.coarser_units(world.WEIGHT_UNITS, 100, 1e-2) == world.WEIGHT_UNITS
    assert world.coarser_units(1, 100, 1e-9) == 1


def test_a_bought_size_decides_the_units():
    measure = PrivateMeasure(epsilon=1.0, bounds=(0, 1))
    given = {"X": np.zeros((4, 2)), "groups": [0, 0, 1, 1]}
    first = record(measure, **given)
    counted = replace(first.records[0].released, values=(np.array([10**7 << 20]),))
    script = (replace(first.records[0], released=counted),)
    run = record(measure, **given, script=script)
    assert [record.query.units for record in run.records] == [1 << 20, *[1 << 14] * 3]


def test_long_chunks_are_counted_in_pieces(monkeypatch):
    """However many rows a chunk has, the float sums inside are over few enough to be exact."""
    X, groups = np.random.default_rng(0).random((100, 2)), np.arange(100) // 3
    (chunk,) = world.open_source(X, groups=groups).read(0)
    query = world.Moments(np.zeros((1, 2)), 1.0, second="pooled", units=1 << 14)
    whole = sketch(query).update(chunk).exact_blocks()
    monkeypatch.setattr(_rows, "CHUNK_ROWS", 7)
    assert [len(part.X) for part in chunk.parts()] == [7] * 14 + [2]
    assert same(sketch(query).update(chunk).exact_blocks(), whole)


@every("units", [world.PERSON_UNITS, 256, 1000, 1])
def test_one_person_with_more_weight_than_products_hold(units):
    """No error for anybody: the shares are those of exact arithmetic."""
    rng = np.random.default_rng(1)
    weights = rng.integers(1 << 57, size=12)
    persons, X = np.repeat([0, 1, 2], 4), np.arange(12.0)[:, None]
    starts, masses = world.person_spans(X, None, persons, weights, units)
    for person in range(3):
        own = weights[persons == person].tolist()
        ends = [units * sum(own[: i + 1]) // sum(own) for i in range(4)]
        assert (starts + masses)[persons == person].tolist() == ends
        assert starts[persons == person].tolist() == [0, *ends[:-1]]
