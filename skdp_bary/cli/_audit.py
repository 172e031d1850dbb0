"""The command that says of a pipeline which of its steps keep the guarantee."""

import importlib
import os
import sys

from sklearn.base import BaseEstimator

from ..inspection import check_private
from ._text import say


def run(given):
    """Print the report of a pipeline."""
    say(check_private(_load(given.pipeline), strict=True))
    return 0


def _load(place):
    module, separator, name = place.partition(":")
    if not separator or not name:
        raise ValueError(f"The pipeline must be named as module:name, got {place!r}.")
    sys.path.insert(0, os.getcwd())
    try:
        imported = importlib.import_module(module)
    finally:
        sys.path.pop(0)
    if not hasattr(imported, name):
        raise ValueError(f"The module {module!r} has nothing named {name!r}.")
    found = getattr(imported, name)
    if not isinstance(found, BaseEstimator):
        raise ValueError(f"{place} is no estimator, but {found!r}.")
    return found
