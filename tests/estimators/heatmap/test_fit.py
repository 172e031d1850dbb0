"""Trees of measured cells, their posterior, and densities."""

import numpy as np
import pytest
from scipy.special import ndtr

from skdp_bary import PrivateEMDHeatmap
from skdp_bary.exceptions import PrivacyWarning
from skdp_bary.geometry import Ball, Mask
from tests.cases import every
from tests.world import Measurement, covering_tree, fit_posterior


def full_level(level, masses, rate=1.0):
    codes = np.arange(4**level)
    return Measurement(np.full(len(codes), level), codes, np.asarray(masses, dtype=float), rate)


def random_masses(level, rng, n=300):
    return rng.multinomial(n, rng.dirichlet(np.full(4**level, 0.2))).astype(float)


def test_covering_tree_lists_measured_cells_and_their_siblings():
    cells = Measurement(np.array([1, 3]), np.array([0, 40]), np.zeros(2), 1.0)
    tree = covering_tree([cells])
    assert [codes.tolist() for codes in tree.codes] == [
        [0],
        [0, 1, 2, 3],
        [8, 9, 10, 11],
        [40, 41, 42, 43],
    ]


@every("whole", [True, False])
def test_posterior_is_nearer_to_the_truth_than_clipped_noise(whole):
    ours, clipped = 0.0, 0.0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        true = random_masses(3, rng)
        coarse = true.reshape(16, 4).sum(axis=1) + rng.laplace(size=16)
        fine = true + rng.laplace(scale=2.0, size=64)
        fit = fit_posterior([full_level(2, coarse, 1.0), full_level(3, fine, 0.5)], whole=whole)
        assert fit.code.tolist() == list(range(64))
        assert (fit.posterior.step == 1.0) == whole
        ours += np.abs(fit.mass - true).sum()
        clipped += np.abs(np.maximum(fine, 0) - true).sum()
    assert ours < 0.8 * clipped


def test_posterior_of_a_cell_measured_twice_uses_both():
    values = random_masses(1, np.random.default_rng(0))
    once = fit_posterior([full_level(1, values, 0.3)], whole=False)
    twice = fit_posterior(
        [full_level(1, values, 0.3), full_level(1, values + 20, 3.0)], whole=False
    )
    assert np.abs(twice.mass - values - 20).max() < 3 < np.abs(twice.mass - once.mass).max()


TRIANGLE = Mask([[(0.0, 0.0), (3.0, 0.0), (0.0, 1.5)]], resolution=32)


@every("bounds", [(0, 2), TRIANGLE, Ball([1.0, 0.5], 0.8)])
def test_densities_are_those_of_every_cell_alone(bounds):
    """Also on masks and balls; and a row has the same bits beside any others."""
    model = PrivateEMDHeatmap(bounds=bounds, resolution=32, epsilon=5.0, random_state=0)
    with pytest.warns(PrivacyWarning, match="seeded"):
        model.fit(np.random.default_rng(0).beta(2, 5, size=(500, 2)))
    cells, domain = model.cells_, model.domain_
    X = np.random.default_rng(1).uniform(-1.0, 4.0, (20, 2))
    inside, widths = np.clip(X, domain.low, domain.high), domain.high - domain.low
    mass = cells.mass / np.prod((cells.high - cells.low) / widths, axis=1)
    found = model.transform(X)
    for column, scale in enumerate((0.5, 1.0, 2.0, 4.0)):
        shares = np.ones((20, len(cells)))
        for axis in (0, 1):
            sd = scale * model.bandwidth * widths[axis]
            left, right = (
                inside[:, axis, None] - side[:, axis] for side in (cells.low, cells.high)
            )
            shares *= ndtr(left / sd) - ndtr(right / sd)
        expected = np.log((shares @ mass + 1) / (cells.mass.sum() + 1)) - np.log(widths).sum()
        np.testing.assert_allclose(found[:, column], expected, rtol=0, atol=1e-10)
    assert (found[:, 1] == model.score_samples(X)).all()
    for row, x in zip(found, X, strict=True):
        assert (model.transform(x[None]) == row).all()


def test_places_alike_over_wide_areas_are_learned():
    noise = np.round(np.random.default_rng(0).laplace(0.0, 10.0, 1024))
    masses = fit_posterior([full_level(5, 42.0 + noise, rate=0.1)], whole=True).mass
    assert np.abs(masses - 42.0).mean() < 0.8 * np.abs(noise).mean()
