import numpy as np
import pytest

from tests.cases import every
from tests.world import PERSON_UNITS, NoiseSource, draw_batch, keep_batch, noise_generator, read
from tests.world import rows as opened

SAMPLINGS = ("poisson", "without_replacement")


def rows_of(groups=None, classes=None, y=None, n=90):
    X = np.arange(2.0 * n).reshape(n, 2)
    return opened(X, y, groups=groups, classes=classes)


@every("sampling", SAMPLINGS)
def test_every_person_is_drawn_with_the_probability_stated(sampling):
    noise, strata = noise_generator(0), np.repeat([0, 1], [10, 30])
    draws = np.mean([draw_batch(strata, 0.3, sampling, noise) for _ in range(4000)], axis=0)
    np.testing.assert_allclose(draws, 0.3, atol=0.035)  # 4.8 standard deviations


def test_persons_enter_a_poisson_batch_independently():
    noise = noise_generator(0)
    sizes = [draw_batch(np.zeros(50, dtype=int), 0.3, "poisson", noise).sum() for _ in range(4000)]
    assert np.var(sizes) == pytest.approx(50 * 0.3 * 0.7, rel=0.12)


def test_without_replacement_the_share_of_every_class_is_fixed_and_rounded_down():
    strata = np.repeat([0, 1, 2], [10, 33, 1])
    for seed in range(20):
        batch = draw_batch(strata, 0.39, "without_replacement", noise_generator(seed))
        assert np.bincount(strata[batch], minlength=3).tolist() == [3, 12, 0]


def test_pairs_are_drawn_uniformly_without_replacement():
    noise, counts = noise_generator(1), np.zeros((4, 4))
    for _ in range(6000):
        a, b = np.flatnonzero(draw_batch(np.zeros(4, dtype=int), 0.5, SAMPLINGS[1], noise))
        counts[a, b] += 1
    np.testing.assert_allclose(counts[np.triu_indices(4, 1)], 1000, atol=140)


def test_equal_words_are_drawn_again():
    answers = iter([np.array([5, 5, 1, 2], dtype=np.uint64), np.arange(4, dtype=np.uint64)])
    noise = NoiseSource(lambda count: next(answers))
    batch = draw_batch(np.zeros(4, dtype=int), 0.5, SAMPLINGS[1], noise)
    assert batch.tolist() == [True, True, False, False]


@every("sampling", SAMPLINGS)
def test_a_batch_holds_all_rows_of_its_persons(sampling):
    groups = np.random.default_rng(0).integers(12, size=90)
    rows = rows_of(groups)
    everyone = read(rows)[0]
    keep_batch(rows, 0.5, sampling, noise_generator(3))
    batch = read(rows)[0]
    kept = np.isin(everyone.X[:, 0], batch.X[:, 0])
    for person in np.unique(groups):
        assert len(np.unique(kept[groups == person])) == 1
    persons = len(np.unique(groups[kept]))
    assert 0 < persons < 12
    assert batch.masses.sum() == persons * PERSON_UNITS
    assert rows.source.count_persons() == persons


@every("sampling", SAMPLINGS)
def test_every_reading_sees_the_same_batch(sampling):
    rows = rows_of(classes=np.array([0, 1]), y=np.arange(90) % 2)
    keep_batch(rows, 0.4, sampling, noise_generator())
    first, second = read(rows)[0], read(rows)[0]
    np.testing.assert_array_equal(first.X, second.X)
    np.testing.assert_array_equal(first.codes, (first.X[:, 0] / 2) % 2)


def test_batches_of_two_fits_are_drawn_anew():
    kept = []
    for _ in range(2):
        rows = rows_of()
        keep_batch(rows, 0.5, "poisson", noise_generator())
        kept.append(read(rows)[0].X[:, 0].tolist())
    assert kept[0] != kept[1]


def test_rows_outside_the_batch_are_checked_too():
    X = np.ones((10, 1))
    X[3] = np.nan
    for seed in range(5):
        rows = opened(X)
        keep_batch(rows, 0.2, "without_replacement", noise_generator(seed))
        with pytest.raises(ValueError, match="NaN"):
            read(rows)


def test_what_cannot_be_drawn_from_is_refused():
    groups, y = np.repeat(np.arange(30), 3), np.arange(90) % 2
    rows = rows_of(groups, np.array([0, 1]), y)
    with pytest.raises(ValueError, match="one class"):
        keep_batch(rows, 0.5, "without_replacement", noise_generator())
    keep_batch(rows, 0.5, "poisson", noise_generator())
    rows = opened([np.ones((3, 1)), np.ones((3, 1))])
    with pytest.raises(ValueError, match="one array or dataframe"):
        keep_batch(rows, 0.5, "poisson", noise_generator())
