"""Choosing hyper-parameters."""

from ..estimators.kmeans import choose_n_clusters
from .search import PrivateSearchCV

__all__ = ["PrivateSearchCV", "choose_n_clusters"]
