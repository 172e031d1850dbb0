"""Numbers and noise of differential privacy: knows no rows, estimators or transport."""

from ._projection_curves import bernstein_bound, clt_bound
from ._projection_profile import calibrate_sigma

__all__ = ["bernstein_bound", "calibrate_sigma", "clt_bound"]
