import numpy as np

from tests.cases import every
from tests.world import EdgeColumns, home, measure_cells, read_rings, touched_cells

edges_of = home("EdgeColumns").edges_of

LOW, HIGH = np.zeros(2), np.full(2, 4.0)


def triangle(seed):
    return np.random.default_rng(seed).uniform(0, 4, (3, 2))


def test_edges_close_the_ring_and_point_right():
    edges = edges_of(read_rings([[0, 0], [2, 0], [2, 1], [0, 0]]))
    assert len(edges) == 3
    assert (edges[:, 0] <= edges[:, 2]).all()


@every("seed", range(25))
def test_areas_and_centroids_of_triangles(seed):
    points = triangle(seed)
    edges = edges_of(read_rings(points))
    area, x, y = measure_cells(edges, LOW, HIGH, (64, 64))
    side = 4 / 64
    (ax, ay), (bx, by) = points[1] - points[0], points[2] - points[0]
    exact = abs(ax * by - ay * bx) / 2
    assert abs(area.sum() * side**2 - exact) < 2e-3
    i, j = np.indices((64, 64))
    weight = area / area.sum()
    mean = np.array([((i + x) * weight).sum(), ((j + y) * weight).sum()]) * side
    np.testing.assert_allclose(mean, points.mean(axis=0), atol=5e-3)
    assert ((area >= 0) & (area <= 1)).all()


@every("seed", range(25))
def test_untouched_cells_are_all_in_or_all_out(seed):
    edges = edges_of(read_rings(triangle(seed)))
    area, _, _ = measure_cells(edges, LOW, HIGH, (32, 16))
    border = touched_cells(edges, LOW, HIGH, (32, 16))
    assert set(np.unique(area[~border])) <= {0.0, 1.0}
    # Points on the edges lie in touched cells.
    t = np.linspace(0, 1, 997)[:, None]
    for edge in edges:
        points = edge[:2] * (1 - t) + edge[2:] * t
        cells = np.clip(np.floor(points / 4 * [32, 16]), 0, [31, 15]).astype(int)
        assert border[cells[:, 0], cells[:, 1]].all()


@every("n_columns", [1, 7, 256])
def test_points_are_tested_by_the_even_odd_rule(n_columns):
    points = triangle(3)
    inside = EdgeColumns(edges_of([points]), LOW, HIGH, n_columns)
    X = np.random.default_rng(0).uniform(0, 4, (5000, 2))
    turns = []
    for a, b in zip(points, np.roll(points, -1, axis=0), strict=True):
        turns.append((b[0] - a[0]) * (X[:, 1] - a[1]) - (b[1] - a[1]) * (X[:, 0] - a[0]) > 0)
    expected = np.all(turns, axis=0) | ~np.any(turns, axis=0)
    np.testing.assert_array_equal(inside.contain(X), expected)


def test_many_pairs_are_tested_in_blocks(monkeypatch):
    t = np.linspace(0, 2 * np.pi, 500, endpoint=False)
    ring = 2 + 2 * np.stack([np.cos(t), np.sin(t)], axis=1)
    columns = EdgeColumns(edges_of([ring]), LOW, HIGH, 2)
    X = np.random.default_rng(0).uniform(0, 4, (999, 2))
    whole = columns.contain(X)
    monkeypatch.setattr(home("EdgeColumns"), "_PAIRS", 100)
    np.testing.assert_array_equal(columns.contain(X), whole)
    assert abs(whole.mean() - np.pi / 4) < 0.05
