"""BudgetDisplay: the ledger of a budget, release by release."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np

from ..privacy._neighbors import compose_parts
from ..privacy.ledger.entry import SPEND
from ._axes import open_axes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from ..privacy.ledger.accountant import BudgetAccountant
    from ..privacy.ledger.entry import Entry

_CALLER = "BudgetDisplay"
_ASPECT = 0.6
_MOST_LABELS = 25
_WIDEST_NAME = 20
_WHOLE = "whole data"


class BudgetDisplay:
    """Entries of a budget as a timeline: what each one cost, and what they add up to.

    Create it with :meth:`from_accountant`.

    Parameters
    ----------
    entries : sequence of Entry
        As in ``BudgetAccountant.entries``: each has ``who``, ``epsilon`` and ``part``.
    running : ndarray of shape (n_entries,) or None
        Total epsilon after each entry; None where entries do not simply add up.
    total : float
        Total epsilon after the last entry.
    ceiling : float
        Epsilon of the budget.

    Attributes
    ----------
    axes_ : matplotlib Axes
    figure_ : matplotlib Figure
    bars_ : matplotlib BarContainer
        One bar for each entry.

    Examples
    --------
    >>> from skdp_bary import BudgetAccountant
    >>> from skdp_bary.plotting import BudgetDisplay
    >>> accountant = BudgetAccountant(epsilon=1.0)
    >>> accountant.spend(0.4, who="survey")
    >>> display = BudgetDisplay.from_accountant(accountant)  # doctest: +SKIP
    """

    def __init__(
        self, entries: Sequence[Entry], running: np.ndarray | None, *, total: float, ceiling: float
    ) -> None:
        self.entries = entries
        self.running = running
        self.total = total
        self.ceiling = ceiling

    @classmethod
    def from_accountant(
        cls, accountant: BudgetAccountant, *, ax: Axes | None = None
    ) -> BudgetDisplay:
        """Draw the ledger of an accountant.

        Parameters
        ----------
        accountant : BudgetAccountant
        ax : matplotlib Axes or None, default=None
            Axes to draw on; None opens a figure.

        Returns
        -------
        display : BudgetDisplay
        """
        entries = tuple(entry for entry in accountant.entries if entry.kind == SPEND)
        running = None
        if accountant.composition == "sum":
            running = running_totals(entries, accountant.neighbors)
        display = cls(entries, running, total=accountant.total()[0], ceiling=accountant.epsilon)
        return display.plot(ax=ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the picture.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Axes to draw on; None opens a figure.

        Returns
        -------
        self : BudgetDisplay
        """
        self.axes_ = open_axes(ax, 1, _ASPECT, _CALLER)[0]
        self.figure_ = self.axes_.figure
        places = np.arange(1, len(self.entries) + 1)
        self._draw_bars(places)
        if self.running is not None and len(places):
            self.axes_.step(
                places, self.running, where="mid", color="black", marker="o", ms=3, label="total"
            )
        else:
            self.axes_.axhline(self.total, color="black", label="total, composed")
        self.axes_.axhline(self.ceiling, color="firebrick", linestyle="--", label="ceiling")
        self.axes_.set_xlim(0.3, max(len(places), 1) + 0.7)
        self.axes_.set_ylim(0, 1.12 * max(self.ceiling, self.total))
        self.axes_.set_ylabel("epsilon")
        self._name_entries(places)
        self.axes_.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize="small")
        return self

    def _draw_bars(self, places):
        parts = [entry.part or _WHOLE for entry in self.entries]
        order = sorted(set(parts), key=lambda part: (part != _WHOLE, part))
        several = order != [_WHOLE]
        colors = [f"C{order.index(part) % 10}" for part in parts]
        self.bars_ = self.axes_.bar(
            places, [entry.epsilon for entry in self.entries], width=0.7, color=colors, alpha=0.75
        )
        for bar, part in zip(self.bars_, parts, strict=True):
            if part in order:  # one bar of each part carries its name into the legend
                order.remove(part)
                bar.set_label(part if several else "entry")

    def _name_entries(self, places):
        if len(places) > _MOST_LABELS:
            self.axes_.set_xlabel("entry")
            return
        names = [_shorten(entry.who) or f"entry {n}" for n, entry in enumerate(self.entries, 1)]
        self.axes_.set_xticks(places, names, rotation=40, ha="right", rotation_mode="anchor")


def _shorten(name):
    name = " ".join(name.split())
    return name if len(name) <= _WIDEST_NAME else name[: _WIDEST_NAME - 3] + "..."


def running_totals(entries, relation):
    """Return the total epsilon after each entry: the whole data plus what its parts compose to."""
    whole, parts, totals = 0.0, {}, []
    for entry in entries:
        if entry.part:
            parts[entry.part] = parts.get(entry.part, 0.0) + entry.epsilon
        else:
            whole += entry.epsilon
        totals.append(whole + float(compose_parts(parts.values(), relation)))
    return np.array(totals)
