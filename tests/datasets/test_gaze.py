import numpy as np
import pytest

from skdp_bary.datasets import GAZE_BOUNDS, make_gaze
from tests.cases import every


def test_looks_are_on_the_picture_and_people_are_all_there():
    image, X, people = make_gaze(40, random_state=0)
    assert image.shape == (480, 640, 3) and image.min() >= 0 and image.max() <= 1
    assert (np.array(GAZE_BOUNDS[0]) <= X).all() and (np.array(GAZE_BOUNDS[1]) >= X).all()
    np.testing.assert_array_equal(np.unique(people), np.arange(40))


def test_people_look_at_things_more_than_elsewhere():
    image, X, _ = make_gaze(300, random_state=0)
    red = np.abs(image - (0.75, 0.2, 0.2)).sum(axis=2) < 1e-9
    columns, rows = np.minimum(X, (639, 479)).astype(int).T
    assert red[rows, columns].mean() > 4 * red.mean() > 0


def test_the_picture_is_the_same_for_every_seed_and_the_looks_are_not():
    first, second = make_gaze(10, random_state=0), make_gaze(10, random_state=1)
    again = make_gaze(10, random_state=0)
    np.testing.assert_array_equal(first[0], second[0])
    np.testing.assert_array_equal(first[1], again[1])
    assert first[1].shape != second[1].shape or not np.allclose(first[1], second[1])


def test_the_mean_number_of_looks_is_as_asked():
    _, _, people = make_gaze(4000, mean_looks=12.0, random_state=0)
    assert np.bincount(people).mean() == pytest.approx(12.0, rel=0.05)


@every("name, value", [("n_people", 0), ("mean_looks", 0.5)])
def test_bad_numbers_are_named(name, value):
    with pytest.raises(ValueError, match=name):
        make_gaze(**{name: value})
