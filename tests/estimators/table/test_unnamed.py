"""Columns that a schema does not name are left out of fits and reports, with one line."""

import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from skdp_bary import PrivateTable
from skdp_bary.schema import Integer, Number, Schema

SCHEMA = Schema({"age": Integer(0, 99), "income": Number(0, 1)})
RNG = np.random.default_rng(0)
ROWS = pd.DataFrame(
    {"note": "x", "income": RNG.random(300), "age": RNG.integers(99, size=300), "id": range(300)}
)
TOLD = re.escape("Columns that the schema does not name are not read: ['note']")


def lines(heard):
    return [str(one.message) for one in heard if "does not name" in str(one.message)]


@pytest.mark.filterwarnings("ignore::skdp_bary.exceptions.PrivacyWarning")
def test_a_fit_and_its_report_leave_them_out():
    chunks = [ROWS[:100], ROWS[100:]]
    for rows in (ROWS, chunks, lambda: iter(chunks), pa.Table.from_pandas(ROWS)):
        with pytest.warns(match=TOLD) as heard:
            table = PrivateTable(SCHEMA, max_iter=1).fit(rows, groups="id")
        assert len(lines(heard)) == 1 and list(table.feature_names_in_) == ["age", "income"]
    with pytest.warns(match=TOLD) as heard:
        report = table.evaluate(ROWS)
    assert len(lines(heard)) == 1 and "note" not in str(report)


@pytest.mark.filterwarnings("ignore::skdp_bary.exceptions.PrivacyWarning")
def test_an_id_that_is_not_read_is_named_as_one():
    with pytest.warns(match="Pass groups='id' where that is a person id"):
        PrivateTable(SCHEMA, max_iter=1).fit(ROWS)
