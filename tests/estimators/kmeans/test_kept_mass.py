"""Persons whose number stands out of its noise do not vanish from the points a fit stands on."""

import numpy as np
import pytest

from skdp_bary import PrivateKMeans
from tests.cases import every

pytestmark = pytest.mark.filterwarnings("ignore::skdp_bary.exceptions.PrivacyWarning")
SHAPES = {"blob": 0.03, "spread": 0.1, "spike": 0.0}


def with_few_far(n, share, shape):
    """Rows of two clusters, and a share of all far away."""
    rng = np.random.default_rng(0)
    few = round(share * n)
    near = rng.choice([-0.1, 0.1], (n - few, 1)) + 0.03 * rng.normal(size=(n - few, 2))
    return np.vstack([near, 0.8 + SHAPES[shape] * rng.uniform(-1, 1, (few, 2))])


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("shape", SHAPES)
@every("n_clusters", [3, 8])
@every("n, epsilon, share", [(1000, 1.0, 0.05), (1000, 2.0, 0.02), (3000, 0.3, 0.09)])
def test_a_small_far_group_keeps_its_mass_and_its_center(
    n, epsilon, share, n_clusters, shape, delta
):
    """These persons are 10 to 30 times the noise of one count."""
    X = with_few_far(n, share, shape)
    for seed in range(3):
        settings = {"epsilon": epsilon, "delta": delta, "n_hint": n, "random_state": seed}
        kmeans = PrivateKMeans(n_clusters, bounds=(-1, 1), **settings).fit(X)
        there = (np.abs(kmeans.coarse_.support - 0.8) < 0.25).all(axis=1)
        kept = kmeans.coarse_.weights[there].sum() / kmeans.coarse_.weights.sum()
        assert kept > 0.5 * share
        assert np.linalg.norm(kmeans.cluster_centers_ - 0.8, axis=1).min() < 0.2
