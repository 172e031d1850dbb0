"""Two-sample tests on a sketch: are the private rows a sample of the law of the public ones?"""

from dataclasses import dataclass

import numpy as np

_MOST_ROWS = 5000  # that stand for the law under the hypothesis


@dataclass(frozen=True)
class TwoSampleResult:
    """Outcome of a two-sample test.

    Attributes
    ----------
    statistic : float
        Estimated squared sliced distance.
    pvalue : float
        Share of simulated statistics, under the hypothesis of one law, that are at least as large;
        the observed one is counted among them.
    null : ndarray of shape (n_resamples,)
        The simulated statistics.
    """

    statistic: float
    pvalue: float
    null: np.ndarray


def two_sample_test(sketch, Y, n_resamples, rng):
    """Test whether rows behind a sketch and public rows come from one law.

    Under that hypothesis the public rows stand for the law. Two samples of the two sizes are drawn
    from them, noise of the known size is added to the quantiles of one, and the statistic is
    computed as from the release. All of it is post-processing.

    Parameters
    ----------
    sketch : SlicedSketch
    Y : ndarray of shape (n_rows, n_features)
    n_resamples : int
    rng : numpy.random.Generator or numpy.random.RandomState

    Returns
    -------
    TwoSampleResult
    """
    statistic, _ = sketch.cost(Y, 2)
    pool = Y if len(Y) <= _MOST_ROWS else Y[rng.permutation(len(Y))[:_MOST_ROWS]]
    levels = sketch.query.public_levels(pool)
    persons = max(1, round(sketch.persons))
    null = np.empty(n_resamples)
    for i in range(n_resamples):
        ours, theirs = (_resampled(sketch, levels, size, rng) for size in (persons, len(Y)))
        noise = sketch.noise_std * rng.standard_normal(ours.shape)
        null[i] = np.mean((ours + noise - theirs) ** 2) - sketch.noise_std**2
    pvalue = (1 + int((null >= statistic).sum())) / (1 + n_resamples)
    return TwoSampleResult(statistic, pvalue, null)


def _resampled(sketch, levels, size, rng):
    """Return the quantiles of a sample of `size` rows drawn from those of `levels`."""
    n_rows = levels.shape[1]
    counts = rng.multinomial(size, np.full(n_rows, 1.0 / n_rows))
    return sketch.query.level_means(levels, counts)
