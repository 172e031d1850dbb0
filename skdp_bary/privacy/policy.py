"""A policy of spending: how much in a month or a year, and a budget seen through it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Literal

from ..exceptions import BudgetError, check_integer, check_option
from .entries import RESTORE, SPEND, Cost, Entry, check_text, now, shown
from .filters import SumFilter, exposure, make_filter
from .quote import Quote
from .spending import BudgetPart, SharedBudget

# A policy of spending: how much of a budget in a month or a year, what is carried over, by whom.

PERIODS = ("day", "month", "quarter", "year")
UNITS = SumFilter(1.0, 0.0)  # units do not depend on the ceiling
_MOST_CARRIED = 1000
_MONTHS = {"month": 1, "quarter": 3, "year": 12}


@dataclass(frozen=True)
class SpendingPolicy:
    """How much of a budget may be spent in a period, by whom, and what may be carried over.

    Pass a policy to :meth:`BudgetAccountant.under`. It refuses spends above its limit, in addition
    to the limit of the ledger, and changes nothing else: the policy limits every period, the ledger
    limits all periods together. A policy limits only those who spend under it; :meth:`audit` finds
    entries of others that exceed it.

    Parameters
    ----------
    epsilon, delta : float
        Most that may be spent in a period. Epsilons and deltas of entries add up, whatever the
        composition of the ledger. Of disjoint parts, the most expensive counts.
    period : {"day", "month", "quarter", "year"}, default="year"
        Of the calendar, in UTC.
    carry_over : int, default=0
        Number of periods for which unspent amounts may be spent later. Any n periods in a row spend
        at most ``n + carry_over`` times the limit, and the first n periods at most n times.
    spenders : tuple of str, default=()
        Names that may spend; empty: everyone.
    since : str, default=""
        First day that counts, such as "2026-01-01". Earlier spends count for the ledger only.

    Examples
    --------
    >>> from skdp_bary import BudgetAccountant
    >>> from skdp_bary.privacy import SpendingPolicy
    >>> budget = BudgetAccountant(epsilon=5.0)
    >>> yearly = budget.under(SpendingPolicy(epsilon=1.0, spenders=("map",)), spender="map")
    >>> yearly.spend(0.75, who="January")
    >>> yearly.remaining(), budget.remaining()
    ((0.25, 0.0), (4.25, 0.0))
    """

    epsilon: float
    delta: float = 0.0
    period: Literal["day", "month", "quarter", "year"] = "year"
    carry_over: int = 0
    spenders: tuple[str, ...] = ()
    since: str = ""

    def __post_init__(self):
        make_filter("sum", self.epsilon, self.delta)
        check_option(self.period, "period", PERIODS)
        check_integer(self.carry_over, "carry_over", low=0, high=_MOST_CARRIED)
        names = self.spenders
        if not isinstance(names, tuple) or not all(isinstance(n, str) and n for n in names):
            raise TypeError(
                f"spenders must be a tuple of names, got {names!r}. For example ('ana', 'ben')."
            )
        # days are compared as text, so no other way to write one will do, such as '2026-W01-1'
        if self.since != "" and self.since != str(_day(self.since)):
            raise ValueError(f"since must be '' or a day such as '2026-01-01', got {self.since!r}.")

    def most(self, n_periods: int) -> tuple[float, float]:
        """Return the most (epsilon, delta) that the first periods together may spend.

        Parameters
        ----------
        n_periods : int

        Returns
        -------
        epsilon, delta : float
        """
        n_periods = check_integer(n_periods, "n_periods", low=1)
        limit = limit_of(self)
        total = Cost(n_periods * limit.loss, n_periods * limit.delta)
        return SumFilter(self.epsilon, self.delta).total(total)

    def audit(self, entries: tuple[Entry, ...]) -> tuple[str, ...]:
        """Text: the entries of a ledger that did not keep to this policy.

        Parameters
        ----------
        entries : tuple of Entry
            All of them, oldest first, as in ``BudgetAccountant.entries``.

        Returns
        -------
        findings : tuple of str
            Empty where all did.
        """
        book, counts = Book(self), _counting_from(self.since)
        findings, unit = [], ""
        for number, entry in enumerate(entries, start=1):
            note = f" ({shown(entry.note)})" if entry.note else ""
            where = f"entry {number} of {entry.time}, {entry.who!r}{note}"
            if entry.kind == RESTORE:
                findings.append(f"{where}: a backup was restored; later charges are not here")
            if not counts(entry):
                continue
            if book.is_before(entry.time):
                findings.append(f"{where}: the clock had been set back")
            book.turn_to(entry.time)
            if not may_spend(self, entry.who.partition(": ")[0]):
                findings.append(f"{where}: spent by someone whom the policy does not name")
            unit = unit or entry.unit
            if entry.unit not in ("", unit):
                findings.append(f"{where}: protects {entry.unit!r}, and others before it {unit!r}")
            room = book.room(entry.part, entry.relation)
            if not price(entry).fits(room):
                epsilon, delta = UNITS.total(room.below(price(entry)))
                over = f"by epsilon={epsilon}, delta={delta}"
                findings.append(f"{where}: more than was left of the {self.period}, {over}")
            book.add(entry)
        return tuple(findings)


def limit_of(policy):
    """Return the most that a period may spend, in units of a ledger."""
    return SumFilter(policy.epsilon, policy.delta).ceiling


def may_spend(policy, spender):
    """Whether a policy lets someone spend."""
    return not policy.spenders or spender in policy.spenders


def in_later_periods(policy, cost, moment):
    """Text: when the next period begins, or that none can afford `cost`.

    Parameters
    ----------
    policy : SpendingPolicy
    cost : Cost
    moment : str
        As the time of an entry.
    """
    limit, periods = limit_of(policy), policy.carry_over + 1
    if not cost.fits(Cost(periods * limit.loss, periods * limit.delta)):
        return f"No {policy.period} of this policy can pay for that."
    return f"The next {policy.period} begins on {_next_period(policy, moment)}, in UTC."


def _next_period(policy, moment):
    """Return the first day of the period after that of a moment."""
    day = _day(moment[:10])
    if policy.period == "day":
        return day + timedelta(days=1)
    months = _MONTHS[policy.period]
    year, month = divmod(((12 * day.year + day.month - 1) // months + 1) * months, 12)
    return date(year, month + 1, 1)


def left_under(policy, entries, moment, part, relation):
    """Amount that a policy leaves at a moment for a part of the data, in units of a ledger.

    Parameters
    ----------
    policy : SpendingPolicy
    entries : iterable of Entry
    moment : str
        As the time of an entry.
    part, relation : str
    """
    book, counts = Book(policy), _counting_from(policy.since)
    for entry in entries:
        if counts(entry):
            book.turn_to(entry.time)
            book.add(entry)
    if moment[:10] < policy.since:
        raise BudgetError(
            f"The policy begins on {policy.since}, and the clock says {moment}. Nothing was "
            "charged."
        )
    if book.is_before(moment):
        raise BudgetError(
            f"The clock says {moment}, and the ledger has entries of a later {policy.period}: set "
            "the clock right. Nothing was charged."
        )
    book.turn_to(moment)
    return book.room(part, relation)


class Book:
    """State of a policy: the present period, what it may spend, and what it has spent.

    Parameters
    ----------
    policy : SpendingPolicy
    """

    def __init__(self, policy):
        self._policy, self._limit = policy, limit_of(policy)
        self._period, self._allowed, self._sums = None, self._limit, {}
        self._relation = None

    def is_before(self, moment):
        """Whether a moment is in a period before the present one."""
        return self._period is not None and self._number(moment) < self._period

    def turn_to(self, moment):
        """Go on to the period of a moment; stay where that is past."""
        number = self._number(moment)
        if self._period is None:
            self._period = number
        for _ in range(self._period, number):
            spent = exposure(self._sums, "", self._relation) if self._sums else Cost()
            months, limit = self._policy.carry_over, self._limit
            self._allowed = Cost(
                min(self._allowed.loss - spent.loss, months * limit.loss) + limit.loss,
                min(self._allowed.delta - spent.delta, months * limit.delta) + limit.delta,
            )
            self._sums = {}
        self._period = max(self._period, number)

    def add(self, entry):
        """Count an entry, whether it was allowed or not."""
        self._relation = entry.relation
        self._sums[entry.part] = self._sums.get(entry.part, Cost()) + price(entry)

    def room(self, part, relation):
        """Amount that is left for one more entry on a part; less than zero becomes zero."""
        return exposure(self._sums, part, relation).below(self._allowed)

    def _number(self, moment):
        """Return the number of the period of a moment; of two in a row they differ by one."""
        day = _day(moment[:10])
        if self._policy.period == "day":
            return day.toordinal()
        return (12 * day.year + day.month - 1) // _MONTHS[self._policy.period]


def price(entry):
    """Total of an entry, in units of a ledger."""
    return UNITS.price(entry.epsilon, entry.delta)


def _counting_from(since):
    """Return what tells of one entry after the other whether it counts.

    All that follow one of that day or later do: clocks that are set back hide none of them.
    """
    begun = False

    def counts(entry):
        nonlocal begun
        begun = begun or entry.time[:10] >= since
        return begun and entry.kind == SPEND

    return counts


def _day(text):
    try:
        return date.fromisoformat(text)
    except (TypeError, ValueError):
        return None


# A budget seen through a policy: the same ledger, which refuses more.


class BudgetUnderPolicy(SharedBudget):
    """A budget, or a part of one, whose charges keep to a policy; see `BudgetAccountant.under`.

    Parameters
    ----------
    budget : SharedBudget
        The budget, or the part of one.
    policy : SpendingPolicy
    spender : str
        Who spends; stands before the name in every entry.

    Examples
    --------
    >>> from skdp_bary import BudgetAccountant
    >>> from skdp_bary.privacy import SpendingPolicy
    >>> budget = BudgetAccountant(epsilon=5.0)
    >>> monthly = budget.under(SpendingPolicy(epsilon=0.1, period="month"))
    >>> monthly.spend(0.1)
    >>> monthly.spend(0.1)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    skdp_bary.exceptions.BudgetError: A spend asks for epsilon=0.1, delta=0.0, but the policy \
leaves only epsilon=0.0, delta=0.0 of this month. The next month begins on ..., in UTC. \
Nothing was charged.
    """

    def __init__(self, budget: SharedBudget, policy: SpendingPolicy, spender: str) -> None:
        shared = (budget._filter, budget._neighbors, budget._ledger)
        super().__init__(*shared, budget._part, budget._disjoint)
        if not isinstance(policy, SpendingPolicy):
            raise TypeError(
                f"policy must be a SpendingPolicy, got {policy!r}. For example "
                "SpendingPolicy(epsilon=1.0)."
            )
        if ": " in check_text(spender, "spender"):
            raise ValueError(
                f"spender must not hold ': ', got {spender!r}. For example spender='ana'."
            )
        if not may_spend(policy, spender):
            raise BudgetError(
                f"The policy lets only {policy.spenders} spend, got spender={spender!r}. Say who "
                "spends, as under(policy, spender=...); others need a policy that names them."
            )
        self._policy, self._spender = policy, spender

    @property
    def policy(self) -> SpendingPolicy:
        """The policy that charges keep to."""
        return self._policy

    def part(self, name: str, *, disjoint: str | None = None) -> BudgetUnderPolicy:
        """Return the same for one of several disjoint parts, see `BudgetAccountant.part`.

        Parameters
        ----------
        name : str
            Name of the part.
        disjoint : str, default=None
            Why no one is in two parts, such as ``"by hospital"``.

        Returns
        -------
        BudgetUnderPolicy
        """
        part = BudgetPart(self, name, disjoint)
        if self._part:
            raise ValueError("A part has no parts.")
        return BudgetUnderPolicy(part, self._policy, self._spender)

    def remaining(self, n_spends: int = 1) -> tuple[float, float]:
        """Return the largest (epsilon, delta) that the ledger and the policy still accept.

        Parameters
        ----------
        n_spends : int, default=1
            So many times in a row, each time the same.

        Returns
        -------
        epsilon, delta : float
        """
        ledger = super().remaining(n_spends)
        room = self._policy_room(now())
        return _smaller(ledger, room.shared_by(n_spends))

    def quote(
        self, plan_or_estimator: object, n_features: int | None = None, *, unit: str | None = None
    ) -> Quote:
        """Quote a fit: its cost, and whether ledger and policy admit it now.

        Parameters
        ----------
        plan_or_estimator : Plan, estimator or pipeline
            As for `BudgetAccountant.quote`.
        n_features : int, default=None
            As for `BudgetAccountant.quote`.
        unit : str, default=None
            As for `BudgetAccountant.quote`.

        Returns
        -------
        Quote
        """
        quote = super().quote(plan_or_estimator, n_features, unit=unit)
        moment = now()
        room = self._policy_room(moment)
        cost = price(quote)  # of all fits of a search, too
        if cost.fits(room):
            after = quote.after and _smaller(quote.after, cost.below(room))
            return replace(quote, now=_smaller(quote.now, room), after=after)
        left = _smaller(quote.now, room)
        amount = f"epsilon={left[0]}, delta={left[1]}"
        words = f"The policy leaves {amount} of this {self._policy.period}."
        later = in_later_periods(self._policy, cost, moment)
        advice = " ".join(filter(None, (words, later, quote.advice)))
        return replace(quote, fits=False, now=left, after=None, advice=advice)

    def _entry(self, who, *arguments, **options):
        named = ": ".join(filter(None, (self._spender, check_text(who, "who"))))
        return super()._entry(named, *arguments, **options)

    def _obey(self, entries, entry):
        room = left_under(self._policy, entries(), entry.time, entry.part, entry.relation)
        if not price(entry).fits(room):
            left = UNITS.room(room)
            later = in_later_periods(self._policy, price(entry), entry.time)
            raise BudgetError(
                f"{entry.who or 'A spend'} asks for epsilon={entry.epsilon}, delta={entry.delta}, "
                f"but the policy leaves only epsilon={left[0]}, delta={left[1]} of this "
                f"{self._policy.period}. {later} Nothing was charged."
            )

    def _policy_room(self, moment):
        return left_under(self._policy, self._ledger.entries(), moment, self._part, self._neighbors)

    def _closing_lines(self, entries):
        return [*super()._closing_lines(entries), "note:  remaining() also counts the policy"]

    def __repr__(self):
        part = f", part={self._part!r}" if self._part else ""
        return f"BudgetUnderPolicy({self._policy!r}, spender={self._spender!r}{part})"


def _smaller(pair, room):
    return tuple(min(mine, theirs) for mine, theirs in zip(pair, UNITS.room(room), strict=True))
