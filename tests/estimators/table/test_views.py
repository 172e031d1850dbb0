"""What is asked of a fitted table: rows under conditions and rules, counts, probabilities."""

from pathlib import Path

import numpy as np
import pytest

from skdp_bary import BudgetAccountant, PrivateTable
from skdp_bary.exceptions import PrivacyWarning
from skdp_bary.schema import Boolean, Category, Date, Derived, InOrder, Key, Number, Schema, Shares
from tests.cases import every

from .test_estimator import SCHEMA, SMALL, bank, pandas, released

pytestmark = pytest.mark.filterwarnings("ignore::skdp_bary.exceptions.PrivacyWarning")


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

    def test_missing_and_what_nobody_has(self, fitted):
        assert fitted.sample(20, given={"age": None})["age"].isna().all()
        assert (fitted.sample(20, given={"job": "pilot"})["job"] == "pilot").all()

    def test_ends_of_ranges_may_be_open(self, fitted):
        assert (fitted.sample(50, given={"age": (None, 40)})["age"] <= 40).all()
        late = fitted.sample(50, given={"since": ("2019-01-01", None)})["since"]
        assert (late >= "2019-01-01").all()
        assert fitted.sample(50, given={"age": (None, None)})["age"].notna().all()
        assert (fitted.sample(20, given={"age": (40, 1000)})["age"] >= 40).all()

    def test_what_is_given_moves_the_others(self, fitted):
        rich, poor = (fitted.sample(2000, given={"member": m})["income"].mean() for m in (1, 0))
        assert rich > 1.7 * poor
        assert fitted.sample(2000, given={"income": (60000, 1e5)})["member"].mean() > 0.7

    @every("given", [
        {"nobody": 1}, {"member": None}, {"job": "spy"}, {"age": (40, 30)}, {"age": "old"},
        {"age": [30, 40]}, {"age": 1000}, {"age": (-20, -10)},
        {"since": ("1900-01-01", "1900-12-31")}, 3,
    ])  # fmt: skip
    def test_what_cannot_be_given(self, fitted, given):
        with pytest.raises(ValueError, match="given"):
            fitted.sample(3, given=given)


class TestQuery:
    def test_counts_lie_in_their_intervals(self):
        model = PrivateTable(SCHEMA, epsilon=0.05, n_components=2, max_iter=1).fit(bank(20))
        for column in model.feature_names_in_:
            answer = model.query(column)
            assert (answer.low <= answer.counts).all() and (answer.counts <= answer.high).all()

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
    def test_rows_of_the_table_are_more_probable_than_others(self, fitted):
        table = bank(300, seed=5)
        odd = table.assign(income=90_000.0)
        assert fitted.score_samples(table).mean() > fitted.score_samples(odd).mean() + 1

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

    def test_a_single_row_in_order_is_found_where_few_are(self):
        first = np.random.default_rng(0).uniform(0.5, 1.0, 2000)
        last = np.where(np.arange(2000) % 20, 1.0 - first, 1.0)
        table = pandas.DataFrame({"first": first, "last": last})
        schema = Schema({name: Number(0.0, 1.0) for name in table})
        model = PrivateTable(schema, rules=[InOrder("first", "last")], **SMALL).fit(table)
        assert all(len(model.sample(1, random_state=seed)) == 1 for seed in range(40))

    def test_columns_of_rules_are_not_measured(self):
        rules = (Key("id"), Derived("twice", lambda rows: rows["income"] * 2))
        other = bank(60).assign(id=range(60), twice="anything")
        assert released(bank(60)) == released(other, rules=rules)

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
