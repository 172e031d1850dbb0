"""The insides of private k-means: weighted points, looks at ever finer cells, rounds, advice."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import laplace, norm

from skdp_bary import PrivateKMeans
from skdp_bary.geometry import Box
from tests.cases import every
from tests.world import (
    Readout,
    WeightedPoints,
    _normal_sds,
    home,
    spread_about,
    sure_sds,
    without_far_noise,
)

looks = home("sure_sds")

pytestmark = pytest.mark.filterwarnings("ignore::skdp_bary.exceptions.PrivacyWarning")


def setting(n_clusters, n_hint=None):
    return PrivateKMeans(n_clusters, n_hint=n_hint, random_state=0)


# Weighted points that represent the rows: spreads and noise

POINTS = np.array([[0.0, 0.0], [0.2, 0.0], [0.0, 0.4], [1.0, 1.0], [1.2, 1.0]])


def points(masses, sd=0.0, within=0.01):
    return WeightedPoints(POINTS, np.asarray(masses, dtype=float), sd, within)


def test_spreads_add_what_is_within_a_point():
    found = spread_about(points([1, 1, 0, 3, 1]), np.array([[0.0, 0.0], [1.0, 1.0], [9.0, 9.0]]))
    np.testing.assert_allclose(found, [0.03, 0.02, 0.01 + 0.08 / 6])


# Looks at ever finer cells

DOMAIN = Box(-np.full(2, 10.0), np.full(2, 10.0))
SETTING = setting(3, 1000)
NEAR = np.array([[0.0, 0.0], [0.3, 0.0], [1.0, 1.0], [1.1, 1.0], [0.0, 1.0], [0.1, 1.1]])


def found(extra, mass):
    points = WeightedPoints(np.vstack([NEAR, extra]), np.r_[np.full(6, 100.0), mass], 3.0, 0.01)
    centers = points.best_centers(3, 10, 0)
    return without_far_noise(SETTING, DOMAIN, points, centers)


@every("masses, n_far, left", [([4.0, 6.0], 0, 600), ([40.0, 60.0], 1, 700)])
def test_far_cells_draw_a_center_and_hold_mass_where_they_stand_out(masses, n_far, left):
    centers, kept = found([[9.0, -9.0], [8.5, -9.0]], masses)
    assert (np.abs(centers).max(axis=1) > 2).sum() == (centers[:, 0] > 8).sum() == n_far
    assert kept.masses.sum() == left


@every("quantile, tail", [(sure_sds, laplace(scale=2.0**-0.5).sf), (_normal_sds, norm.sf)])
def test_so_many_empty_cells_pass_as_is_said(quantile, tail):
    for n_cells, wrong in ((10, 0.5), (4096, 0.1), (10**6, 3.0)):
        assert n_cells * tail(quantile(n_cells, wrong)) == pytest.approx(wrong)


# Rounds of Lloyd's algorithm on releases: how far centers stay from the mean of all rows


def release(asked, means, sd, rng):
    """Return a release about clusters of 50 rows each, with noise `sd` on every mean."""
    mass = np.full(len(asked), 50.0)
    sums = 50.0 * (means - asked + sd * rng.standard_normal(asked.shape))
    read = Readout(mass, sums, 1.0, np.full(len(asked), 50.0 * sd))
    query = SimpleNamespace(used_centers=asked, read=lambda released: read)
    return SimpleNamespace(query=query)


# Advice about noise
