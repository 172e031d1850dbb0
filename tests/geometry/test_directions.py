"""Public directions and how many there are."""

import numpy as np
import pytest

from tests.cases import every
from tests.world import direction_count, public_directions


@every("d, k", [(1, 1), (2, 100), (3, 102), (50, 100), (784, 784), (1001, 1000)])
def test_directions_come_in_whole_frames(d, k):
    assert direction_count("tight", None, d) == k
    assert direction_count("iid", 7, d) == 7


@every("d, k", [(1, 1), (3, 5), (5, 3), (4, 8)])
def test_names_stand_for_the_same_directions_in_every_fit(d, k):
    for name in ("tight", "iid"):
        directions = public_directions(name, k, d)
        np.testing.assert_allclose(np.linalg.norm(directions, axis=0), 1.0)
        assert directions.shape == (d, k)
        np.testing.assert_array_equal(directions, public_directions(name, k, d))


def test_tight_directions_are_a_tight_frame():
    directions = public_directions("tight", 7, 3)
    np.testing.assert_allclose(directions @ directions.T, 7 / 3 * np.eye(3), atol=1e-12)
    few = public_directions("tight", 3, 7)
    np.testing.assert_allclose(few.T @ few, np.eye(3), atol=1e-12)


def test_given_directions_are_used():
    np.testing.assert_array_equal(public_directions(np.eye(2), None, 2), np.eye(2))
    with pytest.raises(ValueError, match="n_projections must be None or 2"):
        public_directions(np.eye(2), 3, 2)
    with pytest.raises(ValueError, match="unit columns"):
        public_directions(2 * np.eye(2), None, 2)
