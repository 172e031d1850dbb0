"""Sums of the entries of a ledger, by part of the data."""

from .entry import RAISE
from .filters import Cost, Tally

_NOTHING = (0, 0, 0)
_LOSS, _DELTA = 1, 2


class RunningSums:
    """What the entries of a ledger add up to, taken in one after another.

    Every step of :meth:`add` can be repeated, and the number of entries changes last. So whatever
    interrupts it, taking in the same entry once more leaves what one undisturbed call would have.

    Parameters
    ----------
    link : str
        The link before the first entry.

    Attributes
    ----------
    head : tuple
        Number and link of the latest entry that was taken in.
    raised : tuple of float or None
        The (epsilon, delta) that the ceiling was last raised to.
    """

    def __init__(self, link):
        self.head = 0, link
        self.raised = None
        self._totals = {}  # by part: number of its latest entry, loss and delta up to it
        self._leading_losses = []
        self._leading_deltas = []

    @property
    def totals(self):
        """The sums by part."""
        return {part: Cost(*total[1:]) for part, total in self._totals.items()}

    def add(self, part, loss, delta, link, raised=None):
        """Take in the entry after the latest.

        Parameters
        ----------
        part : str
            The part of the data it was charged on.
        loss, delta : int
            Its cost in units.
        link : str
            Its link.
        raised : tuple of float or None
            The (epsilon, delta) that it raised the ceiling to.
        """
        number = self.head[0] + 1
        latest, losses, deltas = self._totals.get(part, _NOTHING)
        if latest < number:
            self._totals[part] = number, losses + loss, deltas + delta
        if part:
            self._leading_losses = self._leading(self._leading_losses, part, _LOSS)
            self._leading_deltas = self._leading(self._leading_deltas, part, _DELTA)
        if raised is not None:
            self.raised = raised
        self.head = number, link

    def add_entry(self, entry, cost, link):
        """Take in the entry after the latest, see :meth:`add`."""
        raised = (entry.epsilon, entry.delta) if entry.kind == RAISE else None
        self.add(entry.part, cost.loss, cost.delta, link, raised)

    def tally(self, part):
        """Return the sums that decide about a spend on `part`."""
        return Tally(
            part,
            self._total(""),
            self._total(part) if part else Cost(),
            self._others(self._leading_losses, part, _LOSS),
            self._others(self._leading_deltas, part, _DELTA),
            self.raised,
        )

    def _total(self, part):
        return Cost(*self._totals.get(part, _NOTHING)[1:])

    # Sums only grow, so the two leading parts after a spend are among the two before and the part
    # that was charged.
    def _leading(self, leading, part, amount):
        if part in leading and len(leading) == 1:
            return leading
        names = dict.fromkeys([*leading, part])
        return sorted(names, key=lambda name: self._totals[name][amount])[-2:]

    def _others(self, leading, part, amount):
        others = (self._totals[name][amount] for name in leading if name != part)
        return tuple(sorted(others, reverse=True))
