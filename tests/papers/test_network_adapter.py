"""Adaptation: what it gains, what it asks, and that no gradient passes through a private row."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from skdp_bary import BudgetAccountant  # noqa: E402
from skdp_bary.exceptions import BudgetError, RelationError  # noqa: E402
from skdp_bary.papers import SlicedNetworkAdapter  # noqa: E402
from tests.world import record_fit, replay_after  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::skdp_bary.exceptions.PrivacyWarning")

SMALL = {
    "latent_sizes": (12, 6),
    "n_source_epochs": 2,
    "n_epochs": 2,
    "steps_per_epoch": 3,
    "batch_size": 40,
    "epsilon": 10.0,
    "delta": 1e-5,
    "random_state": 0,
}
WAYS = [{"method": "sketch", "n_min": 300}, {"method": "batches", "neighbors": "replace_one"}]


@pytest.fixture(scope="module")
def domains():
    """Three clusters, and the same ones turned and moved, as private rows."""
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=400)
    X = 0.7 * rng.normal(size=(400, 5)) + 3.0 * np.eye(5)[y]
    return X, y, X @ (np.eye(5) + 0.3 * rng.normal(size=(5, 5))) + 0.5


def adapter(**parameters):
    return SlicedNetworkAdapter(**(SMALL | parameters))


def test_a_moved_domain_is_followed():
    rng = np.random.default_rng(1)
    y = rng.integers(2, size=3000)
    X = 0.5 * rng.normal(size=(3000, 4)) + np.outer(2 * y - 1, [1.0, 0, 0, 0])
    target = X + [1.2, 0.0, 0.0, 0.0]
    fitted = adapter(n_source_epochs=10, n_epochs=20, n_min=2500, batch_size=128).fit(X, y, target)
    before = (fitted.predict_source(target) == y).mean()
    assert fitted.score(target, y) > before + 0.1


@pytest.mark.parametrize("way", WAYS)
def test_one_charge_before_any_release_and_equal_seeds_make_equal_networks(domains, way):
    relation = way.get("neighbors", "add_remove")
    budget = BudgetAccountant(20.0, 2e-5, neighbors=relation)
    first, second = (adapter(accountant=budget, **way).fit(*domains) for _ in range(2))
    charged = [(entry.epsilon, entry.delta, entry.unit) for entry in budget.entries]
    assert charged == [(10.0, 1e-5, "rows")] * 2
    n_persons = 400 if way["method"] == "batches" else None
    assert first.privacy_ == first.privacy_plan(5, n_persons)
    with pytest.raises(BudgetError):
        first.fit(*domains)
    assert len(budget.entries) == 2
    ours, theirs = (a.network_.state_dict() for a in (first, second))
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)
    assert second.predict_proba(domains[2]).shape == (400, 3)


def test_no_gradient_passes_through_private_rows(domains):
    """A column that is zero in all public rows has weights that only private rows could move."""
    X, y, target = (np.array(part, dtype=float) for part in domains)
    X[:, 4] = 0.0
    target[:, 4] = 10.0
    fitted = adapter(**WAYS[1], weight=100.0).fit(X, y.astype(int), target)
    weights = [network[0][0].weight for network in (fitted.source_network_, fitted.network_)]
    assert torch.equal(weights[0][:, 4], weights[1][:, 4])
    assert not torch.equal(weights[0][:, 0], weights[1][:, 0])


def test_every_batch_is_asked_once_and_interrupts_keep_the_network(domains):
    def interrupt(event):
        raise KeyboardInterrupt

    budget = BudgetAccountant(10.0, 1e-5, neighbors="replace_one")
    with pytest.warns(RuntimeWarning, match="interrupted after 1 of 2"):
        fitted = adapter(**WAYS[1], accountant=budget, callback=interrupt).fit(*domains)
    assert len(fitted.losses_) == 1 and len(budget.entries) == 1
    assert fitted.privacy_.n_batches == 6
    assert fitted.predict(domains[2]).shape == (400,)


def test_interrupts_before_any_release_end_the_fit(domains, monkeypatch):
    def interrupt(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(torch.optim.Adam, "step", interrupt)
    budget = BudgetAccountant(10.0, 1e-5)
    with pytest.raises(KeyboardInterrupt):
        adapter(**WAYS[0], accountant=budget).fit(*domains)
    assert not budget.entries


def test_noise_is_that_of_the_plan_and_chunks_are_read(domains):
    fitted = adapter(**WAYS[1], n_quantiles=4).fit(*domains)
    # 2 R sqrt(H) m / B over mu, and the rounding of levels; one frame has H = 1
    least = 2.0 * fitted.radius_ * 4 / 40 / fitted.privacy_.mu
    assert least < fitted.noise_std_ < 1.05 * least
    assert fitted.sketch_ is None
    X, y, target = domains
    whole, parts = (
        adapter(**WAYS[0]).fit(X, y, rows)
        for rows in (target, lambda: iter([target[:130], target[130:]]))
    )
    np.testing.assert_array_equal(whole.sketch_.quantiles_, parts.sketch_.quantiles_)


def test_images_get_the_convolutions_of_the_paper():
    rng = np.random.default_rng(0)
    X, y = rng.random((60, 784)), np.arange(60) % 2
    settings = {"image_shape": (28, 28), "n_source_epochs": 1, "n_epochs": 1, "n_min": 50}
    fitted = adapter(**settings, n_projections=10).fit(X, y, X)
    assert fitted.sketch_.n_features_in_ == 320


@pytest.mark.parametrize(
    "parameters, error, message",
    [
        ({"method": "rows"}, ValueError, "method"),
        ({"delta": 0.0}, ValueError, r"delta must be a finite number in \(0\.0, 1\.0\)"),
        ({"method": "batches"}, RelationError, "neighbors must be 'replace_one'"),
        ({"weight": -1.0}, ValueError, "weight"),
        ({**WAYS[1], "batch_size": 500}, ValueError, "batch_size"),
    ],
)
def test_bad_parameters_are_refused_before_the_charge(domains, parameters, error, message):
    budget = BudgetAccountant(10.0, 1e-4, neighbors=parameters.get("neighbors", "add_remove"))
    with pytest.raises(error, match=message):
        adapter(accountant=budget, **parameters).fit(*domains)
    assert not budget.entries


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_bad_rows_are_refused_before_the_charge(domains, way, value):
    relation = way.get("neighbors", "add_remove")
    budget = BudgetAccountant(10.0, 1e-4, neighbors=relation)
    target = domains[2].copy()
    target[7, 1] = value
    with pytest.raises(ValueError, match="Input X contains"):
        adapter(accountant=budget, **way).fit(*domains[:2], target)
    assert not budget.entries


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("row", [1e3 * np.ones(5), -1e3 * np.ones(5), np.array([1e30] * 5)])
def test_no_private_row_moves_a_release_further_than_stated(domains, way, row):
    """Replayed with the same releases, on batches of all rows: both fits have the same ones."""
    X, y, target = domains[0], domains[1], domains[2][:40].copy()
    target[0] = 0.0
    estimator = adapter(**(way | {"batch_size": 40, "neighbors": "replace_one", "n_min": None}))
    before = record_fit(estimator, {"X_source": X, "y_source": y, "X_target": target})
    neighbor = target.copy()
    neighbor[0] = row
    report = replay_after(
        before, estimator, {"X_source": X, "y_source": y, "X_target": neighbor[::-1]}
    )
    assert before.error is None
    ratios = [step.ratio for step in report.steps]
    assert len(ratios) == (6 if way["method"] == "batches" else 1)
    assert 0.0 < max(ratios) <= 1.0
