"""Rounds of Lloyd's algorithm on releases: how far centers stay from the mean of all rows."""

from types import SimpleNamespace

import numpy as np

from tests.cases import every
from tests.world import Readout, ambient_round, haar_frame


def release(asked, means, sd, rng):
    """Return a release about clusters of 50 rows each, with noise `sd` on every mean."""
    mass = np.full(len(asked), 50.0)
    sums = 50.0 * (means - asked + sd * rng.standard_normal(asked.shape))
    read = Readout(mass, sums, 1.0, np.full(len(asked), 50.0 * sd))
    query = SimpleNamespace(used_centers=asked, read=lambda released: read)
    return SimpleNamespace(query=query)


@every("with_axes", [False, True])
@every("noise", [0.05, 0.5, 3.0])
def test_centers_are_drawn_to_the_mean_by_what_that_gains(noise, with_axes):
    """Costs come close to those of the best factor, which only the true means tell."""
    rng = np.random.default_rng(0)
    d, k, lost = 20, 6, []
    basis = haar_frame(d, d, rng) if with_axes else None
    for _ in range(60):
        means = rng.standard_normal((k, d)) / np.sqrt(d)
        asked = means + noise * rng.standard_normal((k, d))
        released = release(asked, means, 0.5 * noise, rng)
        centers = ambient_round(released, np.ones(k), basis, 1.0).centers
        lost.append(((centers - means) ** 2).sum() / (means**2).sum())
    worst = {0.05: 0.05, 0.5: 0.8, 3.0: 1.3}[noise]
    assert np.mean(lost) < worst


def test_centers_without_a_known_mass_take_what_the_plan_says():
    rng, asked = np.random.default_rng(0), np.ones((2, 5))
    released = release(asked, asked, 0.1, rng)
    object.__setattr__(released.query.read(released), "mass_sd", 100.0)
    np.testing.assert_array_equal(ambient_round(released, np.ones(2), None, 0.0).centers, 0.0)
    centers = ambient_round(released, np.ones(2), None, 1.0).centers
    np.testing.assert_array_equal(centers, [np.zeros(5), asked[1]])  # one at the mean, to be safe


def test_one_mass_of_many_that_noise_may_have_made_moves_no_center():
    """Where the budget went to the mean, the largest of sixteen masses must stand out for sure."""
    rng, asked = np.random.default_rng(0), np.ones((16, 5))
    for mass, expected in ((3.0, 0.0), (9.0, 1.0)):
        released = release(asked, asked, 1e-3, rng)
        read = released.query.read(released)
        read.mass[:] = 0.0
        read.mass[3] = mass
        read.sums[:] = 0.0
        centers = ambient_round(released, np.ones(16), None, 0.0).centers
        np.testing.assert_allclose(centers, expected, atol=0.01)
