import numpy as np

from tests.world import order_points


def test_merges_equal_rows_only_and_knows_the_way_back():
    rng = np.random.default_rng(0)
    for n_features in (1, 2, 3, 6):
        points = rng.integers(0, 3, (400, n_features)).astype(float)
        weights, given = rng.random(400), points.copy()
        cloud, inverse = order_points(points, weights)
        np.testing.assert_array_equal(points, given)  # the order is found on a copy
        np.testing.assert_array_equal(cloud.points[inverse], points)
        assert len(np.unique(cloud.points, axis=0)) == len(cloud.points)
        np.testing.assert_allclose(
            cloud.weights, np.bincount(inverse, weights) / weights.sum(), rtol=1e-12
        )


def test_minus_zero_is_zero():
    cloud, _ = order_points(np.array([[0.0, 1.0], [-0.0, 1.0]]), np.ones(2))
    assert len(cloud.points) == 1


def test_points_a_rounding_apart_stay_apart():
    points = np.array([[0.3, 1.0], [0.3 + 1e-16, 1.0], [0.3 + 1e-15, 1.0], [0.3, 1.0]])
    cloud, inverse = order_points(points, np.ones(4))
    assert len(cloud.points) == len(np.unique(points, axis=0))
    np.testing.assert_array_equal(cloud.points[inverse], points)


def test_blocks_lie_in_their_boxes_and_neighbors_are_close():
    points = np.random.default_rng(1).random((20_000, 2))
    cloud, _ = order_points(points, np.ones(len(points)))
    for block, start in enumerate(cloud.starts[:-1]):
        inside = np.abs(cloud.points[start : cloud.starts[block + 1]] - cloud.centers[block])
        assert np.all(inside <= cloud.widths[block] + 1e-12)
    jumps = np.linalg.norm(np.diff(cloud.points, axis=0), axis=1)
    assert jumps.mean() < 0.05  # in random order it would be 0.52


def test_coarse_samples_keep_regional_masses():
    rng = np.random.default_rng(2)
    points = rng.random((50_000, 2))
    weights = rng.random(50_000) ** 4 * (1.0 + 5.0 * points[:, 0])
    cloud, _ = order_points(points, weights)
    coarse = cloud.coarse(1000)
    assert abs(coarse.weights.sum() - 1.0) < 1e-12
    left = cloud.weights[cloud.points[:, 0] < 0.5].sum()
    # A random sample would be off by 0.016 on average.
    assert abs(coarse.weights[coarse.points[:, 0] < 0.5].sum() - left) < 0.005
    assert cloud.coarse(60_000) is cloud
