"""Values that many rows hold: what is beside them is kept, told apart, and they are exact."""

import numpy as np
import pandas as pd
import pytest

from skdp_bary import PrivateTable
from skdp_bary.schema import Boolean, Integer, Number, Schema
from tests.cases import every
from tests.world import class_histograms, line_bins, nearest_masses, spread

pytestmark = pytest.mark.filterwarnings("ignore:random_state")


def test_bins_are_numbered_without_gaps_whatever_is_asked_of_them():
    rng = np.random.default_rng(0)
    for _ in range(200):
        masses = rng.integers(0, 50, 30) * (rng.random(30) < rng.random())
        wanted = rng.integers(0, 40)
        bins = line_bins(masses, wanted, rng.integers(0, wanted + 1), rng.random(30) < 0.2)
        assert bins[0] == 0 and set(np.diff(bins)) <= {0, 1}


def spiked(n=3000):
    rng = np.random.default_rng(0)
    cost = np.where(rng.random(n) < 0.7, 0.0, np.minimum(rng.lognormal(6.0, 1.0, n), 2000.0))
    cost[rng.random(n) < 0.05] = 9999.0
    ill = rng.random(n) < np.where(cost == 0.0, 0.1, 0.8)
    return pd.DataFrame({"cost": cost, "ill": ill, "age": rng.integers(0, 100, n)})


@every("log", [False, True])
def test_special_values_and_ends_are_drawn_exactly_with_their_relations(log):
    table, low = spiked(), 1 if log else 0
    cost = Number(low, 2000, log=log, special=(0, 9999))
    schema = Schema({"cost": cost, "ill": Boolean(), "age": Integer(0, 120)})
    model = PrivateTable(schema, label="ill", epsilon=3, n_components=50, random_state=0)
    model.fit(table)
    drawn = model.sample(3000, random_state=0)
    for value in (0.0, 2000.0, 9999.0):
        real, made = table.cost == value, drawn.cost == value
        assert abs(real.mean() - made.mean()) < 0.02
    assert abs(table.ill[table.cost == 0].mean() - drawn.ill[drawn.cost == 0].mean()) < 0.05
    assert not drawn.cost.between(2000.0, 9999.0, inclusive="neither").any()
    given = model.sample(100, random_state=0, given={"cost": 9999})
    assert (given.cost == 9999.0).all()
    words = model.evaluate(table).histograms["cost"][0]
    assert {"0", "2000", "9999"} <= set(words)
    assert model.query("cost").to_frame() is not None


def fitted(kind, values, **settings):
    small = {"epsilon": 3, "n_components": 2, "max_iter": 2, "random_state": 0}
    return PrivateTable(Schema([kind]), **(small | settings)).fit(values[:, None])


@every(
    "asked, allowed",
    [
        (999, lambda v: v == 999),
        (0, lambda v: v == 0),
        ((0, 50), lambda v: (v >= 0) & (v <= 50)),
        ((0.5, 100), lambda v: (v >= 0.5) & (v <= 100)),
        ((60, None), lambda v: (v >= 60) & ((v <= 100) | (v == 999))),
        ((500, 2000), lambda v: v == 999),
        ((None, -5), lambda v: v == -9),
    ],
)
def test_conditions_know_special_values(asked, allowed):
    values = np.random.default_rng(0).uniform(0.0, 100.0, 3000)
    values[:900] = np.repeat([-9.0, 0.0, 999.0], 300)
    model = fitted(Number(0, 100, special=(-9, 999)), values)
    drawn = model.sample(500, random_state=0, given={0: asked}).ravel()
    assert allowed(drawn).all()


SD, TOTAL, N_CELLS = 3.0, 3000.0, 512


def test_rows_without_a_shape_are_spread_evenly():
    """Halves that differ by more than all rows differ by noise."""
    noisy = 100.0 * np.random.default_rng(0).standard_normal((20, N_CELLS))
    found = [spread(row, 500.0, 100.0) for row in noisy]
    assert np.median([np.abs(row * N_CELLS / 500.0 - 1.0).max() for row in found]) == 0.0
    assert [row.sum() for row in found] == pytest.approx([500.0] * 20)


def test_nearest_masses_have_the_sum_and_are_not_negative():
    found = nearest_masses(np.array([900.0, 40.0, -30.0, 5.0]), np.array([1, 1, 2, 1]), 930.0)
    assert found.tolist() == [895.0, 35.0, 0.0, 0.0]
    assert nearest_masses(np.array([-5.0, -7.0]), np.ones(2), 4.0).tolist() == [3.0, 1.0]


def test_classes_share_a_spike_whatever_the_noise_beside_it_is():
    """A spike tells the mass of a class in a bin, not the noise of all cells beside it."""
    pooled, sd = np.full(400, 300.0 / 399), 50.0
    pooled[7], shares = 2800.0, []
    for seed in range(20):
        noise = sd * np.random.default_rng(seed).standard_normal((2, 400))
        counts = np.outer([0.7, 0.3], pooled) + noise
        shares.append(class_histograms(counts, pooled, np.zeros(400, dtype=int), sd)[:, 7])
    assert np.min(shares) > 0.6 and np.median(shares) == pytest.approx(2800 / 3100)
