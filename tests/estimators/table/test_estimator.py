"""PrivateTable: what comes in, what comes out, and that only counts go between."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from skdp_bary import BudgetAccountant, PrivateTable
from skdp_bary.exceptions import PrivacyWarning
from skdp_bary.schema import (
    Boolean,
    Category,
    Date,
    Derived,
    InOrder,
    Integer,
    Key,
    Number,
    Ordinal,
    Schema,
    Shares,
    Text,
)
from tests.cases import every
from tests.world import TableCells, record_fit, report_of

pytestmark = pytest.mark.filterwarnings("ignore::skdp_bary.exceptions.PrivacyWarning")

pandas = pytest.importorskip("pandas")
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


def released(table, schema=SCHEMA, **params):
    """Return the releases of a fit as bytes, drawn with one seed."""
    model = PrivateTable(schema, "member", **(SMALL | params))
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


class TestPlan:
    @every("n_features", [1, 2, 3, 4, 5, 9, 50])
    def test_steps_follow_from_the_width(self, n_features):
        gaussian = PrivateTable(Number(0, 1)).privacy_plan(n_features)
        pure = PrivateTable(Number(0, 1), delta=0.0).privacy_plan(n_features)
        names = [[step.name for step in plan.steps] for plan in (gaussian, pure)]
        assert names[0] == (["histograms", "pairs"] if n_features > 1 else ["histograms"])
        assert ("ranking" in names[1]) == (n_features > 4)
        assert pure.delta == 0.0


# What is asked of a fitted table: rows under conditions and rules, counts, probabilities.


@pytest.fixture(scope="module")
def fitted():
    model = PrivateTable(SCHEMA, "member", epsilon=20.0, n_components=20, max_iter=200)
    return model.fit(bank(2000))


class TestGiven:
    def test_rows_have_what_is_given(self, fitted):
        asked = {
            "age": (30, 40),
            "member": True,
            "job": ["cook", "nurse"],
            "since": ("2016-01-01", "2016-12-31"),
            "income": 20000.0,
        }
        rows = fitted.sample(200, given=asked)
        assert len(rows) == 200 and rows["age"].between(30, 40).all() and rows["member"].all()
        assert set(rows["job"]) == {"cook", "nurse"}
        assert rows["since"].between("2016-01-01", "2016-12-31").all()
        assert (rows["income"] == 20000.0).all()
        for given, holds in (  # also missing ones, those that nobody has, and open ranges
            ({"age": None}, lambda rows: rows["age"].isna()),
            ({"job": "pilot"}, lambda rows: rows["job"] == "pilot"),
            ({"age": (None, 40)}, lambda rows: rows["age"] <= 40),
            ({"since": ("2019-01-01", None)}, lambda rows: rows["since"] >= "2019-01-01"),
            ({"age": (None, None)}, lambda rows: rows["age"].notna()),
            ({"age": (40, 1000)}, lambda rows: rows["age"] >= 40),
        ):
            assert holds(fitted.sample(50, given=given)).all(), given

    @every("given", [
        {"nobody": 1}, {"member": None}, {"job": "spy"}, {"age": (40, 30)}, {"age": "old"},
        {"age": [30, 40]}, {"age": 1000}, {"age": (-20, -10)},
        {"since": ("1900-01-01", "1900-12-31")}, 3,
    ])  # fmt: skip
    def test_what_cannot_be_given(self, fitted, given):
        with pytest.raises(ValueError, match="given"):
            fitted.sample(3, given=given)


class TestQuery:
    def test_intervals_cover_exact_counts(self, fitted):
        table = bank(2000)
        for columns in (("grade", "member"), ("job", "grade"), ("grade",), ("member",)):
            frame = fitted.query(*columns, confidence=0.9999).to_frame()
            exact = table[list(columns)].astype(str).value_counts()
            for row in frame.itertuples(index=False):
                count = exact.get(tuple(row[: len(columns)]))
                assert count is None or row.low <= count <= row.high, (columns, row)
        ages = fitted.query("age")
        assert abs(ages.counts.sum() - 2000) < 100 and ages.values[-1] == ("missing",)

    def test_ranges_of_dates_are_dates(self, fitted):
        words = [word for (word,) in fitted.query("since").values]
        low, high = words[0].split(" to ")
        assert low == dict(SCHEMA.columns)["since"].low < high
        assert words[-1].split(" to ")[-1] == dict(SCHEMA.columns)["since"].high

    def test_pure_noise_is_that_of_sums_of_laplace(self):
        model = PrivateTable(SCHEMA, "member", epsilon=20.0, delta=0.0, **SMALL).fit(bank(500))
        answer = model.query("member", confidence=0.5)
        scale = model._measured.size_scale
        assert np.allclose(answer.high - answer.counts, np.log(2.0) * scale, rtol=0.05)

    @every("columns", [(), ("age", "age"), ("a",), ("age", "job", "grade")])
    def test_other_questions(self, fitted, columns):
        with pytest.raises(ValueError, match="columns must be"):
            fitted.query(*columns)


class TestScores:
    @every("label", ["b", None])
    def test_probabilities_of_all_cells_add_up_to_one(self, label):
        schema = Schema({"a": Category(["x", "y"], outside="refuse"), "b": Boolean()})
        cells = pandas.DataFrame({"a": ["x", "x", "y", "y"], "b": [True, False] * 2})
        model = PrivateTable(schema, label, epsilon=5.0, **SMALL).fit(pandas.concat([cells] * 9))
        assert np.isclose(np.exp(model.score_samples(cells)).sum(), 1.0)

    def test_tables_elsewhere_are_refused_in_words(self, fitted):
        lazy = pytest.importorskip("polars").from_pandas(bank(20)).lazy()
        for rows in ("table.parquet", Path("table.parquet"), iter([bank(20)]), lazy):
            for method in (fitted.score_samples, fitted.evaluate):
                with pytest.raises(TypeError, match="X must be a table in memory"):
                    method(rows)
        with pytest.raises(TypeError, match="held_out must be a table in memory"):
            fitted.evaluate(bank(20), held_out=lazy)


class TestRules:
    @pytest.mark.parametrize("kind", ["pandas", "polars"])
    def test_rows_keep_all_rules(self, kind):
        rules = (
            Derived("tax", lambda rows: rows["income"] * 0.2),
            Key("id", "c"),
            InOrder("since", "until"),
            Shares("grade", {"low": 1, "high": 3}),
        )
        schema = Schema(dict(SCHEMA.columns) | {"until": Date("2015-06-01", "2025-12-31")})
        table = bank(300).assign(id=range(300), tax=1.0)
        table["until"] = table["since"] + pandas.Timedelta(200, "D")
        table = table if kind == "pandas" else pytest.importorskip(kind).from_pandas(table)
        rows = PrivateTable(schema, rules=rules, **SMALL).fit(table).sample(101)
        rows = rows if kind == "pandas" else rows.to_pandas()
        assert np.allclose(rows["tax"], rows["income"] * 0.2) and rows["id"].is_unique
        assert (rows["since"] <= rows["until"]).all()
        assert abs((rows["grade"] == "low").sum() - 25) <= 1 and not (rows["grade"] == "mid").any()

    @every("rule", [
        Key("age"), InOrder("age", "nobody"), InOrder("job", "age"), Shares("income", {1.0: 1}),
        Shares("job", {"spy": 1}),
    ])  # fmt: skip
    def test_rules_that_do_not_suit_the_schema_cost_nothing(self, rule):
        budget = BudgetAccountant(10.0, 1e-4)
        with pytest.raises(ValueError, match=r"rules|given"):
            PrivateTable(SCHEMA, rules=[rule], accountant=budget, **SMALL).fit(bank(30))
        assert not budget.entries

    @every(
        "function, error",
        [
            (lambda rows: rows["wage"] * 2, "KeyError: 'wage'"),
            (lambda rows: rows["age"].astype("int64"), "ValueError"),  # where it is missing
            (lambda rows: np.ones(3), "ValueError"),
        ],
    )
    def test_functions_are_tried_before_the_charge(self, function, error):
        budget = BudgetAccountant(20.0, 1e-5)
        model = PrivateTable(SCHEMA, rules=[Derived("x", function)], accountant=budget, **SMALL)
        with pytest.raises(ValueError, match=f"drawn from the schema alone.*{error}"):
            model.fit(bank(30))
        assert not budget.entries

    @pytest.mark.parametrize("kind", ["pandas", "polars", "arrow"])
    def test_a_trial_keeps_other_rules_and_sees_no_row(self, kind):
        """A function may rely on order and on shares; what it is shown does not move with rows."""
        schema = Schema(
            {
                "first": Date("2020-01-01", "2020-12-31"),
                "last": Date("2020-01-01", "2020-12-31"),
                "job": Category(["cook", "nurse"]),
            }
        )
        seen = []

        def days(rows):
            first, last, jobs = (np.array(rows[name]) for name in ("first", "last", "job"))
            assert (first <= last).all() and set(jobs.tolist()) == {"cook"}
            seen.append(first.tolist())
            return (last - first).astype("timedelta64[D]").astype(int)

        rules = (InOrder("first", "last"), Shares("job", {"cook": 1.0}), Derived("days", days))
        for job in ("cook", "nurse"):
            table = pandas.DataFrame(
                {"first": ["2020-03-01"] * 30, "last": ["2020-04-01"] * 30, "job": job}
            )
            if kind != "pandas":
                module = pytest.importorskip({"arrow": "pyarrow"}.get(kind, kind))
                make = module.from_pandas if kind == "polars" else module.Table.from_pandas
                table = make(table)
            PrivateTable(schema, rules=rules, **SMALL).fit(table)
        assert len(seen) == 2 and seen[0] == seen[1]

    @every(
        "make, error",
        [
            (lambda: Derived("a", 3), TypeError),
            (lambda: Key(""), TypeError),
            (lambda: Shares("a", {}), ValueError),
            (lambda: Shares("a", {"x": -1}), ValueError),
        ],
    )
    def test_rules_check_themselves(self, make, error):
        with pytest.raises(error):
            make()


def test_ids_that_the_fit_was_told_by_name_may_stay_in_the_table():
    table = bank(60).assign(who=np.arange(60) // 2)
    model = PrivateTable(SCHEMA, **SMALL).fit(table, groups="who")
    assert model.score_samples(table).shape == (60,)
    assert set(model.evaluate(table, random_state=0).marginals) == set(SCHEMA.names)
    model.fit(bank(60))
    with pytest.warns(PrivacyWarning, match="does not name are not read: .'who'"):
        model.evaluate(table)


@every("named", [True, False])
def test_a_table_of_persons_is_compared_with_persons(named):
    """Half of the people have nine rows each, at other values than those of the others."""
    rng = np.random.default_rng(0)
    who = np.concatenate([np.arange(1500), np.repeat(np.arange(1500, 3000), 9)])
    x = np.where(who < 1500, rng.uniform(0.0, 0.4, len(who)), rng.uniform(0.6, 1.0, len(who)))
    rows, others = pandas.DataFrame({"x": x, "who": who}), pandas.DataFrame({"x": x[::7]})
    setting = SMALL | {"n_components": 20, "max_iter": 50, "epsilon": 10.0}
    model, ids = PrivateTable({"x": Number(0, 1)}, **setting), "who" if named else who
    model.fit(rows if named else rows[["x"]], groups=ids)
    right = model.evaluate(rows, groups=ids, held_out=others, random_state=0)
    assert right.marginals["x"] < 0.1 and "fit counted" not in right.verdict
    wrong = model.evaluate(rows[["x"]], held_out=others, random_state=0)
    assert wrong.marginals["x"] > 0.3 and "the fit counted each person once" in wrong.verdict
    if named:
        told = model.evaluate(rows, held_out=rows, random_state=0)
        assert told.marginals["x"] < 0.1 and told.closest["held out"] < 1e-3


# The report of the owner.


def test_good_rows_are_close_and_tell_nobody(fitted):
    report = fitted.evaluate(bank(1500), held_out=bank(1500, seed=9), random_state=0)
    assert set(report.marginals) == set(dict(SCHEMA.columns))
    assert max(report.marginals.values()) < 0.1 and len(report.pairs) == 15
    real, drawn = (report.learned[name]["area under the curve"] for name in ("real", "drawn"))
    assert real > 0.6 and drawn > real - 0.1
    assert abs(report.attack - 0.5) < 0.05
    assert report.closest["drawn"] > 0.5 * report.closest["held out"] > 0
    assert "NOT PRIVATE" in str(report) and repr(report) == str(report)
    words, *shares = report.histograms["age"]
    assert words[-1] == "missing" and np.allclose([sum(share) for share in shares], 1.0)


def test_rows_that_were_copied_are_found(fitted):
    """An attack that finds nothing must be one that can find something."""
    read = TableCells(SCHEMA)
    table, others = (read(bank(500, seed=seed)).astype(int) for seed in (1, 2))
    columns = fitted._columns()
    none = dict.fromkeys(columns, 0.0)
    report = report_of(columns, None, table, none, table, others, np.random.default_rng(0))
    assert report.attack > 0.95 and report.closest["drawn"] == 0.0
    assert max(report.marginals.values()) == 0.0


def test_tables_without_names_and_tables_too_short():
    rows = np.random.default_rng(0).random((60, 2))
    model = PrivateTable(Number(0, 1), n_components=2, max_iter=2).fit(rows)
    assert set(model.evaluate(rows).marginals) == {0, 1}
    with pytest.raises(ValueError, match="10 rows or more"):
        model.evaluate(rows[:3])


def test_values_that_many_have_and_that_are_hardly_drawn_are_named():
    """Rows below a limit are none of the fit, and some of the table that it is compared with."""
    schema = Schema({"x": Number(0, 60), "job": Category(["a", "b", "c"], outside="refuse")})
    n, rng = 1000, np.random.default_rng(0)
    fitted_to = pd.DataFrame({"x": 45.0, "job": rng.choice(["a", "b"], n)})
    table = fitted_to.copy()
    table.loc[:59, "x"], table.loc[:29, "job"] = rng.uniform(10.0, 40.0, 60), "c"
    table.loc[60:69, "x"] = 60.0  # too few to be named
    model = PrivateTable(schema, epsilon=20, n_components=5, random_state=0).fit(fitted_to)
    report = model.evaluate(table, random_state=0)
    ((words, real, drawn),) = report.missed["x"]
    low, high = map(float, words.split(" to "))
    assert low <= 10 and 40 <= high <= 45 and (real, drawn) == (0.06, 0.0)
    assert report.missed["job"] == [("c", 0.03, 0.0)]
    assert f"RARELY SAMPLED: x, {words}: 6.0% of the rows, 0.0% of drawn rows" in str(report)
    assert model.evaluate(fitted_to, random_state=0).missed == {}


def test_values_that_the_schema_does_not_declare_are_named():
    """They are clipped or made "other" on both sides, so distances do not see them."""
    n, rng = 1000, np.random.default_rng(0)
    x, job = rng.uniform(0.0, 10.0, n), rng.choice(["a", "b"], n).astype(object)
    x[:300], job[:50] = 99.0, "c"
    whole = np.r_[rng.integers(0, 9, n - 20), np.full(20, 12)] + 0.4  # which are rounded
    code = np.where(np.arange(n) < 100, 999.0, x.clip(0, 10))
    short = np.r_[np.full(100, np.float32(0.1)), np.linspace(0.2, 0.8, n - 100)]  # below 0.1 or not
    table = pd.DataFrame({"x": x, "job": job, "whole": whole, "code": code, "short": short})
    schema = Schema(
        {
            "x": Number(0, 10),
            "job": Category(["a", "b"]),
            "whole": Integer(0, 8),
            "code": Number(0, 10, special=(999,)),
            "short": Number(0.1, 0.8),
        }
    )
    model = PrivateTable(schema, epsilon=50, n_components=5, max_iter=5, random_state=0)
    report = model.fit(table).evaluate(table, random_state=0)
    assert report.strays == {"x": 0.3, "job": 0.05, "whole": 0.02}
    assert " within the schema, but many values are not in the schema in " in report.verdict
    for told, name, advice in (
        ("30.0%", "x", "wider public range, or special values"),
        ("5.0%", "job", "add public values to its list"),
    ):
        assert f"NOT IN THE SCHEMA: {name}: {told} of the rows" in str(report)
        assert f"advice for {name}: " in str(report) and advice in report.advice[name]


def test_a_verdict_on_a_log_range_says_what_to_change():
    """Thin tails next to an empty part of a range are lost."""
    amounts = np.exp(np.random.default_rng(0).normal(10, 1, 4000)).clip(1100, 99_000)
    found = {}
    for low, log in ((1, True), (1, False)):
        schema = Schema({"x": Number(low, 1e5, log=log)})
        model = PrivateTable(schema, epsilon=0.2, delta=1e-6, random_state=0)
        rows = pd.DataFrame({"x": amounts})
        found[log] = model.fit(rows).evaluate(rows, random_state=0)
    assert found[False].missed == found[False].advice == {}
    assert ", but frequent values are rarely sampled in x" in found[True].verdict
    assert "low nearer to the smallest value, or log=False" in found[True].advice["x"]


def test_a_verdict_says_in_words_what_the_numbers_mean(fitted):
    good = fitted.evaluate(bank(1500), held_out=bank(1500, seed=9), random_state=0)
    told = "single columns are close within the schema, but many values are not in the schema in "
    assert good.verdict.startswith(f"{told}income; models trained on drawn rows are")
    assert "does not find who" in good.verdict and f"In short: {good.verdict}" in str(good)
    far = bank(1500).assign(age=20)
    bad = fitted.evaluate(far, random_state=0)
    assert next(iter(bad.marginals)) == "age" == next(iter(bad.histograms))
    assert list(bad.marginals.values()) == sorted(bad.marginals.values(), reverse=True)
    assert "frequent values are rarely sampled in age" in bad.verdict and bad.missed["age"]


def test_numbers_are_predicted_too(fitted):
    learned = fitted.evaluate(bank(1500), predict="age", random_state=0).learned
    assert [list(scores) for scores in learned.values()] == [["R2"], ["R2"]]
    with pytest.raises(ValueError, match="predict must be one of"):
        fitted.evaluate(bank(200), predict="height")


def test_a_value_is_looked_at_by_itself():
    """One in fifty rows at a value among others, which are drawn, and it is not."""
    rng = np.random.default_rng(0)
    fitted_to = pd.DataFrame({"x": rng.uniform(0.0, 100.0, 5000)})
    table = fitted_to.copy()
    table.loc[:99, "x"] = 7.0
    spiked = Schema({"x": Number(0, 100, special=(7,))})
    model = PrivateTable(spiked, epsilon=20, n_components=5, random_state=0).fit(fitted_to)
    ((words, real, drawn),) = model.evaluate(table, random_state=0).missed["x"]
    assert (words, real) == ("7", 0.02) and drawn < 0.005


# No type, list of categories, missing value or order of a table reaches a release by itself.


polars = pytest.importorskip("polars")
arrow = pytest.importorskip("pyarrow")


# By library: a table, a column of a type, types of columns without values, a list of categories.


# Columns that a schema does not name are left out of fits and reports, with one line.


TWO = Schema({"age": Integer(0, 99), "income": Number(0, 1)})
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
            table = PrivateTable(TWO, max_iter=1).fit(rows, groups="id")
        assert len(lines(heard)) == 1 and list(table.feature_names_in_) == ["age", "income"]
    with pytest.warns(match=TOLD) as heard:
        report = table.evaluate(ROWS)
    assert len(lines(heard)) == 1 and "note" not in str(report)
