"""BudgetDisplay and NumbersDisplay: ledgers and released numbers."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..privacy.entries import SPEND
from ..privacy.mechanisms import compose_parts
from .axes import Display, check_kind, title_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from ..privacy.accountant import BudgetAccountant
    from ..privacy.entries import Entry


# BudgetDisplay: the ledger of a budget, release by release.

_ASPECT = 0.6
_MOST_LABELS = 25
_WIDEST_NAME = 20
_WHOLE = "whole data"


@dataclass(eq=False, repr=False)
class BudgetDisplay(Display):
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

    entries: Sequence[Entry]
    running: np.ndarray | None
    _: KW_ONLY
    total: float
    ceiling: float

    @classmethod
    def from_accountant(
        cls, accountant: BudgetAccountant, *, ax: Axes | None = None
    ) -> BudgetDisplay:
        """Draw the ledger of an accountant.

        Parameters
        ----------
        accountant : BudgetAccountant
        ax : matplotlib Axes, default=None
            Axes to draw on; None opens a figure.

        Returns
        -------
        display : BudgetDisplay
        """
        entries = tuple(entry for entry in accountant.entries if entry.kind == SPEND)
        running = None
        if accountant.composition == "sum":  # the whole data plus what its parts compose to
            whole, parts, running = 0.0, {}, np.empty(len(entries))
            for place, entry in enumerate(entries):
                if entry.part:
                    parts[entry.part] = parts.get(entry.part, 0.0) + entry.epsilon
                else:
                    whole += entry.epsilon
                composed = compose_parts(parts.values(), accountant.neighbors)
                running[place] = whole + float(composed)
        display = cls(entries, running, total=accountant.total()[0], ceiling=accountant.epsilon)
        return display.plot(ax=ax)

    def _draw(self, ax):
        self._open(ax, _ASPECT)
        places = np.arange(1, len(self.entries) + 1)
        whole = _WHOLE if any(entry.part for entry in self.entries) else "entry"
        parts = [entry.part or whole for entry in self.entries]
        order = sorted(set(parts), key=lambda part: (part != whole, part))
        self.bars_ = self.axes_.bar(
            places,
            [entry.epsilon for entry in self.entries],
            width=0.7,
            color=[f"C{order.index(part) % 10}" for part in parts],
            alpha=0.75,
            # one bar of each part carries its name into the legend, where "_" does not come
            label=[p if parts.index(p) == place else "_" for place, p in enumerate(parts)],
        )
        if self.running is not None and len(places):
            self.axes_.step(
                places, self.running, where="mid", color="black", marker="o", ms=3, label="total"
            )
        else:
            self.axes_.axhline(self.total, color="black", label="total, composed")
        self.axes_.axhline(self.ceiling, color="firebrick", linestyle="--", label="ceiling")
        top = 1.12 * max(self.ceiling, self.total)
        self.axes_.set(xlim=(0.3, max(len(places), 1) + 0.7), ylim=(0, top), ylabel="epsilon")
        if len(places) > _MOST_LABELS:
            self.axes_.set_xlabel("entry")
        else:
            names = [_shorten(entry.who) or f"entry {n}" for n, entry in enumerate(self.entries, 1)]
            self.axes_.set_xticks(places, names, rotation=40, ha="right", rotation_mode="anchor")
        self.axes_.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize="small")


def _shorten(name):
    name = " ".join(name.split())
    return name if len(name) <= _WIDEST_NAME else name[: _WIDEST_NAME - 3] + "..."


# NumbersDisplay: a few released numbers, each with its interval.


@dataclass(eq=False, repr=False)
class NumbersDisplay(Display):
    """Released numbers by name with their intervals, or a table of them.

    Create it with :meth:`from_estimator`, which needs no rows.

    Parameters
    ----------
    names : list of str, or two of them
        Of the numbers, or of the rows and columns of a table.
    values : ndarray of shape (n_names,) or (n_rows, n_columns)
    ends : tuple of ndarray of shape (n_names,), default=None
        Lower and upper ends of intervals.
    label : str, default=""
        Meaning of the numbers.
    title : str, default=""

    Attributes
    ----------
    axes_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> import numpy as np
    >>> from skdp_bary import PrivateTable
    >>> from skdp_bary.plotting import NumbersDisplay
    >>> from skdp_bary.schema import Boolean, Schema
    >>> flags = np.random.default_rng(0).integers(2, size=(500, 2))
    >>> table = PrivateTable(Schema([Boolean(), Boolean()]), n_components=2).fit(flags)
    >>> display = NumbersDisplay.from_estimator(table, columns=0)  # doctest: +SKIP
    """

    names: list
    values: np.ndarray
    ends: tuple | None = None
    _: KW_ONLY
    label: str = ""
    title: str = ""

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, columns: object = None, ax: Axes | None = None
    ) -> NumbersDisplay:
        """Draw the release of a fitted estimator. No rows are needed.

        Parameters
        ----------
        estimator : PrivateTable, PrivateTwoSampleTest, PrivateDomainAdapter or DPSlicedWasserstein
            Fitted.
        columns : str, int or pair of them, default=None
            Of a table: one column, or two that were measured together. None: the first of
            ``pairs_``.
        ax : matplotlib Axes, default=None
            Axes to draw on; None opens a figure.

        Returns
        -------
        display : NumbersDisplay
        """
        check_kind(estimator, "_numbers", "released numbers")
        *numbers, label = estimator._numbers(*([] if columns is None else [columns]))
        title = title_of(estimator, type(estimator).__name__)  # the label says what is drawn
        return cls(*numbers, label=label, title=title).plot(ax=ax)

    def _draw(self, ax):
        self._open(ax, _ASPECT)
        self.axes_.set_title(self.title)
        if self.values.ndim == 2:
            rows, columns = ([_shorten(name) for name in names] for names in self.names)
            image = self.axes_.imshow(self.values, cmap="magma", aspect="auto")
            _name_some(self.axes_.set_xticks, columns, rotation=40, ha="right")
            self.figure_.colorbar(image, ax=self.axes_, label=self.label)
        else:
            rows, places = [_shorten(name) for name in self.names], np.arange(len(self.values))
            if self.ends is not None:
                self.axes_.hlines(places, *self.ends, color="tab:gray")
            self.axes_.plot(self.values, places, "o")
            self.axes_.invert_yaxis()
            self.axes_.set_xlabel(self.label)
        _name_some(self.axes_.set_yticks, rows)


def _name_some(set_ticks, names, **style):
    places = range(0, len(names), 1 + len(names) // _MOST_LABELS)
    set_ticks(places, [names[place] for place in places], **style)
