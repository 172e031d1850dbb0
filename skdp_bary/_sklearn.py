"""The only importer of private names of scikit-learn."""

import sys
from collections.abc import Mapping

from sklearn import get_config
from sklearn.model_selection._search import BaseSearchCV
from sklearn.utils._openmp_helpers import _openmp_effective_n_threads as openmp_threads
from sklearn.utils._repr_html.estimator import (
    _get_visual_block,
    _VisualBlock,
    estimator_html_repr,
)

__all__ = [
    "BaseSearchCV",
    "called_by_a_search",
    "captioned_block",
    "captioned_diagram",
    "openmp_threads",
    "search_has_groups",
]


def called_by_a_search():
    """Whether a search or a cross-validation of scikit-learn is among the callers."""
    return next(_searches(), None) is not None


def search_has_groups():
    """Whether one that is among the callers was given groups, and routes none of them."""
    return not get_config()["enable_metadata_routing"] and any(
        given.get("groups") is not None
        for frame in _searches()
        for given in (frame.f_locals, frame.f_locals.get("params"))
        if isinstance(given, Mapping)
    )


def _searches():
    frame = sys._getframe()
    while frame is not None:
        if frame.f_globals.get("__name__", "").startswith("sklearn.model_selection."):
            yield frame
        frame = frame.f_back


def captioned_block(estimator, caption):
    """Return what scikit-learn draws for an estimator in a diagram, with a line below its name."""
    return _VisualBlock(
        "single",
        estimator,
        names=type(estimator).__name__,
        name_details=str(estimator),
        name_caption=caption,
    )


def captioned_diagram(estimator, captions):
    """Return scikit-learn's diagram of an estimator, with a line below the name of every step.

    Parameters
    ----------
    estimator : estimator
    captions : dict
        Lines by the identity of a step.
    """
    whole = _captioned(estimator, captions)
    drawn = _Privacy("serial", [whole], dash_wrapped=False)
    drawn.said = str(estimator)
    return estimator_html_repr(drawn)


class _Privacy(_VisualBlock):
    def __str__(self):
        return self.said


_Privacy.__name__ = "Privacy"  # what scikit-learn writes above the diagram


def _captioned(estimator, captions):
    block = _get_visual_block(estimator)
    if block.kind == "single":
        if id(estimator) in captions:
            return captioned_block(estimator, captions[id(estimator)])
        return block
    block.estimators = [_captioned(part, captions) for part in block.estimators]
    return block
