"""The one door for rows: which source takes them, and whose they are."""

import warnings
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, cached_property, partial

import numpy as np

from .._sklearn import search_among_callers
from ..exceptions import PrivacyWarning
from ..privacy.entries import ROWS, UNNAMED, check_unit
from ..values import column_names, with_width
from .dask import DaskSource
from .grouping import declared
from .origins import origin_of
from .persons import PERSON_UNITS, WEIGHT_UNITS
from .sources import ArraySource, ArrowSource, ChunkSource, refuse_types_of_rows
from .spark import SparkSource

# The one door for rows: which source takes them, whose they are, and how often they are read.

# asked in turn; the last one takes the rest
SOURCES = (SparkSource, DaskSource, ArrowSource, ChunkSource, ArraySource)


def source_for(X):
    """Return the class of the source that takes `X`."""
    if type(X) is np.ndarray:
        return ArraySource
    return next(source for source in SOURCES if source.takes(X))


def distinct_labels(y):
    """Return the different labels in order, wherever they are."""
    return source_for(y).distinct_labels(y)


def open_source(X, y=None, *, groups=None, sample_weight=None, classes=None, mass_bounds=None):
    """Return the source of rows whose classes are known, see ``open_rows``."""
    return source_for(X)(X, y, groups, sample_weight, classes, mass_bounds)


def open_rows(
    X,
    y=None,
    *,
    groups=None,
    sample_weight=None,
    find_classes=None,
    mass_bounds=None,
    recode=None,
    width=None,
):
    """Return the rows of one fit.

    Parameters
    ----------
    X : array-like, dataframe, Arrow stream, Dask array or dataframe, Spark frame, Parquet path, \
or chunks
        Streams come from all that has ``__arrow_c_stream__``, from lazy frames and from datasets.
        Chunks come from an iterator, or from a list or a function that can be read again. A chunk
        is ``X`` or a tuple ``(X, y)``, ``(X, y, sample_weight)`` or ``(X, y, sample_weight,
        groups)``; those of a list may be delayed.
    y, groups, sample_weight : array-like of shape (n_rows,), optional
        Labels, person IDs and weights; chunks carry their own labels and weights. Delayed chunks
        have IDs next to them, as a list of delayed values. If rows have columns with names, all
        three may be names of columns, which are then no features.
    find_classes : callable or None
        Returns the public labels, or None: labels do not matter; it is given `y`.
    mass_bounds : (low, high), mapping, Box, Ball, Mask or None
        Public domain among whose rows a person's mass is shared; None: among all rows. A query
        that is asked with such bounds leaves out the rows outside.
    recode : callable or None
        Public: takes a table of any values and returns its rows as numbers, each row by itself. Its
        ``names`` are those of the columns it returns, None: those of the table. None: rows are
        numbers.
    width : int or None
        Public number of columns, of lists and functions that give no chunk and no row.
    """
    X = with_width(X, width)
    kind = source_for(X)
    if kind is ArrowSource:
        beside = {name for name in (y, sample_weight, groups) if isinstance(name, str)}
        refuse_types_of_rows(X, groups, getattr(recode, "schema", None), beside)
    X, beside = kind.columns(X, y=y, groups=groups, sample_weight=sample_weight)
    X = X if recode is None else kind.recoded(X, recode)
    classes = None if find_classes is None else find_classes(beside["y"])
    y = None if classes is None else beside["y"]
    kind = partial(kind, width=width) if issubclass(kind, ChunkSource) else kind
    source = kind(X, y, beside["groups"], beside["sample_weight"], classes, mass_bounds)
    rule, name = None if groups is None else declared(groups), None
    if rule is not None or hasattr(groups, "to_frame"):  # other names are of computations
        name = groups.name if rule is None else rule.ids
    return Rows(source, classes, name if isinstance(name, str) and name != ROWS else None)


class Rows:
    """The rows of one fit, read as often as there are steps.

    Parameters
    ----------
    source : ArraySource, ChunkSource, ArrowSource, DaskSource or SparkSource
    classes : ndarray or None
        Public labels; None when labels do not matter.
    name_of_groups : str or None
        Name of the column of person IDs, where it has one.
    """

    def __init__(self, source, classes=None, name_of_groups=None):
        self.source = source
        self._name_of_groups = name_of_groups
        self.classes = classes
        self.n_features = source.n_features
        self.rereadable = source.rereadable
        # by another fit, too: what was read once may be kept for this one
        self.reopenable = getattr(source, "reopenable", source.rereadable)
        self.names = None if source.named is None else column_names(source.named)
        # the largest mass of one person, in units
        self.person_units = WEIGHT_UNITS if source.weighted else 1
        if source.grouped:
            self.person_units = PERSON_UNITS

    def close(self):
        """Give back what reading has taken besides memory; to be called when the fit ends."""
        if hasattr(self.source, "close"):
            self.source.close()

    def terms(self, given, unit):
        """Facts about the rows for a budget: the privacy unit, and the place of the rows.

        Parameters
        ----------
        given : object
            What was given to ``fit`` as the rows.
        unit : str or None
            What one person is; None: what `groups` say.
        """
        if unit is None:
            unit = (self._name_of_groups or UNNAMED) if self.source.grouped else ROWS
        else:
            check_unit(unit)
        return {"unit": unit, "origin": cache(partial(origin_of, given))}

    @cached_property  # it may need to read all rows, and every candidate of a search asks
    def persons_move_classes(self):
        """Whether some person has rows of two classes, between which other rows would move mass; to
        be asked only where the relation makes labels public."""
        grouped = self.classes is not None and self.source.grouped
        return grouped and not self.source.persons_have_one_class


# Warnings about a release, which a rehearsal does not issue.

_HEARD = ContextVar("skdp_bary_heard", default=True)


def warn(text: str, stacklevel: int = 1) -> None:
    """Issue a PrivacyWarning about a fit, once for all fits of a search of scikit-learn.

    A rehearsal of a fit releases noise that describes no rows, so it reports nothing.

    Parameters
    ----------
    text : str
    stacklevel : int, default=1
        As of :func:`warnings.warn`.
    """
    search = search_among_callers() if _HEARD.get() else None
    if search is not None:
        stacklevel = search.depth - 1
    if search.is_news(text) if search else _HEARD.get():
        warnings.warn(text, PrivacyWarning, stacklevel=stacklevel + 1)


@contextmanager
def unheard():
    """Rehearse; the filters of warnings, which all threads share, stay as they are."""
    token = _HEARD.set(False)
    try:
        yield
    finally:
        _HEARD.reset(token)
