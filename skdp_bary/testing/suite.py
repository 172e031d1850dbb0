"""The list of checks, run by pytest or by hand, and the slow audit."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any

from sklearn.base import clone

from ..exceptions import Estimator
from ..inspection.lower_bound import epsilon_lower_bound
from ..inspection.replay import replay
from . import fit_checks, one_fit, replay_checks
from .hostile import hostile_pairs, require, settings

# The list of checks, run by pytest or by hand.

CHECKS = tuple(
    check
    for module in (one_fit, replay_checks, fit_checks)
    for name, check in vars(module).items()
    if name.startswith("check_")
)
_ADDRESS = re.compile(" at 0x[0-9a-f]+")  # of functions: names of tests stay those of the last run


def check_private_estimator(estimator: Estimator) -> None:
    """Run every check of the contract suite on one estimator.

    Parameters
    ----------
    estimator : estimator
        An unfitted private estimator. Small settings keep the checks fast: each of them fits
        clones of it many times. It is checked under every neighboring relation and both kinds of
        noise that it accepts, with its other parameters as they are.

    Raises
    ------
    AssertionError
        Listing every check that failed, with what it found.

    Examples
    --------
    >>> from skdp_bary import PrivateMeasure
    >>> from skdp_bary.testing import check_private_estimator
    >>> check_private_estimator(PrivateMeasure(bounds=(0, 1), depth=3, n_hint=60))
    """
    failures = []
    for check in CHECKS:
        try:
            check(estimator)
        except AssertionError as failure:
            failures.append(f"{check.__name__}: {failure}")
    if failures:
        listed = "\n\n".join(failures)
        raise AssertionError(f"{len(failures)} checks failed on {estimator}.\n\n{listed}")


def parametrize_with_privacy_checks(
    estimators: list, *, expected_failed_checks: Callable[..., dict[str, str]] | None = None
) -> Any:
    """Return a pytest decorator that runs every check on every estimator as its own test.

    Parameters
    ----------
    estimators : list of estimators
        Unfitted private estimators, see :func:`check_private_estimator`.
    expected_failed_checks : callable, default=None
        Takes an estimator and returns a dict of the names of checks that are known to fail and the
        reason for each, in words. These tests are marked as expected failures, strictly.

    Returns
    -------
    decorator : pytest.mark.parametrize

    Examples
    --------
    >>> from skdp_bary import PrivateMeasure
    >>> from skdp_bary.testing import parametrize_with_privacy_checks
    >>> @parametrize_with_privacy_checks([PrivateMeasure(bounds=(0, 1), depth=3)])
    ... def test_privacy(estimator, check):
    ...     check(estimator)
    """
    import pytest

    cases = []
    for estimator in estimators:
        expected = {} if expected_failed_checks is None else expected_failed_checks(estimator)
        unknown = set(expected) - {check.__name__ for check in CHECKS}
        if unknown:
            raise ValueError(
                f"expected_failed_checks names {sorted(unknown)}, which are no checks."
            )
        settings = _ADDRESS.sub("", " ".join(repr(estimator).split()))
        for check in CHECKS:
            reason = expected.get(check.__name__)
            marks = [] if reason is None else [pytest.mark.xfail(reason=reason, strict=True)]
            label = f"{settings}-{check.__name__}"
            cases.append(pytest.param(estimator, check, marks=marks, id=label))
    return pytest.mark.parametrize("estimator, check", cases)


# The slow check: many runs on two neighbors never show more than epsilon.


def check_empirical_loss(estimator: Estimator, n_runs: int = 1000) -> list:
    """Run the estimator many times on its worst neighbors and bound the loss from below.

    Parameters
    ----------
    estimator : estimator
        Give it a small tree, few centers and the like: every run fits it twice.
    n_runs : int, default=1000
        Number of runs on each of the two datasets, for every relation and kind of noise.

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

    def realized(seeded, pair):
        return sum(step.realized for step in replay(seeded, pair.data, pair.neighbor).steps)

    candidates, reports = settings(estimator), []
    for candidate in candidates:
        seeded = clone(candidate).set_params(random_state=0)
        pair = max(hostile_pairs(candidate, "rows"), key=partial(realized, seeded))
        report = epsilon_lower_bound(
            candidate,
            pair.data,
            pair.neighbor,
            n_runs=n_runs,
            delta=candidate.delta,
            confidence=1.0 - 1e-3 / len(candidates),
            random_state=0,
        )
        require(
            report.epsilon <= candidate.epsilon,
            f"{n_runs} runs show a loss of at least {report.epsilon:.3f}, more than epsilon="
            f"{candidate.epsilon} ({candidate.neighbors!r}, delta={candidate.delta}, when "
            f"{pair.name}, event: {report.event}).",
        )
        reports.append(report)
    return reports
