"""Noise that would pass for a difference between classes is taken out of tables and histograms."""

from types import SimpleNamespace

import numpy as np

from tests.world import class_counts, home, without_noise

TUNED = home("TableTuning").TUNED

SIZES = np.array([6000.0, 4000.0])
PRIORS = {0: np.full((2, 8), 1 / 8), 1: np.full((2, 6), 1 / 6), 2: np.full((2, 5), 1 / 5)}


def measured(sd, effect=0.0, n_classes=2, seed=0):
    """Return noisy tables of three even columns, in which classes turn a pair opposite ways."""
    rng, tables, pairs = np.random.default_rng(seed), [], ((0, 1), (0, 2), (1, 2))
    for i, j in pairs:
        even = SIZES[:, None, None] * PRIORS[i][:, :, None] * PRIORS[j][:, None, :]
        turn = np.linspace(-1, 1, even.shape[1])[:, None] * np.linspace(-1, 1, even.shape[2])
        exact = even * (1 + effect * np.array([1.0, -1.0])[:, None, None] * turn)
        tables.append((exact + sd * rng.standard_normal(even.shape))[:n_classes])
    found = SimpleNamespace(sizes=SIZES[:n_classes])
    return SimpleNamespace(histograms=found, pairs=pairs, tables=tables, pair_sd=sd)


def test_what_is_noise_between_classes_goes_and_what_is_not_stays():
    given = measured(60.0)
    share, tables = without_noise(given, PRIORS)
    assert share > 0.7
    truth = measured(0.0).tables
    for found, table, exact in zip(tables, given.tables, truth, strict=True):
        assert ((found - exact) ** 2).sum() < 0.3 * ((table - exact) ** 2).sum()
    given = measured(2.0, effect=0.9)
    share, tables = without_noise(given, PRIORS)
    assert share < 0.02
    for found, table in zip(tables, given.tables, strict=True):
        np.testing.assert_allclose(found, table, atol=2.0)


# Counts of the bins of a column by class, from histograms and pairs together.

TRUE = np.array([[900.0, 100.0, 500.0], [300.0, 700.0, 500.0]])


def one_pair(table, pair_sd, sizes):
    histograms = SimpleNamespace(sizes=sizes)
    return SimpleNamespace(pairs=((0, 3),), tables=[table], pair_sd=pair_sd, histograms=histograms)


class TestClassCounts:
    def test_sums_of_pairs_where_the_histogram_is_noise(self):
        table = np.stack([np.outer(row, [0.5, 0.5]) for row in TRUE])
        wrong = TRUE + 200.0 * np.array([[1, -1, 1], [-1, 1, 1]])
        for place, way in ((0, table), (3, table.transpose(0, 2, 1))):
            known = one_pair(way, 1e-3, TRUE.sum(axis=1))
            counts, variances = class_counts(known, place, wrong.copy(), np.full(3, 200.0**2))
            assert np.allclose(counts, TRUE, atol=1.0) and (variances < 1.0).all()

    def test_noise_alone_makes_no_difference_between_classes(self):
        rng, even = np.random.default_rng(0), np.full((2, 200), 50.0)
        noisy = even + 20.0 * rng.standard_normal(even.shape)
        known = one_pair(np.zeros((2, 3, 2)), 1.0, even.sum(axis=1))
        counts, _ = class_counts(known, 1, noisy.copy(), np.full(200, 400.0))
        assert np.ptp(counts, axis=0).mean() < 0.3 * np.ptp(noisy, axis=0).mean()
        one, _ = class_counts(known, 1, noisy[:1].copy(), np.full(200, 400.0))
        assert np.allclose(one, noisy[:1])
