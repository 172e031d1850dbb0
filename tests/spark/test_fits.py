"""Fits on Spark frames: the same release as in memory, and nothing but integers comes back."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import clone

from skdp_bary import (
    BudgetAccountant,
    PrivateEMDHeatmap,
    PrivateMeasure,
    PrivateTable,
    PrivateWassersteinBarycenter,
)
from skdp_bary.papers import MaxCoverKMeans, NoisyRowsSlicedWasserstein
from skdp_bary.schema import Category, Integer, Schema
from tests.world import Sketch, SparkSource, fingerprint

pytest.importorskip("pyspark")
pa = pytest.importorskip("pyarrow")
pandas = pytest.importorskip("pandas")

pytestmark = pytest.mark.filterwarnings("ignore::skdp_bary.exceptions.PrivacyWarning")

N = 301
rng = np.random.default_rng(5)
Y = rng.integers(2, size=N)
X = np.clip(rng.normal(0.3 + 0.4 * Y[:, None], 0.1, size=(N, 2)), 0, 1)
WHO = Y * 1000 + rng.integers(40, size=N)
SEEDED = {"bounds": (0, 1), "random_state": 4}
COLUMNS = {"lon": X[:, 0], "lat": X[:, 1], "label": Y, "who": WHO}
FITS = {
    "persons": (
        PrivateEMDHeatmap(
            bounds={"lat": (0, 1), "lon": (0, 0.9)}, resolution=16, n_hint=N, random_state=4
        ),
        {"groups": "who"},
    ),
    "labels found": (
        PrivateWassersteinBarycenter(3, neighbors="replace_one", n_init=1, **SEEDED),
        {"y": "label", "groups": "who"},
    ),
    "keys": (MaxCoverKMeans(2, epsilon=5.0, delta=1e-6, n_init=1, **SEEDED), {}),
    "rows": (NoisyRowsSlicedWasserstein(4, delta=1e-6, neighbors="replace_one", **SEEDED), {}),
}


@pytest.fixture(scope="module")
def frame(spark):
    return spark.createDataFrame(pa.table(COLUMNS)).coalesce(1).cache()


def fitted(name, frame=None):
    """Fit on arrays in memory, or on some columns of a frame."""
    estimator, named = FITS[name]
    if frame is None:
        rows = pandas.DataFrame(X, columns=["lon", "lat"])
        given = {part: COLUMNS[column] for part, column in named.items()}
        return clone(estimator).fit(rows, **given)
    return clone(estimator).fit(frame.select("lon", "lat", *named.values()), **named)


@pytest.mark.parametrize("name", FITS)
def test_the_same_release(frame, name):
    assert fingerprint(fitted(name, frame)) == fingerprint(fitted(name))


def test_a_table_of_any_values(spark):
    """What a schema reads as numbers is read on the executors."""
    schema = Schema({"age": Integer(18, 99, missing=True), "job": Category(["cook", "nurse"])})
    table = PrivateTable(schema, n_components=2, max_iter=2, random_state=0)
    given = pa.table({"age": [20, None, 44], "job": ["cook", "nurse", "cook"]})
    found = clone(table).fit(spark.createDataFrame(given))
    assert list(found.sample(2).columns) == ["age", "job"]
    assert fingerprint(found) == fingerprint(clone(table).fit(given.to_pandas()))


def test_what_is_wrong_with_rows_is_raised_before_a_charge(spark):
    bad = spark.createDataFrame(pa.table({"a": [0.1, None], "b": [0.2, 0.3]})).coalesce(1)
    budget = BudgetAccountant(1.0)
    with pytest.raises(
        ValueError, match="^Input X contains NaN. Leave out such rows, by frame.dropna"
    ):
        PrivateMeasure(bounds=(0, 1), n_hint=2, accountant=budget).fit(bad)
    assert budget.entries == ()


def test_only_integers_come_back_and_no_budget_goes_out(frame, monkeypatch):
    from pyspark import cloudpickle

    sent, came = [], []
    answers = SparkSource.answers

    def spy(self, count, merge):
        sent.append(cloudpickle.dumps((count, merge, self.reader)))
        came.append(answers(self, count, merge))
        return came[-1]

    monkeypatch.setattr(SparkSource, "answers", spy)
    budget = BudgetAccountant(3.0)
    budget.spend(0.123, who="somebody")
    measure = PrivateMeasure(bounds=(0, 1), n_hint=N, depth=6, accountant=budget)
    measure.fit(frame.select("lon", "lat"))
    counted = np.zeros(64, dtype=np.int64)
    Sketch(SimpleNamespace(zeros=lambda: (counted,))).add_bytes(came[0])
    assert len(came) == len(sent) == 1 and counted.sum() == N
    for word in (b"accountant", b"somebody", b"_noise", b"Generator", b"epsilon", b"_ledger"):
        assert word not in sent[0]
