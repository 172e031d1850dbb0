"""The curve over the number of clusters is post-processing, and near the truth."""

import numpy as np
import pytest
from sklearn.cluster import KMeans

from skdp_bary import PrivateKMeans
from skdp_bary.model_selection import choose_n_clusters
from tests.cases import every

pytestmark = pytest.mark.filterwarnings("ignore::skdp_bary.exceptions.PrivacyWarning")


@every("n_features, delta", [(2, 0.0), (6, 1e-6)])
def test_curve_is_near_the_exact_one(n_features, delta):
    rng = np.random.default_rng(0)
    centers = rng.uniform(-0.8, 0.8, (4, n_features))
    X = np.clip(centers[rng.integers(4, size=20_000)], -1, 1)
    X = np.clip(X + 0.05 * rng.standard_normal(X.shape), -1, 1)
    kmeans = PrivateKMeans(
        8, epsilon=5.0, delta=delta, bounds=(-1, 1), n_hint=len(X), random_state=0
    ).fit(X)
    curve = choose_n_clusters(kmeans, [2, 1, 4, 3, 6], random_state=0)
    assert curve.n_clusters.tolist() == [1, 2, 3, 4, 6]
    for k, cost in zip(curve.n_clusters[:3], curve.inertia, strict=False):
        exact = -KMeans(int(k), n_init=3, random_state=0).fit(X).score(X) / len(X)
        assert cost == pytest.approx(exact, rel=0.15)
    assert (curve.inertia_stderr > 0).all()
    assert curve.elbow in (3, 4)


def test_numbers_are_checked():
    kmeans = PrivateKMeans(2, bounds=(0, 1), n_hint=100)
    kmeans.fit(np.random.default_rng(0).random((100, 2)))
    with pytest.raises(ValueError, match="at least one"):
        choose_n_clusters(kmeans, [])
    with pytest.raises(ValueError, match="n_clusters"):
        choose_n_clusters(kmeans, [0])
