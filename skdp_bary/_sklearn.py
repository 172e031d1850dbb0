"""The only importer of private names of scikit-learn."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass

from sklearn import get_config
from sklearn.model_selection._search import BaseSearchCV
from sklearn.utils._openmp_helpers import _openmp_effective_n_threads as openmp_threads
from sklearn.utils._repr_html.estimator import (
    _get_visual_block,
    _VisualBlock,
    estimator_html_repr,
)
from sklearn.utils.parallel import Parallel

__all__ = [
    "BaseSearchCV",
    "called_by_a_search",
    "captioned_block",
    "captioned_diagram",
    "openmp_threads",
    "search_among_callers",
    "search_has_groups",
]

_SEARCHES = "sklearn.model_selection."
_PAID = f"{__package__}.model_selection."
_ONCE_A_FOLD = ("cross_validate", "cross_val_predict", "cross_val_score")


def called_by_a_search():
    """Whether a search or a cross-validation of scikit-learn is among the callers."""
    return next(_searches(), None) is not None


@dataclass(frozen=True)
class SearchCall:
    """A search or a cross-validation that is among the callers.

    Attributes
    ----------
    name : str
        Class of the search, or name of the function.
    fitted : object or None
        The search itself, or the estimator that is cross-validated. None: how often it is fitted
        is not known of this function.
    folds : bool
        Whether it is fitted once a fold.
    cv : object
        What was given as folds.
    jobs : object or None
        What runs its fits; of this call alone.
    depth : int
        How many frames above the asker it was called, from 1.
    """

    name: str
    fitted: object
    folds: bool
    cv: object
    jobs: object
    depth: int


def search_among_callers(skipped=0):
    """Return the outermost search among the callers, None where a private search pays for all.

    Frames of the asker and of so many of its callers are not looked at.
    """
    found = jobs = above = None
    for depth, (module, frame) in enumerate(_frames(sys._getframe(1 + skipped)), start=1):
        if module.startswith(_PAID):
            return None
        if module.startswith(_SEARCHES):
            found, above = frame, None
        elif isinstance(frame.f_locals.get("self"), Parallel):
            jobs = frame.f_locals["self"]
        elif above is None and not module.startswith(("sklearn.", "joblib.")):
            above = depth
    if found is None:
        return None
    given, name = found.f_locals, found.f_code.co_name
    search = given.get("self")
    fitted = given.get("estimator") if name in _ONCE_A_FOLD else search
    called = name if search is None else type(search).__name__
    return SearchCall(called, fitted, name in _ONCE_A_FOLD, given.get("cv"), jobs, above or 1)


def search_has_groups():
    """Whether one that is among the callers was given groups, and routes none of them."""
    return not get_config()["enable_metadata_routing"] and any(
        given.get("groups") is not None
        for frame in _searches()
        for given in (frame.f_locals, frame.f_locals.get("params"))
        if isinstance(given, Mapping)
    )


def _searches():
    return (f for module, f in _frames(sys._getframe(1)) if module.startswith(_SEARCHES))


def _frames(frame):
    """Yield a frame and those of its callers, with the names of their modules."""
    while frame is not None:
        yield frame.f_globals.get("__name__", ""), frame
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
