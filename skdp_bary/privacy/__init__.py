"""Numbers and noise of differential privacy: knows no rows, estimators or transport."""

from .entries import Receipt
from .policy import SpendingPolicy
from .quote import Quote

__all__ = ["Quote", "Receipt", "SpendingPolicy"]
