"""What is charged pays for what is released: every estimator, option, composition and order.

Estimators come from the package, options from their rules, compositions from the ledger and orders
from ceilings, so whatever is added to any of them is tried here without being named.
"""

import numpy as np
import pytest
from sklearn.base import clone

from skdp_bary import PrivateKMeans, PrivateWassersteinBarycenter
from skdp_bary._parameter_rules import Either, OneOf, Option
from skdp_bary.inspection._recording import record_fit
from skdp_bary.model_selection import PrivateSearchCV
from skdp_bary.privacy import SpendingPolicy
from skdp_bary.privacy._checks import exact
from skdp_bary.privacy.accounting.curves import pure_renyi
from skdp_bary.summaries.asking.tape import Tape, use_tape
from skdp_bary.testing import _budget_checks as checks
from skdp_bary.testing._discovery import private_estimators
from skdp_bary.testing._settings import settings
from tests.estimators import PRIVATE

ANEW = [  # plans of these are divided anew where the size is not given
    PrivateKMeans(3, epsilon=0.1, bounds=([0.0] * 5, [1.0] * 5)),
    PrivateWassersteinBarycenter(
        2, method="clusters", epsilon=0.1, classes=["a", "b"], bounds=([0.0] * 5, [1.0] * 5)
    ),
]


def options():
    """A small estimator of every kind with every option that its rules name, where that fits."""
    for name, cls in private_estimators().items():
        first = next(estimator for estimator in PRIVATE if isinstance(estimator, cls))
        for parameter, rule in cls._parameter_rules.items():
            for each in rule.rules if isinstance(rule, Either) else (rule,):
                values = getattr(each, "options", getattr(each, "numbers", ()))
                assert not isinstance(each, (OneOf, Option)) or values
                for value in values:
                    if parameter not in ("neighbors", "verbose"):
                        yield name, first, {parameter: value}
        if "subsample" in cls._parameter_rules:
            yield name, first, {"subsample": 0.3}


def of_setting(case):
    name, _, setting = case
    return f"{name}-{'-'.join(map(str, *setting.items()))}"


@pytest.mark.parametrize("case", list(options()), ids=of_setting)
def test_every_option_is_paid_for(case):
    _, estimator, setting = case
    candidate = clone(estimator).set_params(**setting, n_hint=None)
    try:
        accepted = settings(candidate)
    except AssertionError:
        pytest.skip("no relation and no noise go with this option here")
    for each in accepted:
        for accountant in checks.budgets(each):
            try:
                checks.require_paid(each, accountant, checks.feature_counts(each)[0])
            except AssertionError:
                if accountant.entries:  # a refused fit is not charged
                    raise


def test_most_options_are_fitted():
    fits = [
        case for case in options() if checks.feature_counts(clone(case[1]).set_params(**case[2]))
    ]
    assert len(fits) > 30


@pytest.mark.parametrize("estimator", ANEW, ids=lambda estimator: type(estimator).__name__)
def test_parts_and_policies_are_charged_what_is_released(estimator):
    policy = SpendingPolicy(2 * estimator.epsilon)
    for whole in checks.budgets(estimator):
        for seen in (whole.part("north"), whole.under(policy), whole.under(policy).part("south")):
            checks.require_paid(estimator, seen, 5)


@pytest.mark.parametrize("estimator", ANEW, ids=lambda estimator: type(estimator).__name__)
def test_a_plan_divided_anew_uses_what_it_was_charged(estimator):
    """Ten rows: nearly all goes to the mean, whose loss is several times that of equal steps."""
    X, y = np.random.default_rng(0).random((10, 5)), np.repeat(["a", "b"], 5)
    for accountant in checks.budgets(estimator):
        announced = clone(estimator).set_params(accountant=accountant).privacy_plan(5)
        plan = record_fit(estimator, {"X": X, "y": y}, accountant=accountant).plan
        assert plan.steps != announced.steps
        losses = [accountant._filter.price_plan(p).loss for p in (plan, announced)]
        assert 0.97 * losses[1] <= losses[0] <= losses[1]
        if accountant.composition == "sum":
            assert plan.pure_epsilon > 0.999 * announced.pure_epsilon


@pytest.mark.parametrize("estimator", ANEW, ids=lambda estimator: type(estimator).__name__)
@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.filterwarnings("ignore::skdp_bary.exceptions.PrivacyWarning")
def test_trials_of_a_search_release_what_a_trial_may_spend(estimator, delta):
    X, y = np.random.default_rng(0).random((12, 5)), np.repeat(["a", "b"], 6)
    grid = {"n_init": [1, 2]}
    for accountant in checks.budgets(clone(estimator).set_params(epsilon=1.0, delta=delta)):
        search = PrivateSearchCV(estimator, grid, delta=delta, accountant=accountant)
        with use_tape(Tape()) as tape:
            search.set_params(random_state=0).fit(X, y)
        plan, price = search.privacy_, accountant._filter.price(1.0, delta)
        assert accountant._exposure() == price == accountant._filter.price_plan(plan)
        spent, trials = [0, 0], 0
        for record in tape.records:
            mechanism = record.released.mechanism
            spent[0] += exact(getattr(mechanism, "epsilon", 0.0))
            spent[1] += exact(getattr(mechanism, "mu", 0.0)) ** 2
            if record.released.name == "score":
                assert spent[0] <= plan.pure_epsilon
                assert float(spent[1]) <= plan.mu**2
                spent, trials = [0, 0], trials + 1
        assert trials


@pytest.mark.parametrize("epsilon, delta", [(0.1, 0.0), (1 / 3, 1e-7), (2.0, 1e-5)])
def test_what_others_release_is_charged_in_full(epsilon, delta):
    """A spend, and so what diffprivlib says, costs its pure curve and its delta, rounded up."""
    for accountant in checks.budgets(PrivateKMeans(epsilon=1.0, delta=1e-4)):
        accountant.spend(epsilon, delta)
        order, charged = accountant._filter.order, accountant._exposure()
        loss = exact(epsilon) if order is None else pure_renyi(epsilon, order)
        assert charged.loss >= loss * 10**6 and charged.delta >= exact(delta) * 10**18
