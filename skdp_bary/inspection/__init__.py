"""Auditing: replay of the exact answers, and lower bounds on the loss from many runs."""

from .check_private import check_private
from .lower_bound import epsilon_lower_bound
from .replay import replay_sensitivity

__all__ = ["check_private", "epsilon_lower_bound", "replay_sensitivity"]
