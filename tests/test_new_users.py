"""What new users tried, and what they are told: in words, by name, before anything is charged."""

import numpy as np
import pytest

from skdp_bary import BudgetAccountant, PrivateMeasure
from skdp_bary.exceptions import BudgetError
from skdp_bary.model_selection import PrivateSearchCV
from skdp_bary.privacy import SpendingPolicy

X = np.random.default_rng(0).random((60, 2))


@pytest.mark.parametrize("policy", [None, SpendingPolicy(epsilon=0.1, period="year")])
@pytest.mark.parametrize("searched", [False, True])
def test_a_refusal_names_who_asked(searched, policy):
    budget = BudgetAccountant(0.5)
    given = budget if policy is None else budget.under(policy, spender="survey")
    epsilon = 1.0 if policy is None else 0.2
    asks = PrivateMeasure(epsilon, bounds=(0, 1), accountant=given)
    if searched:
        measure = PrivateMeasure(bounds=(0, 1), n_hint=60)
        asks = PrivateSearchCV(measure, {"depth": [2, 3]}, epsilon=epsilon, accountant=given)
    with pytest.raises(BudgetError, match=f"^(survey: )?{type(asks).__name__} asks for"):
        asks.fit(X)
