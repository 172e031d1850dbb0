"""Two contracts over every public estimator: that of the package, and that of scikit-learn.

A test is one estimator and one group of checks; it names every check that failed, and every check
that is expected to fail and does not.
"""

import re
import traceback
from contextlib import nullcontext

import pytest
from sklearn.utils.estimator_checks import check_estimator

from tests.discovery import private_estimators, public_estimators
from tests.estimators import PRIVATE, SCIKIT_LEARN, private_failures, scikit_learn_failures
from tests.remembered import remembered_solutions
from tests.world import CHECKS

SMOKE = ("DPSlicedWasserstein", "PrivateKMeans", "PrivateMeasure")
_ADDRESS = re.compile(" at 0x[0-9a-f]+")  # of functions: names of tests stay those of the last run


def group_of(check):
    """Return the name of the group that a check runs in."""
    if "sensitivity" in check.__name__:
        return check.__name__.removeprefix("check_")
    alone = check.__module__.endswith((".fit_checks", ".replay_checks"))
    return "rows_and_noise" if alone else "words_and_budget"


GROUPS = {group_of(check): [] for check in CHECKS}
for _check in CHECKS:
    GROUPS[group_of(_check)].append(_check)


def named(estimators, smoke=()):
    """Return the estimators as parameters of a test, each under its settings."""
    classes, made = [cls.__name__ for cls in map(type, estimators)], []
    for i, (name, estimator) in enumerate(zip(classes, estimators, strict=True)):
        marks = [pytest.mark.smoke] if name in smoke and name not in classes[:i] else []
        shown = _ADDRESS.sub("", " ".join(repr(estimator).split()))
        made.append(pytest.param(estimator, id=shown, marks=marks))
    return made


def failures(estimator, checks, expected):
    """Run checks and say which did not end as expected."""
    said = []
    for check in checks:
        reason, failed = expected.get(check.__name__), None
        try:
            check(estimator)
        except Exception:
            failed = traceback.format_exc()
        if (failed is None) == (reason is not None):
            said.append(f"{check.__name__}\n{failed or f'passes, which should fail: {reason}'}")
    return said


# the source of these checks was trained briefly: it is poor, and an adapter says so every time
@pytest.mark.filterwarnings("ignore:The source model is right on")
@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("estimator", named(PRIVATE, SMOKE))
def test_privacy(estimator, group):
    with remembered_solutions() if "sensitivity" in group else nullcontext():
        said = failures(estimator, GROUPS[group], private_failures(estimator))
    assert not said, "\n\n".join(said)


@pytest.mark.filterwarnings("ignore::skdp_bary.exceptions.PrivacyWarning")
@pytest.mark.parametrize("estimator", named(SCIKIT_LEARN))
def test_scikit_learn_contract(estimator):
    expected = scikit_learn_failures(estimator)
    found = check_estimator(estimator, expected_failed_checks=expected, on_skip=None, on_fail=None)
    assert len(found) > 40  # older versions do not have every check that is expected to fail
    said = [
        "".join([f"{result['check_name']}\n", *traceback.format_exception(result["exception"])])
        for result in found
        if result["status"] == "failed"
    ]
    said += [
        f"{result['check_name']} passes, which should fail"
        for result in found
        if result["status"] == "passed" and result["expected_to_fail"]
    ]
    assert not said, "\n\n".join(said)


def test_every_estimator_is_under_both_contracts():
    """But for a few of which the reason is in the list of settings."""
    under = {type(each).__mro__ for each in PRIVATE}, {type(each).__mro__ for each in SCIKIT_LEARN}
    ours, theirs = ({cls for mro in found for cls in mro} for found in under)
    assert set(private_estimators().values()) <= ours
    left_out = {name for name, cls in public_estimators().items() if cls not in theirs}
    assert left_out == {
        "NoisyRowsSlicedWasserstein",
        "PrivateDomainAdapter",
        "PrivateTwoSampleTest",
    }
    assert sum(map(len, GROUPS.values())) == len(CHECKS) and len(GROUPS) == 5


def test_what_does_not_end_as_expected_is_said():
    def check_right(estimator):
        pass

    def check_wrong(estimator):
        raise ValueError("wrong it is")

    checks = [check_right, check_wrong]
    assert failures(None, checks, {"check_wrong": "a reason"}) == []
    passes, fails = failures(None, checks, {"check_right": "a reason"})
    assert "check_right\npasses, which should fail: a reason" in passes
    assert fails.startswith("check_wrong\n") and "ValueError: wrong it is" in fails
