"""The quantile sketch: unbiased distances, errors that are right, settings that are refused."""

import numpy as np
import pytest

from skdp_bary import BudgetAccountant, DPSlicedWasserstein
from skdp_bary.geometry import Ball
from tests.cases import every
from tests.world import block_matrix, gaussian_mu

pytestmark = pytest.mark.filterwarnings("ignore::skdp_bary.exceptions.PrivacyWarning")

RUNS = 120
BALL = Ball([0.0, 0.0], 1.0)


def fits(X, runs=RUNS, **parameters):
    """Fits that differ in their noise alone."""
    settings = {"bounds": BALL, "n_projections": 8, "n_quantiles": 8, "n_min": 300} | parameters
    return [DPSlicedWasserstein(**settings, random_state=seed).fit(X) for seed in range(runs)]


def blocked_cost(first, second, directions, m=8):
    """The cost between block means of two samples."""
    ours, theirs = (
        block_matrix(len(s), m) @ np.sort(s @ directions, axis=0) for s in (first, second)
    )
    return float(np.mean((ours - theirs) ** 2))


@pytest.fixture(scope="module")
def samples():
    rng = np.random.default_rng(0)
    X = BALL.clip(0.2 * rng.normal(size=(300, 2)))
    Y = BALL.clip(0.2 * rng.normal(size=(400, 2)) + [0.3, 0.0])
    return X, Y


@pytest.fixture(scope="module")
def fitted(samples):
    return fits(samples[0])


def test_distances_between_two_releases_are_unbiased(samples, fitted):
    X, Y = samples
    others = fits(Y)
    true = blocked_cost(X, Y, fitted[0].directions_)
    pairs = zip(fitted, others[::-1], strict=True)
    results = [a.releases_[0].cost_between(b.releases_[0], 2) for a, b in pairs]
    costs, stds = np.array(results).T
    assert abs(costs.mean() - true) < 4 * costs.std() / RUNS**0.5
    assert 0.90 <= np.mean(np.abs(costs - true) <= 1.96 * stds) <= 0.985


def test_the_noise_is_the_analytic_gaussian_of_the_sensitivity(samples):
    sliced = fits(samples[0], runs=1)[0]
    norm = np.linalg.svd(sliced.directions_, compute_uv=False)[0]
    expected = 8 * 2 * norm / 300 / gaussian_mu(1.0, 1e-6)
    assert expected <= sliced.noise_std_[0] <= 1.002 * expected


@every("d, one, other", [(4, {"n_projections": 1}, {"n_projections": 4}), (3, {}, {})])
def test_directions_pay_for_their_norm_and_not_for_an_average(d, one, other):
    """The root of k / d holds on average over the draw and is not what a row is owed."""
    settings = {"bounds": Ball([0.0] * d, 1.0), "n_min": 50, "n_quantiles": 4, "random_state": 0}
    few, more = one or {"n_projections": 6}, other or {"n_projections": 6, "directions": "iid"}
    fitted = [DPSlicedWasserstein(**settings | g).fit(np.zeros((50, d))) for g in (few, more)]
    norms = [np.linalg.svd(s.directions_, compute_uv=False)[0] for s in fitted]
    ratio = fitted[1].noise_std_[0] / fitted[0].noise_std_[0]
    assert ratio == pytest.approx(norms[1] / norms[0], rel=1e-3)
    assert ratio > 1.05 if d == 3 else ratio == pytest.approx(1.0, rel=1e-3)


def test_a_bought_size_is_below_the_number_of_persons(samples):
    X = np.vstack([samples[0]] * 10)
    bought = [s.releases_[0].persons for s in fits(X, runs=100, n_min=None)]
    assert np.mean(np.array(bought) <= len(X)) >= 0.95 and np.mean(bought) > 0.9 * len(X)
    steps = DPSlicedWasserstein(bounds=(0, 1)).privacy_plan(2).steps
    assert [step.name for step in steps] == ["sizes", "sketch"]
    public = DPSlicedWasserstein(bounds=(0, 1), neighbors="replace_one").privacy_plan(2)
    assert [step.name for step in public.steps] == ["sketch"]


def test_weights_need_a_lower_bound_of_their_mass(samples):
    X, _ = samples
    accountant = BudgetAccountant(5.0, 1e-3, neighbors="replace_one")
    sliced = DPSlicedWasserstein(neighbors="replace_one", accountant=accountant)
    with pytest.raises(ValueError, match="n_min must be given with sample_weight"):
        sliced.fit(X, sample_weight=np.full(len(X), 0.5))
    assert accountant.total() == (0.0, 0.0)
    sliced.set_params(bounds=BALL, n_min=100).fit(X, sample_weight=np.full(len(X), 0.5))
    assert sliced.releases_[0].persons == 100


def test_every_class_has_a_lower_bound():
    X, y = np.zeros((6, 1)), list("aabbbb")
    assert DPSlicedWasserstein(bounds=(0, 1), n_min=2).fit(X, y).quantiles_.shape[0] == 1
    with pytest.raises(ValueError, match="classes must be distinct"):
        DPSlicedWasserstein(bounds=(0, 1), classes=["a", "a"]).fit(X, y)
    per_class = DPSlicedWasserstein(bounds=(0, 1), classes=["a", "b"], n_min=[2, 4]).fit(X, y)
    assert [release.persons for release in per_class.releases_] == [2.0, 4.0]
    with pytest.raises(ValueError, match="n_min must be one number or 2"):
        DPSlicedWasserstein(classes=["a", "b"], n_min=[2, 4, 4]).privacy_plan(1)
    with pytest.raises(ValueError, match="n_min must be one number or 1"):
        DPSlicedWasserstein(n_min=[2, 4]).privacy_plan(1)


def test_more_quantiles_where_there_are_more_persons():
    X = np.zeros((10, 2))
    counts = [
        DPSlicedWasserstein(bounds=(0, 1), delta=1e-9, n_min=n).fit(X).quantiles_.shape[2]
        for n in (10, 10**5, 10**9)
    ]
    assert counts[0] == 8 < counts[1] < counts[2] == 128
    hinted = DPSlicedWasserstein(bounds=(0, 1), delta=1e-9, n_min=10, n_hint=10**9).fit(X)
    assert hinted.quantiles_.shape[2] == 128


@every("shift", [0.0, 0.02, 0.05, 0.3])
def test_errors_of_distances_cover_them_near_zero_too(samples, fitted, shift):
    """The root of a cost has a tangent that says nothing where the cost is about its noise."""
    X = samples[0]
    Y = X + [shift, 0.0]
    true = blocked_cost(X, BALL.clip(Y), fitted[0].directions_) ** 0.5
    distances, errors = np.array([s.distance(Y, return_std=True) for s in fitted]).T
    assert np.mean(np.abs(distances - true) <= 1.96 * errors) >= 0.91
