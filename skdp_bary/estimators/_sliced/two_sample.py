"""Two-sample tests on a sketch: are the private rows a sample of the law of the public ones?"""

from dataclasses import dataclass

import numpy as np

from ...transport._sliced import fit_particles
from .tuning import TUNED


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

    Under that hypothesis both sides together stand for the law, by their sizes: the public rows and
    draws from the release. Few public rows alone would miss rare values and heavy tails, and what
    sampling makes of those would look like a difference of laws. Two samples of the two sizes are
    drawn, noise of the known size is added to the quantiles of one, and the statistic is computed
    as from the release. All of it is post-processing.

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
    persons = max(1, round(sketch.persons))
    most = TUNED.test_rows
    rows = Y if len(Y) <= most else Y[rng.permutation(len(Y))[:most]]
    n_drawn = max(TUNED.test_points, TUNED.test_points_a_block * sketch.query.n_quantiles)
    drawn = released_levels(sketch, n_drawn, rng)
    levels = np.hstack([sketch.query.public_levels(rows), drawn])
    shares = np.array([len(Y), persons]) / (len(Y) + persons)
    masses = np.repeat(shares / [len(rows), n_drawn], [len(rows), n_drawn])
    null = np.empty(n_resamples)
    for i in range(n_resamples):
        ours, theirs = (
            sketch.query.level_means(levels, rng.multinomial(size, masses))
            for size in (persons, len(Y))
        )
        noise = sketch.noise_std * rng.standard_normal(ours.shape)
        null[i] = np.mean((ours + noise - theirs) ** 2) - sketch.noise_std**2
    pvalue = (1 + int((null >= statistic).sum())) / (1 + n_resamples)
    return TwoSampleResult(statistic, pvalue, null)


def released_levels(sketch, n_points, rng):
    """Return levels on every slice of a sample that has the quantiles of a release.

    Points fitted to the release say which places on different slices go together, by their ranks.
    What is at a place is spread: block means hide how far values within a block differ, and samples
    of a law differ the more the farther they do. So a block has values at the means of the blocks
    beside it, by shares that keep its own mean; at the ends means go on in a straight line.

    Returns
    -------
    ndarray of int64 of shape (n_directions, n_points)
    """
    quantiles, directions = sketch.monotone_quantiles, sketch.directions
    points = fit_particles(directions, quantiles, n_points, rng, max_iter=TUNED.test_rounds)
    ranks = np.argsort(np.argsort(points @ directions, axis=0), axis=0).T
    lattice = sketch.query.lattice
    offsets = _with_ends(quantiles - lattice.projected_center[:, None], lattice.domain.radius)
    low, mean, high = offsets[:, :-2], offsets[:, 1:-1], offsets[:, 2:]
    upper = np.divide(mean - low, high - low, out=np.zeros_like(mean), where=high > low)
    places = (ranks + 0.5) / n_points * mean.shape[1]
    blocks = places.astype(np.int64)
    low, high, upper = (np.take_along_axis(side, blocks, 1) for side in (low, high, upper))
    spread = np.where(places - blocks > 1.0 - upper, high, low)
    levels = np.rint(spread / lattice.step).astype(np.int64) + lattice.center_level
    return np.clip(levels, 0, lattice.n_levels - 1)


def _with_ends(offsets, reach):
    """Return block means with one more at each end: as far again, or the border for one block."""
    if offsets.shape[1] == 1:
        ends = np.broadcast_to([-reach, reach], (len(offsets), 2))
    else:
        ends = np.clip(2.0 * offsets[:, [0, -1]] - offsets[:, [1, -2]], -reach, reach)
    return np.hstack([ends[:, :1], offsets, ends[:, 1:]])
