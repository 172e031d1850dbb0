"""The only importer of private names of scikit-learn."""

from sklearn.model_selection._search import BaseSearchCV

__all__ = ["BaseSearchCV"]
