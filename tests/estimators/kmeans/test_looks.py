"""Looks at ever finer cells: bounds that are too wide, and noise far from all rows."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import laplace, norm, t

from skdp_bary import PrivateKMeans
from skdp_bary.exceptions import PrivacyWarning
from skdp_bary.geometry import Box
from tests.cases import every
from tests.world import (
    KMeansSetting,
    WeightedPoints,
    _normal_sds,
    home,
    nearest,
    record,
    search,
    sure_sds,
    weighted_kmeans,
    without_far_noise,
)

looks = home("sure_sds")

DOMAIN = Box(-np.full(2, 10.0), np.full(2, 10.0))
SETTING = KMeansSetting(2, 3, "grid", 10, "auto", 1000, 1.0, 0.0, 0)
NEAR = np.array([[0.0, 0.0], [0.3, 0.0], [1.0, 1.0], [1.1, 1.0], [0.0, 1.0], [0.1, 1.1]])


def found(extra, mass):
    points = WeightedPoints(np.vstack([NEAR, extra]), np.r_[np.full(6, 100.0), mass], 3.0, 0.01)
    centers = points.best_centers(3, 10, 0)
    return without_far_noise(SETTING, DOMAIN, points, centers)


def test_far_cells_of_noise_draw_no_center_and_hold_no_mass():
    centers, left = found([[9.0, -9.0], [8.5, -9.0]], [4.0, 6.0])
    assert np.abs(centers).max() < 2
    assert left.masses.sum() == 600


def test_far_cells_stay_where_they_stand_out():
    centers, left = found([[9.0, -9.0], [8.5, -9.0]], [40.0, 60.0])
    assert (centers[:, 0] > 8).sum() == 1
    assert left.masses.sum() == 700


def test_near_cells_stay_however_little_they_hold():
    assert found([[0.5, 2.2]], [1.0])[1].masses.sum() == 601


@every("mass, kept", [(20.0, 600.0), (60.0, 660.0)])
def test_what_is_not_seen_beside_heavy_clusters_needs_not_be_far(mass, kept):
    points = np.vstack([NEAR, [[1.5, -0.2]]])
    points = WeightedPoints(points, np.r_[np.full(6, 100.0), mass], 15.0, 0.01)
    centers = np.array([[0.1, 0.5], [1.05, 1.0], [1.5, -0.2]])
    assert without_far_noise(SETTING, DOMAIN, points, centers)[1].masses.sum() == kept


def test_most_of_the_mass_is_kept_where_nothing_stands_out():
    points = WeightedPoints(10.0 * NEAR, np.full(6, 2.0), 3.0, 0.01)
    centers = points.best_centers(3, 10, 0)
    kept, left = without_far_noise(SETTING, DOMAIN, points, centers)
    assert left is points
    np.testing.assert_array_equal(kept, centers)


def test_bounds_ten_times_too_wide_lose_no_cluster():
    """Far noise would draw a center to it with one of these seeds."""
    rng = np.random.default_rng(3)
    middles = np.array([[0.4, 0.4], [-0.5, 0.3], [0.1, -0.6], [0.7, -0.3]])
    X = middles[rng.integers(4, size=4000)] + 0.05 * rng.normal(size=(4000, 2))
    for seed in (0, 7):
        kmeans = PrivateKMeans(4, bounds=(-10, 10), n_hint=4000, random_state=seed)
        with pytest.warns(PrivacyWarning, match="seeded"):
            kmeans.fit(X)
        away = np.linalg.norm(middles[:, None] - kmeans.cluster_centers_, axis=2).min(axis=1)
        assert away.max() < 0.2


@every("quantile, tail", [(sure_sds, laplace(scale=2.0**-0.5).sf), (_normal_sds, norm.sf)])
def test_so_many_empty_cells_pass_as_is_said(quantile, tail):
    for n_cells, wrong in ((10, 0.5), (4096, 0.1), (10**6, 3.0)):
        assert n_cells * tail(quantile(n_cells, wrong)) == pytest.approx(wrong)


@pytest.mark.filterwarnings("ignore::skdp_bary.exceptions.PrivacyWarning")
def test_the_law_of_the_noise_tells_what_is_empty(monkeypatch):
    asked = []
    monkeypatch.setattr(looks, "sure_sds", lambda *a: asked.append("laplace") or sure_sds(*a))
    monkeypatch.setattr(looks, "_normal_sds", lambda *a: asked.append("normal") or _normal_sds(*a))
    X = np.random.default_rng(0).random((300, 2))
    for delta in (0.0, 1e-6):
        PrivateKMeans(3, delta=delta, bounds=(0, 1), n_hint=300, random_state=0).fit(X)
        asked.append(delta)
    before, after = asked[: asked.index(0.0)], asked[asked.index(0.0) + 1 :]
    assert "normal" not in before and before.count("laplace") > after.count("laplace") > 0
    assert "normal" in after


def cut_in(kmeans, first, masses):
    """Return how many cells the second look asks for, after a first one with these masses."""
    units = first.records[0].query.units
    values = np.rint(masses * units).astype(np.int64)
    released = replace(first.records[0].released, values=(values,))
    script = (replace(first.records[0], released=released),)
    return len(record(kmeans, np.full((9, 2), 0.5), script=script).records[1].exact[0])


@every("delta", [0.0, 1e-6])
def test_a_cell_is_cut_where_it_stands_out_of_the_noise_of_its_look(delta):
    """As many standard deviations above nothing as leave half of an empty cell on average."""
    kmeans = PrivateKMeans(3, delta=delta, bounds=(0, 1), n_hint=4000, random_state=0)
    first = record(kmeans, np.full((9, 2), 0.5))
    (sd,), n_cells = first.records[0].released.noise_sd, len(first.records[0].released.values[0])
    masses = np.zeros(n_cells)
    for share, is_cut in ((0.97, False), (1.03, True)):
        masses[3] = share * sure_sds(n_cells, 0.5) * sd
        assert (cut_in(kmeans, first, masses) > n_cells) == is_cut


def test_tails_beside_the_grid_that_is_searched_get_their_centers():
    """Cells are added up for the search, tails into the last ones: rounds on all cells follow."""
    places = np.linspace(-1.0, 1.0, 12_000)[:, None]
    masses = 1e6 * t(4.0).pdf(places[:, 0] / 0.05)
    cells = WeightedPoints(places, masses, 1.0, 0.0)
    setting = KMeansSetting(1, 16, "grid", 10, "auto", 10**6, 1.0, 0.0, 0)
    found = search(setting, Box([-1.0], [1.0]), cells)
    best = weighted_kmeans(places, masses, 16, 10, np.random.default_rng(0))
    costs = [masses @ nearest(places, centers)[1] for centers in (found, best)]
    assert costs[0] < 1.03 * costs[1]
