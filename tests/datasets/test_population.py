import numpy as np
import pytest

from skdp_bary.datasets import COUNTRY_BOUNDS, make_population
from tests.cases import every


def test_rows_stay_in_the_public_bounds():
    X, y = make_population(5000, random_state=0)
    low, high = COUNTRY_BOUNDS
    assert (np.array(low) <= X).all() and (np.array(high) >= X).all()
    assert X.shape == (5000, 2) and y.shape == (5000,)


def test_classes_shrink_like_their_rank():
    _, y = make_population(60_000, n_classes=3, random_state=0)
    shares = np.bincount(y) / len(y)
    np.testing.assert_allclose(shares, np.array([6, 3, 2]) / 11, atol=0.01)


def test_classes_differ_by_contrast_only():
    def gap(contrast):
        X, y = make_population(20_000, n_classes=2, contrast=contrast, random_state=0)
        first, second = (
            np.histogram2d(*X[y == c].T, bins=12, range=np.transpose(COUNTRY_BOUNDS))[0]
            for c in (0, 1)
        )
        return np.abs(first / first.sum() - second / second.sum()).sum()

    assert gap(0.0) < 0.15 < 0.5 < gap(3.0)


def test_the_map_is_the_same_for_every_seed():
    def map_of(seed):
        X, _ = make_population(40_000, n_classes=1, random_state=seed)
        return np.histogram2d(*X.T, bins=12, range=np.transpose(COUNTRY_BOUNDS))[0] / len(X)

    assert np.abs(map_of(0) - map_of(1)).sum() < 0.1


def test_the_same_seed_gives_the_same_people():
    first, second = (make_population(100, random_state=5) for _ in range(2))
    np.testing.assert_array_equal(first[0], second[0])
    np.testing.assert_array_equal(first[1], second[1])


@every("name", ["n_samples", "n_classes", "contrast"])
def test_bad_numbers_are_named(name):
    with pytest.raises(ValueError, match=name):
        make_population(**{name: -1})
