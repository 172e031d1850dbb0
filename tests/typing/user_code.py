"""What users write: it is never run, ``make lint`` checks its types."""

from __future__ import annotations

from typing import assert_type

import numpy as np

from skdp_bary import (
    BudgetAccountant,
    DomainScaler,
    DPSlicedWasserstein,
    JLTransformer,
    PrivateGenerator,
    PrivateKMeans,
    PrivateMeasure,
    PrivateWassersteinBarycenter,
    check_private,
)
from skdp_bary.base import (
    PRIVACY_RULES,
    BasePrivateEstimator,
    CellTree,
    ClippedSum,
    Count,
    Integer,
    LevelCounts,
    Query,
    Sensitivity,
)
from skdp_bary.geometry import Ball, Box
from skdp_bary.papers import calibrate_sigma
from skdp_bary.transport import DiscreteMeasure, solve_semidiscrete

X = np.zeros((100, 2))

budget = BudgetAccountant(1.0, 1e-6, neighbors="add_remove")
kmeans = PrivateKMeans(3, epsilon=0.5, bounds=(0, 1), n_hint=100, accountant=budget)
assert_type(kmeans.fit(X), PrivateKMeans)
assert_type(kmeans.fit(X, sample_weight=np.ones(100)).predict(X), np.ndarray)
PrivateMeasure(bounds=Box([0.0, 0.0], [1.0, 1.0]), random_state=0).fit([[0.1, 0.2]])
PrivateWassersteinBarycenter(5, delta=1e-6, bounds=Ball([0.0, 0.0], 1.0)).fit(X, X[:, 0])
DPSlicedWasserstein(bounds=([0.0, 0.0], [1.0, 1.0]), neighbors="replace_one").fit(X)
PrivateGenerator(bounds=(0, 1)).fit(X)
DomainScaler((0, 1)).fit(X)
JLTransformer(2, random_state=np.random.RandomState(0)).fit(X)
check_private(kmeans)
budget.spend(0.1, who="survey")

PrivateKMeans("three")  # type: ignore[arg-type]
PrivateKMeans(3, neighbors="swap")  # type: ignore[arg-type]
PrivateKMeans(3, epsilon="much")  # type: ignore[arg-type]
PrivateKMeans(3, clusters=3)  # type: ignore[call-arg]

measure = DiscreteMeasure(X, np.ones(100))
assert_type(solve_semidiscrete(measure, measure, p=2).cost, float)
calibrate_sigma(1.0, 1e-6, n_features=3, n_projections=10)
solve_semidiscrete(measure, "atoms")  # type: ignore[arg-type]

queries: list[Query] = [
    Count(1, total_public=True),
    ClippedSum(1.0, 2),
    LevelCounts(CellTree(Box([0.0], [1.0]), 3), levels=(3,)),
]
sensitivity: Sensitivity = queries[0].sensitivity("add_remove")
assert_type(sensitivity, Sensitivity)


class OwnEstimator(BasePrivateEstimator):
    """An estimator of a user."""

    _parameter_rules = PRIVACY_RULES | {"depth": Integer(1, 3)}
