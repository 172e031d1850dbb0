"""The slow check: many runs on two neighbors never show more than epsilon."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from sklearn.base import clone

from ..inspection import epsilon_lower_bound
from ..inspection._replay import replay
from ._hostile import hostile_pairs
from ._settings import require, settings

if TYPE_CHECKING:
    from .._types import Estimator


def check_empirical_loss(
    estimator: Estimator,
    n_runs: int = 1000,
    *,
    callback: Callable[[int, int], object] | None = None,
) -> list:
    """Run the estimator many times on its worst neighbors and bound the loss from below.

    Parameters
    ----------
    estimator : estimator
        Give it a small tree, few centers and the like: every run fits it twice.
    n_runs : int, default=1000
        Number of runs on each of the two data sets, for every relation and kind of noise.
    callback : callable or None, default=None
        Called as ``callback(done, n_runs)`` after each pair of runs.

    Returns
    -------
    reports : list of LowerBoundReport
        One per relation and kind of noise. An AssertionError is raised when one of them is above
        epsilon, which happens to a correct estimator once in a thousand times.

    Examples
    --------
    >>> from skdp_bary import PrivateMeasure
    >>> from skdp_bary.testing import check_empirical_loss
    >>> reports = check_empirical_loss(
    ...     PrivateMeasure(bounds=(0, 1), depth=1, n_hint=60), n_runs=20
    ... )
    >>> max(report.epsilon for report in reports) <= 1.0
    True
    """
    candidates = settings(estimator)
    return [
        _audit(candidate, n_runs, 1.0 - 1e-3 / len(candidates), callback)
        for candidate in candidates
    ]


def _audit(estimator, n_runs, confidence, callback):
    pair = max(hostile_pairs(estimator, "rows"), key=lambda pair: _realised(estimator, pair))
    report = epsilon_lower_bound(
        estimator,
        pair.data,
        pair.neighbor,
        n_runs=n_runs,
        delta=estimator.delta,
        confidence=confidence,
        random_state=0,
        callback=callback,
    )
    require(
        report.epsilon <= estimator.epsilon,
        f"{n_runs} runs show a loss of at least {report.epsilon:.3f}, more than epsilon="
        f"{estimator.epsilon} ({estimator.neighbors!r}, delta={estimator.delta}, when {pair.name}, "
        f"event: {report.event}).",
    )
    return report


def _realised(estimator, pair):
    seeded = clone(estimator).set_params(random_state=0)
    return sum(step.realised for step in replay(seeded, pair.data, pair.neighbor).steps)
