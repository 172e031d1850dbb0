"""The report of the owner."""

import numpy as np
import pandas as pd
import pytest

from skdp_bary import PrivateTable
from skdp_bary.schema import Category, Number, Schema

from .test_estimator import SCHEMA, bank

pytestmark = pytest.mark.filterwarnings("ignore::skdp_bary.exceptions.PrivacyWarning")


@pytest.fixture(scope="module")
def fitted():
    model = PrivateTable(SCHEMA, "member", epsilon=20.0, n_components=20, max_iter=60)
    return model.fit(bank(1500))


def test_good_rows_are_close_and_tell_nobody(fitted, tmp_path):
    report = fitted.evaluate(bank(1500), held_out=bank(1500, seed=9), random_state=0)
    assert set(report.marginals) == set(dict(SCHEMA.columns))
    assert max(report.marginals.values()) < 0.1 and len(report.pairs) == 15
    real, drawn = (report.learned[name]["area under the curve"] for name in ("real", "drawn"))
    assert real > 0.6 and drawn > real - 0.1
    assert abs(report.attack - 0.5) < 0.05
    assert report.closest["drawn"] > 0.5 * report.closest["held out"] > 0
    assert "NOT PRIVATE" in str(report)
    report.to_html(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "NOT PRIVATE" in page and page.count("data:image/png") == 2


def test_rows_that_were_copied_are_found(fitted):
    """An attack that finds nothing must be one that can find something."""
    from tests.world import TableCells, report_of

    read = TableCells(SCHEMA)
    table, others = (read(bank(500, seed=seed)).astype(int) for seed in (1, 2))
    columns = fitted._columns()
    report = report_of(columns, None, table, table, others, np.random.default_rng(0))
    assert report.attack > 0.95 and report.closest["drawn"] == 0.0
    assert max(report.marginals.values()) == 0.0


def test_tables_without_names_and_tables_too_short():
    rows = np.random.default_rng(0).random((60, 2))
    model = PrivateTable(Number(0, 1), n_components=2, max_iter=2).fit(rows)
    assert set(model.evaluate(rows).marginals) == {0, 1}
    with pytest.raises(ValueError, match="at least 10 rows"):
        model.evaluate(rows[:3])


def test_a_frame_of_the_report_holds_all_bins(fitted):
    words, real, drawn = fitted.evaluate(bank(200)).histograms["age"]
    assert words[-1] == "missing" and np.isclose(real.sum(), 1.0) and np.isclose(drawn.sum(), 1.0)


def test_bins_of_a_report_are_named_from_end_to_end():
    rows = np.random.default_rng(0).uniform(0.0, 400.0, size=(50, 1))
    model = PrivateTable(Schema([Number(0, 400)]), epsilon=9.0, max_iter=2, n_components=2)
    words = model.fit(rows).evaluate(rows).histograms[0][0]
    assert words[0] == "0" and words[-1] == "400"  # ends are compared exactly
    assert words[1].startswith("0 to ") and words[-2].endswith(" to 400")
    ends = [[float(end) for end in word.split(" to ")] for word in words[1:-1]]
    assert all(before[1] == after[0] for before, after in zip(ends, ends[1:], strict=False))


def test_values_that_many_have_and_that_are_hardly_drawn_are_named(tmp_path):
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
    assert f"HARDLY DRAWN: x, {words}: 6.0% of the rows, 0.0% of drawn rows" in str(report)
    report.to_html(tmp_path / "report.html")
    assert "column job: c is hardly drawn" in (tmp_path / "report.html").read_text()
    assert model.evaluate(fitted_to, random_state=0).missed == {}


def test_a_verdict_says_in_words_what_the_numbers_mean(fitted):
    good = fitted.evaluate(bank(1500), held_out=bank(1500, seed=9), random_state=0)
    assert good.verdict.startswith("single columns are close; models trained on drawn rows are")
    assert "does not find who" in good.verdict and f"In short: {good.verdict}" in str(good)
    far = bank(1500).assign(age=20)
    bad = fitted.evaluate(far, random_state=0)
    assert next(iter(bad.marginals)) == "age" == next(iter(bad.histograms))
    assert list(bad.marginals.values()) == sorted(bad.marginals.values(), reverse=True)
    assert "frequent values are hardly drawn in age" in bad.verdict and bad.missed["age"]


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


def test_distances_are_of_bins_with_as_many_rows():
    """All rows in one even bin out of twenty: half of them moved is a distance of a half."""
    low = pd.DataFrame({"x": np.random.default_rng(0).uniform(0.0, 4.0, 4000)})
    model = PrivateTable(Schema({"x": Number(0, 100)}), epsilon=50, random_state=0).fit(low)
    assert model.evaluate(low, random_state=0).marginals["x"] < 0.1
    moved = pd.DataFrame({"x": np.where(low["x"] < 2.0, low["x"] + 2.0, low["x"])})
    assert model.evaluate(moved, random_state=0).marginals["x"] > 0.35
