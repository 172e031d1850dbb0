"""Empirical lower bounds on the privacy loss, from many runs on two neighbors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv
from sklearn.base import clone

from ..exceptions import Estimator, check_delta, check_integer, check_real
from ..model_selection.search import PrivateSearchCV
from .replay import detached, fit_arguments, quiet, record_fit

# Empirical lower bounds on the privacy loss: run a mechanism many times on two neighbors.


@dataclass(frozen=True)
class LowerBoundReport:
    """Result of an empirical audit, see :func:`epsilon_lower_bound`.

    Attributes
    ----------
    epsilon : float
        Lower bound: the mechanism is not (epsilon', delta) private for any epsilon' below it.
    delta : float
    confidence : float
        Probability, over the runs, that the lower bound is correct.
    event : str
        The event it was found with.
    hits, neighbor_hits : int
        Number of times that the event happened on the data and on the neighbor.
    n_trials : int
        Number of runs on each dataset that the hits are counted in.
    """

    epsilon: float
    delta: float
    confidence: float
    event: str
    hits: int
    neighbor_hits: int
    n_trials: int


def epsilon_lower_bound(
    mechanism: Callable[..., ArrayLike] | Estimator,
    data: object,
    neighbor: object,
    *,
    extract: Callable[..., ArrayLike] | None = None,
    n_runs: int = 1000,
    delta: float = 0.0,
    confidence: float = 0.95,
    random_state: int | None = None,
) -> LowerBoundReport:
    """Return a lower bound on the epsilon of any randomized mechanism, from many runs.

    Parameters
    ----------
    mechanism : callable or estimator
        A callable gets a dataset and a numpy generator (None unless `random_state` is given) and
        returns a number or an array. An estimator is cloned and fitted anew for every run.
    data, neighbor : object
        Two neighboring datasets, as the callable takes them; for an estimator ``X``, or a dict of
        the arguments of ``fit``.
    extract : callable, default=None
        For an estimator: ``extract(fitted)`` returns the release, as a number or an array.
        None takes the noisy integers of an estimator of this package, not a search, of which
        everything it publishes is a function.
    n_runs : int, default=1000
        Number of runs on each of the two datasets. Bounds near the true epsilon need thousands,
        and no number of runs shows more than about ``log(n_runs)``.
    delta : float, default=0.0
        Failure probability that the mechanism is allowed.
    confidence : float, default=0.95
        Probability that the bound is correct.
    random_state : None or int, default=None
        None leaves all randomness to the mechanism. An integer makes the audit reproducible where
        the mechanism lets itself be seeded.

    Returns
    -------
    report : LowerBoundReport

    Notes
    -----
    The first half of the runs picks, for every kind of event, the one that separates the two data
    sets best: a threshold on a single number, on a linear combination, on a combination clipped as
    the likelihood ratio of Laplace noise is, an exact value, or a property of the low bits of
    floating-point numbers (which gives away noise that was added to floats). The second half gives
    for each event a lower limit of its probability p on one dataset and an upper limit of its
    probability q on the other; the bound is the largest ``log((p - delta) / q)``. The chance of a
    wrong limit is shared among all of them.

    A low bound proves nothing; a bound above the epsilon that was promised refutes the promise, up
    to the confidence. `data` and `neighbor` should be a pair for which the mechanism is worst, see
    :func:`replay_sensitivity`. Nothing here is private.

    An estimator of another package, such as a pipeline, needs `extract`. No run spends from a
    budget that it, or a step in it, was given.

    Examples
    --------
    A count whose noise has half the scale that epsilon = 1 needs:

    >>> from skdp_bary.inspection import epsilon_lower_bound
    >>> def noisy_count(rows, rng):
    ...     return len(rows) + rng.laplace(scale=0.5)
    >>> report = epsilon_lower_bound(
    ...     noisy_count, range(10), range(9), n_runs=4000, random_state=0
    ... )
    >>> report.epsilon > 1.0
    True
    """
    n_runs = check_integer(n_runs, "n_runs", low=4)
    delta = check_delta(delta)
    confidence = check_real(confidence, "confidence", low=0, high=1, open_low=True, open_high=True)
    run = mechanism if not hasattr(mechanism, "fit") else _estimator_runs(mechanism, extract)
    if not callable(run):
        raise TypeError(
            f"mechanism must be a callable or an estimator, got {mechanism!r}. For example "
            "mechanism=lambda rows, rng: len(rows) + rng.laplace()."
        )
    rng = None if random_state is None else np.random.default_rng(random_state)
    ours, theirs = [], []
    for _ in range(n_runs):
        ours.append(_as_vector(run(data, rng)))
        theirs.append(_as_vector(run(neighbor, rng)))
    vectors = ours + theirs
    lengths = np.array([v.size for v in vectors])
    if (lengths == lengths[0]).all():
        outputs = np.stack(vectors)
    else:  # each output starts with its length, and is padded
        outputs = np.zeros((len(vectors), 1 + int(lengths.max())))
        for row, vector in zip(outputs, vectors, strict=True):
            row[: vector.size + 1] = vector.size, *vector
    first, second = outputs[:n_runs], outputs[n_runs:]
    half = n_runs // 2

    def score(hits, neighbor_hits, n_trials, error=(1.0 - confidence) / 16):
        ways = (hits, neighbor_hits), (neighbor_hits, hits)
        return np.maximum(*(_log_ratio(*counts, n_trials, delta, error) for counts in ways))

    # the bound is from trials that did not choose the events; each limit gets its share of errors
    events = find_events(first[:half], second[:half], score)
    n_trials, best = n_runs - half, None
    for event in events:
        hits = tuple(int(event.happens(runs[half:]).sum()) for runs in (first, second))
        bound = float(score(*hits, n_trials, (1.0 - confidence) / (4 * len(events))))
        if best is None or bound > best.epsilon:
            best = LowerBoundReport(max(bound, 0.0), delta, confidence, event.name, *hits, n_trials)
    return best


def _log_ratio(hits, other_hits, n_trials, delta, error):
    """Lower limit of ``log((p - delta) / q)``, wrong with probability at most ``2 * error``."""
    # limits of binomial probabilities (Clopper and Pearson 1934)
    k, m = np.asarray(hits), np.asarray(other_hits)
    low = np.where(k == 0, 0.0, betaincinv(np.maximum(k, 1), n_trials - k + 1, error))
    high = np.where(m == n_trials, 1.0, betaincinv(m + 1, np.maximum(n_trials - m, 1), 1.0 - error))
    return np.log(np.maximum(low - delta, 1e-300) / high)


def _estimator_runs(estimator, extract):
    """Return a callable that fits a clone and returns what it publishes."""
    ours = hasattr(estimator, "privacy_plan")
    if extract is None and (not ours or isinstance(estimator, PrivateSearchCV)):
        raise TypeError(  # of the trials of a search only the best is published
            "extract must say what is published for a search or an estimator of another package: a "
            "function of the fitted one that returns a number or an array, got None."
        )

    def run(data, rng):
        arguments, fresh = fit_arguments(data), _seeded(estimator, rng)
        if extract is None:
            recorded = record_fit(fresh, arguments)
            if recorded.error is not None:
                raise recorded.error
            values = [v.ravel() for record in recorded.records for v in record.released.values]
            return np.concatenate(values)
        with quiet():
            return extract(detached(fresh).fit(**arguments))

    return run


def _seeded(estimator, rng):
    params = estimator.get_params(deep=False)
    fixed = params.get("random_state") is not None
    if rng is None and fixed:
        raise ValueError(
            "The estimator must have random_state=None, because every run would draw the same "
            f"noise; got random_state={params['random_state']!r}. For a reproducible audit give "
            "random_state to this function."
        )
    fresh = clone(estimator)
    if rng is not None and "random_state" in params:
        fresh.set_params(random_state=int(rng.integers(2**31)))
    return fresh


def _as_vector(output):
    vector = np.asarray(output)
    if vector.dtype.kind not in "biuf":
        raise TypeError(
            f"The output of the mechanism must be real numbers, got dtype {vector.dtype}. Return "
            "an array of floats from extract."
        )
    return vector.ravel().astype(float)


# Events that tell two samples of outputs apart, found on runs that are not used again.

_MAX_COORDINATES = 32
_MAX_CUTS = 200
_SHIFTED = 3.0  # standard errors from which a coordinate counts as shifted


@dataclass(frozen=True)
class Statistic:
    """A number computed from every output.

    Attributes
    ----------
    family : str
        Kind of statistic; one event is kept of every family.
    name : str
    values : callable
        Takes outputs of shape (n_runs, n_numbers) and returns an array of shape (n_runs,).
    """

    family: str
    name: str
    values: Callable


@dataclass(frozen=True)
class Event:
    """A statistic at or below a cut, or equal to it."""

    statistic: Statistic
    relation: str
    cut: float

    @property
    def name(self):
        """The event in words."""
        return f"{self.statistic.name} {self.relation} {self.cut:.6g}"

    def happens(self, outputs):
        """Whether the event happens, by run."""
        values = self.statistic.values(outputs)
        compare = {"<=": np.less_equal, ">": np.greater, "==": np.equal}[self.relation]
        return compare(values, self.cut)


def find_events(first, second, score):
    """Return for every kind of event the one that separates two samples best.

    Parameters
    ----------
    first, second : ndarray of shape (n_runs, n_numbers)
    score : callable
        ``score(hits, other_hits, n_runs)`` ranks events, from arrays of counts.
    """
    best = {}
    for statistic in _statistics(first, second):
        ours, theirs = statistic.values(first), statistic.values(second)
        for relation, cuts, hits, other_hits in _candidates(ours, theirs):
            scores = score(hits, other_hits, len(first))
            place = int(np.argmax(scores))
            key = statistic.family, relation == "=="
            if key not in best or scores[place] > best[key][0]:
                best[key] = scores[place], Event(statistic, relation, float(cuts[place]))
    return [event for _, event in best.values()]


def lowest_bit(values):
    """Return the exponent of the lowest set bit of each float (2000 for zero).

    ``x + noise`` computed in floating point is a multiple of the rounding unit near ``x``, whatever
    the noise, so the low bits of the sum can show which ``x`` it was.
    """
    mantissa, exponent = np.frexp(np.where(np.isfinite(values), values, 0.0))
    integer = (mantissa * 2.0**53).astype(np.int64)
    trailing = np.log2(
        (integer & -integer).astype(float), where=integer != 0, out=np.zeros(len(values))
    )
    return np.where(integer != 0, exponent - 53 + trailing, 2000.0)


def _candidates(ours, theirs):
    """Yield relations, their cuts, and the counts of both samples at every cut."""
    pooled, counts = np.unique(np.concatenate([ours, theirs]), return_counts=True)
    cuts = pooled
    if len(cuts) > _MAX_CUTS:
        cuts = pooled[np.unique(np.linspace(0, len(pooled) - 1, _MAX_CUTS).astype(int))]
    samples = np.sort(ours), np.sort(theirs)
    below = [np.searchsorted(sample, cuts, side="right") for sample in samples]
    yield "<=", cuts, *below
    yield ">", cuts, *(len(ours) - count for count in below)
    frequent = pooled[np.argsort(-counts, kind="stable")[:_MAX_CUTS]]
    yield (
        "==",
        frequent,
        *(
            np.searchsorted(s, frequent, side="right") - np.searchsorted(s, frequent)
            for s in samples
        ),
    )


def _statistics(first, second):
    """Return the statistics to try, the combined ones fitted to the two samples."""
    means = first.mean(axis=0), second.mean(axis=0)
    spread = np.sqrt((first.var(axis=0) + second.var(axis=0)) / 2.0)
    shift = np.abs(means[1] - means[0]) * np.sqrt(len(first) / 2.0)
    shift = np.divide(shift, spread, out=np.where(shift > 0, np.inf, 0.0), where=spread > 0)
    strongest = np.argsort(-shift, kind="stable")[:_MAX_COORDINATES]
    found = []
    for j in strongest.tolist():
        found.append(Statistic("number", f"number {j}", lambda Z, j=j: Z[:, j]))
        found.append(
            Statistic("low bit", f"lowest bit of number {j}", lambda Z, j=j: lowest_bit(Z[:, j]))
        )
    moved = np.flatnonzero(shift > _SHIFTED)
    if len(moved) > 1:
        found += _directions(moved, means, np.maximum(spread, 1e-150))
    return found


def _directions(moved, means, spread):
    """Log likelihood ratios of independent Gaussian and Laplace noise on the moved coordinates."""
    low = np.minimum(*means)[moved]
    high = np.maximum(*means)[moved]
    # likelihood ratios are the most powerful tests (Neyman and Pearson 1933)
    difference = (means[1] - means[0])[moved]
    scale = spread[moved]

    def linear(Z):
        return Z[:, moved] @ (difference / scale**2)

    def clipped(Z):
        return np.clip(Z[:, moved], low, high) @ (np.sign(difference) / scale)

    return [
        Statistic("linear", "linear combination", linear),
        Statistic("clipped", "clipped combination", clipped),
    ]
