"""Clustering that starts from a max cover."""

from dataclasses import replace

import numpy as np

from ..privacy.plans import race_plan
from ..queries.max_cover import ClusterCounts, CoverQuery, cover_radii
from ..rows.persons import ROW_UNITS
from .clustering import TUNED, KMeansMethod, WeightedPoints, about_clusters, make_plan, standing_out
from .clustering_high import HighMethod, principal_axes
from .kmeans_low import LowMethod


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

    rounds = TUNED.cover_rounds

    def shares(self, setting):
        """Return one step for the picks, one for their counts and one for each round."""
        check_delta_allows_cover(setting)
        rounds = setting.rounds(self.rounds)
        share = (1.0 - TUNED.cover_cells) / max(rounds, 1)
        steps = {"cover": TUNED.cover_share, "cells": TUNED.cover_cells}
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
                steps["cover"] = TUNED.cover_share
            steps[name] = share
        return steps

    def plan(self, setting, size=None):
        """Return the one plan of this method; the last two rounds use all features."""
        return make_plan(setting, TUNED.cover_plan, TUNED.gaussian.moments)

    def cells(self, setting, facts, plan, rows):
        """Ask for the leading axes and for picks on the first of them."""
        axes = yield from principal_axes(setting, facts, rows)
        frame = rows.frame.along(axes)
        halfwidths = TUNED.cover_reach * np.sqrt(axes.variances[: TUNED.covered_axes])
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
    p = len(halfwidths)
    radii = cover_radii(halfwidths, facts.size, TUNED.radius_ratio, TUNED.most_radii)
    n_picks = max(TUNED.picks * setting.n_clusters, TUNED.fewest_picks)
    cover = CoverQuery(frame, halfwidths, radii, n_picks, facts.units)
    picks = cover.points((yield "cover", cover))
    points = np.zeros((len(picks), frame.width))
    points[:, :p] = picks
    radii = np.full(len(points), facts.domain.radius)
    query = about_clusters(ClusterCounts, facts, frame, points, radii, (1.0,))
    counts, sd = query.read((yield "cells", query))
    kept = standing_out(setting, counts, sd)
    masses = np.maximum(counts[kept], 0.0)
    squares = p / (p + 2.0) * cover.pick_radii()[kept] ** 2
    within = float(masses @ squares) / max(float(masses.sum()), 1.0)
    within = max(within, float(squares.min()))
    return WeightedPoints(query.used_centers[kept], masses, sd, within), float(counts.sum())
