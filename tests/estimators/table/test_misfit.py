"""A schema that does not fit the table is told by the release."""

import re
import warnings

import numpy as np
import pytest

from skdp_bary import BudgetAccountant, PrivateTable
from skdp_bary.schema import Boolean, Category, Date, Integer, Number, Schema
from tests.cases import every

SCHEMA = Schema({"age": Integer(0, 9), "job": Category(["cook", "nurse"])})
pandas = pytest.importorskip("pandas")


def fit(job, n_rows, accountant=None):
    rows = pandas.DataFrame({"age": np.arange(n_rows) % 10, "job": job})
    small = {"epsilon": 2.0, "n_components": 2, "max_iter": 1}
    return PrivateTable(SCHEMA, accountant=accountant, **small).fit(rows)


@every(
    "kind, usual, odd, share, words",
    [
        (Category(["cook", "nurse"]), "cook", "COOK", 1.0, "100% of 'job' are 'other'"),
        (Category(["cook", "nurse"]), "cook", "cook ", 0.1, "10% of 'job' are 'other'.* case, bl"),
        (Category(["cook", "nurse"]), "cook", "COOK", 0.02, ""),
        (
            Number(0, 10),
            5.0,
            50.0,
            0.1,
            r"are 10 in .* codes as special=\(99,\), or special=\(10,\) if",
        ),
        (Integer(-99, 99), 5, -999, 0.1, "of 'job' are -99 in the release, an end of the range"),
        (Date("2020-01-01", "2024-12-31"), "2022-03-04", "1900-01-01", 0.1, "are 2020-01-01 in"),
        (Number(0, 10, special=(10,)), 5.0, 50.0, 0.1, ""),
        (Number(0, 10), 5.0, 0.0, 0.5, ""),
        (Integer(1, 5), 3, 5, 0.5, ""),
    ],
)
def test_values_that_the_schema_does_not_declare_are_told(kind, usual, odd, share, words):
    """Others and clipped values of a tenth of the rows went unsaid; it is read off the release."""
    budget = BudgetAccountant(3.0, 1e-6)
    job = np.where(np.arange(4000) < share * 4000, np.array(odd, object), usual)
    model = PrivateTable(
        Schema({"job": kind}), epsilon=3.0, n_components=2, max_iter=1, accountant=budget,
        random_state=0,
    )  # fmt: skip
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(pandas.DataFrame({"job": job}))
    told = [str(warning.message) for warning in caught if "seeded" not in str(warning.message)]
    assert len(told) == bool(words) and all(re.search(words, text) for text in told), told
    assert len(budget.entries) == 1


def test_no_more_rows_than_noise_are_told():
    """By the release alone, which says nothing about others: n_hint is not known."""
    budget = BudgetAccountant(2.0, 1e-6)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit("COOK", 5, budget)
    (text,) = [str(told.message) for told in caught]
    assert "by a noisy count" in text and "total_ is raised" in text
    assert len(budget.entries) == 1


@every(
    "kind, told",
    [
        (Number(0, 1e7), True),
        (Number(0.1, 1e3), True),
        (Integer(0, 10**6), True),
        (Integer(0, 120), False),
        (Number(0, 1), False),
        (Number(-1e6, 1e6), False),
        (Number(1, 1e7, log=True), False),
        (Integer(0, 10**6, log=True), False),
        (Number(1900, 2030), False),
    ],
)
def test_quotes_name_ranges_that_want_growing_cells(kind, told):
    likes = {
        "a": Integer(1, 5, outside="refuse"),
        "b": Integer(1, 5),
        "c": Integer(1, 5, special=[9]),
    }
    model = PrivateTable(Schema({"age": Integer(0, 99), "income": kind} | likes))
    advice = BudgetAccountant(1.0, 1e-6).quote(model).advice
    assert ("even cells: income." in advice) == told
    assert "Short scales: b. Codes outside" in advice  # clipped ones look like answers


@every(
    "n_rows, epsilon, told",
    [(1000, 1.0, True), (1000, 15.0, False), (50_000, 1.0, False), (None, 0.1, False)],
)
def test_quotes_say_what_a_table_of_few_rows_can_keep(n_rows, epsilon, told):
    kinds = {"y": Category(["a", "b"]), "age": Number(0, 1), "job": Category(["c", "d"])}
    model = PrivateTable(Schema(kinds), "y", epsilon=epsilon, n_hint=n_rows)
    advice = BudgetAccountant(20.0, 1e-5).quote(model).advice
    assert ("would be enough" in advice) == told == ("classes below" in advice)


@every("kind, told", [(Number(0, 1), True), (Number(0, 1, resolution=0.02), False)])
def test_quotes_say_which_tails_can_be_lost(kind, told):
    """A tenth of the rows of wide ranges went to the middle, and only a report said so."""
    kinds = {"income": kind, "y": Boolean()} | {f"x{i}": Integer(0, 99) for i in range(4)}
    advice = BudgetAccountant(1.0, 1e-5).quote(PrivateTable(Schema(kinds), "y", n_hint=6000)).advice
    assert ("the rest of income, up to 1" in advice) == told == ("would be enough" in advice)


def test_what_a_quote_proposes_is_enough():
    """The epsilon and the number of columns that it names, and not the ones before."""
    kinds = {"y": Category(["a", "b"])} | {f"x{i}": Integer(0, 150) for i in range(9)}
    budget = BudgetAccountant(50.0, 1e-5)

    def advice(n_columns, epsilon):
        schema = Schema(dict(list(kinds.items())[:n_columns]))
        return budget.quote(PrivateTable(schema, "y", epsilon=epsilon, n_hint=4000)).advice

    epsilon, n_columns = re.search(
        r"epsilon=([\d.]+) or (\d+) columns would", advice(10, 1.0)
    ).groups()
    assert advice(10, 1.05 * float(epsilon)) == "" == advice(int(n_columns), 1.0)
    assert "would be enough" in advice(10, 0.75 * float(epsilon))
    assert "would be enough" in advice(int(n_columns) + 1, 1.0)
