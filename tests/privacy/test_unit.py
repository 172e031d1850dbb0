"""The privacy unit, what one person is to a budget and to its fits. No test reads any noise."""

import warnings

import dask.array as dask
import numpy as np
import pandas as pd
import polars
import pytest

from skdp_bary import BudgetAccountant, PrivateKMeans, PrivateMeasure, SortedPersons, SpilledPersons
from skdp_bary.exceptions import LedgerError, PrivacyWarning, RelationError
from skdp_bary.model_selection import PrivateSearchCV
from skdp_bary.privacy import SpendingPolicy

pytestmark = pytest.mark.filterwarnings("ignore:Parts of bounds")  # noise drowns so few

X = np.random.default_rng(0).random((60, 2))
IDS = np.arange(60) // 3
FRAME = pd.DataFrame(X, columns=["a", "b"]).assign(patient_id=IDS)


def measure(accountant, **options):
    return PrivateMeasure(epsilon=0.1, bounds=(0, 1), n_hint=20, accountant=accountant, **options)


def chunks():
    return iter([FRAME[:30], FRAME[30:]])


class TestStated:
    @pytest.mark.parametrize(
        ("rows", "groups", "unit"),
        [
            (X, None, "rows"),
            (X, IDS, "persons by groups"),
            (X, IDS.tolist(), "persons by groups"),
            (FRAME, "patient_id", "patient_id"),
            (X, FRAME["patient_id"], "patient_id"),
            (X, polars.Series("patient_id", IDS), "patient_id"),
            (X, FRAME["patient_id"].rename(None), "persons by groups"),
            (X, FRAME["patient_id"].rename("rows"), "persons by groups"),
            # names of computations are none of persons
            (dask.from_array(X, (30, 2)), dask.from_array(IDS, 30), "persons by groups"),
            (chunks, SortedPersons("patient_id"), "patient_id"),
            (chunks, SpilledPersons("patient_id", n_parts=2), "patient_id"),
            (lambda: iter([(X, None, None, IDS)]), SortedPersons(), "persons by groups"),
        ],
    )
    def test_by_the_name_of_the_groups(self, rows, groups, unit):
        budget = BudgetAccountant(1.0)
        measure(budget).fit(rows, groups=groups)
        assert [entry.unit for entry in budget.entries] == [unit]
        stated = BudgetAccountant(1.0, unit="stay")
        measure(stated).fit(rows, groups=groups, unit="stay")
        assert [entry.unit for entry in stated.entries] == ["stay"]


class TestDeclared:
    def test_another_unit_or_none_is_refused(self, place):
        budget = BudgetAccountant(1.0, unit="patient_id", ledger=place)
        fit = measure(budget).fit
        with pytest.raises(RelationError, match="unit must be 'patient_id'.* got 'rows'.*Nothing"):
            fit(X)
        with pytest.raises(RelationError, match="got 'persons by groups'"):
            fit(X, groups=IDS)
        with pytest.raises(RelationError, match="got 'stay'"):
            fit(FRAME, groups="patient_id", unit="stay")
        assert budget.entries == ()
        fit(FRAME, groups="patient_id")
        fit(X, groups=IDS, unit="patient_id")
        fit(X, unit="patient_id")
        assert {entry.unit for entry in budget.entries} == {"patient_id"}
        assert budget.verify(budget.receipt()) == 3
        rows = BudgetAccountant(1.0, unit="rows")
        measure(rows).fit(X)
        with pytest.raises(RelationError, match="unit must be 'rows'.* Fit without groups"):
            measure(rows).fit(FRAME, groups="patient_id")

    def test_a_ledger_keeps_it(self, place):
        if place is None:
            pytest.skip("entries in memory have no place")
        BudgetAccountant.create(place, 1.0, unit="patient_id")
        budget = BudgetAccountant.open(place)
        assert budget.unit == "patient_id" and "unit='patient_id'" in repr(budget)
        for unit in (None, "rows"):
            with pytest.raises(LedgerError, match="unit is 'patient_id' .* here"):
                BudgetAccountant(1.0, unit=unit, ledger=place)
        with pytest.raises(RelationError):
            measure(budget).fit(X)

    @pytest.mark.parametrize(
        "seen",
        [
            lambda budget: budget.part("north", disjoint="by hospital"),
            lambda budget: budget.under(SpendingPolicy(1.0)),
            lambda budget: budget.under(SpendingPolicy(1.0)).part("a", disjoint="by hospital"),
        ],
    )
    def test_parts_and_policies_know_it(self, seen):
        view = seen(BudgetAccountant(1.0, unit="patient_id"))
        assert view.unit == "patient_id"
        with pytest.raises(RelationError):
            measure(view).fit(X, groups=IDS)
        measure(view).fit(FRAME, groups="patient_id")
        with pytest.raises(RelationError):
            view.spend(0.1, unit="rows")
        view.spend(0.1)
        assert view.quote(measure(view), 2).unit == "patient_id"
        with pytest.raises(RelationError):
            view.quote(measure(view), 2, unit="rows")

    def test_plans_without_a_unit_are_refused(self):
        budget = BudgetAccountant(1.0, unit="patient_id")
        plan = measure(None).privacy_plan(2)
        for act in (budget.charge, lambda plan, who: budget.check(plan, who=who)):
            with pytest.raises(RelationError, match="unit must be .* names no unit"):
                act(plan, "somebody")


class TestNotDeclared:
    def test_the_second_unit_warns_before_the_charge(self, place):
        budget = BudgetAccountant(1.0, ledger=place)
        with warnings.catch_warnings():
            warnings.filterwarnings("error", "This budget was charged")
            measure(budget).fit(X)
            measure(budget).fit(X)
            budget.spend(0.1)
            with pytest.raises(PrivacyWarning, match="protect 'rows'.* protects 'patient_id'"):
                measure(budget).fit(FRAME, groups="patient_id")
        assert len(budget.entries) == 3, "what was charged must be delivered"
        with pytest.warns(PrivacyWarning, match="BudgetAccountant\\(..., unit='patient_id'\\)"):
            measure(budget).fit(FRAME, groups="patient_id")
        assert "different units (rows, patient_id)" in str(budget)


class TestNotes:
    """What a fit says of itself in the ledger."""

    FITS = {
        "estimator": lambda budget, **said: measure(budget).fit(X, **said),
        "prediction": lambda budget, **said: PrivateKMeans(
            1, epsilon=1.0, bounds=(0, 1), n_hint=4000, accountant=budget
        ).fit_predict(np.repeat(X, 60, axis=0), **said),
        "search": lambda budget, **said: PrivateSearchCV(
            measure(None), {"depth": [1, 2]}, epsilon=0.5, accountant=budget
        ).fit(X, **said),
        "part": lambda budget, **said: measure(budget.part("north")).fit(X, **said),
        "policy": lambda budget, **said: measure(budget.under(SpendingPolicy(1.0))).fit(X, **said),
    }

    @pytest.mark.parametrize("kind", FITS)
    def test_stand_in_the_ledger(self, kind):
        budget = BudgetAccountant(1.0)
        self.FITS[kind](budget, note="2026-03")
        assert [entry.note for entry in budget.entries] == ["2026-03"]
        assert "2026-03" in str(budget)
