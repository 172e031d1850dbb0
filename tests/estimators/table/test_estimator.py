"""PrivateTable: what comes in, what comes out, and that only counts go between."""

import numpy as np
import pytest

from skdp_bary import BudgetAccountant, PrivateTable
from skdp_bary.schema import Boolean, Category, Date, Integer, Number, Ordinal, Schema, Text
from tests.cases import every
from tests.world import record_fit

pandas = pytest.importorskip("pandas")
pytestmark = pytest.mark.filterwarnings("ignore::skdp_bary.exceptions.PrivacyWarning")
SMALL = {"n_components": 4, "max_iter": 5, "random_state": 0}
SCHEMA = Schema(
    {
        "age": Integer(18, 99, missing=True),
        "income": Number(0, 1e5),
        "job": Category(["cook", "nurse", "pilot"], missing=True),
        "grade": Ordinal(["low", "mid", "high"], outside="refuse"),
        "since": Date("2015-01-01", "2024-12-31"),
        "member": Boolean(),
    }
)


def bank(n_rows=400, seed=0):
    """Return a table with everything in it that a schema knows."""
    rng = np.random.default_rng(seed)
    member = rng.random(n_rows) < 0.4
    age = rng.integers(18, 90, n_rows)
    days = pandas.to_timedelta(rng.integers(0, 3600, n_rows), unit="D")
    return pandas.DataFrame(
        {
            "age": pandas.array(np.where(rng.random(n_rows) < 0.1, None, age), dtype="Int64"),
            "income": rng.gamma(2.0, 1e4, n_rows) * (1 + member),
            "job": pandas.Categorical(rng.choice(["cook", "nurse", None], n_rows)),
            "grade": pandas.Categorical(rng.choice(["low", "mid", "high"], n_rows)),
            "since": pandas.Timestamp("2015-01-01") + days,
            "member": member,
        }
    )


def released(table, **params):
    """Return the releases of a fit as bytes, drawn with one seed."""
    model = PrivateTable(SCHEMA, "member", **(SMALL | params))
    recording = record_fit(model, {"X": table})
    assert recording.error is None, recording.error
    return [values.tobytes() for r in recording.records for values in r.released.values]


class TestRows:
    def test_a_frame_like_the_one_that_was_read(self):
        table = bank()
        rows = PrivateTable(SCHEMA, "member", **SMALL).fit(table).sample(50)
        assert list(rows.columns) == list(table.columns) and len(rows) == 50
        for name in ("age", "income", "since", "member"):
            assert rows[name].dtype == table[name].dtype, name
        assert list(rows["job"].cat.categories) == ["cook", "nurse", "pilot", "other"]
        assert rows["grade"].cat.ordered
        assert rows["age"].dropna().between(18, 99).all()
        assert rows["since"].between("2015-01-01", "2024-12-31").all()

    def test_missing_values_and_classes_come_as_often_as_in_the_table(self):
        table = bank(4000)
        model = PrivateTable(SCHEMA, "member", epsilon=50.0, n_components=20, max_iter=100)
        rows = model.fit(table).sample(4000)
        assert abs(rows["age"].isna().mean() - table["age"].isna().mean()) < 0.02
        assert abs(rows["job"].isna().mean() - table["job"].isna().mean()) < 0.02
        assert abs(rows["member"].mean() - table["member"].mean()) < 0.02
        rich = [frame.groupby("member")["income"].mean() for frame in (table, rows)]
        assert np.allclose(rich[0], rich[1], rtol=0.1)
        assert abs(model.total_ - 4000) < 20

    def test_dependence_of_two_columns_comes_out(self):
        rng = np.random.default_rng(0)
        x = rng.random(3000)
        table = pandas.DataFrame({"x": x, "y": x + 0.05 * rng.random(3000), "z": rng.random(3000)})
        model = PrivateTable(Number(0, 1.05), epsilon=10.0, n_components=40, max_iter=200)
        rows = model.fit(table).sample(3000)
        found = rows.corr().to_numpy()
        assert found[0, 1] > 0.9 and abs(found[0, 2]) < 0.1

    @pytest.mark.parametrize("kind", ["polars", "arrow", "array"])
    def test_what_holds_the_table_holds_the_rows(self, kind):
        table = bank(60).drop(columns=["job"])
        schema = Schema([(n, k) for n, k in SCHEMA.columns if n != "job"])
        if kind == "polars":
            given = pytest.importorskip("polars").from_pandas(table)
        elif kind == "arrow":
            given = pytest.importorskip("pyarrow").Table.from_pandas(table)
        else:
            schema, given = Number(0, 1), np.random.default_rng(0).random((60, 3))
        rows = PrivateTable(schema, **SMALL).fit(given).sample(5)
        assert type(rows) is type(given) and rows.shape == (5, given.shape[1])

    def test_a_table_of_one_column_and_a_table_of_its_label(self):
        table = bank(50)
        for schema, label in (
            ({"income": Number(0, 1e5)}, None),
            ({"member": Boolean()}, "member"),
        ):
            names = list(schema)
            rows = PrivateTable(Schema(schema), label, **SMALL).fit(table[names]).sample(7)
            assert list(rows.columns) == names and len(rows) == 7


class TestRefused:
    @every(
        "params, words",
        [
            ({"label": "nobody"}, "label must be a column of the schema"),
            ({"label": "income"}, "label must be a column of flags"),
            ({"label": 17}, "label must be below 6"),
            ({"schema": Schema({"note": Text()}), "label": None}, "declared as text"),
            ({"schema": "bank"}, "schema must be a Schema"),
            ({"n_components": 0}, "n_components must be"),
        ],
    )
    def test_what_cannot_be_fitted_costs_nothing(self, params, words):
        budget = BudgetAccountant(10.0, 1e-4)
        settings = {"schema": SCHEMA, "label": "member", "accountant": budget} | SMALL | params
        table = bank(30) if "schema" not in params else pandas.DataFrame({"note": ["x"] * 30})
        with pytest.raises((TypeError, ValueError), match=words):
            PrivateTable(**settings).fit(table)
        assert not budget.entries

    @every("column", ["income", "since", "member", "grade"])
    def test_missing_values_that_the_schema_does_not_allow(self, column):
        budget = BudgetAccountant(10.0, 1e-4)
        table = bank(30).astype({column: object})
        table.loc[3, column] = None
        with pytest.raises(ValueError, match=f"Column '{column}' has missing values"):
            PrivateTable(SCHEMA, "member", accountant=budget, **SMALL).fit(table)
        assert not budget.entries

    def test_another_table(self):
        with pytest.raises(ValueError, match="other columns than expected"):
            PrivateTable(SCHEMA, **SMALL).fit(bank(30).rename(columns={"age": "years"}))


class TestPlan:
    @every("n_features", [1, 2, 3, 4, 5, 9, 50])
    def test_steps_follow_from_the_width(self, n_features):
        gaussian = PrivateTable(Number(0, 1)).privacy_plan(n_features)
        pure = PrivateTable(Number(0, 1), delta=0.0).privacy_plan(n_features)
        names = [[step.name for step in plan.steps] for plan in (gaussian, pure)]
        assert names[0] == (["histograms", "pairs"] if n_features > 1 else ["histograms"])
        assert ("ranking" in names[1]) == (n_features > 4)
        assert pure.delta == 0.0

    def test_pure_noise_finds_the_pair_that_matters(self):
        rng = np.random.default_rng(0)
        X = rng.random((3000, 6))
        X[:, 4] = X[:, 1]
        model = PrivateTable(Number(0, 1), delta=0.0, epsilon=5.0, **SMALL).fit(X)
        assert (1, 4) in model.pairs_ and len(model.pairs_) == 9
