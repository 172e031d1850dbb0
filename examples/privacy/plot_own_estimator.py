"""
=========================
Write a private estimator
=========================

The two estimators of this example use public names only: :mod:`skdp_bary.base` has the base class
and the queries, and :mod:`skdp_bary.testing` checks new estimators. Their methods never see a
row. Charging, clipping, reading chunks, raising errors and cloning are done by the base class.
:doc:`/contributing` explains each method with a private mean.
"""

import matplotlib.pyplot as plt
import numpy as np

from skdp_bary.base import (
    PRIVACY_RULES,
    BasePrivateEstimator,
    CellTree,
    Integer,
    LevelCounts,
    Moments,
    Number,
    symmetric,
)
from skdp_bary.geometry import Box
from skdp_bary.testing import check_private_estimator

# %%
# A quantile
# ----------
# One query counts the people in every cell of a tree that halves the domain repeatedly. The
# quantile follows from the noisy counts.


class PrivateQuantile(BasePrivateEstimator):
    """A quantile of one feature.

    Privacy
    -------
    Neighbors
        The relation in ``neighbors``; "add_remove" of one person unless stated.
    Mechanism
        DiscreteLaplace when ``delta=0``, otherwise RoundedGaussian.
    Sensitivity
        A person adds 1 to one cell of every level; replacing one changes two cells of every level
        but the first.
    Budget
        The counts cost (epsilon, delta).
    Released
        quantile_, domain_, privacy_, n_features_in_, feature_names_in_
    Not covered
        none: there are no other methods.
    """

    _parameter_rules = PRIVACY_RULES | {"q": Number(0.0, 1.0), "depth": Integer(1, 20)}

    def __init__(
        self,
        q=0.5,
        depth=10,
        epsilon=1.0,
        delta=0.0,
        bounds=None,
        *,
        n_hint=None,
        neighbors=None,
        accountant=None,
        random_state=None,
    ):
        self.q, self.depth = q, depth
        self.epsilon, self.delta, self.bounds, self.n_hint = epsilon, delta, bounds, n_hint
        self.neighbors, self.accountant, self.random_state = neighbors, accountant, random_state

    def _shares(self, n_features):
        if n_features != 1:
            raise ValueError(f"X must have one feature, got {n_features}.")
        return {"counts": 1.0}

    def _questions(self, facts):
        tree, levels = CellTree(facts.domain, self.depth), tuple(range(self.depth + 1))
        query = LevelCounts(tree, 1, facts.units, facts.total_public, None, levels)
        total, *counts = (yield "counts", query).values
        cell, rank = 0, self.q * total[0, 0]
        for level in counts:
            left = level[0, 2 * cell]
            cell, rank = (2 * cell + 1, rank - left) if rank > left else (2 * cell, rank)
        return tree.centroids(self.depth, np.array([cell]))[0, 0]

    def _finish(self, facts, result):
        self.quantile_ = result


rng = np.random.default_rng(0)
incomes = rng.lognormal(10.5, 0.6, size=(50_000, 1))
levels = (0.1, 0.25, 0.5, 0.75, 0.9)
domain = Box([0.0], [250_000.0])
found = [PrivateQuantile(q, bounds=domain, n_hint=50_000).fit(incomes).quantile_ for q in levels]
for q, private, exact in zip(levels, found, np.quantile(incomes, levels), strict=True):
    print(f"{q:.0%} earn less than {private:,.0f} (exact: {exact:,.0f})")

# %%
# A linear regression
# -------------------
# One query returns the mass, the sum and the second moments of the rows. The last column is the
# target. A ridge penalty has the size of the noise. ``delta`` must be positive, because Laplace
# noise on second moments would be larger.


class PrivateLinearRegression(BasePrivateEstimator):
    """Linear regression of the last column on the others.

    Privacy
    -------
    Neighbors
        The relation in ``neighbors``; "add_remove" of one person unless stated.
    Mechanism
        RoundedGaussian.
    Sensitivity
        A person adds 1 to the mass, a vector in a ball to the sum and its products to the second
        moments; replacing one moves them as far as two such rows can be apart.
    Budget
        Mass, sum and second moments together cost (epsilon, delta).
    Released
        coef_, intercept_, domain_, privacy_, n_features_in_, feature_names_in_
    Not covered
        predict: answers about the rows it is given, from what was released.
    """

    _parameter_rules = PRIVACY_RULES | {"delta": Number(0.0, 1.0, open_low=True, open_high=True)}

    def __init__(
        self,
        epsilon=1.0,
        delta=1e-6,
        bounds=None,
        *,
        n_hint=None,
        neighbors=None,
        accountant=None,
        random_state=None,
    ):
        self.epsilon, self.delta, self.bounds, self.n_hint = epsilon, delta, bounds, n_hint
        self.neighbors, self.accountant, self.random_state = neighbors, accountant, random_state

    def _shares(self, n_features):
        if n_features < 2:
            raise ValueError("X must have a column of features and one of targets, got 1 column.")
        return {"moments": 1.0}

    def _questions(self, facts):
        center, radius, units = facts.domain.center, facts.domain.radius, facts.units
        total_public = facts.total_public
        query = Moments(center[None], radius, None, "pooled", (1, 2, 1), units, total_public)
        released = yield "moments", query
        mass, sums, diagonal, upper = released.values
        persons = max(float(mass[0]), units)
        mean = sums[0] * query.step / persons
        second = symmetric(diagonal[0], upper[0]) * (query.step**2 / persons)
        ridge = released.noise_sd[3] * query.step**2 / persons * np.sqrt(len(mean))
        scatter = second - np.outer(mean, mean) + ridge * np.eye(len(mean))
        slopes = np.linalg.lstsq(scatter[:-1, :-1], scatter[:-1, -1])[0]
        mean = mean + center
        return slopes, mean[-1] - mean[:-1] @ slopes

    def _finish(self, facts, result):
        self.coef_, self.intercept_ = result

    def predict(self, X):
        """Return the predicted targets of rows of features."""
        return np.asarray(X, dtype=float) @ self.coef_ + self.intercept_


features = rng.uniform(-1, 1, size=(20_000, 2))
targets = features @ [0.5, -0.25] + 0.1 + rng.normal(scale=0.1, size=20_000)
budgets = (0.03, 0.1, 0.3, 1.0, 3.0)
models = [
    PrivateLinearRegression(epsilon, bounds=(-1, 1), n_hint=20_000).fit(
        np.column_stack([features, targets])
    )
    for epsilon in budgets
]
fig, axes = plt.subplots(figsize=(6, 3.5), layout="constrained")
axes.semilogx(budgets, [model.coef_ for model in models], "o-")
axes.axhline(0.5, color="0.6", linestyle=":")
axes.axhline(-0.25, color="0.6", linestyle=":")
axes.set(xlabel="epsilon", ylabel="slopes", title="What epsilon buys; dotted: the true slopes")

# %%
# Contract suite
# --------------
# These are the checks that all estimators of the package pass: documentation, sensitivity on
# adversarial neighbors, charges, errors, copies and pickles.

check_private_estimator(PrivateQuantile(depth=4, bounds=Box([0.0], [1.0]), n_hint=100))
check_private_estimator(PrivateLinearRegression(bounds=(0, 1), n_hint=100))
