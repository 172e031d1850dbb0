"""A budget seen through a policy: the same ledger, which refuses more."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ...exceptions import BudgetError
from .filters import Cost
from .policy import UNITS, SpendingPolicy, in_later_periods, left_under, may_spend, price
from .quote import Quote
from .spending import SharedBudget, check_part, check_text

if TYPE_CHECKING:
    from ..._types import Neighbors
    from .chain import Chained
    from .filters import RenyiFilter, SumFilter


class BudgetUnderPolicy(SharedBudget):
    """A budget, or a part of one, whose charges keep to a policy; see `BudgetAccountant.under`.

    Parameters
    ----------
    filter_, neighbors, ledger, part
        Those of the accountant, and the name of the part.
    policy : SpendingPolicy
    spender : str
        Who spends; stands before the name in every entry.
    disjoint : str
        Why nobody is in two parts; empty where nobody has said.

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

    def __init__(
        self,
        filter_: SumFilter | RenyiFilter,
        neighbors: Neighbors | None,
        ledger: Chained,
        part: str,
        policy: SpendingPolicy,
        spender: str,
        disjoint: str = "",
    ) -> None:
        super().__init__(filter_, neighbors, ledger, part, disjoint)
        if not isinstance(policy, SpendingPolicy):
            raise TypeError(f"policy must be a SpendingPolicy, got {policy!r}.")
        if ": " in check_text(spender, "spender"):
            raise ValueError(f"spender must not hold ': ', got {spender!r}.")
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
        disjoint : str or None, default=None
            Why nobody is in two parts, such as ``"by hospital"``.

        Returns
        -------
        BudgetUnderPolicy
        """
        name, disjoint = check_part(name, disjoint)
        if self._part:
            raise ValueError("A part has no parts.")
        shared = (self._filter, self._neighbors, self._ledger, name)
        return BudgetUnderPolicy(*shared, self._policy, self._spender, disjoint)

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
        room = self._policy_room(self._entry("", 0.0, 0.0, "").time)
        return _smaller(ledger, room.shared_by(n_spends))

    def quote(
        self,
        plan_or_estimator: object,
        n_features: int | None = None,
        *,
        unit: str | None = None,
    ) -> Quote:
        """Return what a fit would cost, and whether ledger and policy admit it now.

        Parameters
        ----------
        plan_or_estimator : Plan, estimator or pipeline
            As for `BudgetAccountant.quote`.
        n_features : int, default=None
            As for `BudgetAccountant.quote`.
        unit : str or None, default=None
            As for `BudgetAccountant.quote`.

        Returns
        -------
        Quote
        """
        quote = super().quote(plan_or_estimator, n_features, unit=unit)
        moment = self._entry("", 0.0, 0.0, "").time
        room = self._policy_room(moment)
        cost = sum((price(plan) for _, plan in quote.plans), Cost())
        if cost.fits(room):
            after = quote.after and _smaller(quote.after, cost.below(room))
            return replace(quote, now=_smaller(quote.now, room), after=after)
        now = _smaller(quote.now, room)
        words = f"The policy leaves epsilon={now[0]}, delta={now[1]} of this {self._policy.period}."
        later = in_later_periods(self._policy, cost, moment)
        advice = " ".join(filter(None, (words, later, quote.advice)))
        return replace(quote, fits=False, now=now, after=None, advice=advice)

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

    def __repr__(self):
        part = f", part={self._part!r}" if self._part else ""
        return f"BudgetUnderPolicy({self._policy!r}, spender={self._spender!r}{part})"


def _smaller(pair, room):
    return tuple(min(mine, theirs) for mine, theirs in zip(pair, UNITS.room(room), strict=True))
