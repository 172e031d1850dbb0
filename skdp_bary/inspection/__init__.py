"""Auditing: replay of the exact answers, and lower bounds on the loss from many runs."""

from ._check_private import check_private
from ._lower_bound import LowerBoundReport, epsilon_lower_bound
from ._replay import ReplayReport, StepReplay, replay_sensitivity
from ._report import PrivacyReport, StepVerdict

__all__ = [
    "LowerBoundReport",
    "PrivacyReport",
    "ReplayReport",
    "StepReplay",
    "StepVerdict",
    "check_private",
    "epsilon_lower_bound",
    "replay_sensitivity",
]
