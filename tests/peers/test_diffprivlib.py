"""One budget for a pipeline of this package's estimators and diffprivlib's models."""

import copy
import pickle
import sys
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from skdp_bary import (
    BudgetAccountant,
    DomainScaler,
    PrivateKMeans,
    PrivateMeasure,
    RowByRow,
    check_private,
)
from skdp_bary.exceptions import (
    BudgetError,
    LeakError,
    PrivacyWarning,
    ReadOnlyLedgerError,
    RelationError,
)
from skdp_bary.privacy import SpendingPolicy

diffprivlib = pytest.importorskip(
    "diffprivlib", reason='diffprivlib is not installed: "make test-peers" runs this file'
)
pytestmark = [
    pytest.mark.peers,
    pytest.mark.filterwarnings("ignore::diffprivlib.utils.DiffprivlibCompatibilityWarning"),
]

RAW_BOUNDS = ([0.0, -5.0], [10.0, 5.0])
UNIT = (np.zeros(2), np.ones(2))


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, size=600)
    X = rng.normal([[3.0, -1.0], [7.0, 1.0]], 1.0, size=(600, 2, 2))[np.arange(600), y]
    return X, y


@pytest.fixture
def budget():
    return BudgetAccountant(epsilon=3.0, neighbors="replace_one")


@pytest.fixture
def shared(budget):
    from skdp_bary.interop import DiffprivlibAccountant

    return DiffprivlibAccountant(budget)


def standard_scaler(accountant, epsilon=0.5):
    return diffprivlib.models.StandardScaler(epsilon=epsilon, bounds=UNIT, accountant=accountant)


def naive_bayes(accountant, epsilon=1.0, bounds=((-3, -3), (3, 3))):
    bounds = tuple(np.array(side, dtype=float) for side in bounds)
    return diffprivlib.models.GaussianNB(epsilon=epsilon, bounds=bounds, accountant=accountant)


def test_a_part_of_private_size_is_refused():
    from skdp_bary.interop import DiffprivlibAccountant

    budget = BudgetAccountant(epsilon=3.0, neighbors="replace_any")
    with pytest.raises(RelationError, match="the size of a part is not"):
        DiffprivlibAccountant(budget.part("north"))
    with pytest.raises(RelationError, match="the size of a part is not"):
        DiffprivlibAccountant(budget.under(SpendingPolicy(1.0)).part("north"))
    DiffprivlibAccountant(budget)
    budget = BudgetAccountant(1.0, neighbors="replace_one")
    DiffprivlibAccountant(budget.part("north", disjoint="by hospital"))
    with pytest.raises(LeakError, match="disjoint="):
        DiffprivlibAccountant(budget.part("north"))


def test_private_clusters_behind_a_private_projection(rows, budget, shared):
    """diffprivlib buys the projection, this package the clusters, one budget pays for both."""
    X, y = rows
    project = diffprivlib.models.PCA(
        1, epsilon=1.0, centered=True, data_norm=1.0, accountant=shared, whiten=False
    )
    pipeline = make_pipeline(
        DomainScaler(bounds=RAW_BOUNDS, target="ball"),
        RowByRow(project),  # a product of all rows rounds each of them otherwise beside others
        PrivateKMeans(2, epsilon=2.0, bounds=(-1.0, 1.0), n_hint=600, accountant=budget),
    )
    together = check_private(make_pipeline(pipeline[0], project, pipeline[-1]))
    assert together.steps[-1].verdict == "unknown" and "RowByRow" in together.steps[-1].advice
    report = check_private(pipeline, strict=True)
    assert [step.verdict for step in report.steps] == ["public", "private", "private"]
    found = pipeline.fit(X).predict(X)
    assert budget.total() == (3.0, 0.0)
    assert [entry.who for entry in budget.entries] == ["PCA._fit_full", "PrivateKMeans"]
    assert max((found == y).mean(), (found != y).mean()) > 0.8
    with pytest.raises(BudgetError):
        pipeline.fit(X)
    assert len(budget.entries) == 2


def test_the_unit_is_a_row_unless_somebody_says_otherwise():
    from skdp_bary.interop import DiffprivlibAccountant

    budget = BudgetAccountant(1.0, neighbors="replace_one", unit="patient_id")
    with pytest.raises(RelationError, match="unit must be 'patient_id'"):
        DiffprivlibAccountant(budget).check(0.1, 0.0)
    DiffprivlibAccountant(budget, unit="patient_id").check(0.1, 0.0)
    assert [entry.unit for entry in budget.entries] == ["patient_id"]


def test_a_pipeline_spends_from_one_budget(rows, budget, shared):
    X, y = rows
    pipeline = make_pipeline(
        DomainScaler(bounds=RAW_BOUNDS),
        standard_scaler(shared, 0.5),
        diffprivlib.models.PCA(
            2, epsilon=0.25, centered=True, data_norm=5.0, accountant=shared, whiten=False
        ),
        naive_bayes(shared, 1.0),
    )
    PrivateMeasure(epsilon=0.75, bounds=RAW_BOUNDS, accountant=budget).fit(X)
    pipeline.fit(X, y)
    assert budget.total() == (2.5, 0.0)
    assert [entry.who for entry in budget.entries] == [
        "PrivateMeasure",
        "StandardScaler.partial_fit",
        "PCA._fit_full",
        "GaussianNB._partial_fit",
    ]
    assert set(pipeline.predict(X)) <= {0, 1}
    assert len(shared) == 4 and tuple(shared.total()) == (2.5, 0.0)
    assert tuple(shared.remaining()) == (0.5, 0.0)


def test_kmeans_and_tools_spend_too(rows, budget, shared):
    X, _ = rows
    scaled = DomainScaler(bounds=RAW_BOUNDS).fit_transform(X)
    model = diffprivlib.models.KMeans(2, epsilon=1.0, bounds=UNIT, accountant=shared).fit(scaled)
    assert model.cluster_centers_.shape == (2, 2)
    diffprivlib.tools.mean(scaled[:, 0], epsilon=0.5, bounds=(0, 1), accountant=shared)
    assert budget.total() == (1.5, 0.0)


def test_a_refused_model_releases_and_charges_nothing(rows, budget, shared):
    X, _ = rows
    budget.spend(2.8, who="earlier")
    model = standard_scaler(shared, 0.5)
    with pytest.raises(BudgetError, match=r"StandardScaler\.partial_fit asks for epsilon=0\.5"):
        model.fit(X / 10)
    assert not hasattr(model, "mean_") or model.mean_ is None
    assert budget.total() == (2.8, 0.0)


def test_a_grid_search_spends_every_fit(rows, shared, budget):
    X, y = rows
    pipeline = make_pipeline(DomainScaler(bounds=RAW_BOUNDS), naive_bayes(shared, 0.1, UNIT))
    search = GridSearchCV(pipeline, {"gaussiannb__epsilon": [0.1, 0.2]}, cv=3, error_score="raise")
    search.fit(X, y)
    best = search.best_params_["gaussiannb__epsilon"]
    assert budget.total()[0] == pytest.approx(3 * 0.1 + 3 * 0.2 + best, abs=1e-12)
    assert len(budget.entries) == 7


def test_the_default_of_diffprivlib_can_be_ours(rows, shared, budget):
    X, _ = rows
    with shared:
        standard_scaler(None, 0.5).fit(X / 10)
    shared.set_default()
    try:
        assert diffprivlib.BudgetAccountant.load_default(None) is shared
        standard_scaler(None, 0.5).fit(X / 10)
    finally:
        diffprivlib.BudgetAccountant.pop_default()
    assert budget.total() == (1.0, 0.0)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda a: a])
def test_copies_keep_the_budget(shared, copied):
    assert copied(shared) is shared


def test_clone_keeps_ours_and_loses_theirs(rows, shared, budget):
    X, _ = rows
    theirs = diffprivlib.BudgetAccountant(epsilon=3.0, delta=0)
    for _ in range(3):
        clone(standard_scaler(theirs, 1.0)).fit(X / 10)
        clone(standard_scaler(shared, 1.0)).fit(X / 10)
    assert theirs.total()[0] == 0.0  # three releases that their accountant never heard of
    assert budget.total()[0] == 3.0
    clone(standard_scaler(theirs, 1.0)).fit(X / 10)
    with pytest.raises(BudgetError):
        clone(standard_scaler(shared, 1.0)).fit(X / 10)


def test_a_pickled_copy_refuses_and_a_ledger_file_does_not(rows, shared, tmp_path):
    from skdp_bary.interop import DiffprivlibAccountant

    X, _ = rows
    with pytest.raises(ReadOnlyLedgerError):
        standard_scaler(pickle.loads(pickle.dumps(shared)), 0.5).fit(X / 10)
    kept = BudgetAccountant(1.0, neighbors="replace_one", ledger=tmp_path / "budget.db")
    again = pickle.loads(pickle.dumps(DiffprivlibAccountant(kept)))
    standard_scaler(again, 0.5).fit(X / 10)
    assert kept.total() == (0.5, 0.0)


def test_the_charge_comes_before_the_noise(rows, shared, budget, monkeypatch):
    """A fit that fails after the check stays charged, and the next one pays for itself."""
    X, _ = rows

    def fail(*args, **kwargs):
        raise RuntimeError("out of memory")

    module = sys.modules["diffprivlib.models.standard_scaler"]
    with monkeypatch.context() as patch:
        patch.setattr(module, "_incremental_mean_and_var", fail)
        with pytest.raises(RuntimeError, match="out of memory"):
            standard_scaler(shared, 0.5).fit(X / 10)
    assert budget.total() == (0.5, 0.0)
    standard_scaler(shared, 0.5).fit(X / 10)
    assert budget.total() == (1.0, 0.0)


def test_what_another_function_reserved_is_not_spent_twice(shared, budget):
    def ask():
        shared.check(0.5, 0)

    def take():
        shared.spend(0.5, 0)

    ask()
    take()
    assert budget.total() == (1.0, 0.0)


def test_a_refusal_forgets_what_was_reserved(shared, budget):
    def insist():
        shared.check(2.0, 0)
        with pytest.raises(BudgetError):
            shared.check(2.0, 0)
        shared.spend(2.0, 0)

    with pytest.raises(BudgetError):
        insist()
    assert budget.total() == (2.0, 0.0)


@pytest.mark.parametrize("k", [1, 3, 7])
def test_remaining_can_be_spent_k_times(shared, k):
    epsilon, delta = shared.remaining(k)
    for _ in range(k):
        shared.spend(epsilon, delta)
    assert shared.remaining()[0] < 1e-5


def test_a_budget_that_protects_sizes_warns():
    from skdp_bary.interop import DiffprivlibAccountant

    with pytest.warns(PrivacyWarning, match="number of rows"):
        DiffprivlibAccountant(BudgetAccountant(1.0))


def test_bad_arguments_are_named(shared):
    from skdp_bary.interop import DiffprivlibAccountant

    with pytest.raises(TypeError, match="accountant must be a BudgetAccountant"):
        DiffprivlibAccountant(diffprivlib.BudgetAccountant(1.0, 0))
    with pytest.raises(ValueError, match="spent_budget and slack must be None"):
        shared.total(slack=0.1)
    with pytest.raises(ValueError, match="k must be an integer"):
        shared.remaining(0)


def test_diffprivlib_warns_of_nothing_new(rows, shared):
    X, _ = rows
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        standard_scaler(shared, 0.5).fit(X / 10)
