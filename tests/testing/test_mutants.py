"""Estimators with planted bugs: every bug is caught, and every check catches one."""

import copy
from dataclasses import dataclass, replace
from math import log, sqrt

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone

from skdp_bary import DPSlicedWasserstein
from skdp_bary.base import BasePrivateEstimator, CellTree, Sensitivity
from skdp_bary.exceptions import BudgetError
from skdp_bary.geometry import Box
from skdp_bary.testing import check_private_estimator, parametrize_with_privacy_checks
from tests.world import (
    CHECKS,
    DiscreteLaplace,
    LevelCounts,
    NoiseSource,
    Plan,
    RoundedGaussian,
    Step,
    collect,
    divided_anew,
    noise_generator,
    release_of,
    settings,
)


class ClassMasses(BasePrivateEstimator):
    """Masses of the cells of a tree for each class: the healthy estimator behind the mutants.

    Its fit is the one of the base class, written out with one method for each thing that a mutant
    does wrong.

    Privacy
    -------
    Neighbors
        The relation in ``neighbors``; "add_remove" unless stated.
    Mechanism
        DiscreteLaplace when ``delta=0``, otherwise RoundedGaussian.
    Sensitivity
        That of the counts of the cells of a tree.
    Budget
        All of (epsilon, delta).
    Released
        masses_, domain_, privacy_, n_features_in_, feature_names_in_
    Not covered
        None.
    """

    query_class = LevelCounts

    def __init__(
        self,
        epsilon=1.0,
        delta=0.0,
        bounds=(0, 1),
        classes=(0, 1),
        *,
        n_hint=None,
        neighbors=None,
        accountant=None,
        random_state=None,
    ):
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.classes = classes
        self.n_hint = n_hint
        self.neighbors = neighbors
        self.accountant = accountant
        self.random_state = random_state

    def fit(self, X, y=None, *, groups=None, sample_weight=None):
        names = BaseEstimator()
        rows = self._open(names, X, y, groups, sample_weight)
        plan = self.privacy_plan(rows.n_features)
        accountant = self._budget()
        noise = self.noise()
        facts = self._public_facts(plan, rows)
        self._before_charge(accountant, plan, facts, noise.seeded, rows.terms(X, None))
        questions, released, releases = self.conversation(facts), None, {}
        for step in self.steps(plan):
            _, query = questions.send(released)
            sketch = collect(query, rows)
            if not releases:
                self.charge(accountant, plan, noise)
            released = self.release(sketch, step, plan.relation, noise)
            releases[step.name] = released
        self._finish(facts, releases)
        self.charge_late(accountant, plan)
        self.domain_ = facts.domain
        self.privacy_ = plan
        vars(self).update(vars(names))
        return self

    def conversation(self, facts):
        facts = yield from self._buy_facts(facts)
        yield from self._questions(facts)

    def noise(self):
        return noise_generator(self.random_state)

    def steps(self, plan):
        return plan.steps

    def charge(self, accountant, plan, noise):
        note = "seeded, not private" if noise.seeded else ""
        accountant.charge(plan, type(self).__name__, note=note)

    def charge_late(self, accountant, plan):
        pass

    def release(self, sketch, step, relation, noise):
        return release_of(sketch, step, relation, noise)

    def _shares(self, n_features):
        return {"tree": 1.0}

    def _public_classes(self, y):
        return np.asarray(self.classes)

    def _questions(self, facts):
        tree = CellTree(facts.domain, 2)
        for name in self._shares(facts.n_features):
            yield name, self.query_class(tree, facts.n_classes, facts.units, facts.total_public)

    def _finish(self, facts, result):
        self.masses_ = result["tree"].values[-1] / facts.units


MUTANTS = []


def caught(params=None, **found):
    """Register a mutant with the checks that catch it and what each says about it."""

    def register(cls):
        MUTANTS.extend((cls(**(params or {})), name, text) for name, text in found.items())
        return cls

    return register


class OnTheDesk(ClassMasses):
    """With the fit of the base class, which ends early where a check compares answers alone."""

    n_finished = 0

    def fit(self, X, y=None, *, groups=None, sample_weight=None):
        beside = {"groups": groups, "sample_weight": sample_weight}
        fitted = BasePrivateEstimator.fit(self, X, y, **beside)
        type(self).n_finished += 1
        return fitted

    def _questions(self, facts):
        releases = {}
        for name, query in super()._questions(facts):
            releases[name] = yield name, query
        return releases


@dataclass(frozen=True)
class LeavesOnly(LevelCounts):
    def sensitivity(self, relation):
        stated = super().sensitivity(relation)
        return Sensitivity(*(tuple((*c[:-2], 0, c[-1]) for c in cases) for cases in _norms(stated)))


@dataclass(frozen=True)
class HalfTheSquares(LevelCounts):
    def sensitivity(self, relation):
        stated = super().sensitivity(relation)
        squares = tuple(tuple(-(-n // 2) for n in case) for case in stated.l2_squared)
        return Sensitivity(stated.l1, squares)


@dataclass(frozen=True)
class FreeTotal(LevelCounts):
    def sensitivity(self, relation):
        stated = super().sensitivity(relation)
        return Sensitivity(*(tuple((0, *case[1:]) for case in cases) for cases in _norms(stated)))


@dataclass(frozen=True)
class FixedLabels(LevelCounts):
    def sensitivity(self, relation):
        relation = "replace_one" if relation == "replace_any" else relation
        return super().sensitivity(relation)


@dataclass(frozen=True)
class OneUnitARow(LevelCounts):
    def sensitivity(self, relation):
        return LevelCounts.sensitivity(replace(self, units=1), relation)


@dataclass(frozen=True)
class NoEmptyCells(LevelCounts):
    def blocks(self, state):
        return tuple(block[block > 0] for block in super().blocks(state))


@dataclass(frozen=True)
class ChunkRounding(LevelCounts):
    def count(self, state, chunk):
        super().count(state, chunk)
        state[0][0, 0] += int(8 * abs(float(chunk.X.mean())))


def _norms(sensitivity):
    return sensitivity.l1, sensitivity.l2_squared


_WRONG = [  # where a fit asks a wrong question, which one, what catches it, and what that says
    (ClassMasses, LeavesOnly, "sensitivity_of_rows", "stated is"),
    (ClassMasses, HalfTheSquares, "sensitivity_of_rows", "4.0 in squared L2, stated is 2.0"),
    (ClassMasses, FreeTotal, "sensitivity_of_rows", "block 0 moved|all blocks moved by 3.0"),
    (ClassMasses, FixedLabels, "sensitivity_of_rows", "'replace_any'.* when .* changes its label"),
    (OnTheDesk, FixedLabels, "sensitivity_of_rows", "'replace_any'.* when .* changes its label"),
    (ClassMasses, NoEmptyCells, "sensitivity_of_rows", "the blocks have shapes"),
    (ClassMasses, OneUnitARow, "sensitivity_of_weights", "more than the"),
    (ClassMasses, ChunkRounding, "same_integers_for_every_container", "list of chunks"),
    (OnTheDesk, ChunkRounding, "same_integers_for_every_container", "list of chunks"),
]
for _fit, _query, _check, _text in _WRONG:
    _name = f"{_query.__name__}{_fit.__name__}"
    caught(**{f"check_{_check}": _text})(type(_name, (_fit,), {"query_class": _query}))


@caught(check_sensitivity_of_rows="but the plan names")
class SplitByPosition(ClassMasses):
    """Gives the amounts out in the order of the names instead of by name."""

    def _shares(self, n_features):
        return {"tree": 0.7, "again": 0.3}

    def steps(self, plan):
        mechanisms = sorted((step.mechanism for step in plan.steps), key=repr)
        return [Step(s.name, m) for s, m in zip(plan.steps, mechanisms, strict=True)]


@caught(
    {"n_hint": 60},
    check_sensitivity_of_rows="but the plan names",
    check_drawn_noise_adds_up_to_the_charge="costs 2.0 of the charge",
)
class Overspent(ClassMasses):
    """Gives the whole epsilon to each of its steps."""

    def _shares(self, n_features):
        return {"tree": 1.0, "again": 1.0}

    def steps(self, plan):
        if self.delta:
            return plan.steps
        return [Step(step.name, DiscreteLaplace(self.epsilon)) for step in plan.steps]


@caught({"n_hint": 60}, check_drawn_noise_adds_up_to_the_charge="uses only 0.5 of the charge")
class HalfUsed(ClassMasses):
    """Pays for two releases and makes one."""

    def _shares(self, n_features):
        return {"tree": 1.0, "again": 1.0}

    def steps(self, plan):
        return plan.steps[:-1]


@caught(check_release_costs_no_more_than_its_charge="costs .*, charged is .* at order")
class DividedForFree(OnTheDesk):
    """Puts all of epsilon on one step, of what was charged as the loss of two equal ones."""

    def _shares(self, n_features):
        return {"tree": 0.5, "again": 0.5}

    def _settle(self, desk, facts):
        desk.plan = divided_anew(desk.plan, 1, {"tree": 0.9, "again": 0.1}, lambda plan: True)
        return facts


@caught({"epsilon": 10.0}, check_sensitivity_of_rows="delta=1e-05.*more than the")
class ClassicalFormula(ClassMasses):
    """Calibrates with sqrt(2 log(1.25 / delta)) / epsilon, which holds below epsilon = 1 only."""

    def privacy_plan(self, n_features):
        plan = super().privacy_plan(n_features)
        if self.delta == 0:
            return plan
        mechanism = ClassicalGaussian(plan.mu, self.epsilon, self.delta)
        return replace(plan, steps=(Step("tree", mechanism),))

    def _bought_shares(self):
        return {}

    def _public_facts(self, plan, rows):
        return replace(super()._public_facts(plan, rows), size=100)


@dataclass(frozen=True)
class ClassicalGaussian(RoundedGaussian):
    epsilon: float
    delta: float

    def scales(self, sensitivity, weights=None):
        norm = sqrt(max(sum(case) for case in sensitivity.l2_squared))
        scale = norm * sqrt(2 * log(1.25 / self.delta)) / self.epsilon
        public = [not any(case[b] for case in sensitivity.l2_squared) for b in range(3)]
        return tuple(0.0 if still else scale for still in public)


@caught(check_sensitivity_of_persons="tree: loses 3.8")
class RowsOfPersonsSplit(ClassMasses):
    def _open(self, names, X, y, groups, sample_weight):
        return super()._open(names, X, y, None, sample_weight)


@caught(
    check_sensitivity_of_rows="the question depends on the rows",
    check_state_is_post_processing="_seen",
)
class BoundsFromData(ClassMasses):
    def _open(self, names, X, y, groups, sample_weight):
        if isinstance(X, np.ndarray) and np.isfinite(X).all():
            self._seen = Box(X.min(axis=0) - 1e-9, X.max(axis=0) + 1e-9)
        return super()._open(names, X, y, groups, sample_weight)

    def _public_facts(self, plan, rows):
        return replace(super()._public_facts(plan, rows), domain=self._seen)


@caught(check_no_rows_are_kept="of a row", check_state_is_post_processing="_first_row")
class RowKept(ClassMasses):
    def fit(self, X, y=None, *, groups=None, sample_weight=None):
        super().fit(X, y, groups=groups, sample_weight=sample_weight)
        self._first_row = np.array(X[0])
        return self


@caught(check_no_rows_are_kept="fitted._labels")
class LabelsKept(ClassMasses):
    def fit(self, X, y=None, *, groups=None, sample_weight=None):
        super().fit(X, y, groups=groups, sample_weight=sample_weight)
        self._labels = np.zeros(len(X))
        return self


@caught(check_state_is_post_processing="_mean")
class MeanKept(ClassMasses):
    def fit(self, X, y=None, *, groups=None, sample_weight=None):
        super().fit(X, y, groups=groups, sample_weight=sample_weight)
        self._mean = float(np.mean(X))
        return self


@caught(check_bad_rows_are_refused_before_the_charge="nan in X .* was accepted")
class NansFilled(ClassMasses):
    def _open(self, names, X, y, groups, sample_weight):
        if isinstance(X, np.ndarray):
            X = np.nan_to_num(X)
        return super()._open(names, X, y, groups, sample_weight)


@caught(check_bad_parameters_are_refused_before_the_charge="epsilon=inf .* was accepted")
class AnyEpsilon(ClassMasses):
    def privacy_plan(self, n_features):
        if isinstance(self.epsilon, float) and np.isinf(self.epsilon):
            return clone(self).set_params(epsilon=100.0).privacy_plan(n_features)
        return super().privacy_plan(n_features)


@caught(
    check_one_fit="before the fit was charged", check_failed_fit_stays_charged="was not charged"
)
class ChargedLast(ClassMasses):
    def charge(self, accountant, plan, noise):
        self._note = "seeded, not private" if noise.seeded else ""

    def charge_late(self, accountant, plan):
        accountant.charge(plan, type(self).__name__, note=self._note)


@caught(
    check_one_fit="was charged .*0.5",
    check_drawn_noise_adds_up_to_the_charge="costs 2.0 of the charge",
)
class HalfCharged(ClassMasses):
    def charge(self, accountant, plan, noise):
        steps = tuple(Step(s.name, type(s.mechanism)(_half(s.mechanism))) for s in plan.steps)
        half = Plan(plan.relation, plan.epsilon / 2, plan.delta, steps)
        super().charge(accountant, half, noise)


def _half(mechanism):
    return mechanism.mu / 4 if hasattr(mechanism, "mu") else mechanism.epsilon / 2


@caught(check_refused_fit="A fit was accepted")
class RefusalIgnored(ClassMasses):
    def _before_charge(self, accountant, plan, facts, seeded, terms):
        pass

    def charge(self, accountant, plan, noise):
        try:
            super().charge(accountant, plan, noise)
        except BudgetError:
            return


@caught(check_fresh_noise="the same numbers")
class GlobalNoise(ClassMasses):
    def noise(self):
        def words(count):
            return np.random.randint(2**64, size=count, dtype=np.uint64)  # noqa: NPY002

        return noise_generator(self.random_state) if self.random_state else NoiseSource(words)


class _Masked:
    """Noise that knows the answer and leaves its zeros alone."""

    def __init__(self, noise, blocks):
        self._noise, self._blocks = noise, {block.shape: block for block in blocks}
        self.seeded = noise.seeded

    def discrete_laplace(self, scale, shape):
        return self._noise.discrete_laplace(scale, shape) * (self._blocks[shape] != 0)

    def rounded_gaussian(self, scale, shape):
        return self._noise.rounded_gaussian(scale, shape) * (self._blocks[shape] != 0)


@caught(check_one_fit="is not the noise that was drawn")
class NoiseOnlyOnOccupiedCells(ClassMasses):
    def release(self, sketch, step, relation, noise):
        return release_of(sketch, step, relation, _Masked(noise, sketch.exact_blocks()))


class _Halved(_Masked):
    """Noise of half the scale that is asked for."""

    def discrete_laplace(self, scale, shape):
        return self._noise.discrete_laplace(scale / 2, shape)

    def rounded_gaussian(self, scale, shape):
        return self._noise.rounded_gaussian(scale / 2, shape)


@caught(check_one_fit="but the releases state")
class SmallerDraws(ClassMasses):
    def release(self, sketch, step, relation, noise):
        return release_of(sketch, step, relation, _Halved(noise, sketch.exact_blocks()))


@caught(check_seeded_noise_is_marked="did not warn")
class QuietSeed(ClassMasses):
    def _before_charge(self, accountant, plan, facts, seeded, terms):
        super()._before_charge(accountant, plan, facts, False, terms)


@caught(
    check_copies_share_the_budget="4 fits of copies made 2 entries",
    check_grid_search_shares_the_budget="made 0 entries",
)
class FreshBudgetForClones(ClassMasses):
    def __sklearn_clone__(self):
        params = self.get_params(deep=False) | {"accountant": None}
        return type(self)(**{name: copy.copy(value) for name, value in params.items()})


@caught(check_pickled_copies_refuse="A fit was accepted")
class FreeOnceUnpickled(ClassMasses):
    def __setstate__(self, state):
        super().__setstate__(state | {"accountant": None})


@caught(check_one_fit="n_hint")
class ParameterWritten(ClassMasses):
    def _finish(self, facts, result):
        super()._finish(facts, result)
        self.n_hint = 100


def _documented(name, old, new, **found):
    doc = ClassMasses.__doc__
    assert old in doc
    caught(**found)(type(name, (ClassMasses,), {"__doc__": doc.replace(old, new)}))


_documented(
    "NoBudgetField",
    "    Budget\n        All of (epsilon, delta).\n",
    "",
    check_privacy_section="must have the fields",
)
_documented(
    "OtherRelationNamed",
    '"add_remove"',
    '"replace_one"',
    check_neighbors_field="speaks about 'add_remove'",
)
_documented(
    "MechanismForgotten",
    ", otherwise RoundedGaussian",
    "",
    check_one_fit="fits use .*RoundedGaussian",
)
_documented("AttributeForgotten", "masses_, ", "", check_one_fit="masses_")
_documented(
    "NoSuchMethod", "        None.\n", "        predict\n", check_not_covered_field="predict"
)


@caught(check_not_covered_field="score")
class UndocumentedScore(ClassMasses):
    def score(self, X, y=None):
        return 0.0


@parametrize_with_privacy_checks(
    [ClassMasses(), ClassMasses(bounds=None, classes=("a", "b", "c")), ClassMasses(n_hint=50)]
)
def test_the_healthy_estimator_passes(estimator, check):
    check(estimator)


def test_who_is_not_tight_for_want_of_a_hint_is_told_which():
    check = {check.__name__: check for check in CHECKS}["check_sensitivity_of_rows"]
    with pytest.raises(AssertionError, match="give n_min=60 to"):
        check(DPSlicedWasserstein(2, bounds=(0, 1)))
    check(DPSlicedWasserstein(2, bounds=(0, 1), n_min=60))


def test_pairs_after_the_first_are_compared_without_finishing_their_fits():
    check = {check.__name__: check for check in CHECKS}["check_sensitivity_of_rows"]
    estimator = OnTheDesk(n_hint=50)
    OnTheDesk.n_finished = 0
    check(estimator)
    assert OnTheDesk.n_finished == 2 * len(settings(estimator))


@pytest.mark.parametrize(
    "mutant, name, found", MUTANTS, ids=[f"{type(m).__name__}-{name}" for m, name, _ in MUTANTS]
)
def test_planted_bug_is_caught(mutant, name, found):
    check = {check.__name__: check for check in CHECKS}[name]
    with pytest.raises(AssertionError, match=f"(?s){found}"):
        check(mutant)


def test_every_check_catches_some_bug():
    assert {name for _, name, _ in MUTANTS} == {check.__name__ for check in CHECKS}


def test_check_private_estimator_lists_what_failed():
    with pytest.raises(AssertionError, match="check_one_fit: Noise was drawn"):
        check_private_estimator(ChargedLast())


def test_expected_failures_need_a_known_check():
    with pytest.raises(ValueError, match="no checks"):
        parametrize_with_privacy_checks(
            [ClassMasses()], expected_failed_checks=lambda estimator: {"check_nothing": "a reason"}
        )
