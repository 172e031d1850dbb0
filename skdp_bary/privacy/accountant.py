"""BudgetAccountant: the budget limit that estimators share, and the storage of its entries."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any, Literal

from ..exceptions import BudgetError, LedgerError, Neighbors, shown
from .entries import RAISE, RESTORE, Cost, check_unit, new_entry, terms_now
from .filters import make_filter
from .mechanisms import ADD_REMOVE, check_neighbors
from .memory_ledger import MemoryLedger, is_address, read_address, refuse_near_address
from .policy import BudgetUnderPolicy, SpendingPolicy
from .spending import BudgetPart, SharedBudget

# The budget that estimators share: its limit, its entries, and the cost of a fit.


class BudgetAccountant(SharedBudget):
    """Differential privacy budget shared by all estimators it is passed to.

    It is a *privacy filter* with a fixed limit, charges every fit before the fit draws any noise,
    and raises if the charge would exceed the limit. All releases under the accountant together are
    then (epsilon, delta)-differentially private, even if later fits, their budgets and the stopping
    time were chosen from earlier results. A refused fit charges and releases nothing. A fit that
    fails after its charge stays charged.

    Parameters
    ----------
    epsilon : float
        Budget limit of the privacy loss.
    delta : float, default=0.0
        Budget limit of the failure probability.
    neighbors : {"add_remove", "replace_one", "replace_any"}, default="add_remove"
        Neighboring relation of the guarantee. Plans under another relation are rejected.
    composition : {"sum", "renyi"}, default="sum"
        ``"sum"`` adds up epsilons and deltas. ``"renyi"`` adds up Renyi losses at one order that
        follows from the limit alone, which admits many more releases with Gaussian noise. It needs
        ``delta > 0``, of which half is for releases with a separate delta.
    ledger : str or path-like, default=None
        Storage of the entries. A path names an SQLite file, made if missing, which the processes of
        one host can share and which survives crashes. ``postgresql://user@host/database#budget``
        names a budget on a PostgreSQL server, shared by many hosts (extra ``postgres``). With None
        the entries live in the memory of this process.
    unit : str, default=None
        Privacy unit of the guarantee, such as ``"patient_id"`` or ``"rows"``. A fit that protects
        another unit is rejected. None declares no unit.
    file_group : str, default=None
        Group of this computer that may spend from a new ledger file, whose folder must belong to
        it. None: the owner alone.

    Attributes
    ----------
    epsilon : float
        Limit at the last read of the ledger; :meth:`raise_ceiling` raises it.
    delta : float
        The same for delta.
    neighbors : str
        As passed.
    composition : str
        As passed.
    unit : str or None
        As passed.
    ledger : str or None
        Absolute path of the file, or address of the server without password.
    entries : tuple of Entry
        Every spend so far. A raise of the limit has the ``kind`` "raise" instead of "spend" and the
        new limit as ``epsilon`` and ``delta``; restoring a backup has the kind "restore".

    Notes
    -----
    **Amounts.** Epsilons and Renyi losses are counted in millionths, deltas in units of 1e-18.
    Limits are rounded down. So are the amounts of an estimator, and the fit runs at these: 1 / 3
    fits three times into 1.0. Costs passed to :meth:`spend` are rounded up.

    **People.** The guarantee protects the unit of each fit: all rows of one ID with ``groups``, a
    single row without. Without a declared unit a fit only warns when others protected another,
    because the total does not bound the privacy loss of people with several rows.

    **Copies.** ``copy.copy``, ``copy.deepcopy``, ``sklearn.base.clone`` and ``set_params`` keep the
    same accountant. A pickled accountant reopens its ledger file. Without a file, an unpickled or
    forked copy can be read but not spent from.

    **Files.** Opening a file raises an error if its parameters differ, or if it is damaged,
    emptied, missing, or older than its lock file. A file without its lock file, or copied with it
    on one file system, is read-only. If both are replaced by older copies, later charges are lost;
    a :meth:`receipt` reveals that (:doc:`/explanation/budget`).

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
epsilon=0.0, delta=0.0 is left of the budget of epsilon=0.3, delta=0.0. Nothing was charged.
    """

    @classmethod
    def open(cls, ledger: str | os.PathLike) -> BudgetAccountant:
        """Open the budget of an existing ledger.

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
        if ledger is None:
            raise TypeError(
                "ledger must be a path or the address of a budget, got None. For example "
                "BudgetAccountant.open('budget.db')."
            )
        kept = open_ledger(ledger, None)
        found = cls.__new__(cls)
        found._keep(kept, terms_now(kept.terms, kept.tally("").raised))
        return found

    @classmethod
    def create(
        cls,
        ledger: str | os.PathLike,
        epsilon: float,
        delta: float = 0.0,
        *,
        neighbors: Literal["add_remove", "replace_one", "replace_any"] = ADD_REMOVE,
        composition: Literal["sum", "renyi"] = "sum",
        unit: str | None = None,
        file_group: str | None = None,
    ) -> BudgetAccountant:
        """Create a budget in a new ledger.

        Parameters
        ----------
        ledger : str or path-like
            File or budget to create; an existing one is rejected.
        epsilon, delta : float
            Budget limit.
        neighbors : {"add_remove", "replace_one", "replace_any"}, default="add_remove"
            Neighboring relation.
        composition : {"sum", "renyi"}, default="sum"
            Composition of spends.
        unit : str, default=None
            Privacy unit.
        file_group : str, default=None
            Group of this computer that may spend from the file.

        Returns
        -------
        accountant : BudgetAccountant
        """
        if is_address(ledger):
            from .postgres_ledger import PostgresLedger

            exists, path = PostgresLedger.exists(ledger), read_address(ledger).shown
        else:
            refuse_near_address(ledger)
            exists, path = os.path.exists(ledger) and os.path.getsize(ledger), ledger
        if exists:
            raise LedgerError(
                f"The ledger {os.fspath(path)!r} exists already. "
                "BudgetAccountant.open opens it. Nothing was changed."
            )
        terms = {"neighbors": neighbors, "composition": composition, "unit": unit}
        return cls(epsilon, delta, ledger=ledger, **terms, file_group=file_group)

    def __init__(
        self,
        epsilon: float,
        delta: float = 0.0,
        *,
        neighbors: Neighbors | None = ADD_REMOVE,
        composition: Literal["sum", "renyi"] = "sum",
        ledger: str | os.PathLike | None = None,
        unit: str | None = None,
        file_group: str | None = None,
    ) -> None:
        filter_ = make_filter(composition, epsilon, delta)
        terms = {
            "epsilon": filter_.epsilon,
            "delta": filter_.delta,
            "neighbors": check_neighbors(neighbors),
            "composition": filter_.composition,
            "renyi_order": filter_.order,
            "unit": None if unit is None else check_unit(unit),
        }
        kept = open_ledger(ledger, terms, file_group)
        self._keep(kept, terms | {"renyi_order": kept.terms["renyi_order"]})

    def _keep(self, ledger, terms):
        ceiling = make_filter(
            terms["composition"], terms["epsilon"], terms["delta"], terms["renyi_order"]
        )
        super().__init__(ceiling, terms["neighbors"], ledger)

    @property
    def composition(self) -> str:
        """Composition of spends."""
        return self._filter.composition

    @property
    def ledger(self) -> str | None:
        """Absolute path of the ledger file, address of the server without password, or None."""
        return self._ledger.path

    def raise_ceiling(
        self, epsilon: float, delta: float | None = None, *, who: str = "", note: str = ""
    ) -> None:
        """Raise the budget limit, a decision of the data owner that is logged as an entry.

        From then on the guarantee is that of the new limit. If the limit may be raised in response
        to releases, the guarantee is only that of the largest limit that might ever be allowed, so
        choose that one without looking at releases.

        Parameters
        ----------
        epsilon : float
            New limit of the privacy loss, not below the present one.
        delta : float, default=None
            New limit of the failure probability, not below the present one. None keeps it.
        who : str, default=""
            Person who decided, for the entries.
        note : str, default=""
            Reason, for the entries.

        Raises
        ------
        BudgetError
            If the new limit is not above the present one. Nothing is changed.
        LedgerError
            If the role on a server is not the owner of the budget.
        """
        delta = self.delta if delta is None else delta
        raised = make_filter(self.composition, epsilon, delta, self._filter.order)
        entry = self._entry(who, epsilon, delta, note, kind=RAISE)

        def admit(tally, entries):
            present = self._filter_at(tally)
            before, after = (present.epsilon, present.delta), (raised.epsilon, raised.delta)
            if after == before or after[0] < before[0] or after[1] < before[1]:
                raise BudgetError(
                    f"The new limit must be above the present one, epsilon={before[0]}, delta="
                    f"{before[1]}, got epsilon={after[0]}, delta={after[1]}. Nothing was changed."
                )

        self._ledger.append(entry, Cost(), admit)
        self._filter = raised

    def backup(self, path: str | os.PathLike) -> None:
        """Write a backup of the ledger file, as it is at this moment, to a new file.

        It can be opened and read like a ledger, and refuses to spend. A copy made by other means
        while a charge is written may be damaged.

        Parameters
        ----------
        path : str or path-like
            File to be made; an existing one is rejected.

        Raises
        ------
        LedgerError
            If the ledger is damaged or is not a file, or the backup cannot be written.
        """
        self._ledger.backup(path)

    @classmethod
    def restore(
        cls, backup: str | os.PathLike, ledger: str | os.PathLike, *, who: str = "", note: str = ""
    ) -> BudgetAccountant:
        """Restore a lost ledger file from a backup.

        The restored ledger lacks the charges made after the backup, whose releases exist: charge
        them again with :meth:`spend`. The ledger gets an entry of the kind "restore". Receipts
        taken later than the backup do not verify any more.

        Parameters
        ----------
        backup : str or path-like
            File written by :meth:`backup`, or a whole ledger file that was refused and moved away.
        ledger : str or path-like
            Ledger file to be made; an existing one is rejected.
        who : str, default=""
            Person who decided, for the entries.
        note : str, default=""
            Reason, for the entries.

        Returns
        -------
        accountant : BudgetAccountant
        """
        if is_address(backup) or is_address(ledger):
            raise ValueError("backup and ledger must be files; a server has its own backups.")
        from .sqlite_ledger import SqliteLedger  # budgets in memory do not need sqlite3

        SqliteLedger.restore(
            backup,
            ledger,
            lambda terms: new_entry(who, terms["neighbors"], note=note, kind=RESTORE),
        )
        return cls.open(ledger)

    def part(self, name: str, *, disjoint: str | None = None) -> BudgetPart:
        """Return the budget of one of several disjoint parts of the data.

        Spends on different parts do not add up, because each person is in one part (parallel
        composition). The total is that of the whole data plus that of the largest part. The caller
        must ensure that every person belongs to one part, by a public rule or a public label and
        not by private data, and that a release on a part uses only the rows of its people.

        Under ``"add_remove"`` and ``"replace_one"`` a label of the person may name the part.
        Under ``"replace_any"`` a person may move to another part, so the two largest parts add
        up. A spend on a part must then hold for adding or removing one person of that part as
        well as for replacing one. Only :meth:`spend` is possible, because fits use the number of
        people as public, which the size of a part is not.

        The guarantee depends on the caller, not on a check. Only the place of rows is checked: the
        same memory or the same file is rejected under two parts, but copies of rows are not
        recognized. Rows from a function, a query or a cluster have no known place and are rejected
        unless `disjoint` states why no one is in two parts.

        Parameters
        ----------
        name : str
            Name of the part.
        disjoint : str, default=None
            Why no one is in two parts, such as ``"by hospital"``. It is kept with every entry.

        Returns
        -------
        BudgetPart
            It has ``charge``, ``check``, ``spend``, ``quote``, ``total``, ``remaining``,
            ``entries`` and receipts of the whole ledger, and can be given to an estimator as its
            ``accountant``.
        """
        return BudgetPart(self, name, disjoint)

    def under(self, policy: SpendingPolicy, *, spender: str = "") -> BudgetUnderPolicy:
        """Return this budget with a policy, such as a yearly limit, that every spend must obey.

        The policy raises for spends that it does not allow, in addition to the budget limit. All
        entries since its first day count, no matter who made them. Totals and receipts stay those
        of the ledger, and a new period does not restore any of the limit. Spends from the budget
        itself are not bound by the policy; ``policy.audit(budget.entries)`` finds them.

        Parameters
        ----------
        policy : SpendingPolicy
        spender : str, default=""
            Name of the spender, one of ``policy.spenders`` if there are any. It precedes the name
            in every entry.

        Returns
        -------
        BudgetUnderPolicy
            It has ``charge``, ``check``, ``spend``, ``quote``, ``total``, ``remaining``,
            ``part``, ``entries``, ``receipt`` and ``verify``, and can be given to an
            estimator as its ``accountant``.
        """
        return BudgetUnderPolicy(self, policy, spender)

    def plot(self, ax: Any = None) -> Any:
        """Draw the entries, their running total and the ceiling with matplotlib.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None opens a figure.

        Returns
        -------
        display : BudgetDisplay
        """
        plotting = import_module("skdp_bary.plotting")  # which lies above
        return plotting.BudgetDisplay.from_accountant(self, ax=ax)

    def __repr__(self):
        unit = f", unit={self.unit!r}" if self.unit else ""
        ledger = f", ledger={self.ledger!r}" if self.ledger else ""
        return (
            f"BudgetAccountant(epsilon={self.epsilon}, delta={self.delta}, "
            f"neighbors={self.neighbors!r}, composition={self.composition!r}{unit}{ledger})"
        )


def check_accountant(value):
    """Return a budget or a part of one, or raise."""
    if not isinstance(value, SharedBudget):
        raise TypeError(
            f"accountant must be a BudgetAccountant or a part of one, got {shown(value)}."
        )
    return value


# Where the entries of a budget live: in memory, in a file, or on a server.


def open_ledger(path, terms, file_group=None):
    """Return a ledger in memory, in the file `path`, or on the server at that address."""
    if file_group is not None and (path is None or is_address(path)):
        raise ValueError(
            f"file_group must be None unless ledger is a file, got {file_group!r}. Pass "
            "ledger='budget.db'; a server has roles instead."
        )
    if path is None:
        return MemoryLedger(terms)
    if is_address(path):
        from .postgres_ledger import PostgresLedger

        return PostgresLedger(path, terms)
    refuse_near_address(path)
    from .sqlite_ledger import SqliteLedger  # budgets in memory do not need sqlite3

    return SqliteLedger(path, terms, file_group)
