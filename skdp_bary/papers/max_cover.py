"""Clusters from a max cover, after Chaturvedi, Nguyen and Xu (AAAI 2021).

The paper finds starts by a max cover, many picks of the exponential mechanism among the points of
grids of growing radius, and polishes them by noisy averages. It charges its averages by a bound for
the Gaussian mechanism that does not hold from epsilon 1.25 on, and draws its noise in floating
point; its grid and its projection of rows cost accuracy. MaxCoverKMeans prices all picks as one
exact race, draws integers, and polishes by the rounds of PrivateKMeans, which is more accurate from
its own noisy counts all the same.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np

from ..base import ClippedMeans, Frame
from ..estimators.clustering import (
    TUNED,
    KMeansMethod,
    PrivateClusters,
    WeightedPoints,
    about_clusters,
    make_plan,
    n_rounds,
    rescaled,
    standing_out,
)
from ..estimators.clustering_high import HighMethod, principal_axes
from ..estimators.kmeans import PrivateKMeans
from ..estimators.kmeans_low import search, without_far_noise
from ..estimators.noisy_means import nearest, read_means
from ..exceptions import Neighbors, RandomState
from ..geometry.bounds import Bounds
from ..privacy.spending import SharedBudget
from ..queries.clusters import digits_of
from ..rows.persons import ROW_UNITS
from .covers import ClusterCounts, CoverQuery, cover_radii
from .races import race_plan

# Chosen by the costs of ``benchmarks/kmeans/cover.py``; none of them changes what is guaranteed.
_COVER_SHARE = 0.1  # of mu**2: what a race at a fifth of mu takes from the other steps
_CELLS_SHARE = 0.4  # of the rest in up to three features: starts against rounds
_ROUNDS = 3  # in up to three features
_HIGH_PLAN = ((0.02, 0.15, 0.03, 0.12, 0.36, 0.32), 5, 0)  # in more; no grid
_RATIO = 1.5  # of two radii that follow each other: clusters of all sizes
_MOST_RADII = 8  # time and memory against small clusters
_PICKS = 2  # at a radius, relative to the number of clusters: they cost no privacy
_FEWEST_PICKS = 32
_AXES = 3  # of the released ones: grids grow with each
_REACH = 2.0  # of the grids, in standard deviations of an axis
_RADIUS = 1.5  # of a cluster over its root mean square: clipped rows against noise
_MASS = 0.3  # precision of clip factors, where sums get 1


class LowCoverMethod(KMeansMethod):
    """A max cover of the rows, noisy counts of the picks, then noisy means.

    1. *cover*: at each of up to eight radii, two picks for every cluster, at least 32.
    2. *cells*: the number of rows nearest to each pick. Weighted k-means on the picks that stand
       out gives centers.
    3. *round_1* to *round_3*: clipped means of the rows about these centers, shrunk by their noise.
    """

    def shares(self, estimator, n_features):
        """Return one step for the picks, one for their counts and one for each round."""
        require_delta(estimator)
        rounds = n_rounds(estimator, _ROUNDS)
        share = (1.0 - _CELLS_SHARE) / max(rounds, 1)
        steps = {"cover": _COVER_SHARE, "cells": _CELLS_SHARE}
        return steps | {f"round_{i + 1}": share for i in range(rounds)}

    def questions(self, estimator, facts):
        """Ask for picks and their counts, then for means about the best centers there."""
        domain, rounds = facts.domain, n_rounds(estimator, _ROUNDS)
        frame = Frame(domain, domain.center, digits_of(facts.units).rows)
        halfwidths = np.maximum(domain.high - domain.center, domain.center - domain.low)
        picks, total = yield from ask_picks(estimator, facts, frame, halfwidths)
        points = replace(picks, points=picks.points + frame.center)
        centers, coarse = search(estimator, domain, points), points
        if rounds == 0:
            centers, coarse = without_far_noise(estimator, domain, points, centers)
            masses, noise = coarse.masses_about(centers)
        for i in range(rounds):
            squares = np.maximum(spread_about(points, centers), (4.0 * frame.step) ** 2)
            radii, places = _RADIUS * np.sqrt(squares), centers - frame.center
            query = about_clusters(ClippedMeans, facts, frame, places, radii, (_MASS, 1.0))
            means = read_means((yield f"round_{i + 1}", query))
            masses, noise = means.read.mass, means.noise
            centers = domain.clip(frame.center + means.asked + means.shrunk())
        return PrivateClusters(centers, rescaled(masses, total), np.sqrt(noise), rounds, coarse)


class HighCoverMethod(HighMethod):
    """The steps of HighMethod with a max cover instead of the grid.

    The cover runs in the three leading released axes and comes before *cells*, which counts the
    rows nearest to each pick.
    """

    def shares(self, estimator, n_features):
        """Return the steps of the plan with the cover before the counts."""
        require_delta(estimator)
        steps = {}
        for name, share in self.plan(estimator, n_features).shares.items():
            if name == "cells":
                steps["cover"] = _COVER_SHARE
            steps[name] = share
        return steps

    def plan(self, estimator, n_features, size=None):
        """Return the one plan of this method; the last two rounds use all features."""
        return make_plan(estimator.max_iter, _HIGH_PLAN, TUNED.gaussian.moments)

    def cells(self, estimator, facts, plan, rows):
        """Ask for the leading axes and for picks on the first of them."""
        axes = yield from principal_axes(estimator, facts, rows)
        frame = rows.frame.along(axes)
        halfwidths = _REACH * np.sqrt(axes.variances[:_AXES])
        picks, _ = yield from ask_picks(estimator, facts, frame, halfwidths)
        beside = float(axes.variances[len(halfwidths) :].sum())
        return frame, replace(picks, within=picks.within + beside)


def spread_about(coarse, centers):
    """Return the mean squared distance of every cluster's rows from its center."""
    if not len(coarse.points):
        return np.full(len(centers), coarse.within)
    label, squares = nearest(coarse.points, centers)
    masses = np.bincount(label, weights=coarse.masses, minlength=len(centers))
    total = np.bincount(label, weights=coarse.masses * squares, minlength=len(centers))
    overall = total.sum() / max(float(masses.sum()), 1e-300)
    return np.where(masses > 0, total / np.maximum(masses, 1e-300), overall) + coarse.within


def require_delta(estimator):
    """Raise unless the budget has a delta."""
    if estimator.delta == 0:
        raise ValueError(
            "delta must be above 0 for a max cover, got 0: its picks have no pure bound. "
            "Pass for example delta=1e-6, or take PrivateKMeans."
        )


def ask_picks(estimator, facts, frame, halfwidths):
    """Ask for points of grids that cover many rows, and for the number of rows nearest to each.

    Returns
    -------
    picks : WeightedPoints
        Those that stand out of their noise, in the frame; `within` is that of evenly full balls, on
        the axes that are covered.
    total : float
        Noisy mass of all rows.
    """
    p = len(halfwidths)
    radii = cover_radii(halfwidths, facts.size, _RATIO, _MOST_RADII)
    n_picks = max(_PICKS * estimator.n_clusters, _FEWEST_PICKS)
    cover = CoverQuery(frame, halfwidths, radii, n_picks, facts.units)
    picks = cover.points((yield "cover", cover))
    points = np.zeros((len(picks), frame.width))
    points[:, :p] = picks
    radii = np.full(len(points), facts.domain.radius)
    query = about_clusters(ClusterCounts, facts, frame, points, radii, (1.0,))
    counts, sd = query.read((yield "cells", query))
    kept = standing_out(estimator.n_clusters, counts, sd)
    masses = np.maximum(counts[kept], 0.0)
    picked_at = np.repeat(np.array(cover.radii), cover.n_picks)[kept]
    squares = p / (p + 2.0) * picked_at**2
    within = float(masses @ squares) / max(float(masses.sum()), 1.0)
    within = max(within, float(squares.min()))
    return WeightedPoints(query.used_centers[kept], masses, sd, within), float(counts.sum())


class MaxCoverKMeans(PrivateKMeans):
    """Differentially private k-means clustering that starts from a max cover of the rows.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters, at most 4096.

    n_init : int, default=10
        Starts of weighted k-means on the released picks; they cost no privacy.

    max_iter : "auto" or int, default="auto"
        Number of private rounds. "auto" is 3 with at most three features, and 7 with more.

    n_hint : int, default=None
        Public estimate of the number of people. None takes a noisy count with 5% of the budget
        where it is private, and the exact number under the replace relations.

    epsilon : float, default=1.0
        Privacy loss of one fit.

    delta : float, default=1e-6
        Failure probability of one fit; must be above zero.

    bounds : (low, high), mapping, Box, Ball or Mask, default=None
        Public domain that rows are clipped to. None finds it with 20% of the budget.

    neighbors : {"add_remove", "replace_one", "replace_any"}, default=None
        Neighboring relation. None takes that of the accountant, or "add_remove" without one.

    accountant : BudgetAccountant or BudgetPart, default=None
        Budget to charge. None checks the fit against its own epsilon and delta only.

    random_state : int, Generator or RandomState, default=None
        Source of all randomness. A release is private with None only.

    verbose : {0, 1, 2}, default=0
        1 shows a bar on the standard error, 2 a line for every station of a fit.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Centers, inside the domain.
    cluster_weights_ : ndarray of shape (n_clusters,)
        Noisy number of people of every cluster.
    center_stderr_ : ndarray of shape (n_clusters,)
        Root mean square error of every center that is due to the noise.
    coarse_ : DiscreteMeasure
        The picks that stand out of their noise.
    n_iter_ : int
        Number of private rounds.
    domain_ : Box, Ball or Mask
        Public, or released, domain.
    privacy_ : Plan
        Steps with their mechanisms, relation, epsilon and delta.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where they have names.

    Privacy
    -------
    Neighbors
        The relation in ``neighbors``; "add_remove" of one person unless stated. A person is a row.
    Mechanism
        RaceChoice for the picks, RoundedGaussian for counts and means.
    Sensitivity
        A row counts for the points within reach until one of them is picked, so one person moves
        what a point covers by at most one row. Counts move by one row, clipped means by a row of
        at most their radius.
    Budget
        All steps, and what finds bounds and size, cost (epsilon, delta) together.
    Released
        cluster_centers_, cluster_weights_, center_stderr_, n_iter_, coarse_, coarse_noise_,
        domain_, privacy_, n_features_in_, feature_names_in_
    Not covered
        predict, transform, fit_predict, fit_transform, score: exact functions of the rows they are
        given.

    See Also
    --------
    skdp_bary.PrivateKMeans : Looks at ever finer cells instead, which is more accurate.

    References
    ----------
    A. Chaturvedi, H. Nguyen, E. Xu. Differentially Private k-Means Clustering via Exponential
    Mechanism and Max Cover. AAAI 2021.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp_bary.papers import MaxCoverKMeans
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(20000, 2)) * 0.05 + rng.choice([0.2, 0.8], size=(20000, 1))
    >>> kmeans = MaxCoverKMeans(n_clusters=2, bounds=(0, 1), n_hint=20000).fit(X)
    >>> np.sort(kmeans.cluster_centers_[:, 0]).round(1)
    array([0.2, 0.8])
    """

    _methods = (LowCoverMethod(), HighCoverMethod())
    _parameter_rules = {
        name: rule for name, rule in PrivateKMeans._parameter_rules.items() if name != "init"
    }
    init = "grid"  # public centers have no place in a cover

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        n_init: int = 10,
        max_iter: int | Literal["auto"] = "auto",
        n_hint: int | None = None,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        bounds: Bounds | None = None,
        neighbors: Neighbors | None = None,
        accountant: SharedBudget | None = None,
        random_state: RandomState | None = None,
        verbose: Literal[0, 1, 2] = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_init = n_init
        self.max_iter = max_iter
        self.n_hint = n_hint
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.neighbors = neighbors
        self.accountant = accountant
        self.random_state = random_state
        self.verbose = verbose

    def _plan(self, n_features):
        """Return the plan with a race instead of the step "cover", at the same total."""
        plan = super()._plan(n_features)
        if not any(step.name == "cover" for step in plan.steps):
            return plan  # of the pure noise that a cover is compared with
        shares = {step.name: step.mechanism.mu**2 for step in plan.steps}
        return race_plan(plan.relation, plan.epsilon, plan.delta, shares, "cover")

    def _public_facts(self, plan, rows):
        """Raise for people with several rows, and for weights that a neighbor may change."""
        facts = super()._public_facts(plan, rows)
        if facts.units not in ROW_UNITS:
            raise ValueError(
                "groups must be None for a max cover, which is proved for people with one row "
                "each. Leave groups out, or use PrivateKMeans."
            )
        if facts.units != 1 and facts.relation != "add_remove":
            raise ValueError(
                'A max cover is proved for weighted rows under neighbors="add_remove" only, '
                f"got neighbors={facts.relation!r}."
            )
        return facts
