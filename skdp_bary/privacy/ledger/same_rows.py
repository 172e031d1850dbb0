"""The same rows under two parts of one budget: refused where it can be seen.

Parts are disjoint groups of persons, and only the dearest counts. Rows charged under two of them
would be paid for once and used twice, as by two steps of a ``FeatureUnion``. What can be seen is
the object that holds the rows: it is remembered by a weak reference, in this process only, and
nothing is computed from the rows. Copies of rows cannot be told from other people's rows.
"""

import weakref
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from ...exceptions import LeakError

_SEEN = {}  # the charges whose rows are still in memory


@dataclass(frozen=True)
class _Charged:
    """Which memory was charged under which part of which budget."""

    holder: int
    low: int
    high: int
    budget: str
    part: str

    def meets(self, other):
        """Return whether some memory is charged under two parts of one budget."""
        return (
            self.holder == other.holder
            and self.budget == other.budget
            and self.part != other.part
            and self.low < other.high
            and other.low < self.high
        )


@contextmanager
def under_one_part(budget, part, rows):
    """Remember, once the block has charged them, that these rows belong to `part`.

    Parameters
    ----------
    budget : str
        Identity of the ledger.
    part : str
        Name of the part; empty for the whole data, which adds up with every part.
    rows : object
        What was given to ``fit``; None when it is not known.

    Raises
    ------
    LeakError
        When they were charged under another part; the block is not run.
    """
    holder, (low, high) = _holder(rows)
    if not part or not _can_be_remembered(holder):
        yield
        return
    charged = _Charged(id(holder), low, high, budget, part)
    known = charged in _SEEN
    # written down before it is compared, so that of two threads at least one is refused
    _SEEN[charged] = weakref.ref(holder, lambda _: _SEEN.pop(charged, None))
    try:
        others = [other.part for other in list(_SEEN) if other.meets(charged)]
        if others:
            raise LeakError(
                f"These rows were charged under part {others[0]!r} of this budget, and are now "
                f"given under part {part!r}. Parts are disjoint groups of persons: give steps that "
                "see the same rows one part, or the whole budget. If other people's rows were put "
                "into the same memory, pass a copy of them. Nothing was charged."
            )
        yield
    except BaseException:
        if not known:
            _SEEN.pop(charged, None)
        raise


def _holder(rows):
    """Return the object that owns the memory of rows, and the addresses they span in it."""
    if not isinstance(rows, np.ndarray):
        return rows, (0, 1)
    holder = rows
    while isinstance(holder.base, np.ndarray):
        holder = holder.base
    return holder, np.lib.array_utils.byte_bounds(rows) if rows.size else (0, 0)


def _can_be_remembered(holder):
    return holder is not None and getattr(type(holder), "__weakrefoffset__", 0) != 0
