"""The tables of parameter rules: complete, exact, and asked before anything is read or charged."""

import inspect
import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import sklearn

from skdp_bary import BudgetAccountant, JLTransformer, PrivateGenerator, PrivateKMeans
from skdp_bary.base import BasePrivateEstimator, Flag, Integer, Number, Option
from skdp_bary.geometry import Ball, Box
from skdp_bary.model_selection import PrivateSearchCV
from skdp_bary.papers import ShuffleClient, ShufflePlan
from tests.discovery import public_estimators
from tests.public import called
from tests.world import (
    Budget,
    File,
    Function,
    Having,
    Integers,
    Labels,
    OneOf,
    Points,
    PowerOfTwo,
    PublicDomain,
    Seed,
    Weights,
    check_domain,
    home,
)

Rule = home("PowerOfTwo").Rule
Cells = home("PublicDomain").Cells
Grid = home("PublicDomain").Grid
shown = home("LONGEST").shown


def test_every_parameter_of_a_constructor_has_a_rule_that_admits_its_default():
    classes = {value for value in called().values() if hasattr(value, "_parameter_rules")} - {
        BasePrivateEstimator
    }
    assert set(public_estimators().values()) | {PrivateSearchCV, ShuffleClient} <= classes
    assert len(classes) > 18
    for cls in classes:
        parameters, rules = inspect.signature(cls).parameters, cls._parameter_rules
        assert set(parameters) <= set(rules), cls
        for name in set(rules) - set(parameters):  # of a parent, fixed by the class
            rules[name].check(getattr(cls, name), name)
        for name, parameter in parameters.items():
            assert isinstance(rules[name], Rule), (cls, name)
            none = inspect.Parameter.empty, None
            needed = parameter.default is none[0] or cls.__name__.endswith("EMDHeatmap")
            if not needed or not any(parameter.default is missing for missing in none):
                rules[name].check(parameter.default, name)


RIGHT_AND_WRONG = [
    (Integer(1, 9), [1, 9, np.int8(3)], [0, 10, 2**63, -1, 1.0, True, np.True_, "1", None, [1]]),
    (PowerOfTwo(2, 16), [2, 16, np.int64(8)], [1, 3, 32, -2, 2.0, True]),
    (Number(0, 1), [0, -0.0, 1, 0.5, np.float32(1), Fraction(1, 3)],
     [-1e-300, 1.1, math.nan, math.inf, 10**400, True, "0", None, 1j, np.array([0.5])]),
    (Number(0, 1, open_low=True, open_high=True), [5e-324, 1 - 1e-16],
     [0, -0.0, 1, np.float64(1), Fraction(1, 10**400)]),
    (OneOf((1, 2)), [1, 2.0, np.int8(2)], [0, 3, math.nan, True, "1", None]),
    (Option(("a", "b")), ["a", np.str_("b")], ["c", "", None, 1, ["a"], b"a"]),
    (Flag(), [True, np.False_], [0, 1, "True", None]),
    (PublicDomain(), [(0, 1), [0, 1], np.array([0, 1]), ([0, 0], [1, 2]), (0, [1, 2]),
                      Box([0], [1]), Ball([0, 0], 1), (-1e30, 1e30), (0, 1e-30)],
     [(0,), (1, 0), (0, 0), (0, math.nan), (0, math.inf), (0, 1e-90), (-1e100, 1e100), 1, None,
      "01", ("0", "1"), (False, True), (0, 10**400), ([0, 0], [1, 2, 3]), (1e16, 1e16 + 2),
      (1j, 2), ([[0]], [[1]]), Ball([0.0], 1e80), ((), ()), {0: 1, 1: 2},
      np.array(0.5), np.array(math.nan), object(), "x"]),
    (Budget(), [BudgetAccountant(1.0), BudgetAccountant(1.0).part("a")],
     [BudgetAccountant, 1.0, None, object()]),
    (Seed(), [0, 2**63, 10**400, np.uint8(3), np.random.RandomState(0)],
     [-1, 1.0, True, "1", np.random.default_rng(0), np.random, [1]]),
    (Seed(2**32 - 1), [2**32 - 1], [2**32]),
    (Function(), [len, lambda: 0], [1, "len", None]),
    (Having("an x", ("fit",)), [PrivateKMeans()], [PrivateKMeans, 1, None]),
    (Labels(), [[0, 1], ("a", "b"), np.array(["x"]), np.arange(3), [0.5, 1.5], [True, False]],
     [[], "ab", 1, [1, 1], [1, 1.0], [1, "1"], [None], [math.nan], [[1]], [(1, 2)], {1, 2}, b"ab"]),
    (Weights(), [[1, 2.5], (1e-100, 1e100), np.ones(3)],
     [[], [0], [-1], [math.nan], [math.inf], 1, "11", ["1"], [True], [[1.0]], [10**400], {1.0: 2}]),
    (Weights(least=0.0), [[0, 1]], [[-1]]),
    (Integers(Integer(1, 9), 2, 3), [(1, 2), [1, 2, 3], np.array([1, 2])],
     [(1,), (1, 2, 3, 4), (0, 1), (1.0, 2), ("1", "2"), 12, "12", (True, True), [[1, 2]], {1, 2}]),
    (Points(), [[[0.0]], np.ones((2, 3)), ((1, 2), (3, 4))],
     [[], [[]], [1.0], [["1"]], [[math.nan]], [[1.0], [1.0, 2.0]], [[True]], [[10**400]], "x",
      [[1j]], None]),
    (Cells(2), [((1, 0), (1, 3)), [(2, 15)], np.array([[1, 0]])],
     [(), ((3, 0),), ((1, 4),), ((1, -1),), ((1,),), ((1.0, 0),), "ab", 1]),
    (Grid(), [{"a": [1]}, [{"a": [1]}, {"b": (1, 2)}], {}],
     [[], {"a": 1}, {"a": []}, {1: [1]}, "a", 1]),
    (File(), ["x"], ["", 1, None, b"x"]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("rule", "right", "wrong"), RIGHT_AND_WRONG, ids=[type(r[0]).__name__ for r in RIGHT_AND_WRONG]
)
def test_a_rule_says_what_it_allows_and_what_was_given(rule, right, wrong):
    for value in right:
        rule.check(value, "name")
        (rule | None).check(value, "name")
    for value in wrong:
        for one in (rule, rule | Flag()) if not isinstance(value, (bool, np.bool_)) else (rule,):
            with pytest.raises((TypeError, ValueError), match="name|bounds") as caught:
                one.check(value, "name")
            assert type(caught.value) in (TypeError, ValueError)
            if not isinstance(rule, PublicDomain):
                assert str(rule) in str(caught.value) and shown(value) in str(caught.value)
    (rule | None).check(None, "name")


def test_long_values_are_cut():
    assert len(shown(list(range(10**4)))) < 250
    assert shown(10**5000) == "a value of type int"
    for rows in (np.array([[0.123]]), pd.DataFrame([0.123]), pd.Series([0.123])):
        assert shown(rows) == f"a value of type {type(rows).__name__}"  # rows in the wrong place
    assert shown([[0.1, 0.2]] * 5) == "a value of type list"
    assert shown([np.array([0.1])]) == "a value of type list"
    assert shown([(0, 1), (2, 3)]) == "[(0, 1), (2, 3)]"


def test_rows_in_the_wrong_place_are_not_shown():
    for rows in ([[0.713, 0.724]] * 9, np.full((9, 2), 0.713)):
        for misuse in (
            lambda rows: check_domain(rows, 2),
            lambda rows: BudgetAccountant(rows),
            lambda rows: PrivateKMeans(3).privacy_plan(rows),
            lambda rows: JLTransformer(n_components=rows).fit([[0.0, 1.0]]),
        ):
            with pytest.raises((TypeError, ValueError)) as caught:
                misuse(rows)
            assert "0.7" not in str(caught.value)


@pytest.mark.parametrize("skip", [False, True])
@pytest.mark.parametrize(
    ("name", "value"),
    [("epsilon", math.nan), ("n_clusters", True), ("n_hint", 2**63), ("bounds", (0, 1e-90))],
)
def test_nothing_is_read_or_charged_with_wrong_parameters(name, value, skip):
    accountant = BudgetAccountant(1.0)
    wrong = PrivateKMeans(bounds=(0, 1), accountant=accountant).set_params(**{name: value})

    def unread():
        raise AssertionError("the rows were read")

    with sklearn.config_context(skip_parameter_validation=skip):
        for call in (
            lambda: wrong.fit(unread),
            lambda: wrong.privacy_plan(2),
            lambda: accountant.quote(wrong, 2),
        ):
            with pytest.raises((TypeError, ValueError), match=f"^{name} must"):
                call()
    assert accountant.entries == ()


def test_small_integers_of_numpy_do_not_overflow():
    """100 * 3 is 44 as an int8."""
    plan = ShufflePlan((0, 1), 1.0, 1e-6, n_guaranteed=np.int16(40), n_max=np.int8(100))
    same = ShufflePlan((0, 1), 1.0, 1e-6, n_guaranteed=40, n_max=100)
    assert (plan.modulus, plan.n_messages) == (same.modulus, same.n_messages)
    levels = ShufflePlan((0, 1), 1.0, 1e-6, 40, 60, levels=(np.int8(1), np.int8(2))).levels
    assert levels == (1, 2) and {type(level) for level in levels} == {int}


def test_labels_are_text_that_can_be_written():
    with pytest.raises(ValueError, match="classes must be"):
        PrivateGenerator(classes=["a", "\ud800"], bounds=(0, 1)).fit(np.zeros((9, 1)), ["a"] * 9)
