"""Auditing: replay of the exact answers, and lower bounds on the loss from many runs."""

from ._check_private import check_private
from ._lower_bound import epsilon_lower_bound
from ._replay import replay_sensitivity

__all__ = [
    "check_private",
    "epsilon_lower_bound",
    "replay_sensitivity",
]
