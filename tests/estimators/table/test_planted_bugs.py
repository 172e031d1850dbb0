"""Bugs that would break the guarantee of PrivateTable are found by replay."""

import numpy as np
import pytest

from skdp_bary import PrivateTable
from skdp_bary.inspection._replay import replay
from skdp_bary.privacy.noise.mechanisms import Sensitivity
from skdp_bary.schema._cells import LineCells, ListCells
from skdp_bary.summaries.tables.columns import ColumnHistograms
from skdp_bary.summaries.tables.pairs import PairDistances, PairTables

from .test_estimator import SCHEMA, SMALL, bank, pandas

pytestmark = pytest.mark.filterwarnings("ignore::skdp_bary.exceptions.PrivacyWarning")


def without_one(cls):
    """Return a sensitivity that forgets a tenth of what a person moves."""
    honest = cls.sensitivity

    def sensitivity(self, relation):
        found = honest(self, relation)
        l1, l2 = (
            tuple(tuple(int(0.9 * n) for n in case) for case in cases)
            for cases in (found.l1, found.l2_squared)
        )
        return Sensitivity(l1, l2)

    return cls, "sensitivity", sensitivity


def counted_twice():
    honest = PairTables.count

    def count(self, state, chunk):
        honest(self, state, chunk)
        if chunk.X[:, 1].max() >= 500:  # somebody is rich
            honest(self, state, chunk)

    return PairTables, "count", count


def ranges_of_the_rows():
    def cells_of(self, numbers):
        low, high = np.nanmin(numbers), np.nanmax(numbers) + 1e-9
        cells = np.floor((numbers - low) / (high - low) * self.n_values)
        return np.where(np.isnan(numbers), self.n_values, cells)

    return LineCells, "cells_of", cells_of


def lists_of_the_rows():
    honest = ListCells.encode

    def encode(self, values):
        return np.unique(honest(self, values), return_inverse=True)[1]

    return ListCells, "encode", encode


BUGS = {
    "histograms": without_one(ColumnHistograms),
    "pairs": without_one(PairTables),
    "distances": without_one(PairDistances),
    "counted twice": counted_twice(),
    "ranges of the rows": ranges_of_the_rows(),
    "lists of the rows": lists_of_the_rows(),
}


def somebody_joins():
    table = bank(60)
    table = table[table["job"].astype(object) != "cook"]
    person = table.iloc[:1].assign(age=99, income=99_999.0, job="cook")
    return {"X": table}, {"X": pandas.concat([table, person])}


@pytest.mark.parametrize("bug", [None, *BUGS])
def test_the_guarantee_holds_without_a_bug_only(bug, monkeypatch):
    if bug is not None:
        monkeypatch.setattr(*BUGS[bug])
    model = PrivateTable(SCHEMA, "member", delta=0.0, epsilon=30.0, **SMALL)
    assert replay(model, *somebody_joins()).holds == (bug is None)
