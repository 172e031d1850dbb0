"""The one fit: what is charged when, what is refused before, and who knows what."""

import re
import warnings
from dataclasses import fields
from fractions import Fraction
from inspect import signature

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.model_selection import cross_validate

from skdp_bary import (
    BudgetAccountant,
    DPSlicedWasserstein,
    PrivateEMDHeatmap,
    PrivateKMeans,
    PrivateMeasure,
    PrivateWassersteinBarycenter,
)
from skdp_bary.exceptions import BudgetError, PrivacyWarning
from skdp_bary.geometry import Mask
from tests.cases import every
from tests.discovery import private_estimators
from tests.world import exact, home

_base = home("Facts")
DIVIDED = sorted(  # by public labels
    name for name, cls in private_estimators().items() if "classes" in signature(cls).parameters
)
assert len(DIVIDED) > 3

X = np.random.default_rng(0).random((400, 2))


def measure(**parameters):
    return PrivateMeasure(**{"bounds": (0, 1), "n_hint": 400} | parameters)


# Charges


@every("epsilon", [1 / 3, 0.1234567, 2**0.5, 1e-6, 123.456789123])
@every("delta", [0.0, 1e-6 / 7])
def test_a_fit_of_its_own_affords_any_epsilon(epsilon, delta):
    """Entries are whole units: the ceiling that it is made for and the fit are rounded alike."""
    plan = measure(epsilon=epsilon, delta=delta).fit(X).privacy_
    assert 0 <= exact(epsilon) - exact(plan.epsilon) < Fraction(1, 10**6)
    assert 0 <= exact(delta) - exact(plan.delta) < Fraction(1, 10**18)


# Refusals that must not cost anything


NAN = X.copy()
NAN[5, 1] = np.nan
BAD_ROWS = {  # what else is no row is listed beside the sources that refuse it
    "nan in frame": (pd.DataFrame(NAN), {}),
    "nan with groups": (NAN, {"groups": np.arange(400)}),
    "nan in last chunk": ([X, X, NAN], {}),
    "nan in iterator": (lambda: iter([X, NAN]), {}),
    "features of a chunk": ([X, X[:, :1]], {}),
    "weights": (X, {"sample_weight": np.full(400, -1.0)}),
    "groups beside chunks": ([X, X], {"groups": np.ones(800)}),
}


@pytest.mark.parametrize("steps", ["one step", "two steps"])
@every("kind", BAD_ROWS)
def test_bad_rows_are_refused_before_any_charge(kind, steps):
    rows, arguments = BAD_ROWS[kind]
    accountant = BudgetAccountant(1.0)
    model = measure(accountant=accountant, n_hint=400 if steps == "one step" else None)
    with sklearn.config_context(assume_finite=True), pytest.raises(ValueError):
        model.fit(rows, **arguments)
    assert not accountant.entries
    assert not hasattr(model, "privacy_")


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


# Randomness


def test_the_ledger_says_what_a_person_was():
    accountant = BudgetAccountant(3.0)
    measure(accountant=accountant).fit(X)
    with pytest.warns(PrivacyWarning, match="protect .rows., and is now charged"):
        measure(accountant=accountant).fit(X, groups=np.arange(len(X)) // 2)
    assert [entry.unit for entry in accountant.entries] == ["rows", "persons by groups"]
    table = accountant.summary()
    assert "persons by groups" in table and "  rows" in table


# What a fit knows


@pytest.mark.filterwarnings("ignore::skdp_bary.exceptions.PrivacyWarning")
@pytest.mark.parametrize("relation", ["add_remove", "replace_one", "replace_any"])
@every("weighted", [False, True])
def test_what_is_public_follows_from_the_relation(relation, weighted, monkeypatch):
    seen, questions, private = [], PrivateMeasure._questions, relation == "add_remove"

    def noted(self, facts):
        seen.append(facts)
        return questions(self, facts)

    monkeypatch.setattr(PrivateMeasure, "_questions", noted)
    weights = np.ones(400) if weighted else None
    measure(n_hint=None, neighbors=relation, random_state=0).fit(X, sample_weight=weights)
    facts = seen[0]
    assert facts.total_public == (not private and not weighted)
    assert facts.units == (1 << 16 if weighted else 1)
    assert (facts.size != 400) == ("count" in facts.mechanisms) == private
    assert {f.name for f in fields(_base.Facts)}.isdisjoint({"X", "rows", "source"})


@pytest.mark.filterwarnings("ignore:About [46] persons")
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
    with pytest.raises(ValueError, match="groups must be people"):
        if chunked:
            estimator.fit([(X, y, weights, groups)])
        else:
            estimator.fit(X, y, groups=groups, sample_weight=weights)
    assert accountant.entries == ()


@pytest.mark.filterwarnings("ignore:About 6 persons")
@every("cls", [PrivateWassersteinBarycenter, DPSlicedWasserstein])
def test_persons_of_one_public_class_may_have_weights(cls):
    accountant = BudgetAccountant(1.0, 1e-6, neighbors="replace_one")
    estimator = cls(bounds=(0, 1), classes=[0, 1], delta=1e-6, accountant=accountant)
    public_labels = estimator.set_params(n_min=2) if cls is DPSlicedWasserstein else estimator
    X, y, weights = np.full((6, 1), 0.5), np.repeat([0, 1], 3), np.array([1.0, 1, 1, 0, 1, 1])
    public_labels.fit(X, y, groups=[0, 1, 2, 3, 4, 5], sample_weight=weights)
    assert len(accountant.entries) == 1


@every(
    "estimator",
    [
        PrivateMeasure(epsilon=100.0, bounds=(0, 1)),
        PrivateEMDHeatmap(bounds=(0, 1), resolution=16),
        PrivateWassersteinBarycenter(3, epsilon=100.0, bounds=(0, 1)),
    ],
)
def test_what_is_paid_for_comes_also_where_numpy_raises(estimator):
    accountant = BudgetAccountant(200.0)
    X = np.random.default_rng(0).random((300, 2))
    with np.errstate(all="raise"):
        clone(estimator).set_params(accountant=accountant).fit(X)
    assert len(accountant.entries) == 1


def test_what_is_paid_for_is_there_where_warnings_are_errors():
    accountant = BudgetAccountant(1.0)
    kmeans = PrivateKMeans(3, bounds=(0, 1), accountant=accountant)
    with warnings.catch_warnings(), pytest.raises(PrivacyWarning, match="Noise level"):
        warnings.simplefilter("error")
        kmeans.fit(np.random.default_rng(0).random((3, 2)))
    assert accountant.total() == (1.0, 0.0)
    assert kmeans.privacy_.epsilon == 1.0 and kmeans.n_features_in_ == 2
    assert kmeans.predict([[0.5, 0.5]]).shape == (1,)


def test_a_name_of_an_id_among_the_features_is_told_before_the_charge():
    accountant = BudgetAccountant(5.0)
    rows = pd.DataFrame(X, columns=["patient_id", "x"])
    with pytest.raises(PrivacyWarning, match="pass it as groups='patient_id'"):
        measure(accountant=accountant).fit(rows)
    assert accountant.entries == ()
    rows["patient_id"] = np.arange(len(X))
    measure(accountant=accountant).fit(rows, groups="patient_id")
    measure(bounds={"patient_id": (0, 400), "x": (0, 1)}).fit(rows)


def test_a_refusal_warns_in_searches_only():
    model = measure(accountant=BudgetAccountant(0.5))
    with pytest.raises(BudgetError):
        model.fit(X)
    with (
        pytest.warns(PrivacyWarning, match="error_score") as told,
        pytest.raises(ValueError, match="All the 2 fits failed"),
    ):
        cross_validate(model, X, cv=2, scoring=lambda *_: 0.0)
    assert len(told) == 1  # for two fits


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
