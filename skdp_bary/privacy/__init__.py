"""Numbers and noise of differential privacy: knows no rows, estimators or transport."""

from .accounting.projection_curves import bernstein_bound, clt_bound
from .accounting.projection_profile import calibrate_sigma
from .ledger.chain import Receipt
from .ledger.spending import BudgetPart, Quote

__all__ = [
    "BudgetPart",
    "Quote",
    "Receipt",
    "bernstein_bound",
    "calibrate_sigma",
    "clt_bound",
]
