"""PrivateKMeans: the face of KMeans, passes and plans."""

import pickle
from itertools import product

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from skdp_bary import BudgetAccountant, PrivateKMeans
from skdp_bary.exceptions import PrivacyWarning
from skdp_bary.geometry import Ball
from skdp_bary.inspection import replay_sensitivity
from tests.cases import every
from tests.world import allocate_bits, cluster_plan, home, record_fit, weighted_kmeans

_kmeans_methods = home("KMeansSetting")

pytestmark = pytest.mark.filterwarnings("ignore::skdp_bary.exceptions.PrivacyWarning")


def blobs(n_rows=4000, n_features=2, n_clusters=3, sd=0.05, seed=0):
    rng = np.random.default_rng(seed)
    centers = 0.7 * np.sign(rng.standard_normal((n_clusters, n_features)))
    centers[:, 0] = np.linspace(-0.8, 0.8, n_clusters)
    rows = centers[rng.integers(n_clusters, size=n_rows)]
    return np.clip(rows + sd * rng.standard_normal(rows.shape), -1, 1), centers


def mean_cost(X, centers):
    return ((X[:, None] - centers) ** 2).sum(axis=2).min(axis=1).mean()


@every(
    "n_features, delta, neighbors",
    [
        *((1, 0.0, "add_remove"), (2, 1e-6, "add_remove"), (2, 0.0, "replace_one")),
        *((3, 1e-6, "replace_one"), (6, 0.0, "add_remove"), (40, 1e-6, "replace_one")),
        *((1, 1e-6, "replace_one"), (6, 1e-6, "add_remove"), (40, 0.0, "add_remove")),
    ],
)
def test_separated_clusters_are_found(n_features, delta, neighbors):
    X, _ = blobs(n_features=n_features)
    settings = {"bounds": (-1, 1), "n_hint": len(X), "neighbors": neighbors, "random_state": 0}
    kmeans = PrivateKMeans(3, epsilon=20.0, delta=delta, **settings).fit(X)
    best = -KMeans(3, n_init=3, random_state=0).fit(X).score(X) / len(X)
    assert -kmeans.score(X) / len(X) < 1.1 * best
    np.testing.assert_allclose(kmeans.cluster_weights_.sum(), len(X), rtol=0.05)
    assert kmeans.center_stderr_.shape == (3,)


def test_centers_of_nobody_are_off_by_half_the_domain_at_most():
    """With next to no noise an empty cluster has no mass to divide the noise by."""
    X = np.random.default_rng(0).uniform(size=(3, 4))
    settings = {"bounds": (0, 3), "n_hint": 30, "max_iter": 1, "random_state": 0}
    kmeans = PrivateKMeans(7, epsilon=1e9, **settings).fit(X)
    assert (kmeans.cluster_weights_ == 0).any()
    np.testing.assert_array_equal(kmeans.center_stderr_[kmeans.cluster_weights_ == 0], 1.5)
    assert kmeans.center_stderr_.min() < 1e-6


@every("n_features", [2, 5])
def test_without_bounds_and_hint(n_features):
    X, _ = blobs(n_features=n_features)
    kmeans = PrivateKMeans(3, epsilon=20.0, delta=1e-6, random_state=0).fit(1000.0 + 30.0 * X)
    assert mean_cost(1000.0 + 30.0 * X, kmeans.cluster_centers_) < 30.0**2 * 0.05 * n_features
    assert isinstance(kmeans.domain_, Ball) == (n_features > 3)


def test_public_centers_are_moved_by_plain_rounds():
    X, centers = blobs()
    settings = {"epsilon": 20.0, "bounds": (-1, 1), "n_hint": len(X), "random_state": 0}
    kmeans = PrivateKMeans(3, init=centers + 0.1, max_iter=3, **settings).fit(X)
    assert kmeans.n_iter_ == 3
    assert [step.name for step in kmeans.privacy_.steps] == ["round_1", "round_2", "round_3"]
    np.testing.assert_allclose(kmeans.cluster_centers_, centers, atol=0.05)


@every(
    "settings, message",
    [
        ({"init": "k-means++"}, 'picks rows.*init="grid" runs k-means'),
        ({"init": np.full((7, 3), 0.123)}, r"got a value of type ndarray\.$"),
        ({"n_init": "auto"}, "leave it out"),
    ],
)
def test_what_only_kmeans_takes_is_told(settings, message):
    with pytest.raises((TypeError, ValueError), match=message):
        PrivateKMeans(**({"n_clusters": 3} | settings)).privacy_plan(2)


def test_what_kmeans_has_and_a_release_must_not_have_says_why():
    X, _ = blobs(300)
    for kmeans in (PrivateKMeans(3, bounds=(-1, 1), n_hint=300).fit(X), PrivateKMeans()):
        with pytest.raises(AttributeError, match="labels_.*predict"):
            kmeans.labels_  # noqa: B018
        with pytest.raises(AttributeError, match=r"inertia_.*-score\(X\)"):
            kmeans.inertia_  # noqa: B018
        with pytest.raises(AttributeError, match="no attribute 'nothing'$"):
            kmeans.nothing  # noqa: B018
        assert not hasattr(kmeans, "labels_") and "labels_" not in dir(kmeans)
        assert vars(pickle.loads(pickle.dumps(kmeans))).keys() == vars(kmeans).keys()


def make_kmeans(cls, n_clusters):
    if cls is KMeans:
        return KMeans(n_clusters, random_state=0)
    return cls(n_clusters, epsilon=5.0, delta=1e-6, bounds=(-1, 1), random_state=0)


@every("cls", [KMeans, PrivateKMeans])
def test_code_written_for_kmeans_runs_unchanged(cls):
    X, centers = blobs(n_clusters=4)
    y = ((X[:, None] - centers) ** 2).sum(axis=2).argmin(axis=1) % 2
    features = make_pipeline(make_kmeans(cls, 8), LogisticRegression(C=100.0)).fit(X, y)
    assert features.score(X, y) > 0.9
    assert len(features[:-1].get_feature_names_out()) == 8
    kmeans = make_kmeans(cls, 4)
    labels = kmeans.fit_predict(X)
    assert labels.shape == (len(X),) and labels.dtype == np.int32
    assert kmeans.fit_transform(X).shape == (len(X), 4)
    np.testing.assert_array_equal(kmeans.transform(X).argmin(axis=1), kmeans.predict(X))
    assert kmeans.score(X) < 0
    assert kmeans.score(X, sample_weight=np.full(len(X), 0.5)) == pytest.approx(kmeans.score(X) / 2)
    assert isinstance(kmeans.n_iter_, int)


def plan_of(n_features, *arguments, **settings):
    return cluster_plan(PrivateKMeans(*arguments, **settings)._method_setting(n_features))


@every("delta, enough", [(0.0, 400), (1e-6, 300)])
def test_distances_are_asked_for_where_they_stand_out_of_the_noise(delta, enough):
    def plan(n):
        return plan_of(10, 4, delta=delta, n_hint=n)

    assert "reach" not in plan(enough // 4).shares
    shares = [plan(n).shares["reach"] for n in (enough, 100 * enough)]
    assert shares[0] > 2.0 * shares[1] > 0.0


@every("delta", [0.0, 1e-6])
def test_wide_bounds_cost_little_in_ten_features(delta):
    X, _ = blobs(1500, 10)
    kmeans = PrivateKMeans(3, delta=delta, n_hint=1500)
    costs = {1.0: [], 10.0: []}
    for (width, found), seed in product(costs.items(), range(4)):
        kmeans.set_params(bounds=(-width, width), random_state=seed)
        found.append(mean_cost(X, kmeans.fit(X).cluster_centers_))
    assert np.mean(costs[10.0]) < 2.0 * np.mean(costs[1.0])


@every("delta", [0.0, 1e-6])
@every("n_features", [9, 60])
def test_plans_get_finer_with_the_signal_while_rows_are_few(n_features, delta):
    def plan(epsilon, n=10_000):
        return plan_of(n_features, 5, n_hint=n, epsilon=epsilon, delta=delta)

    plans = [plan(epsilon) for epsilon in (0.1, 1.0, 10.0, 100.0)]
    sizes = np.array([(p.bits, p.low_rounds, p.kept, p.groups) for p in plans])
    assert (np.diff(sizes, axis=0) >= 0).all() and (sizes[-1] > sizes[0]).all()
    many = plan(100.0, 10**6)
    assert (many.bits, many.kept, many.groups) <= (12, 8, 2) and many.low_rounds <= 5


def test_much_signal_leaves_no_plateau():
    rng = np.random.default_rng(0)
    X = np.clip(0.15 * rng.standard_normal((1500, 12)) * 2.0 * 0.7 ** np.arange(12), -1, 1)
    best = -KMeans(8, n_init=10, random_state=0).fit(X).score(X) / len(X)
    settings = {"epsilon": 200.0, "bounds": (-1, 1), "n_hint": len(X)}
    for delta in (0.0, 1e-5):
        fits = (PrivateKMeans(8, delta=delta, random_state=i, **settings).fit(X) for i in range(20))
        costs = [mean_cost(X, fitted.cluster_centers_) for fitted in fits]
        assert np.mean(costs) < 1.02 * best


def test_a_pure_plan_pays_for_the_mean_what_it_needs():
    def share(epsilon):
        return plan_of(784, 8, n_hint=70_000, epsilon=epsilon).recipe[0]

    assert share(10.0) == 0.2
    assert 0.2 < share(0.7) < share(0.5) < 0.9
    assert share(0.01) == 0.96


@every("hint", [True, False])
@every(
    "n_rows, n_features, epsilon, delta",
    [(4000, 100, 0.05, 0.0), (400, 30, 1.0, 0.0), (400, 30, 0.1, 1e-4), (400, 30, 1.0, 1e-4)],
)
def test_a_hopeless_fit_loses_nothing_to_one_mean(n_rows, n_features, epsilon, delta, hint):
    rng = np.random.default_rng(0)
    X = np.clip(0.2 + 0.1 * rng.standard_normal((n_rows, n_features)), 0, 1)
    settings = {"epsilon": epsilon, "delta": delta, "bounds": (0, 1)}
    settings["n_hint"] = n_rows if hint else None
    middle = np.full((1, n_features), 0.5)

    def median_cost(*arguments, **more):
        fits = (
            PrivateKMeans(*arguments, random_state=seed, **settings, **more).fit(X)
            for seed in range(5)
        )
        return np.median([mean_cost(X, fitted.cluster_centers_) for fitted in fits])

    assert median_cost(8, n_init=1) < 1.02 * median_cost(1, init=middle, max_iter=1)


def test_residuals_are_clipped_near_what_the_clusters_leave():
    X, _ = blobs(20_000, 60, 4)
    kmeans = PrivateKMeans(
        4, epsilon=5.0, delta=1e-6, bounds=(-1, 1), n_hint=len(X), random_state=0
    )
    recording = record_fit(kmeans, {"X": X})
    by_name = {r.released.name: r.query for r in recording.records}
    reach = by_name["residual"].used_radii.max()
    rms = np.sqrt(((X - X.mean(axis=0)) ** 2).sum(axis=1).mean())
    left = np.sqrt(mean_cost(X, recording.fitted.cluster_centers_))
    assert 2.0 * left < reach < rms


@every("neighbors", ["add_remove", "replace_one"])
def test_the_size_picks_among_plans_of_one_total(neighbors):
    rounds = set()
    for n_rows, k in ((60, 60), (2200, 30), (20000, 2)):
        X, _ = blobs(n_rows, 30)
        budget = BudgetAccountant(4.0, 1e-6, neighbors=neighbors)
        kmeans = PrivateKMeans(
            k, n_init=1, epsilon=4.0, delta=1e-6, bounds=(-1, 1), accountant=budget, random_state=0
        )
        announced = kmeans.privacy_plan(30)
        used = kmeans.fit(X).privacy_
        assert announced.mu * (1 - 1e-9) < used.mu <= announced.mu
        assert (used.epsilon, used.delta) == (announced.epsilon, announced.delta)
        assert [e.epsilon for e in budget.entries] == [4.0]
        rounds.add(sum(step.name.startswith("low_") for step in used.steps))
        kmeans.set_params(accountant=None, neighbors=neighbors)
        neighbor = X[:-1] if neighbors == "add_remove" else np.vstack([X[:-1], -X[-1:]])
        report = replay_sensitivity(kmeans, X, neighbor)
        assert report.holds, report
    assert rounds == {1, 3, 8}


@every("neighbors", ["add_remove", "replace_one"])
def test_the_size_divides_a_pure_budget_anew(neighbors):
    X, _ = blobs(500, 20)
    kmeans = PrivateKMeans(3, n_init=1, bounds=(-1, 1), neighbors=neighbors, random_state=0)
    announced, used = kmeans.privacy_plan(20), kmeans.fit(X).privacy_
    assert announced.pure_epsilon * (1 - 1e-9) < used.pure_epsilon <= announced.pure_epsilon
    by_name = [{s.name: s.mechanism.epsilon for s in plan.steps} for plan in (announced, used)]
    assert by_name[1]["moments"] > 3.0 * by_name[0]["moments"]
    neighbor = X[:-1] if neighbors == "add_remove" else np.vstack([X[:-1], -X[-1:]])
    report = replay_sensitivity(kmeans, X, neighbor)
    assert report.holds, report


def test_bits_go_where_the_variance_is():
    assert allocate_bits(np.array([16.0, 1.0]), 4) == (3, 1)
    assert allocate_bits(np.ones(12), 10) == (1,) * 10
    assert allocate_bits(np.array([1.0]), 12) == (5,)


def test_noise_level_names_delta_and_warns():
    rows, _ = blobs(500, 20)
    kmeans = PrivateKMeans(8, bounds=(-1, 1), n_hint=500)
    level = kmeans.noise_level(20)
    assert level.current == level.laplace > level.gaussian > 0
    assert "mostly noise" in str(level)
    with pytest.warns(PrivacyWarning, match="mostly noise"):
        kmeans.fit(rows)
    big = kmeans.noise_level(20, n_rows=10**8)
    assert big.current < 0.1 and "signal" in str(big)
    assert "delta=" in str(kmeans.noise_level(20, n_rows=30_000))
    advice = BudgetAccountant(1.0).quote(kmeans, n_features=20).advice
    assert advice == str(level) and "Laplace" in advice and "Gaussian" in advice
    with pytest.raises(ValueError, match="n_rows"):
        PrivateKMeans().noise_level(3)


def test_what_chance_decides_is_drawn_once(monkeypatch):
    """With random_state=None a second search would find other centers."""
    X, _ = blobs(n_features=5, n_clusters=6)
    found = []

    def search(points, masses, n_clusters, n_init, rng):
        centers = weighted_kmeans(points, masses, n_clusters, n_init, rng)
        if n_init > 1:  # one start groups cells, where there are many
            found.append(centers)
        return centers

    monkeypatch.setattr(_kmeans_methods, "weighted_kmeans", search)
    kmeans = PrivateKMeans(6, epsilon=2.0, delta=1e-6, bounds=(-1, 1), n_hint=len(X), max_iter=3)
    records = record_fit(kmeans, {"X": X}).records
    assert len(found) == 1
    first = next(r.query for r in records if r.released.name == "low_1")
    np.testing.assert_allclose(first.centers, found[0], atol=1e-12)


@every("n_features", [2, 5])
@every("off", [0.01, 1.0, 100.0])
def test_a_hint_that_the_release_contradicts_is_told(n_features, off):
    rng = np.random.default_rng(0)
    X = rng.choice([-0.5, 0.5], (20_000, 1)) + 0.05 * rng.standard_normal((20_000, n_features))
    model = PrivateKMeans(2, bounds=(-1, 1), n_hint=int(off * len(X)), random_state=0)
    with pytest.warns(PrivacyWarning) as told:
        model.fit(X)
    found = [str(each.message) for each in told]
    assert any("n_hint says" in each for each in found) == (off != 1.0)


@every("delta", [0.0, 1e-9])
@every("n_features, n_hint", [(4, 100), (10, 1000), (50, 100_000)])
def test_persons_with_ids_are_clustered_at_a_small_epsilon(n_features, n_hint, delta):
    """Their masses have many digits, and the noise of sums of them was too wide to be drawn."""
    X = np.random.default_rng(0).random((200, n_features))
    model = PrivateKMeans(8, epsilon=0.01, delta=delta, bounds=(0, 1), n_hint=n_hint)
    model.fit(X, groups=np.arange(200) // 2)
    assert np.isfinite(model.cluster_centers_).all()
