"""The only importer of private names of scikit-learn."""

from sklearn.model_selection._search import BaseSearchCV
from sklearn.utils._openmp_helpers import _openmp_effective_n_threads as openmp_threads
from sklearn.utils._repr_html.estimator import _VisualBlock

__all__ = ["BaseSearchCV", "captioned_block", "openmp_threads"]


def captioned_block(estimator, caption):
    """Return what scikit-learn draws for an estimator in a diagram, with a line below its name."""
    return _VisualBlock(
        "single",
        estimator,
        names=type(estimator).__name__,
        name_details=str(estimator),
        name_caption=caption,
    )
