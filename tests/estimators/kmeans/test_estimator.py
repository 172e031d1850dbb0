"""PrivateKMeans: the face of KMeans, passes and plans, few rows, and the curve over clusters."""

import pickle

import numpy as np
import pytest
from sklearn.cluster import KMeans

from skdp_bary import BudgetAccountant, PrivateKMeans
from skdp_bary.exceptions import PrivacyWarning
from skdp_bary.inspection import replay_sensitivity
from skdp_bary.model_selection import choose_n_clusters
from tests.cases import every

pytestmark = pytest.mark.filterwarnings("ignore::skdp_bary.exceptions.PrivacyWarning")


def blobs(n_rows=4000, n_features=2, n_clusters=3, sd=0.05, seed=0):
    rng = np.random.default_rng(seed)
    centers = 0.7 * np.sign(rng.standard_normal((n_clusters, n_features)))
    centers[:, 0] = np.linspace(-0.8, 0.8, n_clusters)
    rows = centers[rng.integers(n_clusters, size=n_rows)]
    return np.clip(rows + sd * rng.standard_normal(rows.shape), -1, 1), centers


def kmeans_for(X, n_clusters=3, **settings):
    known = {"bounds": (-1, 1), "n_hint": len(X), "random_state": 0}
    return PrivateKMeans(n_clusters, **known | settings)


def fit(X, n_clusters=3, **settings):
    return kmeans_for(X, n_clusters, **settings).fit(X)


def mean_cost(X, centers):
    return ((X[:, None] - centers) ** 2).sum(axis=2).min(axis=1).mean()


def costs(X, n_clusters, seeds, **settings):
    fits = (fit(X, n_clusters, random_state=seed, **settings) for seed in range(seeds))
    return [mean_cost(X, fitted.cluster_centers_) for fitted in fits]


def exact_cost(X, n_clusters, n_init=3):
    return -KMeans(n_clusters, n_init=n_init, random_state=0).fit(X).score(X) / len(X)


def check_replay(kmeans, X):
    """A person less, or one turned around, moves no answer by more than is stated."""
    removed = kmeans.neighbors == "add_remove"
    neighbor = X[:-1] if removed else np.vstack([X[:-1], -X[-1:]])
    report = replay_sensitivity(kmeans, X, neighbor)
    assert report.holds, report


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
    kmeans = fit(X, epsilon=20.0, delta=delta, neighbors=neighbors)
    assert -kmeans.score(X) / len(X) < 1.1 * exact_cost(X, 3)
    np.testing.assert_allclose(kmeans.cluster_weights_.sum(), len(X), rtol=0.05)
    assert kmeans.center_stderr_.shape == (3,)


def test_public_centers_are_moved_by_plain_rounds():
    X, centers = blobs()
    kmeans = fit(X, epsilon=20.0, init=centers + 0.1, max_iter=3)
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
    told = {"labels_": "labels_.*predict", "inertia_": r"inertia_.*-score\(X\)"}
    told["nothing"] = "no attribute 'nothing'$"
    for kmeans in (fit(blobs(300)[0]), PrivateKMeans()):
        for name, words in told.items():
            with pytest.raises(AttributeError, match=words):
                getattr(kmeans, name)
        assert not hasattr(kmeans, "labels_") and "labels_" not in dir(kmeans)
        assert vars(pickle.loads(pickle.dumps(kmeans))).keys() == vars(kmeans).keys()


# Plans


@every("neighbors", ["add_remove", "replace_one"])
def test_the_size_picks_among_plans_of_one_total(neighbors):
    rounds = set()
    for n_rows, k in ((60, 60), (2200, 30), (20000, 2)):
        X, _ = blobs(n_rows, 30)
        budget = BudgetAccountant(4.0, 1e-6, neighbors=neighbors)
        given = {"n_init": 1, "epsilon": 4.0, "delta": 1e-6, "n_hint": None}
        kmeans = kmeans_for(X, k, accountant=budget, **given)
        announced, used = kmeans.privacy_plan(30), kmeans.fit(X).privacy_
        assert announced.mu * (1 - 1e-9) < used.mu <= announced.mu
        assert (used.epsilon, used.delta) == (announced.epsilon, announced.delta)
        assert [e.epsilon for e in budget.entries] == [4.0]
        rounds.add(sum(step.name.startswith("low_") for step in used.steps))
        check_replay(kmeans.set_params(accountant=None, neighbors=neighbors), X)
    assert rounds == {1, 3, 8}


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
    ours = np.median(costs(X, 8, 5, n_init=1, **settings))
    middle = np.full((1, n_features), 0.5)
    assert ours < 1.02 * np.median(costs(X, 1, 5, init=middle, max_iter=1, **settings))


# Costs


SHAPES = {"blob": 0.03, "spread": 0.1, "spike": 0.0}


@pytest.mark.parametrize("shape", SHAPES)
@every("delta", [0.0, 1e-6])
@every("n_clusters", [3, 8])
@every("n, epsilon, share", [(1000, 1.0, 0.05), (1000, 2.0, 0.02), (3000, 0.3, 0.09)])
def test_a_small_far_group_keeps_its_mass_and_its_center(
    n, epsilon, share, n_clusters, shape, delta
):
    """These persons are 10 to 30 times the noise of one count."""
    rng, few = np.random.default_rng(0), round(share * n)
    near = rng.choice([-0.1, 0.1], (n - few, 1)) + 0.03 * rng.normal(size=(n - few, 2))
    X = np.vstack([near, 0.8 + SHAPES[shape] * rng.uniform(-1, 1, (few, 2))])
    for seed in range(3):
        kmeans = fit(X, n_clusters, epsilon=epsilon, delta=delta, random_state=seed)
        there = (np.abs(kmeans.coarse_.support - 0.8) < 0.25).all(axis=1)
        kept = kmeans.coarse_.weights[there].sum() / kmeans.coarse_.weights.sum()
        assert kept > 0.5 * share
        assert np.linalg.norm(kmeans.cluster_centers_ - 0.8, axis=1).min() < 0.2


# Noise


def test_noise_level_names_delta_and_warns():
    rows, _ = blobs(500, 20)
    kmeans = kmeans_for(rows, 8, random_state=None)
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


@every("n_features", [2, 5])
@every("off", [0.01, 1.0, 100.0])
def test_a_hint_that_the_release_contradicts_is_told(n_features, off):
    rng = np.random.default_rng(0)
    X = rng.choice([-0.5, 0.5], (20_000, 1)) + 0.05 * rng.standard_normal((20_000, n_features))
    with pytest.warns(PrivacyWarning) as told:
        fit(X, 2, n_hint=int(off * len(X)))
    found = [str(each.message) for each in told]
    assert any("n_hint says" in each for each in found) == (off != 1.0)


# The curve over the number of clusters


@every("n_features, delta", [(2, 0.0), (6, 1e-6)])
def test_the_curve_is_near_the_exact_one(n_features, delta):
    rng = np.random.default_rng(0)
    centers = rng.uniform(-0.8, 0.8, (4, n_features))
    X = np.clip(centers[rng.integers(4, size=20_000)], -1, 1)
    X = np.clip(X + 0.05 * rng.standard_normal(X.shape), -1, 1)
    curve = choose_n_clusters(fit(X, 8, epsilon=5.0, delta=delta), [2, 1, 4, 3, 6], random_state=0)
    assert curve.n_clusters.tolist() == [1, 2, 3, 4, 6]
    for k, cost in zip(curve.n_clusters[:3], curve.inertia, strict=False):
        assert cost == pytest.approx(exact_cost(X, int(k)), rel=0.15)
    assert (curve.inertia_stderr > 0).all() and curve.elbow == 4


@every("number", [2, 4, 6, 8])
def test_the_elbow_is_the_number_of_clusters(number):
    """Of the corners of a cube, it was one too small for four and more."""
    rng, corners = np.random.default_rng(number), np.indices((2, 2, 2)).reshape(3, -1).T - 0.5
    X = corners[rng.integers(number, size=6000)] + 0.05 * rng.standard_normal((6000, 3))
    curve = choose_n_clusters(fit(X, 11), range(1, 12), random_state=0)
    assert curve.elbow == number


def test_numbers_of_clusters_of_a_curve_are_checked():
    kmeans = fit(np.random.default_rng(0).random((100, 2)), 2)
    for wrong, told in (([], "n_clusters must"), ([0], "n_clusters")):
        with pytest.raises(ValueError, match=told):
            choose_n_clusters(kmeans, wrong)
