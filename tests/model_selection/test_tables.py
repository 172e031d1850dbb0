"""Tables are scored by the rows that would have to move, in a search and on a curve."""

import numpy as np
import pandas as pd
import pytest

from skdp_bary import BudgetAccountant, PrivateTable
from skdp_bary.model_selection import PrivateSearchCV
from skdp_bary.schema import Boolean, Category, Integer, Number, Schema
from tests.cases import every
from tests.world import Candidates, TableMisfit

SCHEMA = Schema(
    {
        "age": Integer(18, 99),
        "job": Category(["cook", "nurse"]),
        "member": Boolean(),
        "income": Number(0, 1e5, missing=True),
    }
)
GRID = {"epsilon": [1e-3, 1.0]}


def table(n=600):
    rng = np.random.default_rng(0)
    age = rng.integers(18, 90, n)
    return pd.DataFrame(
        {
            "age": age,
            "job": np.where(age > 60, "cook", "nurse"),
            "member": rng.random(n) < age / 100,
            "income": np.where(rng.random(n) < 0.2, np.nan, 1000.0 * age),
        }
    )


def search(schema=SCHEMA, label="member", **settings):
    model = PrivateTable(schema, label=label, n_components=10, max_iter=30)
    laws = {"epsilon": 8.0, "mean_trials": 8, "trials": "geometric"} | settings
    return PrivateSearchCV(model, laws.pop("grid", GRID), **laws)


@every("delta", [0.0, 1e-6])
def test_the_table_with_less_noise_is_chosen(delta):
    for _ in range(6):  # a search may hold trials of the worse candidate alone
        budget = BudgetAccountant(8.0, delta)
        found = search(delta=delta, accountant=budget).fit(table())
        if found.best_params_ == {"epsilon": 1.0}:
            break
    assert found.best_params_ == {"epsilon": 1.0}
    assert -300 < found.best_score_ < 20
    assert f"deviation {found.best_score_stderr_:.3g}:" in budget.quote(found, 4).advice
    assert [entry.epsilon for entry in budget.entries] == [8.0]
    assert found.best_estimator_.sample(3).columns.tolist() == list(SCHEMA.names)


@pytest.mark.parametrize(("relation", "rows"), [("add_remove", 0.5), ("replace_one", 1.0)])
def test_the_noise_of_a_score_is_that_of_one_person(relation, rows, seen):
    """Who joins is half a row in the wrong place, and who is replaced a whole one."""
    found = search(delta=1e-6, grid={"max_iter": [1]}, mean_trials=2)
    found.set_params(estimator__neighbors=relation).fit(table(60), groups=np.arange(60) // 2)
    scores = [each for each in seen if isinstance(each.query, TableMisfit)]
    mu = Candidates(found).trial.score_mechanism.mu
    for released in scores:
        sd = released.noise_sd[0] / (2 * 6 * released.query.units)
        assert sd == pytest.approx(found.best_score_stderr_, rel=0.02)  # rounded to rows
        assert sd == pytest.approx(rows / mu, rel=0.05)
    assert scores


@every("label", [None, "job"])
def test_rows_that_would_move_are_counted(label):
    """Beside the tables of a large sample, in bins of one or several cells, and a label's class."""
    model = PrivateTable(SCHEMA, label, epsilon=50.0, n_components=20, max_iter=50)
    model.fit(table())
    judge, drawn = model._judge(4), model.mixture_.draw(200_000, np.random.default_rng(0))
    query, start = judge.query(3, model.mixture_, 60_000.0), 0
    for i, j in judge.pairs:
        first, second = (judge.bins[place][drawn[:, place]] for place in (i, j))
        size = judge.bins[j].max() + 1
        counts = np.bincount(first * size + second, minlength=(judge.bins[i].max() + 1) * size)
        own = query.expected[start : start + len(counts)]
        np.testing.assert_allclose(own / 180_000, counts / len(drawn), atol=0.01)
        start += len(counts)
    assert start == len(query.expected)
    assert judge.rows_apart(query, np.abs(query.expected).sum()) == pytest.approx(30_000, abs=300)
