"""Single flipped bits of a ledger file: none of them may give budget back."""

import os
from collections import Counter

from skdp_bary.exceptions import LedgerError
from skdp_bary.privacy.accountant import BudgetAccountant

REFUSED, HARMLESS, GAVE_BUDGET, CRASHED = "refused", "harmless", "gave budget", "crashed"


def flip_bits(path, positions, parts=()):
    """Flip single bits of a ledger file, each alone, and count what became of it.

    A flip is "refused" by a LedgerError, "crashed" by another one, and "gave budget" where the
    whole or one of the parts has more than before. The file is as it was afterwards.
    """
    truth, outcomes = _amounts(path, parts), Counter()
    with open(path, "r+b", buffering=0) as file:
        for position in positions:
            offset, bit = divmod(position, 8)
            (byte,) = os.pread(file.fileno(), 1, offset)
            os.pwrite(file.fileno(), bytes([byte ^ 1 << bit]), offset)
            try:
                outcomes[_outcome(path, parts, truth)] += 1
            finally:
                os.pwrite(file.fileno(), bytes([byte]), offset)
    if _amounts(path, parts) != truth:
        raise RuntimeError(f"The ledger {os.fspath(path)!r} is not as it was before the flips.")
    return outcomes


def _outcome(path, parts, truth):
    try:
        found = _amounts(path, parts)
    except LedgerError:
        return REFUSED
    except Exception:  # whatever a flipped bit makes of the file
        return CRASHED
    return GAVE_BUDGET if any(f > t for f, t in zip(found, truth, strict=True)) else HARMLESS


def _amounts(path, parts):
    """Return every amount that must not grow: ceilings, and what is left."""
    budget = BudgetAccountant.open(path)
    views = [budget, *map(budget.part, parts)]
    left = [amount for view in views for amount in view.remaining()]
    return [budget.epsilon, budget.delta, *left]
