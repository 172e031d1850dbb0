"""Replay: what it accepts, and what it calls a violation."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from skdp_bary import BudgetAccountant, DomainScaler, PrivateMeasure, PrivateWassersteinBarycenter
from skdp_bary.base import CellTree
from skdp_bary.inspection import replay_sensitivity
from skdp_bary.model_selection import PrivateSearchCV
from tests.cases import every
from tests.world import LevelCounts

X = np.random.default_rng(0).random((50, 2))
X[-5:] = 0.7  # equal rows, whose effects on an answer add up


def measure(**params):
    return PrivateMeasure(**{"bounds": (0, 1), "depth": 3, "n_hint": 50} | params)


@every("delta", [0.0, 1e-6])
def test_one_row_uses_all_of_the_allowed_loss(delta):
    report = replay_sensitivity(measure(delta=delta), X, X[:-1])
    (step,) = report.steps
    assert report.holds and report.violations == ()
    assert step.name == "tree"
    assert 1 - 1e-9 < step.ratio <= 1
    assert report.tightness == step.ratio
    assert step.l1 == step.l2_squared == (1, 1, 1, 1)
    if delta == 0:
        assert step.allowed == 1.0
    else:
        assert step.allowed == pytest.approx(step.mechanism.mu**2)


def test_the_relation_of_the_accountant_is_kept_and_its_budget_is_not_touched():
    accountant = BudgetAccountant(1.0, neighbors="replace_one")
    accountant.spend(1.0)
    estimator = measure(accountant=accountant, n_hint=None)
    other = X.copy()
    other[0] = 1.0 - X[0]
    report = replay_sensitivity(estimator, X, other)
    assert report.holds
    assert report.steps[0].l1[0] == 0  # the total is public
    assert len(accountant.entries) == 1
    assert not hasattr(estimator, "privacy_")
    assert estimator.accountant is accountant


def test_pipelines_are_replayed_as_a_whole():
    accountant = BudgetAccountant(1.0)
    pipeline = make_pipeline(DomainScaler(bounds=(0, 1)), measure(accountant=accountant))
    assert replay_sensitivity(pipeline, X, X[1:]).tightness == pytest.approx(1.0)
    assert accountant.entries == ()


def test_a_fit_that_fails_on_one_of_two_neighbors_is_a_violation():
    report = replay_sensitivity(measure(), X, np.r_[X, [[np.nan, 0.0]]])
    assert not report.holds
    assert "failed: ValueError: Input X contains NaN" in report.violations[0]


def test_a_class_without_rows_asks_the_same_of_the_same_rows():
    """Its center is NaN in a question, which is not equal to itself."""
    rows, y = np.random.default_rng(0).random((200, 5)), np.arange(200) % 2
    clusters = PrivateWassersteinBarycenter(
        1,
        epsilon=10.0,
        method="clusters",
        classes=[0, 1, 2],
        bounds=(0, 1),
        n_hint=200,
        neighbors="replace_one",
    )
    same = {"X": rows, "y": y}
    assert replay_sensitivity(clusters, same, same).violations == ()


def test_a_search_is_refused_since_two_of_them_try_other_candidates():
    search = PrivateSearchCV(measure(), {"depth": [2, 3]})
    for refused in (search, make_pipeline(DomainScaler((0, 1)), search)):
        with pytest.raises(TypeError, match="estimator must .*search.estimator"):
            replay_sensitivity(refused, X, X)


def test_a_fit_that_fails_on_the_first_data_raises():
    with pytest.raises(ValueError, match="NaN"):
        replay_sensitivity(measure(), np.full((3, 2), np.nan), X)


@every("name", ["y", "groups", "sample_weight"])
def test_arguments_come_in_pairs(name):
    with pytest.raises(ValueError, match=r"must hold the same arguments of fit, got \['X', "):
        replay_sensitivity(measure(), {"X": X, name: np.zeros(50)}, X)


class MoreStepsForMoreRows(PrivateMeasure):
    """Plans as many releases as there are rows beyond 48."""

    def _questions(self, facts):
        tree = CellTree(facts.domain, self.depth)
        for name in self._shares(facts.n_features):
            yield name, LevelCounts(tree, 1, facts.units, facts.total_public)

    def _finish(self, facts, result):
        pass

    def _open(self, names, X, y, groups, sample_weight):
        self._extra = len(X) - 48
        return super()._open(names, X, y, groups, sample_weight)

    def _shares(self, n_features):
        return {"tree": 1.0} | {f"extra {i}": 1.0 for i in range(getattr(self, "_extra", 0))}


class RenamedSteps(MoreStepsForMoreRows):
    def _shares(self, n_features):
        return {"tree": 1.0, f"extra {getattr(self, '_extra', 0)}": 1.0}


@every(
    "cls, found",
    [
        (MoreStepsForMoreRows, "on one data set and"),
        (RenamedSteps, "the sequence of releases depends on the rows"),
    ],
)
def test_violations_are_reported_and_not_raised(cls, found):
    data, estimator = np.full((50, 2), 0.1), cls(bounds=(0, 1), depth=2, n_hint=50)
    report = replay_sensitivity(estimator, data, np.r_[data, [[0.9, 0.9]]])
    assert not report.holds
    assert found in " ".join(report.violations)


def test_the_report_is_a_table():
    text = str(replay_sensitivity(measure(), X, X[:-2]))
    assert text.splitlines()[0].split() == ["release", "allowed", "realized", "ratio"]
    assert text.splitlines()[1].split() == ["tree", "1", "2", "2"]
    assert text.splitlines()[2].startswith("violation: tree: ")
