"""Private choice of hyperparameters."""

from .curves import choose_n_clusters
from .search import PrivateSearchCV

__all__ = ["PrivateSearchCV", "choose_n_clusters"]
