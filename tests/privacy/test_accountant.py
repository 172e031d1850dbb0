"""The contract of a budget, over both ledgers and both filters."""

from fractions import Fraction
from functools import partial

import numpy as np
import pytest

from skdp_bary import BudgetAccountant, PrivateMeasure
from skdp_bary.exceptions import BudgetError, RelationError
from tests.privacy.conftest import gaussian_plan, pure_plan
from tests.world import RELATIONS, BudgetPart, check_accountant, home

_sqlite = home("SqliteLedger")


@pytest.fixture
def make(place, monkeypatch):
    """Return a constructor of budgets that keep their entries in one of the three places."""
    monkeypatch.setattr(_sqlite, "SYNCHRONOUS", "OFF")  # only a power failure tells the difference
    return partial(BudgetAccountant, ledger=place)


class TestContract:
    def test_a_refused_spend_charges_nothing(self, make):
        accountant = make(0.3, 1e-6)
        accountant.spend(0.2, who="survey")
        with pytest.raises(BudgetError, match=r"fit asks for epsilon=0\.2.*epsilon=0\.1.*=0\.3"):
            accountant.charge(pure_plan(0.2), "fit")
        with pytest.raises(BudgetError, match="delta=2e-06"):
            accountant.spend(0.1, 2e-6)
        assert accountant.total() == (0.2, 0.0)
        assert [entry.who for entry in accountant.entries] == ["survey"]
        accountant.spend(*accountant.remaining())

    @pytest.mark.parametrize("composition", ["sum", "renyi"])
    def test_a_total_is_rounded_up_where_no_float_is_exact(self, make, composition):
        """The nearest float of a delta with 18 digits may be below what was spent."""
        accountant = make(1.0, 0.5, composition=composition)
        accountant.spend(0.0, 0.1)
        accountant.spend(0.0, 1e-18)
        assert accountant.total()[1] == np.nextafter(0.1, 1.0)

    @pytest.mark.parametrize("composition", ["sum", "renyi"])
    def test_what_remains_can_be_spent_and_no_more(self, make, composition):
        accountant = make(2.0, 1e-5, composition=composition)
        accountant.charge(gaussian_plan(0.7, 1e-6), "fit")
        epsilon, delta = accountant.remaining()
        assert not accountant.quote(pure_plan(round(epsilon + 1e-6, 6))).fits
        accountant.check(pure_plan(epsilon))
        accountant.spend(epsilon, delta)
        assert accountant.remaining() == (0.0, 0.0)
        epsilon, delta = accountant.total()
        assert 2.0 - 1e-5 < epsilon <= 2.0
        assert delta == 1e-5

    def test_the_relation_must_agree(self, make):
        accountant = make(1.0, neighbors="replace_one")
        for ask in (accountant.check, accountant.quote, lambda plan: accountant.charge(plan, "k")):
            advice = r"""'replace_one'.*BudgetAccountant\(\.\.\., neighbors="add_remove"\)"""
            with pytest.raises(RelationError, match=advice):
                ask(pure_plan(0.5))
        assert accountant.entries == ()

    @pytest.mark.parametrize("relation", RELATIONS)
    def test_parts_compose_as_a_count_over_persons(self, make, relation):
        # The oracle walks over persons: each is in one part, or under replace_any in two.
        rng = np.random.default_rng(5)
        accountant = make(3.0, 1e-5, neighbors=relation)
        names = ["a", "b", "c", "d", "e"]
        homes = [{"", name} for name in names]
        if relation == "replace_any":
            homes += [{"", first, second} for first in names for second in names]
        admitted, refused = [], 0
        for _ in range(150):
            part = str(rng.choice(["", *names], p=[0.1, 0.18, 0.18, 0.18, 0.18, 0.18]))
            spend = (part, Fraction(int(rng.integers(1, 40)), 100), int(rng.integers(0, 9)))
            fits = all(
                sum(e for p, e, _ in [*admitted, spend] if p in home) <= 3
                and sum(d for p, _, d in [*admitted, spend] if p in home) <= 100
                for home in homes
            )
            view = accountant.part(part) if part else accountant
            left = view.remaining()
            try:
                view.spend(float(spend[1]), spend[2] / 1e7)
            except BudgetError:
                assert not fits
                assert spend[1] > Fraction(str(left[0])) or spend[2] / 1e7 > left[1]
                refused += 1
            else:
                assert fits
                assert float(spend[1]) <= left[0]
                admitted.append(spend)
        assert refused > 20
        most = max(sum(e for p, e, _ in admitted if p in home) for home in homes)
        assert accountant.total()[0] == float(most)


class TestBadInput:
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            *(({"epsilon": bad}, "epsilon must be .* got")
              for bad in (0.0, -1.0, np.nan, np.inf, 1e-9, 1e12, True, "1", None)),
            *(({"delta": bad}, "delta must be .* got") for bad in (-1e-9, 1.0, np.nan, "1", None)),
            ({"neighbors": "neighbors"}, "neighbors must be one of 'add_remove'"),
            ({"composition": "advanced"}, "composition must be one of 'sum', 'renyi'"),
            ({"ledger": 3}, "ledger must be None .* got 3"),
            ({"ledger": ""}, "ledger must be None .* got ''"),
            ({"ledger": ":memory:"}, "ledger must be None .* got ':memory:'"),
        ],
    )  # fmt: skip
    def test_options(self, options, message):
        with pytest.raises((TypeError, ValueError), match=message):
            BudgetAccountant(**{"epsilon": 1.0} | options)

    def test_texts_plans_and_parts(self):
        accountant = BudgetAccountant(1.0)
        with pytest.raises(TypeError, match="who must be a string, got 3"):
            accountant.charge(pure_plan(0.1), 3)
        with pytest.raises(TypeError, match="note must be a string, got None"):
            accountant.spend(0.1, note=None)
        with pytest.raises(TypeError, match=r"plan must be a Plan, got 0\.1"):
            accountant.charge(0.1, "fit")
        with pytest.raises(TypeError, match="name must be a string, got 3"):
            accountant.part(3)
        with pytest.raises(ValueError, match="name must not be empty"):
            accountant.part("")
        for act in (
            lambda: accountant.spend(0.1, who="\ud800"),
            lambda: accountant.spend(0.1, note="a\udcff"),
            lambda: accountant.part("north\udfff"),
        ):
            with pytest.raises(ValueError, match=r"UTF-8.*got '.*\\ud") as caught:
                act()
            assert not isinstance(caught.value, UnicodeError)
        assert accountant.entries == ()
        with pytest.raises(TypeError, match=r"Plan or an estimator .* got 0\.1"):
            accountant.quote(0.1)
        with pytest.raises(TypeError, match="n_features must be"):
            accountant.quote(PrivateMeasure(bounds=(0, 1)))
        assert accountant.entries == ()

    def test_ceilings_and_what_is_no_accountant(self):
        accountant = BudgetAccountant(1.0)
        for name in ("epsilon", "delta", "neighbors", "composition", "ledger", "entries"):
            with pytest.raises(AttributeError):
                setattr(accountant, name, 100.0)
        with pytest.raises(ValueError, match=r"delta must be in \(0, 1\).*composition='sum'"):
            BudgetAccountant(1.0, composition="renyi")
        accountant = BudgetAccountant(1.0)
        part = accountant.part("north")
        assert check_accountant(accountant) is accountant
        assert check_accountant(part) is part
        assert isinstance(part, BudgetPart)
        with pytest.raises(TypeError, match=r"accountant must be a BudgetAccountant .* got 1\.0"):
            check_accountant(1.0)


def test_a_refusal_for_want_of_delta_names_the_remedy():
    pure, gauss = BudgetAccountant(1.0), BudgetAccountant(1.0, 1e-9)
    with pytest.raises(BudgetError, match=r"has delta=0: make one with delta > 0"):
        pure.spend(0.5, 1e-6)
    for accountant, epsilon, delta in ((pure, 2.0, 0.0), (gauss, 0.5, 1e-6)):
        with pytest.raises(BudgetError) as caught:
            accountant.spend(epsilon, delta)
        assert "make one" not in str(caught.value)
