"""Warped images: as far as asked, inside the bounds, and only where there are images."""

import numpy as np
import pytest

from skdp_bary import PrivateGenerator
from tests.cases import every
from tests.world import affine_maps, check_warps, read_along

SPOT = np.zeros((1, 5, 7, 2))
SPOT[0, 2, 4] = 1.0, 0.5


def test_a_spot_goes_where_the_map_says():
    shifted = read_along(SPOT, np.eye(2)[None], np.array([[1.0, 0.5]]))
    np.testing.assert_allclose(shifted[0, 1, 3:5], [[0.5, 0.25], [0.5, 0.25]])
    assert shifted.sum() == pytest.approx(1.5)
    turned = read_along(SPOT, np.array([[[0.0, -1.0], [1.0, 0.0]]]), np.zeros((1, 2)))
    np.testing.assert_allclose(turned[0, 3, 3], [1.0, 0.5], atol=1e-12)
    gone = read_along(SPOT, np.eye(2)[None], np.array([[50.0, 0.0]]))
    assert not gone.any()


def test_maps_stay_within_reach():
    reach = {"turn": 20.0, "shear": 0.0, "scale": 0.1, "shift": 0.25}
    matrices, shifts = affine_maps(500, (8, 4), reach, np.random.default_rng(0))
    sizes = np.linalg.norm(matrices, axis=1)
    assert np.abs(np.log(sizes)).max() <= 0.1 + 1e-12
    angles = np.rad2deg(np.arctan2(matrices[:, 1, 0], matrices[:, 0, 0]))
    assert 19.0 < np.abs(angles).max() <= 20.0
    assert (np.abs(shifts) <= [2.0, 1.0]).all() and np.abs(shifts[:, 0]).max() > 1.9


@pytest.mark.filterwarnings("ignore::skdp_bary.exceptions.PrivacyWarning")
def test_rows_that_are_drawn_with_warps():
    X = np.random.default_rng(0).random((200, 16)) - 3.0
    settings = {"bounds": (-3, -2), "n_hint": 200, "random_state": 0}
    model = PrivateGenerator(1, image_shape=(4, 4), **settings).fit(X)
    plain, again = (model.sample(50, random_state=1, warps=w)[0] for w in (None, {"turn": 0.0}))
    np.testing.assert_allclose(plain, again)
    moved = model.sample(50, random_state=1, warps={"shift": 0.5})[0]
    assert moved.shape == plain.shape and moved.min() >= -3.0 and moved.max() <= -2.0
    assert np.abs(moved - plain).max() > 0.1
    with pytest.raises(ValueError, match="warps must be None without image_shape"):
        PrivateGenerator(1, **settings).fit(X).sample(5, warps={"turn": 5.0})


@every("warps", [{}, {"bend": 1.0}, {"turn": -1.0}, {"scale": "far"}, 3])
def test_what_cannot_be_warped_is_refused(warps):
    with pytest.raises((TypeError, ValueError), match="warps"):
        check_warps(warps, (4, 4))
