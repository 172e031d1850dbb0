"""The same rows under two parts of one budget: refused where it can be seen.

Parts are disjoint groups of persons, and only the dearest counts. Rows charged under two of them
would be paid for once and used twice, as by two steps of a ``FeatureUnion``. What is seen is where
the rows are, in this process only, by an opaque object that another layer makes of their source.
Rows of which that cannot be seen need the word of the caller. That word is the guarantee: copies of
rows cannot be told from other people's rows.
"""

from contextlib import contextmanager
from threading import RLock

from ...exceptions import LeakError

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
        Why nobody is in two parts, as the caller has declared; empty where nothing was.
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
