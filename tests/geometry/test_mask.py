"""Masks, and the polygons that they are made of."""

import gzip
import json

import numpy as np
import pytest

from skdp_bary.geometry import Mask
from tests.cases import every

# An L of area 12 with a square hole of area 1: 11 units of land in a box of 16.
L_SHAPE = [[0, 0], [4, 0], [4, 2], [2, 2], [2, 4], [0, 4]]
HOLE = [[0.5, 0.5], [1.5, 0.5], [1.5, 1.5], [0.5, 1.5]]


@pytest.fixture(scope="module")
def land():
    return Mask([L_SHAPE, HOLE], resolution=128)


def in_l(X):
    x, y = X.T
    within = ((x < 2) & (y < 4)) | ((x < 4) & (y < 2))
    return within & ~((x > 0.5) & (x < 1.5) & (y > 0.5) & (y < 1.5))


def test_membership_and_centroids_of_an_l_with_a_hole(land):
    X = np.random.default_rng(0).uniform(0, 4, (20_000, 2))
    np.testing.assert_array_equal(land.contains(X), in_l(X))
    assert not land.contains([[-1.0, 1.0], [5.0, 5.0], [1.0, 1e200]]).any()
    points = land.cell_points(np.argwhere(np.ones((2, 2))), (2, 2))
    # The cell [0, 2] x [0, 2] has its hole in the middle, so its centroid (1, 1) is no land.
    assert land.contains(points).all()
    assert not land.contains([[1.0, 1.0]])[0]
    np.testing.assert_allclose(points[1], [1, 3], atol=1e-6)
    triangle = Mask([[0, 0], [1, 0], [0, 1]], resolution=16)
    np.testing.assert_allclose(
        triangle.cell_points(np.zeros((1, 2), int), (1, 1))[0], [1 / 3, 1 / 3], atol=3e-3
    )


@every("shape", [(8, 8), (16, 32), (128, 4), (64, 64)])
def test_shares_of_an_l_with_a_hole_are_exact(land, shape):
    prior = land.cell_prior(shape)
    xs, ys = (np.linspace(0, 4, n + 1) for n in shape)

    def overlap(edges, low, high):
        return np.clip(np.minimum(edges[1:], high) - np.maximum(edges[:-1], low), 0, None)

    area = np.outer(overlap(xs, 0, 2), overlap(ys, 0, 4))
    area += np.outer(overlap(xs, 2, 4), overlap(ys, 0, 2))
    area -= np.outer(overlap(xs, 0.5, 1.5), overlap(ys, 0.5, 1.5))
    np.testing.assert_allclose(prior, area / 11, atol=1e-8)
    assert (prior[area == 0] == 0).all()


def test_rows_at_sea_move_to_the_nearest_land(land):
    X = np.random.default_rng(1).uniform(-2, 6, (3000, 2))
    clipped = land.clip(X)
    assert land.contains(clipped).all()
    ashore = land.contains(X)
    np.testing.assert_array_equal(clipped[ashore], X[ashore])
    boxed = np.clip(X, 0, 4)
    grid = np.stack(np.meshgrid(*[np.linspace(0.01, 3.99, 200)] * 2), axis=-1).reshape(-1, 2)
    grid = grid[in_l(grid)]
    nearest = np.array([np.linalg.norm(grid - row, axis=1).min() for row in boxed[:300]])
    moved = np.linalg.norm(clipped - boxed, axis=1)[:300]
    assert (moved <= nearest + 0.08).all()


def test_the_form_of_the_input_does_not_matter():
    nested = Mask([[L_SHAPE, HOLE]])
    polygon = {"type": "Polygon", "coordinates": [[*L_SHAPE, L_SHAPE[0]], HOLE]}
    multi = {"type": "MultiPolygon", "coordinates": [[L_SHAPE], [HOLE]]}
    feature = {"type": "Feature", "properties": {}, "geometry": polygon}
    forms = [
        [np.array(L_SHAPE), np.array(HOLE)],
        polygon,
        multi,
        feature,
        {"type": "FeatureCollection", "features": [feature]},
        {"type": "GeometryCollection", "geometries": [polygon]},
        [L_SHAPE[::-1], HOLE],
        [HOLE, L_SHAPE],
        [[[x, y, 100.0] for x, y in L_SHAPE], HOLE],
    ]
    X = np.random.default_rng(4).uniform(0, 4, (2000, 2))
    for form in forms:
        np.testing.assert_array_equal(Mask(form, resolution=50).contains(X), nested.contains(X))


def test_parts_that_share_an_edge_leave_no_gap():
    left, right = [[0, 0], [1.1, 0.3], [0.7, 2]], [[1.1, 0.3], [3, 1], [0.7, 2]]
    both = Mask([[left], [right]], resolution=64)
    whole = Mask([[0, 0], [1.1, 0.3], [3, 1], [0.7, 2]], resolution=64)
    t = np.linspace(0.01, 0.99, 999)[:, None]
    on_edge = np.array([1.1, 0.3]) * t + np.array([0.7, 2]) * (1 - t)
    X = np.vstack([np.random.default_rng(5).uniform(0, 3, (3000, 2)), on_edge])
    np.testing.assert_array_equal(both.contains(X), whole.contains(X))
    np.testing.assert_allclose(both.cell_prior((32, 32)), whole.cell_prior((32, 32)), atol=1e-7)


@pytest.mark.parametrize("suffix", [".geojson", ".geojson.gz"])
def test_files_are_read(tmp_path, suffix):
    polygon = {"type": "Polygon", "coordinates": [L_SHAPE, HOLE]}
    path = tmp_path / f"land{suffix}"
    opened = gzip.open if suffix.endswith("gz") else open
    with opened(path, "wt") as file:
        json.dump(polygon, file)
    assert Mask.from_geojson(path) == Mask.from_geojson(str(path)) == Mask.from_geojson(polygon)


@every(
    "polygons, message",
    [
        ([], "rings of"),
        (None, "NoneType"),
        ({"type": "Point", "coordinates": [0, 0]}, "'Point'"),
        ({"coordinates": [0, 0]}, "None"),
        ([[0, 0], [1, 1]], "three different points"),
        ([[0, 0], [1, 1], [0, 0]], "three different points"),
        ([[0, 0], [1, np.nan], [1, 0]], "finite"),
        ([[0, 0], [1], [1, 0]], "finite"),
        ([[0, 0], [0, 1], [0, 2]], "low < high"),
    ],
)
def test_wrong_polygons_are_refused(polygons, message):
    with pytest.raises(ValueError, match=message):
        Mask(polygons)


@every("resolution", [0, 2.5, (4, 4, 4), 2**13])
def test_wrong_resolution_is_refused(resolution):
    with pytest.raises(ValueError, match="resolution"):
        Mask(L_SHAPE, resolution)


def test_a_sliver_is_land_and_no_land_is_refused():
    nothing = Mask([L_SHAPE, L_SHAPE], resolution=8)
    for method, given in (("cell_prior", (4, 4)), ("clip", [[1.0, 1.0]])):
        with pytest.raises(ValueError, match="polygons must"):
            getattr(nothing, method)(given)
    # A diagonal strip a hundredth of a raster cell wide, next to a square.
    strip = [[0, 0], [1, 1], [1, 1 - 1e-4], [1e-4, 0]]
    mask = Mask([strip, [[0, 0.5], [0.2, 0.5], [0.2, 0.7], [0, 0.7]]], resolution=64)
    t = np.linspace(0.2, 0.9, 50)
    on_strip = np.stack([t, t - 5e-5], axis=1)
    assert mask.contains(on_strip).all()
    np.testing.assert_array_equal(mask.clip(on_strip), on_strip)
    assert mask.contains(mask.clip(np.random.default_rng(0).uniform(0, 1, (500, 2)))).all()


LOW, HIGH = np.zeros(2), np.full(2, 4.0)


def triangle(seed):
    return np.random.default_rng(seed).uniform(0, 4, (3, 2))
