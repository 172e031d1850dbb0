"""The peer that evolves candidates: start, steps, and centers of separated clusters."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist

from benchmarks.kmeans.evolution import in_ball, packed, pe_means, steps


def test_the_start_is_in_the_ball_and_apart():
    rng = np.random.default_rng(0)
    points = packed(40, 2, 3.0, rng)
    assert np.linalg.norm(points, axis=1).max() <= 3.0
    # The distance halves from 3 until all find a place.
    assert pdist(points).min() >= 3.0 / 8 > pdist(in_ball(40, 2, 3.0, rng)).min()


def test_steps_are_symmetric_with_heavy_tails():
    drawn = steps((200_000,), np.random.default_rng(0))
    assert abs(np.median(drawn)) < 0.02
    beyond = [(np.abs(drawn) > limit).mean() for limit in (10.0, 40.0)]
    assert beyond[0] / beyond[1] == pytest.approx(4**1.75, rel=0.5)  # a normal law has none


@pytest.mark.filterwarnings("ignore:Number of distinct clusters")  # all votes on few candidates
@pytest.mark.parametrize(("epsilon", "most"), [(1.0, 1.5), (0.01, np.inf)])
def test_clusters_are_found_unless_noise_decides(epsilon, most):
    rng = np.random.default_rng(0)
    truth = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    rows = truth[rng.integers(3, size=1500)] + 0.05 * rng.standard_normal((1500, 2))

    def cost(centers):
        return (((rows[:, None] - centers) ** 2).sum(axis=2).min(axis=1)).mean()

    found = cost(pe_means(rows, 3, epsilon, 1e-4, seed=0)) / cost(truth)
    assert found < most and (epsilon == 1.0 or found > 2.0)
