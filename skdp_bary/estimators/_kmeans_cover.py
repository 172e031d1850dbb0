"""Clustering that starts from a max cover: points of growing grids that cover many rows."""

from dataclasses import replace
from functools import cached_property

import numpy as np

from ..privacy._noise import public_generator
from ..privacy._plan import race_plan
from ..summaries._cluster_sums import ClippedMeans, digits_of
from ..summaries._cover import ClusterCounts, CoverQuery, cover_radii
from ..summaries._frames import Frame
from ..summaries._rows import ROW_UNITS
from ._kmeans_high import HighMethod, Route
from ._kmeans_low import read_round
from ._kmeans_methods import CoarseData, KMeansMethod, PrivateClusters, rescaled
from ._kmeans_plan import AMBIENT_ROUNDS, ClusterPlan
from ._weighted_kmeans import nearest, weighted_kmeans

_COVER_SHARE = 0.1  # of mu**2: what a race at a fifth of mu takes from the other steps
_RATIO = 1.5  # of two radii that follow each other
_MOST_RADII = 8
_PICKS = 2  # at a radius, relative to the number of clusters: they cost no privacy
_FEWEST_PICKS = 32
_COVERED_AXES = 3
_REACH = 2.0  # of the grids, in standard deviations of an axis
_KEPT_SDS = 3.0
_KEPT_FACTOR = 8  # points kept at most, relative to the number of clusters

_LOW_SHARES = {"cells": 0.4, "rounds": 0.6}
_LOW_ROUNDS = 3
_CLIP = 1.5  # radius of a cluster relative to its root mean square distance
_MASS_SHARE = 0.3

_HIGH_PLAN = ClusterPlan(0.02, 0.15, 0.03, 0.12, 0.36, 0.32, 5, AMBIENT_ROUNDS, 0)


class LowCoverMethod(KMeansMethod):
    """A max cover of the rows, noisy counts of the picks, then noisy means.

    1. *cover*: at each of up to eight radii, two picks for every cluster, at least 32.
    2. *cells*: the number of rows nearest to each pick. Weighted k-means on the picks that stand
       out gives centers.
    3. *round_1* to *round_3*: clipped means of the rows about these centers, shrunk by their noise.
    """

    def shares(self, estimator, n_features):
        """Return one step for the picks, one for their counts and one for each round."""
        check_delta_allows_cover(estimator)
        rounds = _n_rounds(estimator)
        steps = {"cover": _COVER_SHARE, "cells": _LOW_SHARES["cells"]}
        share = _LOW_SHARES["rounds"] / max(rounds, 1)
        return steps | {f"round_{i + 1}": share for i in range(rounds)}

    def check(self, facts):
        """Raise for persons with several rows, and for weights that a neighbor may change."""
        check_rows_allow_cover(facts)

    def priced(self, plan):
        """Return the plan in which the cover is a race and all other noise is Gaussian."""
        return with_race(plan)

    def query(self, estimator, step_name, facts):
        """Return the query of a step."""
        frame = Frame(facts.domain, facts.domain.center, digits_of(facts.units).rows)
        if step_name == "cover":
            return cover_query(estimator, facts, frame, _halfwidths(facts.domain))
        if step_name == "cells":
            points = facts.released["cover"].query.points(facts.released["cover"])
            return count_query(facts, frame, points)
        centers, squares = _centers_before(estimator, int(step_name[6:]), facts)
        radii = _CLIP * np.sqrt(np.maximum(squares, (4.0 * frame.step) ** 2))
        shares = (_MASS_SHARE, 1.0)
        return ClippedMeans(frame, centers - frame.center, radii, shares, False, facts.units)

    def finish(self, estimator, facts):
        """Read the last round, or the counts alone."""
        rounds = _n_rounds(estimator)
        coarse = _coarse(estimator, facts)
        if rounds:
            centers, noise, masses = read_round(facts, f"round_{rounds}")
        else:
            centers = _search(estimator, facts, coarse)
            masses, squares = _spread(coarse, centers)
            floor = np.maximum(masses, coarse.mass_sd)
            noise = (coarse.mass_sd / floor) ** 2 * squares / facts.n_features
        counted = facts.released["cells"]
        weights = rescaled(masses, float(counted.query.read(counted)[0].sum()))
        return PrivateClusters(centers, weights, np.sqrt(noise), rounds, coarse)


class HighCoverMethod(HighMethod):
    """The steps of HighMethod with a max cover in place of the grid.

    The cover runs in the three leading released axes and comes before *cells*, which counts the
    rows nearest to each pick.
    """

    def shares(self, estimator, n_features):
        """Return the steps of the plan with the cover before the counts."""
        check_delta_allows_cover(estimator)
        steps = {}
        for name, share in high_plan(estimator).shares.items():
            if name == "cells":
                steps["cover"] = _COVER_SHARE
            steps[name] = share
        return steps

    def settled_shares(self, estimator, facts):
        """Keep the one plan of this method."""
        return None

    def check(self, facts):
        """Raise for persons with several rows, and for weights that a neighbor may change."""
        check_rows_allow_cover(facts)

    def priced(self, plan):
        """Return the plan in which the cover is a race and all other noise is Gaussian."""
        return with_race(plan)

    def route(self, estimator, facts):
        """Return the queries so far, and what follows from the releases."""
        return CoverRoute(estimator, facts)


class CoverRoute(Route):
    """Queries that find cells by a max cover."""

    @cached_property
    def plan(self):
        """What the fit does."""
        return high_plan(self.estimator)

    def cover_query(self):
        """Picks in the leading axes."""
        center, _ = self._mean_and_spread()
        axes = self._principal_axes()
        frame = Frame(self.facts.domain, center, self._bits, axes)
        halfwidths = _REACH * np.sqrt(axes.variances[:_COVERED_AXES])
        return cover_query(self.estimator, self.facts, frame, halfwidths)

    def cells_query(self):
        """Counts of the rows nearest to each pick, in the same axes: the others are zero."""
        released = self._of("cover")
        picks = released.query.points(released)
        frame = released.query.frame
        points = np.zeros((len(picks), frame.width))
        points[:, : picks.shape[1]] = picks
        return count_query(self.facts, frame, points)

    def _cell_spread(self):
        query = self._of("cover").query
        inside = self._kept[2]
        return inside + float(self.axes.variances[len(query.halfwidths) :].sum())

    def _kept_cells(self):
        return self._kept[:2]

    @cached_property
    def _kept(self):
        points, masses, within, _ = kept_picks(self.estimator, self.facts)
        return points, masses, within


def check_delta_allows_cover(estimator):
    """Raise unless the budget has a delta."""
    if estimator.delta == 0:
        raise ValueError(
            'init="max_cover" needs delta > 0: how much its picks say about a person has no bound '
            'of the form delta=0. Give a small delta, or take init="grid".'
        )


def check_rows_allow_cover(facts):
    """Raise for persons with several rows, or with weights that a neighbor may change."""
    if facts.units not in ROW_UNITS:
        raise ValueError(
            'init="max_cover" is proved for persons with one row each: give no groups, or take '
            'init="grid".'
        )
    if facts.units != 1 and facts.relation != "add_remove":
        raise ValueError(
            'init="max_cover" is proved for weighted rows under neighbors="add_remove" only, got '
            f"neighbors={facts.relation!r}."
        )


def with_race(plan):
    """Return the plan with a race in place of the step of that name, at the same total."""
    shares = {step.name: step.mechanism.mu**2 for step in plan.steps}
    return race_plan(plan.relation, plan.epsilon, plan.delta, shares, "cover")


def cover_query(estimator, facts, frame, halfwidths):
    """Return the picks to ask for, by public facts and earlier releases."""
    radii = cover_radii(halfwidths, facts.size, _RATIO, _MOST_RADII)
    n_picks = max(_PICKS * estimator.n_clusters, _FEWEST_PICKS)
    return CoverQuery(frame, halfwidths, radii, n_picks, facts.units)


def count_query(facts, frame, points):
    """Return the counts of the rows nearest to each point."""
    radii = np.full(len(points), facts.domain.radius)
    return ClusterCounts(frame, points, radii, (1.0,), False, facts.units)


def kept_picks(estimator, facts):
    """Return the picks that stand out of the noise of their counts.

    Returns
    -------
    points : ndarray of shape (n_kept, width)
        In the frame of the counts.
    masses : ndarray of shape (n_kept,)
    within : float
        Mean squared distance of a row from its pick, on the covered axes, if balls are evenly full.
    mass_sd : float
    """
    released, cover = facts.released["cells"], facts.released["cover"].query
    counts, sd = released.query.read(released)
    k = estimator.n_clusters
    wanted = int(np.clip((counts > _KEPT_SDS * sd).sum(), min(k, len(counts)), _KEPT_FACTOR * k))
    kept = np.argsort(-counts, kind="stable")[:wanted]
    masses = np.maximum(counts[kept], 0.0)
    p = len(cover.halfwidths)
    squares = p / (p + 2.0) * cover.pick_radii()[kept] ** 2
    within = float(masses @ squares) / max(float(masses.sum()), 1.0)
    return released.query.used_centers[kept], masses, max(within, float(squares.min())), sd


def high_plan(estimator):
    """Return the plan in more than three dimensions; the last two rounds use all features."""
    if estimator.max_iter == "auto":
        return _HIGH_PLAN
    ambient = min(AMBIENT_ROUNDS, estimator.max_iter)
    low = estimator.max_iter - ambient
    return replace(_HIGH_PLAN, low_rounds=low, ambient_rounds=ambient)


def _n_rounds(estimator):
    return _LOW_ROUNDS if estimator.max_iter == "auto" else estimator.max_iter


def _halfwidths(domain):
    """Return how far the domain reaches from its center along each axis."""
    return np.maximum(domain.high - domain.center, domain.center - domain.low)


def _coarse(estimator, facts):
    points, masses, within, sd = kept_picks(estimator, facts)
    return CoarseData(points + facts.released["cells"].query.frame.center, masses, sd, within)


def _search(estimator, facts, coarse):
    rng = public_generator(estimator.random_state)
    n_clusters, n_init = estimator.n_clusters, estimator.n_init
    return facts.domain.clip(weighted_kmeans(coarse.points, coarse.masses, n_clusters, n_init, rng))


def _centers_before(estimator, number, facts):
    """Return centers and mean squared distances from them, from the releases before a round."""
    coarse = _coarse(estimator, facts)
    if number == 1:
        centers = _search(estimator, facts, coarse)
    else:
        centers = read_round(facts, f"round_{number - 1}")[0]
    return centers, _spread(coarse, centers)[1]


def _spread(coarse, centers):
    """Return the mass of every cluster of picks, and the mean squared distance from its center."""
    label, squares = nearest(coarse.points, centers)
    masses = np.bincount(label, weights=coarse.masses, minlength=len(centers))
    total = np.bincount(label, weights=coarse.masses * squares, minlength=len(centers))
    overall = total.sum() / max(masses.sum(), 1e-300)
    mean = np.where(masses > 0, total / np.maximum(masses, 1e-300), overall)
    return masses, mean + coarse.within
