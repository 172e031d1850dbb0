"""Generated data: inside public bounds, the same for a seed, and with the features described."""

import numpy as np
import pytest

from skdp_bary.datasets import (
    CITY_BOUNDS,
    COUNTRY_BOUNDS,
    GAZE_BOUNDS,
    make_city_checkins,
    make_gaze,
    make_population,
)
from tests.cases import every

MAKERS = {  # bounds, how many people
    make_city_checkins: (CITY_BOUNDS, {"n_people": 300}),
    make_gaze: (GAZE_BOUNDS, {"n_people": 300}),
    make_population: (COUNTRY_BOUNDS, {"n_samples": 300}),
}


@every("make", MAKERS)
def test_rows_stay_in_the_public_bounds_and_follow_from_the_seed(make):
    (low, high), size = MAKERS[make]
    *_, X, people = make(**size, random_state=3)
    assert X.shape == (len(people), 2) and (low <= X).all() and (high >= X).all()
    if make is not make_population:
        np.testing.assert_array_equal(np.unique(people), np.arange(300))
    *_, again, same = make(**size, random_state=3)
    np.testing.assert_array_equal(X, again)
    np.testing.assert_array_equal(people, same)
    *_, other, _ = make(**size, random_state=4)
    assert other.shape != X.shape or not np.allclose(other, X)


@every(
    "make, name, value",
    [
        (make_gaze, "n_people", 0),
        (make_gaze, "mean_looks", 0.5),
        (make_population, "n_samples", -1),
        (make_population, "n_classes", -1),
        (make_population, "contrast", -1),
    ],
)
def test_bad_numbers_are_named(make, name, value):
    with pytest.raises(ValueError, match=name):
        make(**{name: value})


def test_the_mean_number_of_rows_of_a_person_is_as_asked():
    _, people = make_city_checkins(n_people=20_000, mean_visits=12.0, random_state=0)
    visits = np.bincount(people)
    assert visits.mean() == pytest.approx(12.0, rel=0.05)
    assert visits.max() > 10 * np.median(visits)  # some have very many
    _, _, people = make_gaze(4000, mean_looks=12.0, random_state=0)
    assert np.bincount(people).mean() == pytest.approx(12.0, rel=0.05)


def test_nobody_checks_in_from_the_middle_of_the_river():
    X, _ = make_city_checkins(n_people=2000, random_state=0)
    middle = 9.0 + 1.5 * np.sin(X[:, 0] / 4.0)
    assert (np.abs(X[:, 1] - middle) >= 0.35 - 1e-9).all()


def test_people_look_at_things_of_one_picture_more_than_elsewhere():
    image, X, _ = make_gaze(300, random_state=0)
    assert image.shape == (480, 640, 3) and image.min() >= 0 and image.max() <= 1
    np.testing.assert_array_equal(image, make_gaze(10, random_state=1)[0])
    red = np.abs(image - (0.75, 0.2, 0.2)).sum(axis=2) < 1e-9
    columns, rows = np.minimum(X, (639, 479)).astype(int).T
    assert red[rows, columns].mean() > 4 * red.mean() > 0


def test_classes_shrink_like_their_rank():
    _, y = make_population(60_000, n_classes=3, random_state=0)
    np.testing.assert_allclose(np.bincount(y) / len(y), np.array([6, 3, 2]) / 11, atol=0.01)


def country(X):
    """Return the shares of rows in the cells of a grid over the country."""
    return np.histogram2d(*X.T, bins=12, range=np.transpose(COUNTRY_BOUNDS))[0] / len(X)


def test_classes_differ_by_contrast_only():
    def gap(contrast):
        X, y = make_population(20_000, n_classes=2, contrast=contrast, random_state=0)
        return np.abs(country(X[y == 0]) - country(X[y == 1])).sum()

    assert gap(0.0) < 0.15 < 0.5 < gap(3.0)


def test_the_map_of_the_country_is_the_same_for_every_seed():
    first, second = (make_population(40_000, n_classes=1, random_state=s)[0] for s in (0, 1))
    assert np.abs(country(first) - country(second)).sum() < 0.1
