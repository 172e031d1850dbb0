"""Max cover: exact coverage, the law of its picks, what a neighbor changes."""

import math
from itertools import product

import numpy as np
import pytest
from scipy.stats import chisquare

from skdp_bary.base import Frame, Sensitivity
from skdp_bary.geometry import Box
from tests import world
from tests.cases import every
from tests.distributions import hockey_stick
from tests.world import home, sketch

GRIDS = home("CoverGrid")


def frame_of(p):
    domain = Box([-1.0] * p, [1.0] * p)
    return Frame(domain, domain.center, 16)


def ask(p=2, radii=(0.2, 0.5), n_picks=3, **settings):
    return world.CoverQuery(frame_of(p), np.ones(p), radii, n_picks, **settings)


def run(query, X, *, rate=0.3, recorded=None, masses=None, seed=0):
    """Return the picks and what each of them chose from."""
    offers = []
    race = world.RaceChoice(min(rate * query.units, 30.0))
    counted = sketch(query, X, None, masses)
    picks = counted.picked(race, world.noise_generator(seed), recorded, offers.append)
    return picks, offers


# Coverage


def brute_force(grid, places, masses):
    """Mass within the reach of every grid point, by all pairs."""
    every = np.stack(np.unravel_index(np.arange(grid.n_places), grid.sides), axis=1)
    rows = every[places]
    squares = ((every[:, None, :] - rows[None, :, :]) ** 2).sum(axis=2)
    return (squares <= grid.reach) @ masses


@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize(("halves", "step"), [((40,), 3), ((30, 12), 4), ((9, 14, 11), 3)])
def test_coverage_counts_every_row_within_reach_and_takes_away_the_same(
    halves, step, dense, monkeypatch
):
    monkeypatch.setattr(GRIDS, "DENSE_CELLS", 10**6 if dense else 0)
    monkeypatch.setattr(GRIDS, "_PAIRS_AT_ONCE", 500)
    grid, rng = world.CoverGrid(halves, step), np.random.default_rng(1)
    places = grid.places_of([rng.integers(0, 2 * half + 1, 60) for half in halves])
    masses = rng.integers(1, 5, 60)
    coverage = world.Coverage(grid, places, masses)
    left = np.ones(60, dtype=bool)
    center = grid.coordinates(places) // step
    for place in [*rng.integers(0, grid.n_places, 4).tolist(), int(places[0])]:
        expected = brute_force(grid, places[left], masses[left])
        offer = coverage.offer()
        assert np.array_equal(offer.places, np.flatnonzero(expected))
        assert np.array_equal(offer.masses, expected[expected > 0])
        assert offer.n_places == grid.n_places == math.prod(grid.sides)
        values, copies = coverage.offers()
        assert np.array_equal(np.unique(expected, return_counts=True), (values, copies))
        coverage.cover(place)
        squares = ((center - grid.coordinates(np.array([place])) // step) ** 2).sum(axis=1)
        left &= squares > grid.reach
        assert np.array_equal(coverage.is_left(places), left)


# The law of the picks


@pytest.mark.parametrize("dense", [True, False])
def test_first_picks_follow_the_exponential_mechanism(dense, monkeypatch):
    monkeypatch.setattr(GRIDS, "DENSE_CELLS", 10**6 if dense else 0)
    query = ask(1, (0.3,), 1)
    X = np.array([[-0.9], [-0.8], [0.1], [0.1], [0.2]])
    grid, rate = query.grids[0], 0.7
    counted, noise = sketch(query, X), world.noise_generator(5)
    offer = run(query, X)[1][0]
    covered = np.zeros(grid.n_places)
    covered[offer.places] = offer.masses
    picks = [int(counted.picked(world.RaceChoice(rate), noise)[0, 0]) for _ in range(3000)]
    seen = np.bincount(picks, minlength=grid.n_places)
    law = np.exp(rate * covered) / np.exp(rate * covered).sum()
    assert 0 in covered and chisquare(seen, 3000 * law).pvalue > 1e-3
    off = np.exp(1.3 * rate * covered) / np.exp(1.3 * rate * covered).sum()
    assert chisquare(seen, 3000 * off).pvalue < 1e-6


# Public choices


def test_radii_follow_from_public_numbers_which_are_checked():
    radii = world.cover_radii(np.array([1.0, 0.5, 0.5]), 10**6, 1.5, 8)
    assert radii == pytest.approx([1.5**-i for i in range(7, -1, -1)])
    assert world.cover_radii(np.ones(3), 4, 1.5, 8)[0] >= 0.25
    deep = world.cover_radii(np.ones(3), 10**9, 1.5, 40)
    assert math.prod(ask(3, deep[:1]).grids[0].sides) <= GRIDS.DENSE_CELLS
    assert (
        world.cover_radii(np.ones(5), 50_000, 2.0, 40)[0]
        < world.cover_radii(np.ones(5), 10**6, 2.0, 40)[0]
    )
    with pytest.raises(ValueError, match="increasing"):
        ask(radii=(0.5, 0.2))
    with pytest.raises(ValueError, match="one row each"):
        ask(units=world.PERSON_UNITS)
    with pytest.raises(ValueError, match="add_remove"):
        ask(units=world.WEIGHT_UNITS).sensitivity("replace_one")
    assert ask().sensitivity("replace_any") == Sensitivity.single(1, 1)


# What a neighbor changes


def test_the_law_of_whole_transcripts_stays_below_the_profile():
    """Every sequence of picks of the real code, with its exact probability on both data sets."""
    query, rate = ask(1, (0.45, 1.0), 2), 0.8
    X = np.array([[-0.8], [0.1]])
    places = [range(grid.n_places) for grid in query.grids for _ in range(query.n_picks)]
    assert math.prod(map(len, places)) < 3000

    def law(rows):
        chances = []
        for seen in product(*places):
            recorded = np.array(seen).reshape(2, 2)
            chance = 1.0
            for offer, pick in zip(run(query, rows, recorded=recorded)[1], seen, strict=True):
                covered = np.zeros(offer.n_places)
                covered[offer.places] = offer.masses
                weights = np.exp(rate * covered)
                chance *= weights[pick] / weights.sum()
            chances.append(chance)
        return np.array(chances)

    base, more, moved = law(X), law([*X, [0.2]]), law([[0.9], X[1]])
    assert base.sum() == pytest.approx(1.0)
    for epsilon in (0.0, 0.2, 0.6):
        for relation, p, q in (
            ("add_remove", base, more),
            ("add_remove", more, base),
            ("replace_one", base, moved),
        ):
            cost = hockey_stick(p, q, epsilon)
            assert cost <= world.race_delta(rate, epsilon, relation)
            assert cost > 0.0 or epsilon > 0.0


def offer(*covered, n_places=4):
    places, masses = np.array(covered, dtype=np.int64).reshape(-1, 2).T
    return world.Offer(places, masses, n_places)


@every(
    "after, words",
    [
        ([offer((0, 2))], "there were 2 picks on one data set, 1 on the other"),
        ([offer((0, 2)), offer((1, 1), n_places=5)], "the number of points to choose from"),
        ([offer((0, 4)), offer((1, 1))], "a point covers 2 more or less, one person has 1"),
        ([offer((0, 3)), offer()], "makes some points cover more and others less"),
        ([offer((0, 3)), offer((1, 2))], "still counted after a pick that covers it"),
    ],
)
def test_the_audit_of_picks_says_what_no_neighbor_may_change(after, words):
    before = [offer((0, 2)), offer((1, 1))]
    assert world.compare_picks(before, before, [0, 3], 1, True) == (0, [])
    assert any(words in text for text in world.compare_picks(before, after, [0, 3], 1, True)[1])
