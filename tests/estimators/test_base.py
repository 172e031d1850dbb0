"""The one fit: what is charged when, what is refused before, and who knows what."""

import re
from inspect import signature

import numpy as np
import pandas as pd
import pytest

from skdp_bary import (
    BudgetAccountant,
    PrivateEMDHeatmap,
    PrivateMeasure,
    PrivateWassersteinBarycenter,
)
from skdp_bary.exceptions import BudgetError, PrivacyWarning
from skdp_bary.geometry import Mask
from tests.cases import every
from tests.discovery import private_estimators

DIVIDED = sorted(  # by public labels
    name for name, cls in private_estimators().items() if "classes" in signature(cls).parameters
)
assert len(DIVIDED) > 3

X = np.random.default_rng(0).random((400, 2))


def measure(**parameters):
    return PrivateMeasure(**{"bounds": (0, 1), "n_hint": 400} | parameters)


# Refusals that must not cost anything


def test_one_shot_iterators_are_refused_by_fits_that_read_twice():
    accountant = BudgetAccountant(2.0)
    with pytest.raises(ValueError, match=r"reads the rows once per step \(count, tree\)"):
        measure(accountant=accountant, n_hint=None, method="haar").fit(iter([X, X]))
    assert not accountant.entries
    measure(accountant=accountant, method="haar").fit(iter([X, X]))
    measure(accountant=accountant, n_hint=None).fit([X, X])


@every("kind", [PrivateMeasure, PrivateWassersteinBarycenter, PrivateEMDHeatmap])
def test_the_method_that_reads_rows_once_is_named_where_it_is_needed(kind):
    model = kind(bounds=(0, 1), n_hint=100)
    with pytest.raises(ValueError, match="save steps with") as told:
        model.fit(iter([X, X]))
    method = re.search(r"method=\"(\w+)\"", str(told.value))[1]
    model.set_params(method=method).fit(iter([X, X]))


def test_what_the_budget_cannot_pay_reads_no_row():
    def explode():
        yield X
        raise RuntimeError("a second chunk was read")

    accountant = BudgetAccountant(0.5)
    with pytest.raises(BudgetError, match="asks for epsilon=1.0"):
        measure(accountant=accountant, method="haar").fit(explode())
    assert not accountant.entries


# What a fit knows


@pytest.mark.filterwarnings("ignore:About [46] people")
@every("weights", [None, np.array([1.0, 1, 1, 0, 1, 1])])
@every("chunked", [False, True])
@every("name", DIVIDED)
def test_persons_of_several_public_classes_are_refused(name, chunked, weights):
    """The size of each class is public under replace_one: other rows, or other weights, would move
    mass of one person between classes and show in an exact number."""
    cls = private_estimators()[name]
    X, y, groups = np.full((6, 1), 0.5), np.array([0, 0, 0, 1, 1, 1]), np.array([0, 1, 2, 0, 4, 5])
    accountant = BudgetAccountant(1.0, 1e-6, neighbors="replace_one")
    estimator = cls(bounds=(0, 1), classes=[0, 1], delta=1e-6, accountant=accountant)
    with pytest.raises(ValueError, match="groups must leave each person in one class"):
        if chunked:
            estimator.fit([(X, y, weights, groups)])
        else:
            estimator.fit(X, y, groups=groups, sample_weight=weights)
    assert accountant.entries == ()


def test_a_name_of_an_id_among_the_features_is_told_before_the_charge():
    accountant = BudgetAccountant(5.0)
    rows = pd.DataFrame(X, columns=["patient_id", "x"])
    with pytest.raises(PrivacyWarning, match="pass it as groups='patient_id'"):
        measure(accountant=accountant).fit(rows)
    assert accountant.entries == ()
    rows["patient_id"] = np.arange(len(X))
    measure(accountant=accountant).fit(rows, groups="patient_id")
    measure(bounds={"patient_id": (0, 400), "x": (0, 1)}).fit(rows)


def test_columns_beside_those_of_bounds_are_named():
    rows = pd.DataFrame(np.c_[X, X[:, 0]], columns=["x", "y", "who"])
    with pytest.raises(ValueError, match="drop \\['who'\\] from the rows"):
        measure(bounds={"x": (0, 1), "y": (0, 1)}).fit(rows)


@pytest.mark.filterwarnings("ignore::skdp_bary.exceptions.PrivacyWarning")
@every("name", ["PrivateMeasure", "PrivateDriftSketch", "DPSlicedWasserstein"])
def test_a_released_domain_has_computed_the_same_whatever_rows_are_read(name):
    """A cache of a mask was filled when a row lay outside, and told of that row."""
    inside = np.tile([[0.7, 0.2]], (20, 1))
    seen = []
    for X in (inside, np.vstack([inside, [[0.1, 0.9]]]), inside[:0]):
        mask = Mask([[[0, 0], [1, 0], [1, 1]]])
        fitted = private_estimators()[name](bounds=mask, n_hint=20).fit(X)
        seen.append((vars(fitted.domain_).keys(), vars(mask).keys()))
    assert seen[0] == seen[1] == seen[2]
