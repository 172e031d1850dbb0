"""The command that says of a pipeline which of its steps keep the guarantee."""

import importlib
import os
import sys

from sklearn.base import BaseEstimator

from ..inspection import check_private
from ._pages import AUDIT
from ._text import say


def add_audit(commands):
    """Add ``audit`` to the subparsers `commands`."""
    audit = commands.add_parser("audit", **AUDIT.options())
    audit.add_argument(
        "pipeline", metavar="MODULE:NAME", help="where the pipeline is, as mypackage.models:pipe"
    )
    audit.set_defaults(run=_run, parser=audit)


def _run(given):
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
