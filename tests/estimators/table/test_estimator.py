"""PrivateTable: what comes in, what comes out, and that only counts go between."""

import warnings

import numpy as np
import pytest

from skdp_bary import BudgetAccountant, PrivateTable
from skdp_bary.exceptions import PrivacyWarning
from skdp_bary.schema import Boolean, Category, Date, Integer, Number, Ordinal, Schema, Text
from tests.cases import every
from tests.world import record_fit, replay

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

    def test_the_same_integers_from_every_container(self, tmp_path):
        table = bank(80).drop(columns=["age", "job"])
        schema = Schema([(n, k) for n, k in SCHEMA.columns if n not in ("age", "job")])
        containers = [table.iloc[:, ::-1], [table[:30], table[30:]], lambda: iter([table])]
        if pytest.importorskip("polars"):
            import polars

            containers.append(polars.from_pandas(table))
        dask = pytest.importorskip("dask.dataframe")
        table.to_parquet(tmp_path / "table.parquet")
        containers += [dask.from_pandas(table, npartitions=3), str(tmp_path / "table.parquet")]
        model = PrivateTable(schema, "member", **SMALL)
        for other in containers:
            report = replay(model, {"X": table}, {"X": other})
            assert not any(any(step.l1) for step in report.steps), type(other)

    def test_persons_with_many_rows_on_a_cluster_are_those_in_memory(self):
        dask = pytest.importorskip("dask.dataframe")
        table = bank(60)[["income", "member"]].assign(person=np.arange(60) // 3)
        schema = Schema({"income": Number(0, 1e5), "member": Boolean()})
        model = PrivateTable(schema, "member", **SMALL)
        whole = {"X": table.drop(columns="person"), "groups": table["person"].to_numpy()}
        other = {"X": dask.from_pandas(table, npartitions=4), "groups": "person"}
        report = replay(model, whole, other)
        assert not any(any(step.l1) for step in report.steps)

    def test_a_table_of_one_column_and_a_table_of_its_label(self):
        table = bank(50)
        for schema, label in (
            ({"income": Number(0, 1e5)}, None),
            ({"member": Boolean()}, "member"),
        ):
            names = list(schema)
            rows = PrivateTable(Schema(schema), label, **SMALL).fit(table[names]).sample(7)
            assert list(rows.columns) == names and len(rows) == 7


class TestNothingButCounts:
    """No dtype, list of categories, missing value or order reaches the release by itself."""

    def test_types_of_columns(self):
        table = bank(60).assign(age=np.arange(60) % 60 + 20)
        floats = table.assign(age=table["age"].astype(float))
        texts = table.assign(
            age=table["age"].astype(str),
            since=table["since"].dt.strftime("%Y-%m-%d"),
            member=table["member"].astype(int),
            grade=table["grade"].astype(object),
        )
        expected = released(table)
        assert released(floats) == expected and released(texts) == expected

    def test_a_missing_value_changes_its_own_row_only(self):
        """One missing value makes floats of all whole numbers of its column."""
        whole = bank(60).assign(age=np.arange(60) % 60 + 20)
        gone = whole.assign(age=whole["age"].astype(float).where(np.arange(60) != 7))
        model = PrivateTable(SCHEMA, "member", neighbors="replace_one", **SMALL)
        for step in replay(model, {"X": whole}, {"X": gone}).steps:
            assert max(step.l1) <= 2 * 15

    def test_lists_of_categories(self):
        table = bank(60)
        job = table["job"].cat
        more = table.assign(job=job.add_categories(["pilot", "spy"]))
        other_order = table.assign(job=job.reorder_categories(["nurse", "cook"]))
        expected = released(table)
        assert released(more) == expected and released(other_order) == expected

    def test_a_rare_value_is_another_one_like_all_that_are_not_listed(self):
        table = bank(60).assign(job=bank(60)["job"].astype(object))
        spy, king = (
            table.assign(job=table["job"].where(np.arange(60) != 3, v)) for v in ("spy", "king")
        )
        assert released(spy) == released(king)
        rows = PrivateTable(SCHEMA, "member", **SMALL).fit(king).sample(200)
        assert set(rows["job"].dropna()) <= {"cook", "nurse", "pilot", "other"}

    def test_a_column_that_is_all_missing(self):
        empty = bank(60).assign(age=[None] * 60)
        rows = PrivateTable(SCHEMA, "member", **SMALL).fit(empty).sample(20)
        assert rows["age"].dtype == "Int64"
        assert released(empty) == released(empty.assign(age=np.full(60, np.nan)))

    def test_order_of_rows_and_columns(self):
        table = bank(60)
        assert released(table) == released(table.sample(frac=1.0, random_state=0))
        assert released(table) == released(table.iloc[:, ::-1])


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

    def test_noise_too_large_is_refused_unpaid(self):
        budget = BudgetAccountant(1.0)
        rows = np.zeros((4, 200))
        model = PrivateTable(Boolean(), epsilon=1e-6, delta=0.0, accountant=budget, **SMALL)
        with pytest.raises(ValueError, match="epsilon is too small for step"):
            model.fit(rows, groups=[0, 0, 1, 1])
        assert not budget.entries

    def test_a_diagram_shows_the_plan(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error", PrivacyWarning)
            assert "RoundedGaussian" in PrivateTable(SCHEMA)._repr_html_()
