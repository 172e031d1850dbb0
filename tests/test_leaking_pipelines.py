"""Pipelines that fit a step to private rows without noise say so when they are fitted."""

import warnings

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, Normalizer, StandardScaler

from skdp_bary import (
    BudgetAccountant,
    DomainScaler,
    PrivateKMeans,
    PrivateMeasure,
    PrivateStandardScaler,
    RowByRow,
    check_private,
)
from skdp_bary.exceptions import PrivacyWarning, RelationError
from skdp_bary.model_selection import PrivateSearchCV

X = np.random.default_rng(0).random((60, 2))


def measure(**settings):
    return PrivateMeasure(bounds=(0, 1), depth=2, n_hint=60, **settings)


def kmeans(**settings):
    settings = settings or {"accountant": BudgetAccountant(epsilon=100.0)}
    return PrivateKMeans(2, n_init=1, bounds=(0, 1), n_hint=60, **settings)


def heard(call, file=__file__):
    """Return what is said of leaking steps while something runs; it points to who called."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    found = [w for w in caught if "without noise" in str(w.message)]
    assert all((w.category, w.filename) == (PrivacyWarning, file) for w in found)
    return [str(warning.message) for warning in found]


def search():
    return PrivateSearchCV(kmeans(random_state=0), {"n_init": [1, 2]}, epsilon=50.0, random_state=0)


SCALED = make_pipeline(StandardScaler(), PCA(2))
LEAKING = {
    "scaled and projected": (make_pipeline(StandardScaler(), PCA(2), kmeans()), 2),
    "a pipeline in a pipeline": (make_pipeline(StandardScaler(), make_pipeline(kmeans())), 1),
    "steps of both": (make_pipeline(StandardScaler(), make_pipeline(PCA(2), kmeans())), 2),
    "steps in a pipeline before": (make_pipeline(SCALED, kmeans()), 2),
    "one column of a table": (
        make_pipeline(ColumnTransformer([("a", MinMaxScaler(), [0, 1])]), kmeans()), 1,
    ),
    "a branch of a union": (
        make_pipeline(PCA(2), FeatureUnion([("private", kmeans()), ("public", Normalizer())])), 1,
    ),
    "a private step in the middle": (
        make_pipeline(StandardScaler(), RowByRow(kmeans()), StandardScaler()), 1,
    ),
    "a private search": (make_pipeline(StandardScaler(), search()), 1),
}  # fmt: skip
SILENT = {
    "alone": kmeans(),
    "behind public bounds": make_pipeline(DomainScaler((0, 1)), kmeans()),
    "behind what was fitted to public rows": make_pipeline(
        RowByRow(StandardScaler(), np.zeros((3, 2))), kmeans()
    ),
    "behind frozen steps": make_pipeline(FrozenEstimator(StandardScaler().fit(X[:3])), kmeans()),
    "before what learns from a release": make_pipeline(RowByRow(kmeans()), StandardScaler()),
    "with nothing before it": make_pipeline("passthrough", kmeans()),
}


@pytest.mark.parametrize("case", LEAKING)
def test_a_pipeline_names_its_leaking_steps_once(case):
    pipeline, number = LEAKING[case]
    (message,) = heard(lambda: pipeline.fit(X))
    assert (
        message.count(": use PrivateStandardScaler") + message.count(": use PrivatePCA") == number
    )


@pytest.mark.parametrize("case", SILENT)
def test_other_pipelines_say_nothing(case):
    assert heard(lambda: SILENT[case].fit(X)) == []


def test_searches_say_it_once():
    grid = {"privatekmeans__n_init": [1, 2]}
    pipeline = make_pipeline(StandardScaler(), kmeans())
    assert len(heard(lambda: GridSearchCV(pipeline, grid, cv=3).fit(X))) == 1
    assert len(heard(lambda: cross_val_score(pipeline, X, cv=3))) == 1


def test_the_warning_comes_before_the_charge():
    budget = BudgetAccountant(epsilon=1.0)
    pipeline = make_pipeline(StandardScaler(), measure(accountant=budget))
    with warnings.catch_warnings(), pytest.raises(PrivacyWarning, match="without noise"):
        warnings.simplefilter("error")
        pipeline.fit(X)
    assert budget.total() == (0.0, 0.0)


def test_frozen_steps_are_of_unknown_rows():
    frozen = FrozenEstimator(StandardScaler().fit(X))
    verdict = check_private(make_pipeline(frozen, kmeans())).steps[0]
    assert verdict.verdict == "unknown" and "RowByRow" in verdict.advice


@pytest.mark.parametrize("unit", [None, "patient"])
def test_groups_go_to_all_private_steps_or_to_none(unit):
    budget, ids = BudgetAccountant(9.0, unit=unit), np.arange(60) // 2
    scaler = PrivateStandardScaler(2.0, bounds=(0, 1), accountant=budget)
    pipeline = Pipeline([("scale", scaler), ("cluster", kmeans(accountant=budget))])
    for some, other in ("scale", "cluster"), ("cluster", "scale"):
        given = {f"{some}__groups": ids, f"{some}__unit": "patient", f"{other}__unit": "patient"}
        with pytest.raises(ValueError, match=f"got none for {other}. Pass {other}__groups=ids"):
            pipeline.fit(X, **given)
    if unit is not None:
        with pytest.raises(RelationError, match="Pass scale__groups='patient', or .* scale__unit="):
            pipeline.fit(X)
    assert budget.entries == ()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pipeline.fit(X, **given, **{f"{other}__groups": ids})
    assert {entry.unit for entry in budget.entries} == {"patient"} and len(budget.entries) == 2
