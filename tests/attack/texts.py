"""Texts that are nearly equal, in any container: a cell and an id is read as if it stood alone."""

import numpy as np
import pandas as pd
import polars
import pyarrow

from skdp_bary import PrivateMeasure, SchemaTransformer
from skdp_bary.schema import Category, Schema
from tests.world import record_fit, replay_after

from .promises import Promise, Trial, repeated

_WORDS = (
    "cook",
    "cook\0",
    "cook\0\0",
    "\0cook",
    "Cook",
    "cook ",
    "",
    "\0",
    "nan",
    "None",
    "1",
    "01",
)
_KNOWN = ("cook", "\0cook", "nan", "1")
_STEP = SchemaTransformer(Schema({"job": Category(list(_KNOWN), missing=True)}))
_CONTAINERS = {
    "objects of pandas": lambda texts: pd.DataFrame({"job": pd.Series(texts, dtype=object)}),
    "strings of pandas": lambda texts: pd.DataFrame({"job": pd.Series(texts, dtype="string")}),
    "categories": lambda texts: pd.DataFrame({"job": pd.Series(texts, dtype="category")}),
    "polars": lambda texts: polars.DataFrame({"job": pyarrow.array(texts, pyarrow.string())}),
    "categories of polars": lambda texts: polars.DataFrame(
        {"job": polars.Series(texts, dtype=polars.String).cast(polars.Categorical)}
    ),
    "Arrow": lambda texts: pyarrow.table({"job": pyarrow.array(texts, pyarrow.string())}),
    "a list": lambda texts: [[text] for text in texts],
}
_IDS = {
    "objects": lambda texts: np.array(texts, dtype=object),
    "pandas": lambda texts: pd.Series(texts, dtype=object),
    "polars": lambda texts: polars.Series(texts),
    "Arrow": pyarrow.array,
}


def bring_texts(rng):
    """Read texts together and one by one, or count persons by ids of a container and of a list."""
    return _bring_cells(rng) if rng.random() < 0.7 else _bring_ids(rng)


def _bring_cells(rng):
    texts = [_WORDS[i] for i in rng.integers(len(_WORDS), size=int(rng.integers(1, 9)))]
    if rng.random() < 0.5:
        texts[int(rng.integers(len(texts)))] = None
    kind = str(rng.choice(list(_CONTAINERS)))
    whole = np.asarray(_STEP.fit_transform(_CONTAINERS[kind](texts)))
    alone = [_STEP.transform(pd.DataFrame({"job": [text]}, dtype=object)) for text in texts]
    same = repr(whole.tolist()) == repr(
        [each for row in alone for each in np.asarray(row).tolist()]
    )
    return Trial(violation="" if same else f"{kind}: others change what is read of {texts}")


def _bring_ids(rng):
    ids = [_WORDS[i] for i in rng.integers(len(_WORDS), size=int(rng.integers(2, 12)))]
    measure = PrivateMeasure(bounds=(0, 1), depth=2, n_hint=9, method="haar", random_state=0)
    X, kind = rng.random((len(ids), 2)), str(rng.choice(list(_IDS)))
    before = record_fit(measure, {"X": X, "groups": ids})
    report = replay_after(before, measure, {"X": X, "groups": _IDS[kind](ids)})
    moved = any(any(step.l1) for step in report.steps) or report.violations
    return Trial(violation=f"{kind}: other persons than in a list: {ids}" if moved else "")


PROMISE = Promise(
    "texts",
    "Cells and ids of nearly equal texts are read as if they stood alone",
    repeated(bring_texts),
)
