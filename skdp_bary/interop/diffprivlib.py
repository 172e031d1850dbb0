"""DiffprivlibAccountant: one of our budgets in the shape that diffprivlib's models expect.

diffprivlib asks ``check(epsilon, delta)`` before it reads data and calls ``spend(epsilon, delta)``
after it has drawn its noise. Between the two calls another thread or process could use up what is
left, and a crash would leave a release without its charge. So here ``check`` charges, and the
``spend`` of the same call only confirms the charge.
"""

from __future__ import annotations

import sys
import threading
import warnings
from typing import Self

from ..exceptions import LeakError, PrivacyWarning, RelationError, check_integer, import_optional
from ..privacy.accountant import check_accountant
from ..privacy.entries import SPEND
from ..privacy.mechanisms import ADD_REMOVE, REPLACE_ANY
from ..privacy.spending import SharedBudget

_LIBRARY = import_optional("diffprivlib", "peers", "DiffprivlibAccountant")
_NOTE = "as stated by diffprivlib"


class DiffprivlibAccountant(_LIBRARY.BudgetAccountant):
    """A budget of this package as the accountant of diffprivlib's models and tools.

    Give it to models of diffprivlib as their ``accountant``, make it their default with
    :meth:`set_default`, or use it in a ``with`` statement. What they spend is charged to
    `accountant`, next to what the estimators of this package spend, and is rejected when it does
    not fit. ``clone``, ``copy.deepcopy`` and ``set_params`` keep the same budget.

    Parameters
    ----------
    accountant : BudgetAccountant or BudgetPart
        The budget that pays.
    unit : str, default="rows"
        What one row is, such as "patient_id" where every patient has one row.

    Attributes
    ----------
    accountant : BudgetAccountant or BudgetPart
        As given.
    unit : str
        As given.
    epsilon, delta : float
        Ceiling of the budget.
    spent_budget : list of tuple
        The (epsilon, delta) of every entry of the budget, whoever spent it.

    Raises
    ------
    RelationError
        When `accountant` is a part of a budget under "replace_any": the number of rows of a part
        is private there, and models of diffprivlib use it.
    LeakError
        When `accountant` is a part that was not declared to be disjoint: which rows a model of
        diffprivlib is fitted on cannot be seen here.

    Warns
    -----
    PrivacyWarning
        When the budget speaks about "add_remove": most models of diffprivlib use the number of
        rows as if it were public.

    Notes
    -----
    **The guarantee is diffprivlib's.** What a model says it costs is charged as it says, under the
    relation of the budget; nothing here checks that the model keeps its word. Its documentation
    names no relation. Its means and variances scale noise by the exact number of rows, which is
    right for "replace_one" and "replace_any" only; its histograms and the class counts of its
    naive Bayes model scale noise to one added or removed row, so that under "replace_any" they
    cost twice what they say.

    **When is charged.** ``check`` charges, ``spend`` confirms, see :meth:`check`. A fit that fails
    between the two stays charged.

    Examples
    --------
    >>> from skdp_bary import BudgetAccountant
    >>> from skdp_bary.interop import DiffprivlibAccountant  # doctest: +SKIP
    >>> budget = BudgetAccountant(epsilon=2.0, neighbors="replace_one")
    >>> shared = DiffprivlibAccountant(budget)  # doctest: +SKIP
    """

    def __init__(self, accountant: SharedBudget | None, unit: str = "rows") -> None:
        self.accountant = budget = check_accountant(accountant)
        if budget._part and budget.neighbors == REPLACE_ANY:
            raise RelationError(
                "Under neighbors='replace_any' the models of diffprivlib take the number of rows "
                f"as public, and the size of a part is not, got {budget!r}. Give the whole budget."
            )
        if budget._part and not budget._disjoint:
            raise LeakError(
                "The rows of diffprivlib's models cannot be compared with those of other parts. If "
                f"no one is in two parts, state why: part({budget._part!r}, "
                'disjoint="by hospital").'
            )
        self.unit = unit
        self._reserved = {}
        if accountant.neighbors == ADD_REMOVE:
            warnings.warn(
                "This budget protects the number of rows (neighbors='add_remove'), and most "
                "models of diffprivlib use that number as if it were public. Make the budget "
                "with neighbors='replace_one' if sizes and labels are public.",
                PrivacyWarning,
                stacklevel=2,
            )

    @property
    def epsilon(self) -> float:
        """Ceiling of the privacy loss."""
        return self.accountant.epsilon

    @property
    def delta(self) -> float:
        """Ceiling of the failure probability."""
        return self.accountant.delta

    @property
    def slack(self) -> float:
        """Always 0: composition is what the budget was made with."""
        return 0.0

    @property
    def spent_budget(self) -> list[tuple[float, float]]:
        """The (epsilon, delta) of every entry of the budget."""
        entries = self.accountant.entries
        return [(entry.epsilon, entry.delta) for entry in entries if entry.kind == SPEND]

    def check(self, epsilon: float, delta: float) -> bool:
        """Charge (epsilon, delta) now, for the release that the caller is about to make.

        Parameters
        ----------
        epsilon, delta : float
            Cost of the release.

        Returns
        -------
        bool
            True.

        Raises
        ------
        BudgetError
            If the release does not fit into what is left; nothing is charged.
        """
        caller = sys._getframe(1).f_code
        self._reserved.pop(threading.get_ident(), None)
        self._spend(epsilon, delta, caller)
        self._reserved[threading.get_ident()] = (caller, epsilon, delta)
        return True

    def spend(self, epsilon: float, delta: float) -> Self:
        """Confirm what the same function has just charged with :meth:`check`, or else charge it.

        Parameters
        ----------
        epsilon, delta : float
            Cost of the release.

        Returns
        -------
        self : DiffprivlibAccountant
        """
        caller = sys._getframe(1).f_code
        reserved = self._reserved.pop(threading.get_ident(), None)
        if reserved != (caller, epsilon, delta):
            self._spend(epsilon, delta, caller)
        return self

    def _spend(self, epsilon, delta, caller):
        who = caller.co_qualname
        self.accountant.spend(epsilon, delta, who=who, note=_NOTE, unit=self.unit)

    def total(self, spent_budget: None = None, slack: None = None) -> float:
        """Total that was spent.

        Parameters
        ----------
        spent_budget, slack : None
            Not supported: composition is what the budget was made with.

        Returns
        -------
        epsilon, delta : float
        """
        if spent_budget is not None or slack:
            raise ValueError(
                "spent_budget and slack must be None: the total of this budget follows from its "
                "ledger and the composition it was made with. Leave both out."
            )
        return _LIBRARY.utils.Budget(*self.accountant.total())

    def remaining(self, k: int = 1) -> float:
        """Return an (epsilon, delta) that each of `k` equal spends can use.

        Parameters
        ----------
        k : int, default=1
            Number of spends.

        Returns
        -------
        epsilon, delta : float
        """
        k = check_integer(k, "k", low=1)
        return _LIBRARY.utils.Budget(*self.accountant.remaining(k))

    def __len__(self):
        return len(self.spent_budget)

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def __reduce__(self):
        return DiffprivlibAccountant, (self.accountant, self.unit)

    def __repr__(self, n_budget_max=5):
        return f"DiffprivlibAccountant({self.accountant!r})"
