import numpy as np
import pytest

from skdp_bary.datasets import CITY_BOUNDS, make_city_checkins


def test_rows_stay_in_the_public_bounds_and_people_are_all_there():
    X, people = make_city_checkins(n_people=300, random_state=1)
    low, high = CITY_BOUNDS
    assert (np.array(low) <= X).all() and (np.array(high) >= X).all()
    assert len(X) == len(people)
    np.testing.assert_array_equal(np.unique(people), np.arange(300))


def test_the_same_seed_gives_the_same_city_and_another_one_does_not():
    first, second = (make_city_checkins(n_people=50, random_state=3) for _ in range(2))
    np.testing.assert_array_equal(first[0], second[0])
    np.testing.assert_array_equal(first[1], second[1])
    other = make_city_checkins(n_people=50, random_state=4)[0]
    assert other.shape != first[0].shape or not np.allclose(other, first[0])


def test_the_mean_number_of_visits_is_as_asked_and_varies_a_lot():
    _, people = make_city_checkins(n_people=20_000, mean_visits=12.0, random_state=0)
    visits = np.bincount(people)
    assert visits.mean() == pytest.approx(12.0, rel=0.05)
    assert visits.max() > 10 * np.median(visits)


def test_nobody_checks_in_from_the_middle_of_the_river():
    X, _ = make_city_checkins(n_people=2000, random_state=0)
    middle = 9.0 + 1.5 * np.sin(X[:, 0] / 4.0)
    assert (np.abs(X[:, 1] - middle) >= 0.35 - 1e-9).all()
