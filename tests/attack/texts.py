"""Texts that are nearly equal, in any container: a cell and an id is read as if it stood alone."""

import tempfile
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars
import pyarrow
import pyarrow.dataset

from skdp_bary import PrivateMeasure, SchemaTransformer
from skdp_bary.schema import Category, Schema
from tests.world import open_rows, record_fit, replay_after

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
_KNOWN = ("cook", "\0cook", "nan", "1", "01")
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
_LAZY = {
    "polars": polars.scan_csv,
    "Arrow": lambda path: pyarrow.dataset.dataset(path, format="csv"),
    "DuckDB": lambda path: duckdb.sql(f"from read_csv('{path}', header=true)"),
}


def bring_texts(rng):
    """Read texts together and one by one, or count persons by ids of a container and of a list."""
    attempts = _bring_cells, _bring_ids, bring_lines
    return attempts[rng.choice(3, p=[0.6, 0.25, 0.15])](rng)


def bring_lines(rng):
    """Write lines with and without one more, which may not change what is read of the others."""
    known = [w for w in _WORDS if w and w.isprintable()] + ["007", "7", "1.0", "true", "2020-01-02"]
    like = known if rng.random() < 0.3 else ["1", "01", "007", "7"]
    lines = [str(each) for each in rng.choice(like, size=int(rng.integers(1, 9)))]
    more = [*lines, str(rng.choice([*known, "M7"]))]
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / name for name in ("some.csv", "more.csv")]
        for path, written in zip(paths, (lines, more), strict=True):
            path.write_text("\n".join(["x,job", *(f".5,{line}" for line in written)]) + "\n")
        kind = str(rng.choice([*_LAZY, "read_csv"]))
        try:
            if kind == "read_csv":
                tables = [pd.read_csv(path, keep_default_na=False)[["job"]] for path in paths]
                some, all_ = (_STEP.fit_transform(table)["job"].tolist() for table in tables)
                same = some == all_[:-1]
            else:
                opened = [open_rows(_LAZY[kind](str(path)), groups="job") for path in paths]
                some, all_ = (rows.source.count_persons() for rows in opened)
                same = all_ - some == len(set(more)) - len(set(lines))
        except ValueError:  # refused
            return None
    return Trial(
        violation="" if same else f"{kind}: a line changes what is read of {lines}: {more}"
    )


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
    "A cell or ID with nearly the same text as another is read as it would be without the other",
    repeated(bring_texts),
)
