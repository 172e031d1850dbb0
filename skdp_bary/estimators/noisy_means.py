"""Noisy means and their shrinkage, and k-means of released points."""

import warnings
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

# Noisy means of clusters, and their shrinkage by how much of them is noise.

_REACH, _POINTS = 8.0, 1025  # standard deviations of a likelihood, and where it is looked at


@dataclass(frozen=True, eq=False)
class NoisyMeans:
    """Means of the rows of clusters, from a release.

    Parameters
    ----------
    asked : ndarray of shape (n_clusters, width)
        The centers, after rounding, that rows were compared with.
    read : Readout
        Masses, sums and their noise.
    least : float, default=None
        Mass that no cluster is thought to be below; None: what the noise of a mass can hide.
    """

    asked: np.ndarray
    read: object
    least: float | None = None

    @cached_property
    def known(self):
        """Which clusters have a mass that stands out of its noise."""
        return self.read.mass > MEANS.sure * self.read.mass_sd

    @cached_property
    def weight(self):
        """Masses to divide by, none below the least."""
        least = MEANS.sure * self.read.mass_sd if self.least is None else self.least
        return np.maximum(self.read.mass, least)

    @cached_property
    def steps(self):
        """Noisy steps from the centers to the means of their rows."""
        return self.read.sums / self.weight[:, None]

    @cached_property
    def noise(self):
        """Variance of the noise of a coordinate of each step."""
        return (self.read.sums_sd / self.weight) ** 2

    def shrunk(self, basis=None):
        """Return the steps, shrunk; those of clusters without a known mass are zero."""
        return self.of_known(shrink_steps(self.steps, self.noise, self.known, basis))

    def of_known(self, steps):
        """Return steps, zero for clusters without a known mass."""
        return np.where(self.known[:, None], steps, 0.0)


def read_means(released):
    """Return the NoisyMeans of a release of ClippedMeans or ClusterMoments."""
    return NoisyMeans(released.query.used_centers, released.query.read(released))


def drawn_to_zero(moves, noise, prior):
    """Return posterior means under a normal prior about zero; noise and prior are variances."""
    return moves * (prior / (prior + noise + 1e-300))


def mean_within(value, sd, low, high):
    """Return the posterior mean of a noisy number under an even prior between two ends."""
    start, stop = max(low, value - _REACH * sd), min(high, value + _REACH * sd)
    if start >= stop:
        return float(min(max(value, low), high))
    points = np.linspace(start, stop, _POINTS)
    weights = np.exp(-0.5 * ((points - value) / sd) ** 2)
    return float(points @ weights / weights.sum())


def shrink_together(moves, noise, reach=np.inf):
    """Draw rows to zero by the share of their mean square, over all of them, that is not noise.

    Parameters
    ----------
    moves : ndarray of shape (..., n_features)
    noise : float or ndarray that broadcasts against `moves`
        Variance of the noise of a coordinate.
    reach : float, default=np.inf
        Length that no true row exceeds; the widest prior is that of a uniform row in a box with
        this half diagonal.
    """
    prior = max(float((moves**2).mean()) - float(np.mean(noise)), 0.0)
    return drawn_to_zero(moves, noise, min(prior, reach**2 / (3.0 * moves.shape[-1])))


def shrink_steps(steps, noise, mass, basis=None, reach=np.inf):
    """Return the posterior means of steps under one normal prior a block of axes.

    The prior variance of a block is estimated over all clusters, weighted by their precision.

    Parameters
    ----------
    steps : ndarray of shape (n_clusters, n_features)
        Noisy means.
    noise : ndarray of shape (n_clusters,)
        Variance of the noise of each coordinate.
    mass : ndarray of shape (n_clusters,)
        Clusters without mass tell nothing about the prior.
    basis : ndarray of shape (n_features, n_features) or None
        Orthonormal directions in the order of how much is expected along them; None: one block.
    reach : float, default=np.inf
        Length that no true step exceeds; a larger prior could only come from noise.
    """
    moved = steps if basis is None else steps @ basis.T
    width = moved.shape[1]
    shrunk = np.empty_like(moved)
    for block in [slice(0, width)] if basis is None else _blocks(width):
        prior = _prior_variance((moved[:, block] ** 2).mean(axis=1), noise, mass > 0)
        prior = min(prior, reach**2 / moved[:, block].shape[1])
        shrunk[:, block] = drawn_to_zero(moved[:, block], noise[:, None], prior)
    return shrunk if basis is None else shrunk @ basis


def noise_left(shrunk, steps, basis=None):
    """Number of coordinates of noise that each shrunk step still holds.

    It is the sum over blocks of axes of their width times the factor that they were shrunk by.
    """
    width, left = steps.shape[1], np.zeros(len(steps))
    if basis is not None:
        shrunk, steps = shrunk @ basis.T, steps @ basis.T
    for block in [slice(0, width)] if basis is None else _blocks(width):
        square = np.maximum((steps[:, block] ** 2).sum(axis=1), 1e-300)
        factor = (shrunk[:, block] * steps[:, block]).sum(axis=1) / square
        left += steps[:, block].shape[1] * factor
    return left


def shrink_matrices(moves, noise):
    """Return the posterior means of symmetric matrices under a normal prior for each block.

    Entries of one block of rows and one of columns share a prior variance, estimated over all
    matrices.

    Parameters
    ----------
    moves : ndarray of shape (n_matrices, n_axes, n_axes)
        Noisy, with the most important axes first.
    noise : ndarray of shape (n_matrices,)
        Variance of the noise of an entry off the diagonal; on the diagonal it is twice that.
    """
    shrunk = np.empty_like(moves)
    blocks = list(_blocks(moves.shape[1]))
    known = np.ones(len(moves), dtype=bool)
    for rows in blocks:
        for columns in blocks:
            part = moves[:, rows, columns]
            wrong = noise * (1.0 + (rows == columns) / part.shape[1])
            prior = _prior_variance((part**2).mean(axis=(1, 2)), wrong, known)
            shrunk[:, rows, columns] = drawn_to_zero(part, wrong[:, None, None], prior)
    return shrunk


def positive_part(matrices):
    """Return symmetric matrices without their negative eigenvalues."""
    # the nearest one in Frobenius norm that has none (Higham, 1988)
    values, vectors = np.linalg.eigh(matrices)
    return (vectors * np.maximum(values, 0.0)[..., None, :]) @ np.swapaxes(vectors, -1, -2)


def unlengthened(values, edge):
    """Return eigenvalues as they were before symmetric noise, which alone reaches `edge`.

    An eigenvalue there has half its length left.
    """
    root = np.sqrt(np.maximum(values**2 - edge**2, 0.0))  # at the edge rounding may go below zero
    return (np.maximum(values, 0.0) + root) / 2.0


def _blocks(width):
    """Yield blocks of axes that grow."""
    start, size = 0, MEANS.first_block
    while start < width:
        yield slice(start, min(start + size, width))
        start, size = start + size, min(size + size // 2, MEANS.largest_block)


def shrink_rows(steps, noise):
    """Shrink every row by the positive part of James and Stein's factor."""
    width = steps.shape[1]
    if width < 3:  # where no estimate beats the raw one everywhere (Stein, 1956)
        return steps
    squares = (steps**2).sum(axis=1)
    factor = 1.0 - (width - 2) * noise / np.maximum(squares, 1e-300)
    return steps * np.maximum(factor, 0.0)[:, None]


def _prior_variance(squares, noise, known):
    """Return the variance t for which ``E[square] = t + noise``, by a weighted moment equation."""
    if not known.any():
        return 0.0
    squares, noise = squares[known], noise[known]
    least = 1e-9 * float(squares.mean() + noise.mean()) + 1e-100
    estimate = 0.0
    for _ in range(MEANS.moment_rounds):
        weights = 1.0 / (estimate + noise + least) ** 2
        weights /= weights.sum()
        estimate = max(float(weights @ (squares - noise)), 0.0)
    return estimate


# Probabilities from scores.


def softmax(scores):
    """Return the probabilities that the scores in each row represent."""
    masses = np.exp(scores - scores.max(axis=1, keepdims=True))
    return masses / masses.sum(axis=1, keepdims=True)


# Weighted k-means on released points: exact on a line, else by starts, at once or one by one.

_SEARCH_ROUNDS = 100
_BATCHED = 1 << 16  # distances in a round of all starts: beyond, scikit-learn's searches are faster
_ON_LINE = 1 << 20  # points times clusters of which the best is found on a line: cost against time
_BLOCK = 1 << 12  # points whose scores stay in cache


def weighted_kmeans(points, masses, n_clusters, n_init, rng):
    """Return the centers of least weighted cost over several starts; of all centers on a line.

    Parameters
    ----------
    points : ndarray of shape (n_points, n_features)
    masses : ndarray of shape (n_points,)
        Not negative. Points without mass are left out, unless no point has any.
    n_clusters : int
        With fewer points than clusters, centers are repeated.
    n_init : int
    rng : numpy.random.Generator

    Returns
    -------
    centers : ndarray of shape (n_clusters, n_features)
    """
    heavy = masses > 0
    if heavy.any():
        points, masses = points[heavy], masses[heavy]
    else:
        masses = np.ones(len(points))
    if len(points) <= n_clusters:
        return points[np.resize(np.arange(len(points)), n_clusters)].copy()
    if few_on_line(points, n_clusters):
        return clusters_on_line(points, masses, n_clusters)
    if len(points) * n_clusters * n_init <= _BATCHED:
        return best_of_starts(points, masses, n_clusters, n_init, _SEARCH_ROUNDS, rng)
    seed = int(rng.integers(2**31))
    search = KMeans(n_clusters, n_init=n_init, max_iter=_SEARCH_ROUNDS, random_state=seed)
    return _fit(search, points, masses)


def few_on_line(points, n_clusters):
    """Whether the best of all centers is found: on a line, for not too many points."""
    return points.shape[1] == 1 and len(points) * n_clusters <= _ON_LINE


def lloyd(points, masses, centers, rounds):
    """Return the centers after rounds of Lloyd's algorithm; as they are without enough points."""
    if len(points) < len(centers):
        return centers
    if len(points) * len(centers) <= _BATCHED:
        middle = points.mean(axis=0)
        return _descend(points - middle, masses, (centers - middle)[None], rounds) + middle
    return _fit(KMeans(len(centers), init=centers, n_init=1, max_iter=rounds), points, masses)


def nearest(points, centers):
    """Return the index of the nearest center of each point and the squared distance to it."""
    label = np.empty(len(points), dtype=np.int64)
    squares = np.empty(len(points))
    lengths = (centers**2).sum(axis=1)[:, None]
    for start in range(0, len(points), _BLOCK):
        rows = slice(start, start + _BLOCK)
        scores = lengths - 2.0 * (centers @ points[rows].T)
        label[rows] = scores.argmin(axis=0)
        squares[rows] = scores.min(axis=0) + (points[rows] ** 2).sum(axis=1)
    return label, np.maximum(squares, 0.0)


def _fit(search, points, masses):
    with warnings.catch_warnings():
        # points may coincide, and a few rounds are meant not to converge
        warnings.simplefilter("ignore", ConvergenceWarning)
        weight = masses if masses.any() else None  # where all is noise, points count alike
        return search.fit(points, sample_weight=weight).cluster_centers_


# All starts of a small weighted k-means at once: few calls on arrays instead of many searches.

_TOLERANCE = 1e-4  # of the mean variance: as scikit-learn stops


def best_of_starts(points, masses, n_clusters, n_init, rounds, rng):
    """Return the centers of least weighted cost over several starts of greedy k-means++.

    Parameters
    ----------
    points : ndarray of shape (n_points, n_features)
    masses : ndarray of shape (n_points,)
        Positive.
    n_clusters : int
    n_init : int
    rounds : int
        Of Lloyd's algorithm at most.
    rng : numpy.random.Generator

    Returns
    -------
    centers : ndarray of shape (n_clusters, n_features)
    """
    middle = points.mean(axis=0)
    shifted = points - middle
    # starts of shape (n_init, n_clusters, n_features), each new center the best of a few. Arthur
    # and Vassilvitskii (2007): a center is drawn by mass times squared distance
    tried = 2 + int(np.log(n_clusters))
    lengths = (shifted**2).sum(axis=1)
    every = np.arange(n_init)
    chosen = np.empty((n_init, n_clusters), dtype=np.int64)
    chosen[:, 0] = _drawn(np.tile(masses, (n_init, 1)), 1, rng)[:, 0]
    closest = _squares(shifted, lengths, chosen[:, :1])[:, 0]
    for i in range(1, n_clusters):
        found = _drawn(masses * closest, tried, rng)
        closer = np.minimum(_squares(shifted, lengths, found), closest[:, None])
        best = (closer @ masses).argmin(axis=1)
        chosen[:, i], closest = found[every, best], closer[every, best]
    starts = shifted[chosen]
    return _descend(shifted, masses, starts, rounds) + middle


def _drawn(weights, size, rng):
    """Return indices of shape (n_init, size), drawn from every row of weights."""
    below = weights.cumsum(axis=1)
    places = rng.random((len(weights), size)) * below[:, -1:]
    drawn = zip(below, places, strict=True)
    found = [edges.searchsorted(place, side="right") for edges, place in drawn]
    return np.minimum(found, weights.shape[1] - 1)


def _squares(points, lengths, chosen):
    """Return squared distances from chosen points, shape (n_init, size, n_points)."""
    products = points[chosen.ravel()] @ points.T
    squares = lengths[chosen][:, :, None] - 2.0 * products.reshape(*chosen.shape, -1) + lengths
    return np.maximum(squares, 0.0, out=squares)


def _descend(points, masses, starts, rounds):
    """Return the centers of least cost after rounds from every start."""
    enough = _TOLERANCE * points.var(axis=0).mean()
    weighted = np.column_stack([points * masses[:, None], masses])
    centers, active, labels = starts.copy(), np.arange(len(starts)), None
    for _ in range(rounds):
        found, squares = _nearest(points, centers[active])
        moved = _means(masses, weighted, found, squares, centers[active])
        going = ((moved - centers[active]) ** 2).sum(axis=(1, 2)) > enough
        if labels is not None:
            going &= (found != labels).any(axis=1)
        centers[active] = moved
        active, labels = active[going], found[going]
        if not len(active):
            break
    costs = _nearest(points, centers)[1] @ masses
    return centers[costs.argmin()]


def _nearest(points, centers):
    """Return the nearest center of every point for every start, and squared distances to it."""
    scores = (centers**2).sum(axis=2)[:, :, None] - 2.0 * (centers @ points.T)
    labels = scores.argmin(axis=1)
    squares = np.take_along_axis(scores, labels[:, None], axis=1)[:, 0]
    return labels, np.maximum(squares + (points**2).sum(axis=1), 0.0)


def _means(masses, weighted, labels, squares, centers):
    """Return the weighted means of the clusters; a center without points goes where most costs."""
    n_clusters = centers.shape[1]
    member = labels[:, None, :] == np.arange(n_clusters)[:, None]
    empty = ~member.any(axis=2)
    for start in np.flatnonzero(empty.any(axis=1)):
        lost = np.flatnonzero(empty[start])
        far = np.argsort(-masses * squares[start], kind="stable")[: len(lost)]
        member[start][:, far] = False
        member[start][lost, far] = True
    sums = member.astype(float) @ weighted
    held = sums[:, :, -1:]
    return np.where(held > 0, sums[:, :, :-1] / np.where(held > 0, held, 1.0), centers)


# Weighted k-means of points on a line, exactly.


def clusters_on_line(points, masses, n_clusters):
    """Return the centers of least weighted cost, in increasing order.

    A cluster is a run of points. The best first point of the last cluster grows with its end, so
    ends are solved in the middle of others first, each between the answers beside it: ``k m log m``
    steps for m points.

    Parameters
    ----------
    points : ndarray of shape (n_points, 1)
    masses : ndarray of shape (n_points,)
        Positive.
    n_clusters : int
        At most as many as there are points.

    Returns
    -------
    centers : ndarray of shape (n_clusters, 1)
    """
    order = np.argsort(points[:, 0], kind="stable")
    middle, masses = np.median(points), masses[order]
    places = points[order, 0] - middle
    # masses, moments and squares of all points before a place: a run costs a difference of these
    sums = np.zeros((3, len(places) + 1))
    np.cumsum([masses, masses * places, masses * places**2], axis=1, out=sums[:, 1:])
    ends = np.arange(len(places) + 1)
    costs, starts = _costs(sums, np.zeros_like(ends), ends), []
    costs[0] = np.inf  # every cluster holds a point
    for _ in range(n_clusters - 1):
        costs, first = _with_one_more(sums, costs)
        starts.append(first)
    ends = [len(places)]
    for first in reversed(starts):
        ends.append(first[ends[-1]])
    mass, moment, _ = np.diff(sums[:, [0, *ends[::-1]]], axis=1)
    return (moment / mass + middle)[:, None]


def _with_one_more(sums, costs):
    """Return the least costs with one more cluster, and where it starts, by where the points end.

    ``costs`` are those without it; a last cluster that starts at its end has no point.
    """
    last = len(costs) - 1
    # both of shape (n_ends,); starts grow with the ends, as costs satisfy the quadrangle inequality
    # (Groenlund and others 2017)
    least, first = np.full(last + 1, np.inf), np.zeros(last + 1, dtype=np.int64)
    step = 1 << last.bit_length()
    while step := step // 2:
        end = np.arange(step, last + 1, 2 * step)
        low, beyond = first[end - step], end + step > last
        high = np.where(beyond, last, first[np.minimum(end + step, last)])
        sizes = np.minimum(high, end - 1) - low + 1
        runs = np.cumsum(sizes) - sizes
        start = np.arange(sizes.sum()) + np.repeat(low - runs, sizes)
        found = costs[start] + _costs(sums, start, np.repeat(end, sizes))
        least[end] = np.minimum.reduceat(found, runs)
        best = np.flatnonzero(found == np.repeat(least[end], sizes))
        first[end] = start[best[np.searchsorted(best, runs)]]
    return least, first


def _costs(sums, start, end):
    """Return the cost of one cluster of the points from a start to before an end."""
    mass, moment, square = sums[:, end] - sums[:, start]
    return np.maximum(square - moment**2 / np.maximum(mass, 1e-300), 0.0)


# The tuned numbers of trees of cells and of noisy means, and what each of them trades.


@dataclass(frozen=True)
class TreeTuning:
    """Chosen on generated rows: uniform, skewed, near a line, and clusters of two widths.

    ``benchmarks/measure/accuracy.py`` shows what comes of them. None of them changes what is
    guaranteed: they divide the noise, and say which differences are taken for noise.
    """

    total_share: float = 0.09  # of the loss of a tree, for the number of persons against its cells
    prune: float = 0.1  # standard deviations of noise below which a measure's cell is not split
    deepest: int = 20  # halvings of a measure's domain: detail against time and memory


@dataclass(frozen=True)
class MeansTuning:
    """Chosen by the costs of ``benchmarks/kmeans/quality.py``; they act after the noise."""

    sure: float = 2.0  # standard deviations of noise from which a cluster's mass is known
    first_block: int = 4  # axes that share one prior variance: blocks grow by half
    largest_block: int = 128  # ... up to this many: few noisy variances against many equal ones
    moment_rounds: int = 20  # of the search for a prior variance: precision against time


TREES, MEANS = TreeTuning(), MeansTuning()


@dataclass(frozen=True)
class PyramidTuning:
    """Chosen on maps and mixtures other than those of ``benchmarks/measure/regimes.py``.

    That shows what comes of them. None of them changes what is guaranteed.
    """

    shares: tuple = (0.06, 0.24, 0.15, 0.55)  # of two full levels, of cells refined once, and twice
    cells_a_person: float = 0.25  # for each epsilon, that signal would fill: detail against noise
    levels: tuple = (1 / 3, 0.57)  # powers of that number of cells, for the two full levels
    once: float = 3.0  # scales of the noise to come for which a cell is split the first time
    crowd: float = 0.75  # ... and power of the number of cells that may hold an equal share each
    twice: float = 1.5  # ... the second time
    most_features: int = 4  # up to which it was measured, and is ahead of trees
    most_cells: int = 2**14  # detail against time
    extra: int = 4  # halvings below cells that one person's noise would fill
    of_a_side: int = 4  # halvings of each side at least: shapes that are small in the domain
    deepest: int = 20  # halvings: detail against time and memory
    prior: tuple = ((0.5, 0.08), (0.3, 0.8), (0.2, 12.0))  # sparse, any, and even splits
    own: float = 4.0  # splits for which the prior counts against all splits that were seen
    level: float = 20.0  # ... and all levels against one
    step: float = 0.35  # of the grid of masses, in scales of least noise: precision against time
    faint: float = 0.5  # scales of noise below which a cell counts as empty: far mass, tails
    faint_left: float = 0.02  # of such a cell's mass that stays there: distances, likelihoods
    width: float = 5.0  # of windows, in standard deviations
    alone: float = 3.0  # standard deviations above which a cell stands out
    known: float = 4.0  # ... above which the sum of all others is beyond doubt: spread mass, noise
    rest_left: float = 0.6  # of such a sum that stays there at least: spread mass, distances


@dataclass(frozen=True)
class LineTuning(PyramidTuning):
    """Of one feature, where distances and ranges are mostly those of coarse cells."""

    # a line
    shares: tuple = (0.1, 0.45, 0.2, 0.25)  # more for full levels than in other dimensions
    twice: float = 2.0  # scales of the noise to come for which a cell is split the second time


PYRAMID, LINE = PyramidTuning(), LineTuning()


def pyramid_tuning(n_features):
    """Return the settings of a pyramid in so many dimensions."""
    return LINE if n_features == 1 else PYRAMID
