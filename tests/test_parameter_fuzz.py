"""Odd parameters and rows are fitted, or refused by name before a charge."""

import numpy as np
import pytest

from skdp_bary import PrivateMeasure
from tests.parameter_fuzz import FAULTS, LATE, LIBRARY, MAKERS, NAMELESS, ODD, trial
from tests.world import check_real

QUICK, SLOW = 60, 3000


def faults(seeds):
    found = [(seed, *trial(seed)) for seed in seeds]
    return [case for case in found if case[1]]


def test_odd_parameters_and_rows():
    assert faults(range(QUICK)) == []


@pytest.mark.parametrize("seed", [653, 713, 741, 2905])
def test_what_an_odd_trial_once_found(seed):
    assert faults([seed]) == []


@pytest.mark.slow
def test_many_odd_parameters_and_rows():
    assert faults(range(QUICK, SLOW)) == []


def test_a_trial_is_what_its_seed_says():
    first, again = trial(5), trial(5)
    assert first[0] == again[0] and first[1].split("->")[0] == again[1].split("->")[0]


@pytest.mark.parametrize("fault", FAULTS)
def test_every_kind_of_fault_is_seen(fault, monkeypatch):
    """An estimator that commits it."""

    class Bad(PrivateMeasure):
        def fit(self, X, y=None):
            if fault == LATE:
                self.accountant.charge(self.privacy_plan(2), "Bad")
            if fault in (LATE, NAMELESS):
                check_real(-1, "this", low=0)
            if fault == ODD:
                raise OverflowError("depth is too large")
            if fault == LIBRARY:
                np.zeros(3).reshape(2, 2)
            self.made_ = np.array([np.nan])

    names, base, _ = MAKERS["PrivateMeasure"]
    monkeypatch.setattr(
        "tests.parameter_fuzz.MAKERS", {"PrivateMeasure": (names, base, lambda p: Bad(**p))}
    )
    seen = {trial(seed)[0] for seed in range(12)}
    assert fault in seen
