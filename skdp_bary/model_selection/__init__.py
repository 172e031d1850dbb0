"""Choosing hyper-parameters, and what noise costs in accuracy."""

from ._curve import privacy_utility_curve
from ._search import PrivateSearchCV

__all__ = ["PrivateSearchCV", "privacy_utility_curve"]
