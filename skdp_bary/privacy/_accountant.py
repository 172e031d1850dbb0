"""The budget that estimators share: a ceiling, what was spent, and what a fit would cost."""

from dataclasses import dataclass
from datetime import UTC, datetime

from ..exceptions import BudgetError, RelationError
from ._budget_table import html_table, text_table
from ._chain import check_receipt, check_records
from ._checks import check_delta, check_integer, check_real
from ._filters import exposure, make_filter
from ._ledger import Entry, open_ledger, read_terms, refuse_existing
from ._neighbors import ADD_REMOVE, REPLACE_ANY, check_neighbors
from ._plan import Plan


@dataclass(frozen=True)
class Quote:
    """What a fit would cost, computed before it runs.

    Parameters
    ----------
    epsilon, delta : float
        What the fit would be charged for.
    fits : bool
        Whether the budget admits it now.
    remaining : tuple of float
        The (epsilon, delta) left after the charge; what is left now when it does not fit.
    plan : Plan
        The steps of the fit.
    advice : str, default=""
        What the estimator says, from public facts alone, about the noise that this buys; empty for
        a plan, and for estimators without a ``privacy_advice`` method.
    """

    epsilon: float
    delta: float
    fits: bool
    remaining: tuple
    plan: Plan
    advice: str = ""


class _Budget:
    """What a budget and its parts have in common: asking, spending, reading."""

    def __init__(self, filter_, neighbors, ledger, part):
        self._filter = filter_
        self._neighbors = neighbors
        self._ledger = ledger
        self._part = part

    @property
    def neighbors(self):
        """The neighbouring relation every charged plan must speak about."""
        return self._neighbors

    @property
    def epsilon(self):
        """Ceiling of the privacy loss."""
        return self._filter.epsilon

    @property
    def delta(self):
        """Ceiling of the failure probability."""
        return self._filter.delta

    def charge(self, plan, who, *, note=""):
        """Charge a plan in one atomic step, before its first draw.

        Parameters
        ----------
        plan : Plan
            What will be released.
        who : str
            Who asks, as it will appear in the entries.
        note : str, default=""
            Free text kept with the entry.

        Raises
        ------
        BudgetError
            If the plan does not fit into what is left; nothing is charged.
        RelationError
            If the plan speaks about another neighbouring relation.
        ReadOnlyLedgerError
            If this is a copy of a budget that lives in the memory of another process.
        """
        self._check_plan(plan)
        self._append(who, plan.epsilon, plan.delta, self._filter.price_plan(plan), note)

    def check(self, plan):
        """Raise what :meth:`charge` would raise, without charging.

        Parameters
        ----------
        plan : Plan
            What would be released.
        """
        self._check_plan(plan)
        self._ledger.refuse_copy()
        cost = self._filter.price_plan(plan)
        self._admit(self._ledger.tally(self._part), "A plan", plan.epsilon, plan.delta, cost)

    def spend(self, epsilon, delta=0.0, *, who="", note=""):
        """Charge an (epsilon, delta) private release made outside this package.

        Parameters
        ----------
        epsilon : float
            Privacy loss of the release under the relation of this budget.
        delta : float, default=0.0
            Failure probability of the release.
        who : str, default=""
            Who asks, as it will appear in the entries.
        note : str, default=""
            Free text kept with the entry.

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
        self._append(who, epsilon, delta, self._filter.price(epsilon, delta), note)

    def quote(self, plan_or_estimator, n_features=None):
        """Return what a fit would cost, without charging.

        Parameters
        ----------
        plan_or_estimator : Plan or estimator
            A plan, or an unfitted estimator of this package.
        n_features : int, default=None
            Number of columns the estimator would be fitted on; not used for a plan.

        Returns
        -------
        Quote
        """
        plan = _find_plan(plan_or_estimator, n_features)
        self._check_plan(plan)
        spent = exposure(self._ledger.tally(self._part), self._neighbors)
        after = spent + self._filter.price_plan(plan)
        fits = after.fits(self._filter.ceiling)
        remaining = self._room(after if fits else spent)
        advise = getattr(plan_or_estimator, "privacy_advice", None)
        advice = "" if advise is None else advise(n_features)
        return Quote(plan.epsilon, plan.delta, fits, remaining, plan, advice)

    def total(self):
        """Return the (epsilon, delta) spent so far, rounded up.

        For a part: what a person of that part has spent, entries on the whole data included.
        With ``composition="renyi"`` it contains the fixed price of turning a Renyi loss into
        (epsilon, delta), and so starts high and grows slowly.
        """
        return self._filter.total(self._exposure())

    def remaining(self):
        """Return the largest (epsilon, delta) that :meth:`spend` still accepts, rounded down."""
        return self._room(self._exposure())

    # copy.copy, copy.deepcopy and sklearn.base.clone must not multiply a budget.
    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def _append(self, who, epsilon, delta, cost, note):
        entry = Entry(
            time=datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%SZ"),
            who=_check_text(who, "who"),
            relation=self._neighbors,
            epsilon=float(epsilon),
            delta=float(delta),
            part=self._part,
            note=_check_text(note, "note"),
        )
        asker = who or "A spend"
        self._ledger.append(
            entry, cost, lambda tally: self._admit(tally, asker, epsilon, delta, cost)
        )

    def _admit(self, tally, who, epsilon, delta, cost):
        spent = exposure(tally, self._neighbors)
        if (spent + cost).fits(self._filter.ceiling):
            return
        left = spent.below(self._filter.ceiling)
        asked = self._in_words(epsilon, delta, cost)
        available = self._in_words(*self._filter.room(left), left)
        where = f" for part {self._part!r}" if self._part else ""
        raise BudgetError(
            f"{who} asks for {asked}, but only {available} is left{where} of the ceiling "
            f"epsilon={self._filter.epsilon}, delta={self._filter.delta}. Nothing was charged."
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
                f"neighbors={self._neighbors!r}. Nothing was charged."
            )

    def _exposure(self):
        return exposure(self._ledger.tally(self._part), self._neighbors)

    def _room(self, spent):
        return self._filter.room(spent.below(self._filter.ceiling))


class BudgetPart(_Budget):
    """One of several disjoint parts of the data, see :meth:`BudgetAccountant.part`."""

    def _check_plan(self, plan):
        super()._check_plan(plan)
        if self._neighbors == REPLACE_ANY:
            raise RelationError(
                "Under neighbors='replace_any' a fit takes the number of persons as public, and "
                f"the size of part {self._part!r} is not. Charge the fit to the whole data. "
                "Nothing was charged."
            )

    def __repr__(self):
        return f"BudgetPart({self._part!r})"


class BudgetAccountant(_Budget):
    """A privacy budget shared by every estimator it is given to.

    The accountant is a *privacy filter*. Its ceiling is fixed first; then every fit is charged
    before it draws any noise, and refused when the charge would exceed the ceiling. All that is
    ever released under the accountant is then (epsilon, delta) differentially private taken
    together, also when the later fits, their budgets and the moment to stop were chosen after
    looking at earlier results. A refused fit charges and releases nothing; a fit that fails after
    it was charged stays charged.

    Parameters
    ----------
    epsilon : float
        Ceiling of the privacy loss.
    delta : float, default=0.0
        Ceiling of the failure probability.
    neighbors : {"add_remove", "replace_one", "replace_any"}, default="add_remove"
        Neighbouring relation of the guarantee. Plans under another relation are refused.
    composition : {"sum", "renyi"}, default="sum"
        How spends add up. ``"sum"`` adds up epsilons and deltas. ``"renyi"`` adds up Renyi losses
        at one order that follows from the ceiling alone, which admits many more releases with
        Gaussian noise; it needs ``delta > 0``, keeps half of it for releases that have a delta of
        their own, and the other half to turn the Renyi loss into (epsilon, delta).
    ledger : str or path-like, default=None
        Where the entries are kept. A path names a file (SQLite), created when it does not exist;
        it can be shared by the processes of one host and survives crashes.
        ``postgresql://user@host/database#budget`` names a budget on a PostgreSQL server, shared by
        many hosts (extra ``postgres``). With None the entries live in the memory of this process.

    Attributes
    ----------
    epsilon, delta, neighbors, composition : object
        As given; they cannot be changed.
    ledger : str or None
        Absolute path of the file, or address of the server without password.
    entries : tuple of Entry
        Every spend so far, with ``time``, ``who``, ``relation``, ``epsilon``, ``delta``, ``part``
        and ``note``.

    Notes
    -----
    **Amounts.** Epsilons and Renyi losses are counted in millionths, deltas in units of 1e-18.
    Ceilings are rounded down and spends up, reading every number as it is printed: 0.1 fits three
    times into 0.3, but 1 / 3, which counts as 0.333334, fits only twice into 1.0.

    **Persons.** The guarantee protects persons as each fit sees them: all rows of one id where the
    fit was given ``groups``, a single row where it was not.

    **Copies.** ``copy.copy``, ``copy.deepcopy``, ``sklearn.base.clone`` and ``set_params`` keep
    the same accountant, so a cross-validation spends from one budget. A pickled accountant reopens
    its ledger file. Without a file, an unpickled or forked copy can be read, but refuses to spend.

    **Files.** Opening an existing file with another ceiling, relation or composition is an error.
    Putting an older copy of the file in its place forgets the charges made since.

    **Parts.** See :meth:`part` for data that falls into disjoint groups of persons.

    Examples
    --------
    >>> from skdp_bary import BudgetAccountant
    >>> accountant = BudgetAccountant(epsilon=0.3)
    >>> for _ in range(3):
    ...     accountant.spend(0.1, who="survey")
    >>> accountant.total(), accountant.remaining()
    ((0.3, 0.0), (0.0, 0.0))
    >>> accountant.spend(0.1, who="survey")
    Traceback (most recent call last):
        ...
    skdp_bary.exceptions.BudgetError: survey asks for epsilon=0.1, delta=0.0, but only \
epsilon=0.0, delta=0.0 is left of the ceiling epsilon=0.3, delta=0.0. Nothing was charged.
    """

    @classmethod
    def open(cls, ledger):
        """Return the budget that an existing ledger holds.

        Parameters
        ----------
        ledger : str or path-like
            A ledger file, or the address of a budget on a server.

        Returns
        -------
        accountant : BudgetAccountant

        Raises
        ------
        LedgerError
            If there is no such ledger, or it is damaged.
        """
        terms = read_terms(ledger)
        terms.pop("renyi_order")
        return cls(**terms, ledger=ledger)

    @classmethod
    def create(cls, ledger, epsilon, delta=0.0, *, neighbors=ADD_REMOVE, composition="sum"):
        """Return a new budget in a ledger that does not exist yet.

        Parameters
        ----------
        ledger : str or path-like
            File or budget to create; an existing one is refused.
        epsilon, delta : float
            Ceiling.
        neighbors : {"add_remove", "replace_one", "replace_any"}, default="add_remove"
            Neighbouring relation.
        composition : {"sum", "renyi"}, default="sum"
            How spends add up.

        Returns
        -------
        accountant : BudgetAccountant
        """
        refuse_existing(ledger)
        return cls(epsilon, delta, neighbors=neighbors, composition=composition, ledger=ledger)

    def __init__(self, epsilon, delta=0.0, *, neighbors=ADD_REMOVE, composition="sum", ledger=None):
        filter_ = make_filter(composition, epsilon, delta)
        terms = {
            "epsilon": filter_.epsilon,
            "delta": filter_.delta,
            "neighbors": check_neighbors(neighbors),
            "composition": filter_.composition,
            "renyi_order": filter_.order,
        }
        super().__init__(filter_, neighbors, open_ledger(ledger, terms), "")

    @property
    def composition(self):
        """How spends add up."""
        return self._filter.composition

    @property
    def ledger(self):
        """Absolute path of the ledger file, address of the server without password, or None."""
        return self._ledger.path

    @property
    def entries(self):
        """Every spend so far, oldest first."""
        return self._ledger.entries()

    def receipt(self):
        """Return a receipt of everything charged so far, to be kept apart from the ledger.

        Returns
        -------
        receipt : Receipt
            Its ``to_json`` and ``from_json`` write and read a line of text.
        """
        return self._ledger.receipt()

    def verify(self, receipt=None):
        """Raise unless the ledger is whole and holds everything that a receipt speaks of.

        Parameters
        ----------
        receipt : Receipt or None, default=None
            A receipt taken earlier. With it, an older copy of the ledger put in its place is found.

        Returns
        -------
        n_entries : int

        Raises
        ------
        LedgerError
            If an entry was altered or removed, if the running sums are not those of the entries,
            or if the ledger does not hold what the receipt speaks of.
        """
        entries, costs, links, totals = self._ledger.records()
        check_records(self.ledger, entries, costs, links, totals)
        if receipt is not None:
            check_receipt(self.ledger, self._ledger.receipt(), links, receipt)
        return len(entries)

    def part(self, name):
        """Return the budget of one of several disjoint parts of the data.

        Spends on different parts do not add up, because each person is in one part: what counts
        against the ceiling are the spends on the whole data plus the largest part. The caller
        promises that the parts are disjoint groups of persons, and that who is in which part
        does not follow from private data: every person belongs to one part, by a public rule or
        a public label, and only the rows of its persons are used for a release on a part.

        Under ``"add_remove"`` and ``"replace_one"`` a label of the person may name the part.
        Under ``"replace_any"`` a person may move to another part, so the two largest parts add
        up. A spend on a part must then hold for adding or removing one person of that part as
        well as for replacing one, and only :meth:`spend` is possible: fits take the number of
        persons as public, which the size of a part is not.

        Parameters
        ----------
        name : str
            Name of the part.

        Returns
        -------
        BudgetPart
            It has ``charge``, ``check``, ``spend``, ``quote``, ``total`` and ``remaining``, and
            can be given to an estimator as its ``accountant``.
        """
        if not _check_text(name, "name"):
            raise ValueError("name must not be empty: the whole data is no part.")
        return BudgetPart(self._filter, self._neighbors, self._ledger, name)

    def summary(self):
        """Return the entries and what is left as a plain table."""
        return text_table(repr(self), self.entries, self._closing_lines())

    def __str__(self):
        return self.summary()

    def _repr_html_(self):
        return html_table(repr(self), self.entries, self._closing_lines())

    def __repr__(self):
        ledger = f", ledger={self.ledger!r}" if self.ledger else ""
        return (
            f"BudgetAccountant(epsilon={self.epsilon}, delta={self.delta}, "
            f"neighbors={self.neighbors!r}, composition={self.composition!r}{ledger})"
        )

    def _closing_lines(self):
        spent = self._exposure()
        return [
            "spent: " + self._in_words(*self._filter.total(spent), spent),
            "left:  " + self._in_words(*self._room(spent), spent.below(self._filter.ceiling)),
        ]


def check_accountant(value, name="accountant"):
    """Return a budget or a part of one, or raise naming the parameter."""
    if not isinstance(value, _Budget):
        raise TypeError(f"{name} must be a BudgetAccountant or a part of one, got {value!r}.")
    return value


def _find_plan(plan_or_estimator, n_features):
    if isinstance(plan_or_estimator, Plan):
        return plan_or_estimator
    if not hasattr(plan_or_estimator, "privacy_plan"):
        raise TypeError(
            "plan_or_estimator must be a Plan or an estimator with a privacy_plan method, got "
            f"{plan_or_estimator!r}."
        )
    return plan_or_estimator.privacy_plan(check_integer(n_features, "n_features", low=1))


def _check_text(value, name):
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a string, got {value!r}.")
    return value
