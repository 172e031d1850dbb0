"""The list of checks, run by pytest or by hand."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from . import _budget_checks, _document_checks, _fit_checks, _one_fit, _replay_checks

if TYPE_CHECKING:
    from .._types import Estimator

CHECKS = (
    _document_checks.check_privacy_section,
    _document_checks.check_neighbors_field,
    _document_checks.check_not_covered_field,
    _replay_checks.check_sensitivity_of_rows,
    _replay_checks.check_sensitivity_of_persons,
    _replay_checks.check_sensitivity_of_weights,
    _replay_checks.check_state_is_post_processing,
    _replay_checks.check_same_integers_for_every_container,
    _one_fit.check_one_fit,
    _budget_checks.check_drawn_noise_adds_up_to_the_charge,
    _budget_checks.check_release_costs_no_more_than_its_charge,
    _budget_checks.check_refused_fit,
    _budget_checks.check_failed_fit_stays_charged,
    _budget_checks.check_copies_share_the_budget,
    _budget_checks.check_grid_search_shares_the_budget,
    _budget_checks.check_pickled_copies_refuse,
    _fit_checks.check_bad_rows_are_refused_before_the_charge,
    _fit_checks.check_bad_parameters_are_refused_before_the_charge,
    _fit_checks.check_no_rows_are_kept,
    _fit_checks.check_fresh_noise,
    _fit_checks.check_seeded_noise_is_marked,
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
    """Return a pytest decorator that runs every check on every estimator as a test of its own.

    Parameters
    ----------
    estimators : list of estimators
        Unfitted private estimators, see :func:`check_private_estimator`.
    expected_failed_checks : callable or None, default=None
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
