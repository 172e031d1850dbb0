"""Choosing hyper-parameters, and what noise costs in accuracy."""

from ._curve import PrivacyUtilityCurve, privacy_utility_curve
from ._search import PrivateSearchCV

__all__ = ["PrivacyUtilityCurve", "PrivateSearchCV", "privacy_utility_curve"]
