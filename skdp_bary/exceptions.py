"""Errors and warnings of the package."""


class BudgetError(ValueError):
    """A spend would exceed the ceiling of a budget; nothing was charged or released."""


class ReadOnlyLedgerError(BudgetError):
    """A copy of an in-memory budget (unpickled, or sent to a worker) was asked to spend."""


class LedgerError(RuntimeError):
    """A ledger file cannot be opened, written or trusted; nothing was released."""


class RelationError(ValueError):
    """A plan and a budget speak about different neighboring relations."""


class LeakError(ValueError):
    """Rows would be learned from without noise, or without paying for all of it."""


class PlanError(RuntimeError):
    """A fit asked something else than its plan names: a mistake of the author of an estimator."""


class PrivacyWarning(UserWarning):
    """Something a user should know about the privacy or the accuracy of a release."""


class VersionWarning(UserWarning):
    """What is read was written by another version of the package."""
