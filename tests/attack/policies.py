"""Random policies, clocks and spenders: no run of periods spends more than a policy promises."""

from datetime import UTC, datetime, timedelta
from fractions import Fraction
from types import SimpleNamespace
from unittest import mock

from skdp_bary import BudgetAccountant
from skdp_bary.exceptions import BudgetError
from skdp_bary.privacy import SpendingPolicy
from tests.world import home

from .promises import Promise, Trial, repeated

_SPENDS = 40
_DAYS = {"day": 1, "month": 20, "quarter": 60, "year": 250}
_PARTS = ("", "north", "south")


def spend_under(rng):
    """Spend under a policy while time goes on, and count every run of periods by brute force."""
    period = str(rng.choice(list(_DAYS)))
    limit, carried = Fraction(int(rng.integers(1, 20)), 10), int(rng.integers(0, 4))
    policy = SpendingPolicy(float(limit), period=period, carry_over=carried)
    budget = BudgetAccountant(1e4)
    moment, granted, n_others = datetime(2026, 1, 1, tzinfo=UTC), [], 0
    # what others spend beside the policy uses it up, and is found by an audit
    others = rng.random() < 0.3
    for number in range(_SPENDS):
        moment += timedelta(days=float(rng.exponential(_DAYS[period])))
        clock = SimpleNamespace(now=lambda zone, moment=moment: moment)
        amount = Fraction(int(rng.integers(1, 15)), 10) * limit / 2
        amount = Fraction(round(amount * 10**6), 10**6)
        part = str(rng.choice(_PARTS))
        view = budget.under(policy)
        with mock.patch.object(home("new_entry"), "datetime", clock):
            if others and rng.random() < 0.1:
                budget.spend(float(4 * (carried + 1) * limit), who="another")
                n_others += 1
                continue
            view = view.part(part) if part else view
            quoted = Fraction(str(view.remaining()[0]))
            try:
                view.spend(float(amount), who=str(number))
            except BudgetError:
                assert amount > quoted, f"{amount} was refused, and {quoted} was left"
                continue
        assert amount <= quoted, f"{amount} was granted, and {quoted} was left"
        granted.append((_period(moment, period), part, amount))
    findings = policy.audit(budget.entries)
    assert bool(findings) == (n_others > 0), f"{n_others} spends of others: {findings}"
    began = _period(datetime.fromisoformat(budget.entries[0].time), period)
    return Trial(ratio=_worst(granted, began, limit, carried))


def _worst(granted, began, limit, carried):
    """Largest share of what a run of periods may spend, for the people of the dearest part."""
    periods, worst = sorted({period for period, _, _ in granted}), Fraction(0)
    for start in periods:
        for end in (period for period in periods if period >= start):
            spent = max(_spent(granted, start, end, part) for part in _PARTS)
            length = end - start + 1
            allowed = limit * (length if start == began else length + carried)
            assert spent <= allowed, f"{float(spent)} in {length} periods, {float(allowed)} allowed"
            worst = max(worst, spent / allowed)
    return float(worst)


def _spent(granted, start, end, part):
    amounts = (a for p, name, a in granted if start <= p <= end and name in ("", part))
    return sum(amounts, Fraction(0))


def _period(moment, period):
    months = {"month": 1, "quarter": 3, "year": 12}
    if period == "day":
        return moment.toordinal()
    return (12 * moment.year + moment.month - 1) // months[period]


PROMISE = Promise(
    "policies",
    "Charges under a policy never exceed its limits; audits find other charges that exceed them",
    repeated(spend_under),
)
