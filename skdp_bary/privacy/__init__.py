"""Numbers and noise of differential privacy: knows no rows, estimators or transport."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .entries import Receipt
    from .policy import SpendingPolicy
    from .quote import Quote

_HOMES = {"Quote": "quote", "Receipt": "entries", "SpendingPolicy": "policy"}

__all__ = ["Quote", "Receipt", "SpendingPolicy"]


def __getattr__(name):
    if name not in _HOMES:
        raise AttributeError(f"module 'skdp_bary.privacy' has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)


def __dir__():
    return sorted(__all__)
