"""Counts of the bins of a column by class, from histograms and pairs together."""

from types import SimpleNamespace

import numpy as np

from tests.world import class_counts

TRUE = np.array([[900.0, 100.0, 500.0], [300.0, 700.0, 500.0]])


def measured(table, pair_sd, sizes):
    histograms = SimpleNamespace(sizes=sizes)
    return SimpleNamespace(pairs=((0, 3),), tables=[table], pair_sd=pair_sd, histograms=histograms)


class TestClassCounts:
    def test_sums_of_pairs_where_the_histogram_is_noise(self):
        table = np.stack([np.outer(row, [0.5, 0.5]) for row in TRUE])
        wrong = TRUE + 200.0 * np.array([[1, -1, 1], [-1, 1, 1]])
        for place, way in ((0, table), (3, table.transpose(0, 2, 1))):
            known = measured(way, 1e-3, TRUE.sum(axis=1))
            counts, variances = class_counts(known, place, wrong.copy(), np.full(3, 200.0**2))
            assert np.allclose(counts, TRUE, atol=1.0) and (variances < 1.0).all()

    def test_the_histogram_where_no_pair_was_measured(self):
        known = measured(np.zeros((2, 3, 2)), 1.0, TRUE.sum(axis=1))
        counts, variances = class_counts(known, 1, TRUE.copy(), np.ones(3))
        assert np.allclose(counts, TRUE, atol=1.0) and np.allclose(variances, 1.0)

    def test_noise_alone_makes_no_difference_between_classes(self):
        rng, even = np.random.default_rng(0), np.full((2, 200), 50.0)
        noisy = even + 20.0 * rng.standard_normal(even.shape)
        known = measured(np.zeros((2, 3, 2)), 1.0, even.sum(axis=1))
        counts, _ = class_counts(known, 1, noisy.copy(), np.full(200, 400.0))
        assert np.ptp(counts, axis=0).mean() < 0.3 * np.ptp(noisy, axis=0).mean()
        one, _ = class_counts(known, 1, noisy[:1].copy(), np.full(200, 400.0))
        assert np.allclose(one, noisy[:1])
