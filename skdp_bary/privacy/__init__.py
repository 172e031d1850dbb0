"""Numbers and noise of differential privacy: knows no rows, estimators or transport."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # imported when they are used, so that the command line starts at once
    from .ledger.chain import Receipt
    from .ledger.policy import SpendingPolicy
    from .ledger.quote import Quote
    from .ledger.spending import BudgetPart
    from .ledger.under_policy import BudgetUnderPolicy

_HOMES = {
    "BudgetPart": "ledger.spending",
    "BudgetUnderPolicy": "ledger.under_policy",
    "Quote": "ledger.quote",
    "Receipt": "ledger.chain",
    "SpendingPolicy": "ledger.policy",
}

__all__ = [
    "BudgetPart",
    "BudgetUnderPolicy",
    "Quote",
    "Receipt",
    "SpendingPolicy",
]


def __getattr__(name):
    if name not in _HOMES:
        raise AttributeError(f"module 'skdp_bary.privacy' has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)


def __dir__():
    return sorted(__all__)
