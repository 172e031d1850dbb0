"""Spending from a budget: asking, charging, reading, for all rows and for disjoint parts."""

from __future__ import annotations

from contextlib import contextmanager
from threading import RLock
from typing import TYPE_CHECKING

from ..exceptions import (
    BudgetError,
    LeakError,
    RelationError,
    as_charged,
    check_delta,
    check_integer,
    check_real,
    exact,
)
from .entries import ROWS, SPEND, check_text, check_unit, new_entry, units_of
from .filters import exposure, make_filter
from .mechanisms import REPLACE_ANY
from .plans import Plan
from .quote import Quote, find_plans, unfit_advice

if TYPE_CHECKING:
    from ..exceptions import Neighbors
    from .chain import Chained
    from .filters import RenyiFilter, SumFilter


# Spending from a budget: asking, charging, reading, for the whole data and for its parts.


class SharedBudget:
    """What a budget and its parts have in common: asking, spending, reading."""

    def __init__(
        self,
        filter_: SumFilter | RenyiFilter,
        neighbors: Neighbors | None,
        ledger: Chained,
        part: str,
        disjoint: str = "",
    ) -> None:
        self._filter = filter_
        self._neighbors = neighbors
        self._ledger = ledger
        self._part = part
        self._disjoint = disjoint

    @property
    def neighbors(self) -> Neighbors | None:
        """The neighboring relation every charged plan must speak about."""
        return self._neighbors

    @property
    def unit(self) -> str | None:
        """What one person is to every fit, as it was declared; None: no one declared it."""
        return self._ledger.terms["unit"]

    @property
    def epsilon(self) -> float:
        """Ceiling of the privacy loss."""
        return self._filter.epsilon

    @property
    def delta(self) -> float:
        """Ceiling of the failure probability."""
        return self._filter.delta

    def charge(
        self,
        plan: Plan,
        who: str,
        *,
        unit: str | None = None,
        note: str = "",
        origin: object = None,
    ) -> None:
        """Charge a plan in one atomic step, before its first draw.

        Parameters
        ----------
        plan : Plan
            What will be released.
        who : str
            Name of the spender, as it will appear in the entries.
        unit : str or None, default=None
            What one person is to the release. Where the budget declares a unit it must be that one.
        note : str, default=""
            Free text kept with the entry.
        origin : callable, default=None
            Tells a part of a budget where the rows are, by objects and never by values. Fits give
            it. The same rows are rejected under two parts, and rows of which nothing can be told
            unless the part was declared to be disjoint. None: the caller answers for that.

        Raises
        ------
        BudgetError
            If the plan does not fit into what is left; nothing is charged.
        LeakError
            If the rows were charged under another part of this budget, or that cannot be told;
            nothing is charged.
        RelationError
            If the plan speaks about another neighboring relation, or the release protects another
            unit than the budget.
        ReadOnlyLedgerError
            If this is a copy of a budget that lives in the memory of another process.
        """
        self._check_plan(plan)
        self._check_unit(unit)
        with under_one_part(self._ledger.identity, self._part, self._disjoint, origin):
            cost = self._filter.price_plan(plan)
            self._append(who, plan.epsilon, plan.delta, cost, note, unit or "")

    @property
    def terms(self) -> tuple[type, dict]:
        """All that :meth:`covers` follows from."""
        return type(self._filter), vars(self._filter)

    def covers(self, charged: Plan, plan: Plan) -> bool:
        """Whether what one plan is charged pays for another, in what this budget counts.

        Parameters
        ----------
        charged : Plan
            What was, or will be, charged.
        plan : Plan
            What would be released.

        Returns
        -------
        bool
        """
        return self._filter.price_plan(plan).fits(self._filter.price_plan(charged))

    def check(
        self,
        plan: Plan,
        *,
        who: str = "A plan",
        unit: str | None = None,
        origin: object = None,
    ) -> None:
        """Raise what :meth:`charge` would raise, without charging.

        Parameters
        ----------
        plan : Plan
            What would be released.
        who : str, default="A plan"
            Name of the spender, for the error.
        unit : str or None, default=None
            As for :meth:`charge`.
        origin : callable, default=None
            As for :meth:`charge`.
        """
        self._check_plan(plan)
        self._check_unit(unit)
        refuse_under_two_parts(self._ledger.identity, self._part, self._disjoint, origin)
        self._ledger.refuse_copy()
        cost = self._filter.price_plan(plan)
        self._admit(self._ledger.tally(self._part), who, plan.epsilon, plan.delta, cost)
        self._obey(self._ledger.entries, self._entry(who, plan.epsilon, plan.delta, ""))

    def unit_advice(self, unit: str) -> str:
        """Return why the total of this budget is no one's, once `unit` is charged too, or "".

        Parameters
        ----------
        unit : str
            What one person is to a fit.

        Returns
        -------
        advice : str
        """
        others = [other for other in units_of(self._ledger.entries()) if other != unit]
        if self.unit is not None or not others:
            return ""
        return (
            f"This budget was charged for fits that protect {', '.join(map(repr, others))}, and is "
            f"now charged for one that protects {unit!r}: people with several rows or ids lose "
            "more than its total says. Declare what a person is, BudgetAccountant(..., "
            "unit='patient_id'), and let every fit protect that: groups='patient_id', or "
            "unit='patient_id' beside other groups."
        )

    def spend(
        self,
        epsilon: float,
        delta: float = 0.0,
        *,
        who: str = "",
        note: str = "",
        unit: str | None = None,
    ) -> None:
        """Charge an (epsilon, delta) private release made outside this package.

        Nothing here makes that release run at less than it says, so amounts between two units of
        the budget, which are millionths of epsilon, are rounded up.

        Parameters
        ----------
        epsilon : float
            Privacy loss of the release under the relation, and for the unit, of this budget.
        delta : float, default=0.0
            Failure probability of the release.
        who : str, default=""
            Name of the spender, as it will appear in the entries.
        note : str, default=""
            Free text kept with the entry.
        unit : str or None, default=None
            What one person is to the release; None: what the budget declares.

        Raises
        ------
        BudgetError
            If the spend does not fit into what is left; nothing is charged.
        ReadOnlyLedgerError
            If this is a copy of a budget that lives in the memory of another process.
        """
        epsilon, delta = check_real(epsilon, "epsilon", low=0.0), check_delta(delta)
        if epsilon == 0.0 and delta == 0.0:
            raise ValueError("epsilon or delta must be above zero, got 0 for both.")
        if unit is None:
            unit = self.unit
        self._check_unit(unit)
        self._append(who, epsilon, delta, self._filter.price(epsilon, delta), note, unit or "")

    def quote(
        self,
        plan_or_estimator: object,
        n_features: int | None = None,
        *,
        unit: str | None = None,
    ) -> Quote:
        """Quote a fit without charging it.

        Parameters
        ----------
        plan_or_estimator : Plan, estimator or pipeline
            A plan, an unfitted estimator of this package, a search over one, or a pipeline, of
            which all private steps are added up.
        n_features : int, default=None
            Number of columns that would be fitted; not used for a plan. None: that of the bounds or
            the schema of the estimator, where these tell it.
        unit : str or None, default=None
            What a person would be to the fit, refused where the budget declares another unit. None:
            the fit will say.

        Returns
        -------
        Quote
        """
        self._check_unit(self.unit if unit is None else unit)
        asked = find_plans(plan_or_estimator, n_features)
        spent = after = self._exposure()
        for each in asked:
            self._check_plan(each.plan)
            after = after + self._filter.price_plan(each.plan)
        fits = after.fits(self._filter.ceiling)
        now = self._room(spent)
        advice = ["" if fits else unfit_advice(asked, now), *(each.advice() for each in asked)]
        return Quote(
            # shortest decimals: sums of floats would show their last bits
            float(sum(exact(each.plan.epsilon) for each in asked)),
            float(sum(exact(each.plan.delta) for each in asked)),
            fits,
            now,
            self._room(after) if fits else None,
            tuple((each.name, each.plan) for each in asked),
            " ".join(filter(None, advice)),
            "; ".join(filter(None, (each.bounds() for each in asked))),
            self.unit,
        )

    def total(self) -> tuple[float, float]:
        """Return the (epsilon, delta) spent so far, rounded up.

        For a part: what a person of that part has spent, entries on the whole data included.
        With ``composition="renyi"`` it contains the fixed price of turning a Renyi loss into
        (epsilon, delta), and so starts high and grows slowly.
        """
        return self._filter.total(self._exposure())

    def remaining(self, n_spends: int = 1) -> tuple[float, float]:
        """Return the largest (epsilon, delta) that :meth:`spend` still accepts, rounded down.

        Parameters
        ----------
        n_spends : int, default=1
            So many times in a row, each time the same.

        Returns
        -------
        epsilon, delta : float
        """
        n_spends = check_integer(n_spends, "n_spends", low=1)
        left = self._exposure().below(self._filter.ceiling)
        return self._filter.room(left.shared_by(n_spends))

    # copy.copy, copy.deepcopy and sklearn.base.clone must not multiply a budget.
    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def _append(self, who, epsilon, delta, cost, note, unit):
        entry = self._entry(who, epsilon, delta, note, unit)
        asker = who or "A spend"

        def admit(tally, entries):
            self._admit(tally, asker, epsilon, delta, cost)
            self._obey(entries, entry)

        self._ledger.append(entry, cost, admit)

    def _obey(self, entries, entry):
        """Raise where a policy forbids an entry; here there is none."""

    def _entry(self, who, epsilon, delta, note, unit="", kind=SPEND):
        note = "; ".join(filter(None, (check_text(note, "note"), self._declared())))
        return new_entry(who, self._neighbors, unit, epsilon, delta, self._part, note, kind)

    def _declared(self):
        return f"parts disjoint {self._disjoint}" if self._disjoint else ""

    def _admit(self, tally, who, epsilon, delta, cost):
        spent = self._spent(tally)
        if (spent + cost).fits(self._filter.ceiling):
            return
        left = spent.below(self._filter.ceiling)
        asked = self._in_words(epsilon, delta, cost)
        available = self._in_words(*self._filter.room(left), left)
        where = f" for part {self._part!r}" if self._part else ""
        advice = ""
        if delta > 0.0 and not self._filter.delta:
            advice = " This budget has delta=0: make one with delta > 0 for releases that need it."
        less = as_charged(epsilon, delta)  # which plans ask for at once
        if less[0] > 0.0 and (spent + self._filter.price(*less)).fits(self._filter.ceiling):
            advice = (
                " Amounts of releases made elsewhere are rounded up: one that is made with "
                f"epsilon={less[0]}, delta={less[1]} fits."
            )
        raise BudgetError(
            f"{who} asks for {asked}, but only {available} is left{where} of the ceiling "
            f"epsilon={self._filter.epsilon}, delta={self._filter.delta}. Nothing was charged."
            f"{advice}"
        )

    def _in_words(self, epsilon, delta, cost):
        detail = self._filter.describe(cost)
        return f"epsilon={epsilon}, delta={delta}" + (f" ({detail})" if detail else "")

    def _check_plan(self, plan):
        if not isinstance(plan, Plan):
            raise TypeError(f"plan must be a Plan, got {plan!r}.")
        if plan.relation != self._neighbors:
            raise RelationError(
                f"The plan speaks about neighbors={plan.relation!r}, this budget about "
                f"neighbors={self._neighbors!r}. Leave neighbors=None, which takes that of the "
                f"budget, or charge a budget made with neighbors={plan.relation!r}; the two do not "
                "add up. Nothing was charged."
            )
        if self._part and self._neighbors == REPLACE_ANY:
            raise RelationError(
                "Under neighbors='replace_any' a fit takes the number of persons as public, and "
                f"the size of part {self._part!r} is not. Charge the fit to the whole data. "
                "Nothing was charged."
            )

    def _check_unit(self, unit):
        if unit is not None:
            check_unit(unit)
        if self.unit not in (None, unit):
            fit = "this release does not say what a person is" if unit is None else f"got {unit!r}"
            advice = (
                "Fit without groups"
                if self.unit == ROWS
                else f"Pass groups={self.unit!r}, or the ids as groups and unit={self.unit!r}. If "
                f"every row is one {self.unit!r}, pass unit={self.unit!r} without groups"
            )
            raise RelationError(
                f"unit must be {self.unit!r}, which this budget protects, {fit}. {advice}. "
                "Nothing was charged."
            )

    def _exposure(self):
        return self._spent(self._ledger.tally(self._part))

    def _spent(self, tally):
        """Return what counts against the ceiling, and take note of the ceiling of that moment."""
        self._filter = self._filter_at(tally)
        return exposure(tally, self._neighbors)

    def _filter_at(self, tally):
        now = self._filter
        if tally.raised is None or tally.raised == (now.epsilon, now.delta):
            return now
        return make_filter(now.composition, *tally.raised, now.order)

    def _room(self, spent):
        return self._filter.room(spent.below(self._filter.ceiling))


class BudgetPart(SharedBudget):
    """One of several disjoint parts of the data; :meth:`BudgetAccountant.part` makes it.

    Parameters
    ----------
    ledger, filter_, neighbors, part, disjoint
        Those of the accountant, the name of the part, and why no one is in two parts.
    """

    def __repr__(self):
        return f"BudgetPart({self._part!r})"


def check_part(name, disjoint):
    """Return the name of a part and why no one is in two parts, empty where no one says."""
    if not check_text(name, "name"):
        raise ValueError("name must not be empty: the whole data is no part.")
    if disjoint is None:
        return name, ""
    if not check_text(disjoint, "disjoint").strip():
        raise ValueError(
            f"disjoint must say why nobody is in two parts, as 'by hospital', got {disjoint!r}."
        )
    return name, disjoint


# The same rows under two parts of one budget: refused where it can be seen.

_SEEN = {}  # by budget: the parts and origins of what was charged, while it can be known again
_LOCK = RLock()


def refuse_under_two_parts(budget, part, word, origin):
    """Raise where rows may not be charged under a part.

    Parameters
    ----------
    budget : str
        Identity of the ledger.
    part : str
        Name of the part; empty for the whole data, which adds up with every part.
    word : str
        Why no one is in two parts, as the caller has declared; empty where nothing was.
    origin : callable or None
        Returns where the rows are: what has ``unknown`` in words, ``is_gone``, and ``meets`` for
        another one, which returns True, False, or None where it cannot tell. None: no rows.

    Raises
    ------
    LeakError
    """
    if not part or origin is None:
        return
    origin = origin()
    if origin.unknown and not word:
        raise LeakError(
            f"X must be rows that can be told from those of other parts of this budget, got "
            f"{origin.unknown}, of which nothing can be told. {_declare(part)}"
        )
    with _LOCK:
        for each in list(_SEEN):
            _keep(each, lambda charged: not charged[1].is_gone)
        kept = _SEEN.get(budget, ())
    found = [(other, origin.meets(rows)) for other, rows in kept if other != part]
    for other, same in found:
        if same:
            raise LeakError(
                f"These rows were charged under part {other!r} of this budget, and are now "
                f"given under part {part!r}. Parts are disjoint groups of persons: give steps that "
                "see the same rows one part, or the whole budget. If other people's rows were put "
                "into the same memory, pass a copy of them. Nothing was charged."
            )
    doubtful = [other for other, same in found if same is None]
    if doubtful and not word:
        raise LeakError(
            f"These rows may be those that were charged under part {doubtful[0]!r} of this budget: "
            "they are in the same memory or file, which may have been used anew, or have the same "
            f"index. {_declare(part)}"
        )


@contextmanager
def under_one_part(budget, part, word, origin):
    """Remember, once the block has charged them, that rows belong to a part; or raise.

    The parameters are those of :func:`refuse_under_two_parts`.
    """
    if not part or origin is None:
        yield
        return
    charged = part, origin()
    with _LOCK:  # written down before it is compared: of two threads at least one is refused
        _SEEN[budget] = (*_SEEN.get(budget, ()), charged)
    try:
        refuse_under_two_parts(budget, part, word, origin)
        yield
    except BaseException:
        with _LOCK:
            _keep(budget, lambda each: each is not charged)
        raise


def _keep(budget, wanted):
    """Forget what is not wanted of a budget any more."""
    kept = tuple(filter(wanted, _SEEN.pop(budget, ())))
    if kept:
        _SEEN[budget] = kept


def _declare(part):
    return (
        "If nobody is in two parts, say by what, "
        f'part({part!r}, disjoint="by hospital"). Nothing was charged.'
    )
