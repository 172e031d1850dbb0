"""Choosing hyper-parameters, and what noise costs in accuracy."""

from .curves import choose_n_clusters, privacy_utility_curve
from .search import PrivateSearchCV

__all__ = ["PrivateSearchCV", "choose_n_clusters", "privacy_utility_curve"]
