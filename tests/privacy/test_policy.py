"""Policies of spending: so much a period, which refuse and never give anything back."""

from datetime import UTC, datetime

import pytest

from skdp_bary import BudgetAccountant, PrivateMeasure
from skdp_bary.exceptions import BudgetError, RelationError
from skdp_bary.privacy import SpendingPolicy
from tests.world import home

entries = home("new_entry")


@pytest.fixture
def clock(monkeypatch):
    """Set what the clock says, as ``clock("2026-03-01")``."""

    class Clock(datetime):
        moment = datetime(2026, 1, 15, tzinfo=UTC)

        @classmethod
        def now(cls, zone):
            return cls.moment

    def turn(day):
        Clock.moment = datetime.fromisoformat(day).replace(tzinfo=UTC)

    monkeypatch.setattr(entries, "datetime", Clock)
    return turn


YEARLY = SpendingPolicy(1.0)


def test_a_new_year_gives_nothing_back_to_the_ceiling(clock):
    budget = BudgetAccountant(2.5)
    yearly = budget.under(YEARLY)
    yearly.spend(0.75)
    with pytest.raises(BudgetError, match="leaves only epsilon=0.25, delta=0.0 of this year"):
        yearly.spend(0.5)
    clock("2027-01-01")
    yearly.spend(1.0)
    assert yearly.total() == budget.total() == (1.75, 0.0)
    assert yearly.remaining() == (0.0, 0.0) and budget.remaining() == (0.75, 0.0)
    clock("2028-06-01")
    assert yearly.remaining() == (0.75, 0.0)
    with pytest.raises(BudgetError, match="left of the budget of epsilon=2.5"):
        yearly.spend(0.8)
    assert len(budget.entries) == budget.verify() == 2


@pytest.mark.parametrize(
    ("day", "period", "first"),
    [
        ("2028-02-28", "day", "2028-02-29"),
        ("2026-12-31", "day", "2027-01-01"),
        ("2026-01-31", "month", "2026-02-01"),
        ("2026-12-01", "month", "2027-01-01"),
        ("2026-01-01", "quarter", "2026-04-01"),
        ("2026-11-15", "quarter", "2027-01-01"),
        ("2026-12-31", "year", "2027-01-01"),
    ],
)
def test_refusals_say_when_the_next_period_begins(clock, day, period, first):
    clock(day)
    view = BudgetAccountant(5.0).under(SpendingPolicy(1.0, period=period, carry_over=1))
    view.spend(0.75)
    words = f"The next {period} begins on {first}, in UTC. Nothing was charged."
    with pytest.raises(BudgetError) as refused:
        view.spend(2.0)
    assert words in str(refused.value)
    clock(first)
    view.spend(1.25)  # what was carried over, too


def test_refusals_do_not_put_off_what_no_period_can_pay_for():
    view = BudgetAccountant(5.0, 0.1).under(SpendingPolicy(1.0, carry_over=1))
    for amounts in ((2.000001, 0.0), (0.5, 1e-9)):
        with pytest.raises(BudgetError, match="No year of this policy can pay for that. Nothing"):
            view.spend(*amounts)
    assert SpendingPolicy(0.1, 1e-7, carry_over=2).most(3) == (0.3, 3e-7)


def test_what_is_carried_over(clock):
    view = BudgetAccountant(9.0).under(SpendingPolicy(1.0, period="month", carry_over=1))
    left = []
    for month, amount in enumerate([0.25, 1.5, 0.25, 0.0, 2.0, 1.0, 0.0], start=1):
        clock(f"2026-{month:02}-02")
        left.append(view.remaining()[0])
        if amount:
            view.spend(amount)
    assert left == [1.0, 1.75, 1.25, 2.0, 2.0, 1.0, 1.0]


def test_who_may_spend():
    policy = SpendingPolicy(1.0, spenders=("map", "survey"))
    budget = BudgetAccountant(5.0)
    budget.under(policy, spender="map").spend(0.25, who="January")
    budget.under(policy, spender="survey").spend(0.5)
    view = budget.under(policy, spender="map")
    assert [entry.who for entry in view.entries] == ["map: January", "survey"]
    assert budget.verify(view.receipt()) == view.verify(budget.receipt()) == 2
    assert "map: January" in str(view) and "policy" in str(view)
    for other in ("", "intern"):
        with pytest.raises(BudgetError, match="lets only .*'survey'.* spend, got spender="):
            budget.under(policy, spender=other)
    with pytest.raises(ValueError, match="must not hold ': '"):
        budget.under(YEARLY, spender="map: x")


def test_a_clock_that_goes_back_is_refused(clock):
    view = BudgetAccountant(5.0).under(YEARLY)
    view.spend(0.5)
    clock("2025-12-31")
    with pytest.raises(BudgetError, match="set the clock right. Nothing was charged"):
        view.spend(0.1)


def test_since_when_entries_count(clock):
    budget = BudgetAccountant(5.0)
    budget.spend(2.0)
    view = budget.under(SpendingPolicy(1.0, since="2026-06-01"))
    with pytest.raises(BudgetError, match="begins on 2026-06-01"):
        view.spend(0.1)
    clock("2026-06-01")
    view.spend(1.0)
    assert budget.total() == (3.0, 0.0)


def test_a_clock_set_back_before_since_hides_no_entry(clock):
    policy = SpendingPolicy(epsilon=1.0, spenders=("map",), since="2026-01-01")
    budget = BudgetAccountant(10.0)
    clock("2026-06-01")
    map_ = budget.under(policy, spender="map")
    map_.spend(0.5)
    clock("2025-12-31")
    budget.spend(5.0, who="somebody")
    clock("2026-06-02")
    assert len(policy.audit(budget.entries)) == 3 and map_.remaining()[0] == 0.0


def test_parts_do_not_add_up(clock):
    budget = BudgetAccountant(5.0)
    view = budget.under(YEARLY)
    view.part("north").spend(0.75)
    view.part("south").spend(0.5)
    assert view.remaining() == view.part("north").remaining() == (0.25, 0.0)
    assert view.part("south").remaining() == (0.5, 0.0)
    view.spend(0.25)
    with pytest.raises(BudgetError):
        view.part("north").spend(0.01)
    clock("2027-01-01")
    assert view.remaining() == (1.0, 0.0)
    with pytest.raises(ValueError, match="A part has no parts"):
        view.part("north").part("west")
    under_any = BudgetAccountant(1.0, neighbors="replace_any").under(YEARLY).part("north")
    with pytest.raises(RelationError, match="the size of part 'north' is private"):
        under_any.check(PrivateMeasure(0.1, neighbors="replace_any").privacy_plan(1))


def test_an_auditor_finds_what_did_not_keep_to_it(clock):
    policy = SpendingPolicy(1.0, spenders=("map",))
    budget = BudgetAccountant(9.0)
    budget.under(policy, spender="map").spend(0.5, who="May")
    assert policy.audit(budget.entries) == ()
    budget.spend(0.25, who="somebody")
    budget.spend(0.5, who="map")
    clock("2025-01-01")
    budget.spend(0.1, who="map: May")
    findings = policy.audit(budget.entries)
    words = ["policy does not name", "more than was left of the year", "set back", "more than was"]
    assert [w in f for w, f in zip(words, findings, strict=True)] == [True] * 4
    clock("2027-01-01")  # what was too much counts against the next year
    assert budget.under(policy, spender="map").remaining() == (0.65, 0.0)


@pytest.mark.parametrize(
    ("bad", "error", "words"),
    [
        ({"epsilon": 0.0}, ValueError, "epsilon"),
        ({"epsilon": 1.0, "delta": 1.0}, ValueError, "delta"),
        ({"epsilon": 1.0, "period": "decade"}, ValueError, "period"),
        ({"epsilon": 1.0, "carry_over": -1}, ValueError, "carry_over"),
        ({"epsilon": 1.0, "spenders": "map"}, TypeError, "tuple of names, got 'map'"),
        *(
            ({"epsilon": 1.0, "since": since}, ValueError, "since must be '' or a day")
            for since in ("2026-13-01", "2024-W01-1", "2024-W53-7", "20260101", None, 0)
        ),
    ],
)
def test_what_is_no_policy(bad, error, words):
    with pytest.raises(error, match=words):
        SpendingPolicy(**bad)
    with pytest.raises(TypeError, match="policy must be a SpendingPolicy"):
        BudgetAccountant(1.0).under(0.5)
