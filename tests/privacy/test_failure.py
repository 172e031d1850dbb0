"""A failure probability that promises nothing is told, by public facts alone."""

import numpy as np
import pytest

from skdp_bary import BudgetAccountant, DPSlicedWasserstein, PrivateMeasure
from skdp_bary.exceptions import PrivacyWarning
from skdp_bary.model_selection import PrivateSearchCV
from tests.cases import every
from tests.world import failure_advice


@every(
    "delta, persons, words",
    [
        (0.1, None, "delta=0.1 is large"),
        (1e-3, None, "large"),
        (9e-4, None, ""),
        (9e-4, 1000, ""),
        (1e-4, 10_000, ""),
        (1e-4, 10_001, "the 10,001 people"),
        (0.0, 10**9, ""),
    ],
)
def test_a_delta_is_judged_by_itself_and_by_the_public_size(delta, persons, words):
    advice = failure_advice(delta, persons)
    assert words in advice and bool(words) == bool(advice)


def fitted(n_rows=20, **settings):
    PrivateMeasure(bounds=(0, 1), **settings).fit(np.linspace(0, 1, n_rows)[:, None])


def test_fits_warn_and_quotes_advise():
    for settings in (
        {"delta": 0.1},
        {"delta": 1e-4, "n_hint": 20_000},
        {"delta": 9e-4, "neighbors": "replace_one", "n_rows": 1200},
    ):
        with pytest.warns(PrivacyWarning, match="such as 1e-6"):
            fitted(**settings)
    budget = BudgetAccountant(9.0, 0.5)
    for n_min, words in ((9_000, "the 18,000 people"), ((9_000, 9_500), "the 18,500 people")):
        sliced = DPSlicedWasserstein(bounds=(0, 1), delta=1e-4, n_min=n_min, classes=[0, 1])
        assert words in budget.quote(sliced, n_features=2).advice
    search = PrivateSearchCV(
        PrivateMeasure(bounds=(0, 1), n_hint=3000), {"method": ["haar"]}, delta=4e-4
    )
    assert "the 3,000 people" in budget.quote(search, n_features=1).advice
    assert "is large" in budget.quote(PrivateMeasure(delta=0.1).privacy_plan(2)).advice


def test_private_sizes_warn_nobody():
    """A warning that depends on how many rows there are would tell it for nothing."""
    fitted(delta=9e-4, n_rows=1200)
    fitted(delta=9e-4, n_rows=1200, n_hint=1000)
