"""What is charged pays for what is released: every estimator, option, composition and order.

Estimators come from the package, options from their rules, compositions from the ledger and orders
from ceilings, so whatever is added to any of them is tried here without being named.
"""

import sys
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sklearn.base import clone

from skdp_bary import (
    BudgetAccountant,
    PrivateKMeans,
    PrivateMeasure,
    PrivateWassersteinBarycenter,
    interop,
)
from skdp_bary.base import PRIVACY_RULES
from skdp_bary.exceptions import BudgetError
from skdp_bary.model_selection import PrivateSearchCV
from skdp_bary.privacy import SpendingPolicy
from tests.discovery import private_estimators
from tests.estimators import PRIVATE
from tests.world import (
    COMPOSITIONS,
    Either,
    Tape,
    as_charged,
    exact,
    home,
    pure_renyi,
    record_fit,
    settings,
    use_tape,
)

checks = home("require_paid")

ANEW = [  # plans of these are divided anew where the size is not given
    PrivateKMeans(3, epsilon=0.1, bounds=([0.0] * 5, [1.0] * 5)),
    PrivateWassersteinBarycenter(
        2, method="clusters", epsilon=0.1, classes=["a", "b"], bounds=([0.0] * 5, [1.0] * 5)
    ),
]


def options():
    """A small estimator of every kind with every option that its rules name, where that fits."""
    for name, cls in private_estimators().items():
        first = min(  # a class before its heirs
            (estimator for estimator in PRIVATE if isinstance(estimator, cls)),
            key=lambda estimator: type(estimator) is not cls,
        )
        for parameter, rule in cls._parameter_rules.items():
            if parameter in PRIVACY_RULES:  # settings() goes through these
                continue
            for each in rule.rules if isinstance(rule, Either) else (rule,):
                for value in getattr(each, "options", getattr(each, "numbers", ())):
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
    for place, each in enumerate(accepted):
        fewest = checks.feature_counts(each)[0]
        plain, *orders = checks.budgets(each)
        for accountant in (plain, orders[place % len(orders)]):
            try:
                checks.require_paid(each, accountant, fewest)
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
    """A spend costs its pure curve and its delta, rounded up."""
    for accountant in checks.budgets(PrivateKMeans(epsilon=1.0, delta=1e-4)):
        accountant.spend(epsilon, delta)
        _require_spent(accountant, epsilon, delta)


def _require_spent(accountant, epsilon, delta):
    order, charged = accountant._filter.order, accountant._exposure()
    loss = exact(epsilon) if order is None else pure_renyi(epsilon, order)
    assert charged.loss >= loss * 10**6 and charged.delta >= exact(delta) * 10**18


@pytest.fixture
def adapter(monkeypatch):
    """The adapter to diffprivlib, on what it takes from that library, which need not be there."""
    library = SimpleNamespace(
        BudgetAccountant=object, utils=SimpleNamespace(Budget=lambda *amounts: amounts)
    )
    monkeypatch.setitem(sys.modules, "diffprivlib", library)
    monkeypatch.delitem(sys.modules, "skdp_bary.interop.diffprivlib", raising=False)
    yield interop.DiffprivlibAccountant
    sys.modules.pop("skdp_bary.interop.diffprivlib")


@pytest.mark.parametrize("k", [1, 3, 7, 12])
def test_what_diffprivlib_says_is_charged_in_full(adapter, k):
    estimator = PrivateKMeans(epsilon=1 / 3, delta=1e-5 / 3, neighbors="replace_one")
    for accountant in checks.budgets(estimator):
        shared = adapter(accountant)
        assert shared.check(1 / 3, 1e-6 / 7)  # a model of the library, before it looks at rows
        _require_spent(accountant, 1 / 3, 1e-6 / 7)
        left = shared.remaining(k)
        for _ in range(k):
            shared.spend(*left)
        assert accountant.remaining()[0] < 1e-2 * left[0]
        assert all(np.less_equal(accountant.total(), (accountant.epsilon, accountant.delta)))


class TestAmounts:
    """What is written is charged as the largest unit not above it, and the fit runs at that."""

    @given(st.floats(1e-6, 1e9), st.floats(0.0, 1.0, exclude_max=True))
    @example(1 / 3, 0.008123456789012345)
    @example(0.1, 1e-6)
    @example(1e9, 1 - 1e-16)
    @example(1e-6, 1e-18)
    def test_amounts_are_whole_units_and_not_above(self, epsilon, delta):
        units = 10**6, 10**18
        charged = as_charged(epsilon, delta)
        assert as_charged(*charged) == charged
        for written, amount, unit in zip((epsilon, delta), charged, units, strict=True):
            assert (exact(amount) * unit).denominator == 1
            gap = max(Fraction(1, unit), Fraction(amount) / 2**52)  # a float cannot hold more
            assert 0 <= exact(written) - exact(amount) <= gap

    @given(st.integers(2, 50), st.floats(1e-3, 1e3), st.sampled_from([0.0, 1e-9, 1e-6, 1e-2]))
    @example(12, 1.0, 0.0)
    @example(7, 1.0, 1e-6)
    def test_k_fits_of_a_kth_fit_and_no_more(self, k, epsilon, delta):
        budget = BudgetAccountant(epsilon, delta)
        whole, part = budget, budget.part("north")
        measure = PrivateMeasure(epsilon / k, delta / k, bounds=(0, 1), depth=3)
        plan = measure.privacy_plan(2)
        for number in range(k):
            payer = part if number % 2 else whole
            quote = payer.quote(measure, 2)
            assert quote.fits and (quote.epsilon, quote.delta) == (plan.epsilon, plan.delta)
            payer.charge(plan, "fit")
        left = [exact(ceiling) - k * exact(each) for ceiling, each in
                ((epsilon, plan.epsilon), (delta, plan.delta))]  # fmt: skip
        assert 0 <= left[0] < Fraction(k + 1, 10**6) and left[1] >= 0
        assert all(np.less_equal(part.total(), (epsilon, delta)))
        if plan.epsilon > 1e-6 * k + 1e-6:
            with pytest.raises(BudgetError, match="Nothing was charged"):
                part.charge(plan, "fit")

    @pytest.mark.parametrize("case", list(options()), ids=of_setting)
    def test_every_kind_of_fit_runs_at_what_is_charged(self, case):
        _, estimator, setting = case
        for each in settings(clone(estimator)):
            each.set_params(**setting, epsilon=each.epsilon / 3, delta=each.delta / 7)
            for n_features in checks.feature_counts(each)[:1]:
                plan = each.privacy_plan(n_features)
                assert (plan.epsilon, plan.delta) == as_charged(each.epsilon, each.delta)
                assert plan.epsilon < each.epsilon
                spent = BudgetAccountant(plan.epsilon, plan.delta, neighbors=plan.relation)
                spent.charge(plan, "fit")
                assert spent.total() == (plan.epsilon, plan.delta)

    @given(st.integers(1, 50), st.floats(0.1, 50.0), st.sampled_from(COMPOSITIONS), st.booleans())
    @example(3, 1000 / 3, "renyi", False)
    def test_what_is_left_can_be_spent_in_equal_parts(self, k, epsilon, composition, yearly):
        budget = BudgetAccountant(epsilon, 1e-5 / 3, composition=composition)
        payer = budget.under(SpendingPolicy(epsilon, 1e-5)) if yearly else budget
        payer.spend(epsilon / 9, 1e-8)
        each = payer.remaining(k)
        for _ in range(k):
            payer.spend(*each)
        with pytest.raises(BudgetError):
            payer.spend(each[0], 1e-18 * k)

    def test_left_is_never_shown_as_more(self):
        budget = BudgetAccountant(12.345678, 3.3333333e-6)
        quote = budget.quote(PrivateMeasure(20.0, bounds=(0, 1)), 2)
        assert "left now: epsilon=12.345678, delta=3.3333333e-06" in str(quote)
        assert "admits epsilon=12.345678." in quote.advice

    @pytest.mark.parametrize("name, value", [("epsilon", 9e-7), ("delta", 9e-19)])
    def test_less_than_a_unit_is_refused_in_words(self, name, value):
        with pytest.raises(ValueError, match=f"{name} must be .*1e-.*Budgets count it in"):
            PrivateMeasure(bounds=(0, 1)).set_params(**{name: value}).privacy_plan(2)

    def test_releases_made_elsewhere_are_rounded_up_and_said_to_be(self):
        """Nothing makes them run at less, and many small ones would go beyond the ceiling."""
        budget = BudgetAccountant(1.0)
        budget.spend(1 / 3)
        budget.spend(1 / 3)
        with pytest.raises(BudgetError, match=r"elsewhere are rounded up: .* epsilon=0\.333332"):
            budget.spend(0.3333329)
        budget.spend(0.333332)
        tiny = BudgetAccountant(1e-5)
        for _ in range(10):
            tiny.spend(1.9e-7)
        with pytest.raises(BudgetError, match="charged\\.$"):
            tiny.spend(1.9e-7)
