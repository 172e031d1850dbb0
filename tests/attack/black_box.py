"""Run estimators many times on their worst neighbors: the loss that shows stays below epsilon."""

import time
from functools import cache

import numpy as np
from sklearn.base import clone

from skdp_bary.inspection import epsilon_lower_bound
from tests.estimators import AUDITED
from tests.world import hostile_pairs, make_arguments, record_fit, replay, settings

from .promises import Promise, Trial, spawn

_SECONDS = 15.0  # of one audit
_PAUSE = 1.0  # seconds between the chances of others to go on
_EPSILONS = (1.0, 2.0, 4.0)  # few runs show most of a loss that is neither small nor large
_FEWEST, _MOST = 500, 4000  # runs on each of the two data sets
_CONFIDENCE = 1.0 - 1e-6  # hundreds of audits without a false alarm


def audits(rng, estimators=AUDITED):
    """Yield audits of random settings, each on the pair whose replay loses most.

    Settings whose fits are too slow for an audit that could show something are left to the tests.
    """
    candidates = [candidate for each in estimators for candidate in settings(each)]
    while candidates:
        place = rng.integers(len(candidates))
        n_runs = int(min(_SECONDS / (2 * _fit_time(_Shown(candidates[place]))), _MOST))
        if n_runs < _FEWEST:
            del candidates[place]
            continue
        candidate = clone(candidates[place]).set_params(epsilon=float(rng.choice(_EPSILONS)))
        yield from _audit(candidate, n_runs, spawn(rng))


def _audit(candidate, n_runs, rng):
    """Yield None now and then while the runs are made, and a trial at the end."""
    pair = _worst_pair(_Shown(candidate))
    outputs, begin = ([], []), time.perf_counter()
    for _ in range(n_runs):
        for kept, arguments in zip(outputs, (pair.data, pair.neighbor), strict=True):
            kept.append(_released(candidate, arguments, int(rng.integers(2**31))))
        if time.perf_counter() - begin > _PAUSE:
            yield None
            begin = time.perf_counter()
    report = epsilon_lower_bound(
        lambda place, _: outputs[place].pop(),
        0,
        1,
        n_runs=n_runs,
        delta=candidate.delta,
        confidence=_CONFIDENCE,
    )
    found = ""
    if report.epsilon > candidate.epsilon:
        found = (
            f"{candidate!r}: {n_runs} runs show a loss of at least {report.epsilon:.3f} when "
            f"{pair.name} ({report.event})"
        )
    yield Trial("", report.epsilon / candidate.epsilon, found)


def _released(candidate, arguments, seed):
    """Return the noisy integers of one fit."""
    recorded = record_fit(clone(candidate).set_params(random_state=seed), arguments)
    values = [block.ravel() for each in recorded.records for block in each.released.values]
    return np.concatenate(values)


class _Shown:
    """An estimator that is equal to others with the same parameters, to remember answers by."""

    def __init__(self, estimator):
        self.estimator = estimator

    def __hash__(self):
        return hash(repr(self.estimator))

    def __eq__(self, other):
        return repr(self.estimator) == repr(other.estimator)


@cache
def _fit_time(shown):
    """Return how long one fit takes, the second one."""
    arguments = make_arguments(shown.estimator)
    record_fit(shown.estimator, arguments)
    begin = time.process_time()
    record_fit(shown.estimator, arguments)
    return max(time.process_time() - begin, 1e-4)


@cache
def _worst_pair(shown):
    """Return the hostile pair with the largest replayed loss."""
    seeded = clone(shown.estimator).set_params(random_state=0)

    def loss(pair):
        return sum(step.realized for step in replay(seeded, pair.data, pair.neighbor).steps)

    return max(hostile_pairs(seeded, "rows"), key=loss)


PROMISE = Promise("black box", "Many runs show no more loss than epsilon", audits, shares=2.0)
