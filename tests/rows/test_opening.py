"""The kinds of rows that can be read, and what is said about the others."""

import numpy as np
import pandas as pd
import pytest

from tests.cases import every
from tests.world import home, open_rows, open_source, read

X = np.arange(12.0).reshape(6, 2)
FRAME = pd.DataFrame(X, columns=["u", "v"])
source_for = home("open_source").source_for
ArraySource, ChunkSource = home("ArraySource").ArraySource, home("ChunkSource").ChunkSource


BAD = X.copy()
BAD[2, 0] = np.nan
SHARED = iter([X[:3], X[3:]])
CHUNKS = {
    "X must have a chunk": [iter([]), lambda: iter([])],
    "A chunk has 1 features, but X has 2": [[X, X[:, :1]]],
    "Either every chunk carries sample_weight or none": [[(X, None, np.ones(6)), (X, None)]],
    "got a tuple of 5": [[(X, None, None, None, None)]],
    "Input X contains NaN": [[X, BAD]],
    "Input X contains": [[np.full_like(X, np.inf)]],
    "sample_weight must have one value per row": [[(X, None, np.ones(5))]],
    "finite non-negative": [[(X, None, -np.ones(6))]],
    r"missing \['v'\], not known \['w'\]": [[FRAME, FRAME.rename(columns={"v": "w"})]],
    r"not known \['w'\]": [[FRAME, FRAME.assign(w=1)]],
    r"missing \['v'\]": [[FRAME, FRAME[["u"]]]],
    "names of columns": [[FRAME, X], [X, FRAME]],
    "several columns of one name": [[FRAME, pd.concat([FRAME, FRAME], axis=1)]],
    "new iterator": [lambda: SHARED],
}


@every("message", CHUNKS)
def test_chunks_that_are_refused(message):
    for chunks in CHUNKS[message]:
        with pytest.raises(ValueError, match=message):
            read(open_source(chunks))


ARRAYS = [
    (X, {"groups": "who"}, "groups='who' names a column, and X has no columns with names"),
    (pd.DataFrame(X), {"groups": "who"}, r"groups='who' is not a column of X, which has \[0, 1\]"),
    (pd.DataFrame(X, columns=["w"] * 2), {"groups": "w"}, "groups='w' names several columns"),
    (np.zeros((9, 0)), {}, "at least one column"),
    (pd.DataFrame(np.zeros((9, 0))), {}, "at least one column"),
    (np.zeros(4), {}, "2D array|1D array"),
    (pd.Series(np.zeros(4)), {}, r"1D array.*a column of a dataframe"),
    ([], {}, "at least one column"),
    (BAD, {"groups": np.arange(6)}, "NaN"),
    (X, {"groups": np.arange(5)}, "groups must have one value per row"),
    (X, {"groups": 3}, "must have one value per row, got a value of type int"),
    *(([X, X], {name: np.ones(12)}, name) for name in ("y", "groups", "sample_weight")),
]


@every("given, beside, message", ARRAYS)
def test_rows_that_are_refused(given, beside, message):
    """Before anything is counted."""
    find_classes = (lambda y: [0, 1]) if "y" in beside else None
    with pytest.raises((ValueError, TypeError), match=message):
        open_rows(given, find_classes=find_classes, **beside)


@every("y, message", [(None, "y is needed"), ([0, 1, 2, 0, 0, 0], "not among"), ([0], "one value")])
def test_labels_that_are_refused(y, message):
    for given in ([(X, y)], X):
        with pytest.raises(ValueError, match=message):
            read(open_source(given, None if given is not X else y, classes=np.array([0, 1])))
    with pytest.raises(TypeError, match="must have one value per row, got a value of type int"):
        open_source(X, 3, classes=[0, 1])
