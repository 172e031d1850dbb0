"""What the two filters admit, and that what they admit is covered by the ceiling."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from skdp_bary import BudgetAccountant
from skdp_bary.exceptions import BudgetError
from tests.privacy.conftest import gaussian_plan, pure_plan
from tests.world import COMPOSITIONS, gaussian_delta, make_filter, pure_renyi, renyi_order


@pytest.mark.parametrize("composition", COMPOSITIONS)
@pytest.mark.parametrize("ceiling", [1e-6, 1.0, 1e3])
@given(st.floats(min_value=5e-324, max_value=1e3))
@example(5e-324)
@example(1e-170)
@example(1e-9)
def test_every_positive_epsilon_costs_something(composition, ceiling, epsilon):
    prices = make_filter(composition, ceiling, 1e-6)
    assert prices.price(epsilon, 0.0).loss >= 1
    assert prices.price(0.0, min(epsilon, 0.5)).delta >= 1


class TestRenyiFilter:
    def test_it_admits_many_gaussian_fits_and_never_too_many(self):
        for epsilon, delta in [(1.0, 1e-5), (0.2, 1e-7), (8.0, 1e-6)]:
            accountant = BudgetAccountant(epsilon, delta, composition="renyi")
            plan = gaussian_plan(epsilon / 10, delta / 10)
            fits = 0
            while accountant.quote(plan).fits:
                accountant.charge(plan, "fit")
                fits += 1
            assert fits > 20  # "sum" admits ten
            assert gaussian_delta(plan.mu * fits**0.5, epsilon) <= delta
            assert all(np.less_equal(accountant.total(), (epsilon, delta)))

    def test_bad_cases_take_half_of_delta_and_the_conversion_the_other(self):
        accountant = BudgetAccountant(1.0, 1e-5, composition="renyi")
        with pytest.raises(BudgetError, match="delta=5e-06 .* is left"):
            accountant.spend(0.01, 6e-6)
        accountant.spend(0.01, 5e-6)
        assert accountant.total()[1] == 1e-5
        accountant.charge(gaussian_plan(0.1, 1e-6), "a plan has no bad case")

    def test_a_plain_spend_costs_the_pure_curve(self):
        accountant = BudgetAccountant(1.0, 1e-5, composition="renyi")
        order, budget = renyi_order(1.0, 5e-6)
        assert accountant._filter.order == order
        spends = 0
        while accountant.quote(pure_plan(0.05)).fits:
            accountant.spend(0.05, 1e-9)
            spends += 1
        price = pure_renyi(0.05, order)
        assert spends * price <= budget < (spends + 1) * (price + 1e-6)
        assert accountant.part("x").remaining()[0] < 0.05
