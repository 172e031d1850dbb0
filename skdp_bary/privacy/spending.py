"""Spending from a budget: checks, charges and totals, for all rows and for disjoint parts."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import contextmanager
from html import escape
from threading import RLock

from ..exceptions import (
    BudgetError,
    LeakError,
    Neighbors,
    RelationError,
    as_charged,
    check_delta,
    check_integer,
    check_real,
    exact,
)
from .entries import (
    ROWS,
    SPEND,
    Chained,
    Cost,
    Entry,
    Receipt,
    check_text,
    check_unit,
    new_entry,
    text_table,
    units_of,
)
from .filters import RenyiFilter, SumFilter, exposure, make_filter
from .mechanisms import REPLACE_ANY
from .plans import Plan
from .quote import Quote, find_plans, of_steps, unfit_advice

# Spending from a budget: checks, charges and totals, for the whole data and for its parts.


class SharedBudget:
    """Methods of a budget and of its parts: checks, charges and totals."""

    def __init__(
        self,
        filter_: SumFilter | RenyiFilter,
        neighbors: Neighbors | None,
        ledger: Chained,
        part: str = "",
        disjoint: str = "",
    ) -> None:
        self._filter = filter_
        self._neighbors = neighbors
        self._ledger = ledger
        self._part = part
        self._disjoint = disjoint

    @property
    def neighbors(self) -> Neighbors | None:
        """Neighboring relation of every charged plan."""
        return self._neighbors

    @property
    def unit(self) -> str | None:
        """Declared privacy unit of every fit; None if none was declared."""
        return self._ledger.terms["unit"]

    @property
    def epsilon(self) -> float:
        """Budget limit of the privacy loss."""
        return self._filter.epsilon

    @property
    def delta(self) -> float:
        """Budget limit of the failure probability."""
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
            Plan of the release.
        who : str
            Name of the spender in the entries.
        unit : str, default=None
            Privacy unit of the release. It must be that of the budget, if the budget declares one.
        note : str, default=""
            Free text kept with the entry.
        origin : callable, default=None
            Returns the place of the rows, as objects and never as values; fits pass it. The same
            rows are rejected under two parts. Rows whose place is unknown are rejected unless the
            part was declared disjoint. None: the caller vouches for both.

        Raises
        ------
        BudgetError
            If the plan exceeds the remaining budget. Nothing is charged.
        LeakError
            If the rows were charged under another part of this budget, or that cannot be ruled
            out. Nothing is charged.
        RelationError
            If the plan has another neighboring relation than the budget, or the release protects
            another unit.
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
        """Everything that determines :meth:`covers`."""
        return type(self._filter), vars(self._filter)

    def covers(self, charged: Plan, plan: Plan) -> bool:
        """Whether the charge of one plan covers another plan, in the amounts this budget counts.

        Parameters
        ----------
        charged : Plan
            The plan that was, or will be, charged.
        plan : Plan
            Plan of the release.

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
        then: Sequence[Plan] = (),
    ) -> None:
        """Raise the errors of :meth:`charge`, without charging.

        Parameters
        ----------
        plan : Plan
            Plan of the release.
        who : str, default="A plan"
            Name of the spender, for the error.
        unit : str, default=None
            As for :meth:`charge`.
        origin : callable, default=None
            As for :meth:`charge`.
        then : sequence of Plan, default=()
            Plans that will be charged after it: all must fit together.
        """
        plans = (plan, *then)
        for each in plans:
            self._check_plan(each)
        self._check_unit(unit)
        refuse_under_two_parts(self._ledger.identity, self._part, self._disjoint, origin)
        self._ledger.refuse_copy()
        cost = sum(map(self._filter.price_plan, plans), Cost())
        epsilon = float(sum(exact(each.epsilon) for each in plans))
        delta = float(sum(exact(each.delta) for each in plans))
        self._admit(self._ledger.tally(self._part), who, epsilon, delta, cost)
        self._obey(self._ledger.entries, self._entry(who, epsilon, delta, ""))

    def unit_advice(self, unit: str) -> str:
        """Warning that the total covers no common unit once `unit` is charged too, or "".

        Parameters
        ----------
        unit : str
            Privacy unit of a fit.

        Returns
        -------
        advice : str
        """
        others = [other for other in units_of(self._ledger.entries()) if other != unit]
        if self.unit is not None or not others:
            return ""
        return (
            f"This budget was charged for fits that protect {', '.join(map(repr, others))}, and is "
            f"now charged for one that protects {unit!r}. Its total does not bound the privacy "
            "loss of people with several rows or IDs. Declare one unit, BudgetAccountant(..., "
            "unit='patient_id'), and protect it in every fit: groups='patient_id', or "
            "unit='patient_id' with other groups."
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
        """Charge an (epsilon, delta)-differentially private release made outside this package.

        Epsilon is rounded up to millionths and delta to multiples of 1e-18, because the release
        was made at the exact amounts.

        Parameters
        ----------
        epsilon : float
            Privacy loss of the release under the relation, and for the unit, of this budget.
        delta : float, default=0.0
            Failure probability of the release.
        who : str, default=""
            Name of the spender in the entries.
        note : str, default=""
            Free text kept with the entry.
        unit : str, default=None
            Privacy unit of the release. None: that of the budget.

        Raises
        ------
        BudgetError
            If the amounts exceed the remaining budget. Nothing is charged.
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
        self, plan_or_estimator: object, n_features: int | None = None, *, unit: str | None = None
    ) -> Quote:
        """Quote a fit without charging it.

        Parameters
        ----------
        plan_or_estimator : Plan, estimator or pipeline
            A plan, an unfitted estimator of this package, a pipeline, whose private steps are all
            added up, or a search over one: of ``GridSearchCV`` all candidates, folds and the final
            fit.
        n_features : int, default=None
            Number of columns that would be fitted; not used for a plan. None: that of the bounds or
            the schema of the estimator, if these determine it.
        unit : str, default=None
            Privacy unit of the fit. It must be that of the budget, if the budget declares one.
            None: the unit is checked by the fit.

        Returns
        -------
        Quote
        """
        self._check_unit(self.unit if unit is None else unit)
        asked = find_plans(plan_or_estimator, n_features)
        spent = after = self._exposure()
        for each in asked:
            self._check_plan(each.plan)
            price = self._filter.price_plan(each.plan)
            for _ in range(each.n_fits):
                after = after + price
        fits = after.fits(self._filter.ceiling)
        now = self._room(spent)
        noted = [each for each in asked if each.noted]
        advice = of_steps(noted, [each.advice() for each in noted])
        if not fits:
            advice.insert(0, unfit_advice(asked, now))
        return Quote(
            # shortest decimals: sums of floats would show their last bits
            float(sum(each.n_fits * exact(each.plan.epsilon) for each in asked)),
            float(sum(each.n_fits * exact(each.plan.delta) for each in asked)),
            fits,
            now,
            self._room(after) if fits else None,
            tuple((each.name, each.plan) for each in asked),
            " ".join(filter(None, advice)),
            "; ".join(of_steps(noted, [each.bounds() for each in noted])),
            self.unit,
        )

    def total(self) -> tuple[float, float]:
        """Return the (epsilon, delta) spent so far, rounded up.

        For a part, this includes entries on the whole data. With ``composition="renyi"`` it
        includes the fixed cost of converting a Renyi loss to (epsilon, delta), and so starts high
        and grows slowly.
        """
        return self._filter.total(self._exposure())

    def remaining(self, n_spends: int = 1) -> tuple[float, float]:
        """Return the largest (epsilon, delta) that :meth:`spend` still accepts, rounded down.

        Parameters
        ----------
        n_spends : int, default=1
            Number of equal spends in a row.

        Returns
        -------
        epsilon, delta : float
        """
        n_spends = check_integer(n_spends, "n_spends", low=1)
        left = self._exposure().below(self._filter.ceiling)
        return self._filter.room(left.shared_by(n_spends))

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Every spend, raise of the limit and restored backup, oldest first."""
        return self._ledger.entries()

    def receipt(self) -> Receipt:
        """Return a receipt of everything charged so far, to be kept apart from the ledger.

        Returns
        -------
        receipt : Receipt
            Its ``to_json`` and ``from_json`` write and read a line of text.
        """
        return self._ledger.receipt()

    def verify(self, receipt: Receipt | None = None) -> int:
        """Raise unless the ledger is whole and holds everything that a receipt refers to.

        Parameters
        ----------
        receipt : Receipt, default=None
            A receipt taken earlier. It reveals an older copy that replaced the ledger.

        Returns
        -------
        n_entries : int

        Raises
        ------
        LedgerError
            If an entry was altered or removed, if the running sums are not those of the entries,
            or if the ledger lacks entries that the receipt refers to.
        """
        return self._ledger.verify(receipt)

    def summary(self) -> str:
        """Return the entries and the remaining budget as a plain table."""
        entries = self.entries
        return text_table(repr(self), entries, self._closing_lines(entries))

    def __str__(self):
        return self.summary()

    def _repr_html_(self):
        return f"<pre>{escape(self.summary())}</pre>"

    # copy.copy, copy.deepcopy and sklearn.base.clone must not multiply a budget.
    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def _closing_lines(self, entries):
        spent, units = self._exposure(), units_of(entries)
        return [
            *([_MIXED.format(", ".join(units))] if len(units) > 1 else []),
            "spent: " + self._in_words(*self._filter.total(spent), spent),
            "left:  " + self._in_words(*self._room(spent), spent.below(self._filter.ceiling)),
        ]

    def _append(self, who, epsilon, delta, cost, note, unit):
        entry = self._entry(who, epsilon, delta, note, unit)
        asker = who or "A spend"

        def admit(tally, entries):
            self._admit(tally, asker, epsilon, delta, cost)
            self._obey(entries, entry)

        self._ledger.append(entry, cost, admit)

    def _obey(self, entries, entry):
        """Raise if a policy forbids an entry; here there is none."""

    def _entry(self, who, epsilon, delta, note, unit="", kind=SPEND):
        declared = f"parts disjoint {self._disjoint}" if self._disjoint else ""
        note = "; ".join(filter(None, (check_text(note, "note"), declared)))
        return new_entry(who, self._neighbors, unit, epsilon, delta, self._part, note, kind)

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
            f"{who} asks for {asked}, but only {available} is left{where} of the budget of "
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
                f"neighbors must be {self._neighbors!r}, which this budget counts, got a plan with "
                f"{plan.relation!r}. Leave neighbors=None, which uses that of the budget, or "
                f'charge BudgetAccountant(..., neighbors="{plan.relation}"). Nothing was charged.'
            )
        if self._part and self._neighbors == REPLACE_ANY:
            raise RelationError(
                "neighbors must not be 'replace_any' for a fit on a part: it makes the number "
                f"of people public, and the size of part {self._part!r} is private. Charge the fit "
                "to the budget, not to a part. Nothing was charged."
            )

    def _check_unit(self, unit):
        if unit is not None:
            check_unit(unit)
        if self.unit not in (None, unit):
            fit = "but this release names no unit" if unit is None else f"got {unit!r}"
            advice = (
                "Fit without groups"
                if self.unit == ROWS
                else f"Pass groups={self.unit!r}, or the IDs as groups and unit={self.unit!r}. If "
                f"every row is one {self.unit!r}, pass unit={self.unit!r} without groups"
            )
            raise RelationError(
                f"unit must be {self.unit!r}, which this budget protects, {fit}. {advice}. "
                "Nothing was charged."
            )

    def _exposure(self):
        return self._spent(self._ledger.tally(self._part))

    def _spent(self, tally):
        """Amount that counts against the budget limit; updates the limit to its latest raise."""
        self._filter = self._filter_at(tally)
        return exposure(tally.sums, self._part, self._neighbors)

    def _filter_at(self, tally):
        now = self._filter
        if tally.raised is None or tally.raised == (now.epsilon, now.delta):
            return now
        return make_filter(now.composition, *tally.raised, now.order)

    def _room(self, spent):
        return self._filter.room(spent.below(self._filter.ceiling))


_MIXED = (
    "note:  releases protect different units ({}): what was spent is the loss of people with one "
    "row, and people with several lose more"
)


class BudgetPart(SharedBudget):
    """One of several disjoint parts of the data; :meth:`BudgetAccountant.part` makes it.

    Parameters
    ----------
    budget : SharedBudget
        The budget that all parts share.
    name : str
    disjoint : str or None
        Why no one is in two parts; None where no one has said.
    """

    def __init__(self, budget: SharedBudget, name: str, disjoint: str | None) -> None:
        if not check_text(name, "name"):
            raise ValueError("name must not be empty: the whole data is not a part.")
        if disjoint is not None and not check_text(disjoint, "disjoint").strip():
            raise ValueError(
                "disjoint must state why no one is in two parts, as 'by hospital', got "
                f"{disjoint!r}."
            )
        super().__init__(budget._filter, budget._neighbors, budget._ledger, name, disjoint or "")

    def __repr__(self):
        return f"BudgetPart({self._part!r})"


# The same rows under two parts of one budget: refused if they are recognized.

_SEEN = {}  # by budget: the parts and origins of what was charged, while it can be known again
_LOCK = RLock()


def refuse_under_two_parts(budget, part, word, origin):
    """Raise if rows may not be charged under a part.

    Parameters
    ----------
    budget : str
        Identity of the ledger.
    part : str
        Name of the part; empty for the whole data, which adds up with every part.
    word : str
        Why no one is in two parts, as the caller has declared; empty without a declaration.
    origin : callable or None
        Returns the place of the rows: an object with ``unknown``, a text, ``is_gone``, and
        ``meets``, which returns whether it overlaps another one, or None if that is unknown.
        None: no rows.

    Raises
    ------
    LeakError
    """
    if not part or origin is None:
        return
    origin = origin()
    if origin.unknown and not word:
        raise LeakError(
            "X must be rows that can be compared with those of other parts of this budget, got "
            f"{origin.unknown}. {_declare(part)}"
        )
    with _LOCK:
        for each in list(_SEEN):
            _keep(each, lambda charged: not charged[1].is_gone)
        kept = _SEEN.get(budget, ())
    found = [(other, origin.meets(rows)) for other, rows in kept if other != part]
    for other, same in found:
        if same:
            raise LeakError(
                f"X must not hold rows charged under part {other!r} of this budget, got them "
                f"under part {part!r}. For the same people use one part, or the whole budget; "
                "for others in reused memory pass a copy. Nothing was charged."
            )
    doubtful = [other for other, same in found if same is None]
    if doubtful and not word:
        raise LeakError(
            f"X may hold the rows that were charged under part {doubtful[0]!r} of this budget: "
            "they are in the same memory or file, which may have been reused, or have the same "
            f"index. {_declare(part)}"
        )


@contextmanager
def under_one_part(budget, part, word, origin):
    """Record that rows belong to a part once the block has charged them, or raise.

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
    """Drop the records of a budget that `wanted` rejects."""
    kept = tuple(filter(wanted, _SEEN.pop(budget, ())))
    if kept:
        _SEEN[budget] = kept


def _declare(part):
    return (
        "If no one is in two parts, state why: "
        f'part({part!r}, disjoint="by hospital"). Nothing was charged.'
    )
