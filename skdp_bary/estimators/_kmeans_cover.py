"""Clustering that starts from a max cover: points of growing grids that cover many rows."""

from dataclasses import replace

import numpy as np

from ..privacy._plan import race_plan
from ..summaries._cover import ClusterCounts, CoverQuery, cover_radii
from ..summaries._rows import ROW_UNITS
from ._kmeans_high import HighMethod, principal_axes
from ._kmeans_low import LowMethod
from ._kmeans_methods import KMeansMethod, WeightedPoints, about_clusters
from ._kmeans_plan import AMBIENT_ROUNDS, ClusterPlan

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

_HIGH_PLAN = ClusterPlan(0.02, 0.15, 0.03, 0.12, 0.36, 0.32, 5, AMBIENT_ROUNDS, 0)


class RaceMethod(KMeansMethod):
    """A method with a max cover among its steps, and Gaussian noise in all others."""

    def check(self, facts):
        """Raise for persons with several rows, and for weights that a neighbor may change."""
        if facts.units not in ROW_UNITS:
            raise ValueError(
                'init="max_cover" is proved for persons with one row each: give no groups, or take '
                'init="grid".'
            )
        if facts.units != 1 and facts.relation != "add_remove":
            raise ValueError(
                'init="max_cover" is proved for weighted rows under neighbors="add_remove" only, '
                f"got neighbors={facts.relation!r}."
            )

    def priced(self, plan):
        """Return the plan with a race in place of the step "cover", at the same total."""
        shares = {step.name: step.mechanism.mu**2 for step in plan.steps}
        return race_plan(plan.relation, plan.epsilon, plan.delta, shares, "cover")


class LowCoverMethod(RaceMethod, LowMethod):
    """A max cover of the rows, noisy counts of the picks, then noisy means.

    1. *cover*: at each of up to eight radii, two picks for every cluster, at least 32.
    2. *cells*: the number of rows nearest to each pick. Weighted k-means on the picks that stand
       out gives centers.
    3. *round_1* to *round_3*: clipped means of the rows about these centers, shrunk by their noise.
    """

    rounds = 3

    def shares(self, setting):
        """Return one step for the picks, one for their counts and one for each round."""
        check_delta_allows_cover(setting)
        rounds = setting.rounds(self.rounds)
        share = _LOW_SHARES["rounds"] / max(rounds, 1)
        steps = {"cover": _COVER_SHARE, "cells": _LOW_SHARES["cells"]}
        return steps | {f"round_{i + 1}": share for i in range(rounds)}

    def coarse(self, setting, facts, frame):
        """Ask for picks, and return those that stand out and the mass of all rows."""
        domain = facts.domain
        halfwidths = np.maximum(domain.high - domain.center, domain.center - domain.low)
        picks, total = yield from ask_picks(setting, facts, frame, halfwidths)
        return replace(picks, points=picks.points + frame.center), total

    def revised(self, coarse, asked, centers, masses):
        """Leave the picks and the centers as they are."""
        return coarse, centers


class HighCoverMethod(RaceMethod, HighMethod):
    """The steps of HighMethod with a max cover in place of the grid.

    The cover runs in the three leading released axes and comes before *cells*, which counts the
    rows nearest to each pick.
    """

    def shares(self, setting):
        """Return the steps of the plan with the cover before the counts."""
        check_delta_allows_cover(setting)
        steps = {}
        for name, share in self.plan(setting).shares.items():
            if name == "cells":
                steps["cover"] = _COVER_SHARE
            steps[name] = share
        return steps

    def plan(self, setting, size=None):
        """Return the one plan of this method; the last two rounds use all features."""
        return _HIGH_PLAN.with_rounds(setting.max_iter)

    def cells(self, setting, facts, plan, rows):
        """Ask for the leading axes and for picks on the first of them."""
        axes = yield from principal_axes(setting, facts, rows)
        frame = rows.frame(facts, axes)
        halfwidths = _REACH * np.sqrt(axes.variances[:_COVERED_AXES])
        picks, _ = yield from ask_picks(setting, facts, frame, halfwidths)
        beside = float(axes.variances[len(halfwidths) :].sum())
        return frame, replace(picks, within=picks.within + beside)


def check_delta_allows_cover(setting):
    """Raise unless the budget has a delta."""
    if setting.delta == 0:
        raise ValueError(
            'init="max_cover" needs delta > 0: how much its picks say about a person has no bound '
            'of the form delta=0. Give a small delta, or take init="grid".'
        )


def ask_picks(setting, facts, frame, halfwidths):
    """Ask for points of grids that cover many rows, and for the number of rows nearest to each.

    Returns
    -------
    picks : WeightedPoints
        Those that stand out of their noise, in the frame; `within` is that of evenly full balls, on
        the axes that are covered.
    total : float
        Noisy mass of all rows.
    """
    k, p = setting.n_clusters, len(halfwidths)
    radii = cover_radii(halfwidths, facts.size, _RATIO, _MOST_RADII)
    cover = CoverQuery(frame, halfwidths, radii, max(_PICKS * k, _FEWEST_PICKS), facts.units)
    picks = cover.points((yield "cover", cover))
    points = np.zeros((len(picks), frame.width))
    points[:, :p] = picks
    radii = np.full(len(points), facts.domain.radius)
    query = about_clusters(ClusterCounts, facts, frame, points, radii, (1.0,))
    counts, sd = query.read((yield "cells", query))
    wanted = int(np.clip((counts > _KEPT_SDS * sd).sum(), min(k, len(counts)), _KEPT_FACTOR * k))
    kept = np.argsort(-counts, kind="stable")[:wanted]
    masses = np.maximum(counts[kept], 0.0)
    squares = p / (p + 2.0) * cover.pick_radii()[kept] ** 2
    within = float(masses @ squares) / max(float(masses.sum()), 1.0)
    within = max(within, float(squares.min()))
    return WeightedPoints(query.used_centers[kept], masses, sd, within), float(counts.sum())
