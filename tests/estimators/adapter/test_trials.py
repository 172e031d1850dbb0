"""method="auto": public pairs say whether the private rows are asked at all."""

import numpy as np
import pytest

from skdp_bary import BudgetAccountant
from tests.cases import every

from .test_estimator import SHIFT, SOURCE, TARGET, adapter, sample

pytestmark = pytest.mark.filterwarnings("ignore::skdp_bary.exceptions.PrivacyWarning")
MOVED = (*SOURCE, *sample(1000, 5, shift=SHIFT))
ROWS, LABELS = sample(3000, 6)
ONE_CLASS = (*SOURCE, ROWS[LABELS == "a"], LABELS[LABELS == "a"])  # a shift of the mean misleads


class Untouchable:
    def __getattribute__(self, name):
        raise AssertionError(f"{name} of the private rows was read")


def test_the_source_is_kept_where_adaptation_harms_public_pairs():
    budget = BudgetAccountant(3.0, 1e-5, neighbors="replace_one")
    model = adapter(method="auto", accountant=budget)
    with pytest.warns(UserWarning, match="the source model is kept"):
        model.fit(*SOURCE, Untouchable(), public_pairs=[ONE_CLASS])
    assert not budget.entries and not hasattr(model, "privacy_")
    before, after = model.source_model_.head.parts, model.model_.head.parts
    assert all(map(np.array_equal, before, after))


def test_private_rows_are_asked_where_it_helps():
    budget = BudgetAccountant(3.0, 1e-5, neighbors="replace_one")
    model = adapter(method="auto", accountant=budget, n_hint=4000)
    model.fit(*SOURCE, TARGET, public_pairs=[MOVED])
    assert len(budget.entries) == 1
    plain = adapter(n_hint=4000).fit(*SOURCE, TARGET)
    assert all(map(np.array_equal, plain.model_.head.parts, model.model_.head.parts))
    assert model.privacy_plan(6).steps == adapter(n_hint=4000).privacy_plan(6).steps


@every(
    "method, pairs, words",
    [
        ("auto", None, "at least one"),
        ("auto", [], "at least one"),
        ("auto", [MOVED[:3]], "must be a list of tuples"),
        ("none", [MOVED], "are for method='auto'"),
    ],
)
def test_pairs_belong_to_auto(method, pairs, words):
    with pytest.raises(ValueError, match=words):
        adapter(method=method).fit(*SOURCE, Untouchable(), public_pairs=pairs)


def test_the_private_rows_are_no_public_pair():
    """How well labels of private rows are told would come out for nothing."""
    private = Untouchable()
    with pytest.raises(ValueError, match="got X_target, which is private"):
        pairs = [MOVED, (*MOVED[:2], private, MOVED[3])]
        adapter(method="auto").fit(*SOURCE, private, public_pairs=pairs)
