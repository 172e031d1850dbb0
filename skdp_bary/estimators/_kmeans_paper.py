"""The pipeline of Chaturvedi, Nguyen and Xu (2021), step by step, under exact accounting.

It is here to be compared with: ``PrivateKMeans(init="max_cover")`` takes the same first step and is
more accurate. What the paper charges for its steps is not the same: its averages rely on a bound
for the Gaussian mechanism that ends at epsilon 1.25, and its noise is drawn in floating point. That
accounting, which buys other noise, lives with the benchmarks and in no estimator.
"""

import math

import numpy as np

from ..geometry._projections import haar_frame
from ..privacy._noise import public_generator
from ..summaries._cluster_sums import ClippedMeans, digits_of
from ..summaries._cover import CoverQuery, cover_radii
from ..summaries._frames import Axes, Frame
from ._kmeans import PrivateKMeans
from ._kmeans_cover import check_delta_allows_cover, check_rows_allow_cover, count_query, with_race
from ._kmeans_methods import KMeansMethod, PrivateClusters
from ._weighted_kmeans import weighted_kmeans

_DISTORTION = 0.99  # of the projection, which is also the growth of the radii
_UNPROJECTED = 5  # features up to which rows are not projected
_MOST_RADII = 20
_SHARES = {"cover": 0.1, "cells": 0.1, "average": 0.4, "lloyd": 0.4}
_MASS_SHARE = 0.3


class PaperMethod(KMeansMethod):
    """Projection, max cover, noisy counts, noisy averages, one noisy round of Lloyd's algorithm.

    1. *cover*: rows are projected to half the logarithm of their number of dimensions. The radii
       double from one that public numbers allow to count; at each there are as many picks as
       clusters, times log 2.
    2. *cells*: the number of rows nearest to each pick. Weighted k-means on the picks gives
       clusters in the projection.
    3. *average*: noisy count and sum of each, with all features, for rows in a ball of the
       diameter of the domain.
    4. *lloyd*: the same about these averages.
    """

    def shares(self, estimator, n_features):
        """Return the four steps."""
        check_delta_allows_cover(estimator)
        return dict(_SHARES)

    def check(self, facts):
        """Raise for persons with several rows, and for weights that a neighbor may change."""
        check_rows_allow_cover(facts)

    def priced(self, plan):
        """Return the plan in which the cover is a race and all other noise is Gaussian."""
        return with_race(plan)

    def query(self, estimator, step_name, facts):
        """Return the query of a step."""
        if step_name == "cover":
            return _cover_query(estimator, facts)
        frame = facts.released["cover"].query.frame
        if step_name == "cells":
            return count_query(facts, frame, facts.released["cover"].query.points(_of(facts)))
        if step_name == "average":
            centers = _clusters(estimator, facts)
            centers = centers if frame.axes is None else centers @ frame.axes.kept
        else:
            centers = _averages(facts, "average")[0]
        radii = np.full(len(centers), 2.0 * facts.domain.radius)
        shares = (_MASS_SHARE, 1.0)
        return ClippedMeans(frame.without_axes(), centers, radii, shares, False, facts.units)

    def finish(self, estimator, facts):
        """Read the last averages."""
        centers, noise, masses = _averages(facts, "lloyd")
        center = facts.released["lloyd"].query.frame.center
        centers = facts.domain.clip(centers + center)
        return PrivateClusters(centers, masses, np.sqrt(noise), 1, None)


class PaperKMeans(PrivateKMeans):
    """The paper's pipeline with the interface of PrivateKMeans; `init` and `max_iter` do nothing.

    Privacy
    -------
    Neighbors
        The relation in ``neighbors``; "add_remove" of one person unless stated.
    Mechanism
        RaceChoice, RoundedGaussian
    Sensitivity
        As PrivateKMeans; averages clip at the diameter of the domain.
    Budget
        All steps cost (epsilon, delta) together, by the exact composition of a race with Gaussian
        noise.
    Released
        cluster_centers_, cluster_weights_, center_stderr_, n_iter_, domain_, privacy_,
        n_features_in_, feature_names_in_
    Not covered
        predict, transform, fit_predict, fit_transform, score: exact functions of the rows they are
        given.
    """

    def _method(self, n_features):
        return _PAPER

    def _finish(self, facts):
        clusters = _PAPER.finish(self, facts)
        self.cluster_centers_ = clusters.centers
        self.cluster_weights_ = clusters.weights
        self.center_stderr_ = clusters.stderr
        self.n_iter_ = clusters.n_iter


_PAPER = PaperMethod()


def _cover_query(estimator, facts):
    d = facts.n_features
    p = d
    if d > _UNPROJECTED:
        p = min(d, max(1, math.floor(math.log(facts.size) / 2.0)))
    domain, axes = facts.domain, None
    reach = domain.radius
    if p < d:
        rng = public_generator(estimator.random_state)
        axes = Axes(haar_frame(d, p, rng).T, np.full(p, reach**2 / d))
        reach *= min(1.0, (1.0 + _DISTORTION) * math.sqrt(p / d))
    frame = Frame(domain, domain.center, digits_of(facts.units).rows, axes)
    halfwidths = np.full(p, reach)
    radii = cover_radii(halfwidths, facts.size, 1.0 + _DISTORTION, _MOST_RADII)
    n_picks = math.ceil(estimator.n_clusters * math.log(math.ceil(1.0 / _DISTORTION)))
    return CoverQuery(frame, halfwidths, radii, n_picks, facts.units)


def _of(facts):
    return facts.released["cover"]


def _weighted_picks(facts):
    released = facts.released["cells"]
    counts, _ = released.query.read(released)
    return released.query.used_centers, np.maximum(counts, 0.0)


def _clusters(estimator, facts):
    """Return centers in the projection, relative to the frame's center."""
    points, counts = _weighted_picks(facts)
    rng = public_generator(estimator.random_state)
    return weighted_kmeans(points, counts, estimator.n_clusters, estimator.n_init, rng)


def _averages(facts, name):
    """Return averages relative to the frame's center, the variance of a coordinate, and masses."""
    released = facts.released[name]
    query = released.query
    read = query.read(released)
    mass = np.maximum(read.mass, 2.0 * read.mass_sd)
    steps = read.sums / mass[:, None]
    steps[read.mass <= 2.0 * read.mass_sd] = 0.0
    return query.used_centers + steps, (read.sums_sd / mass) ** 2, np.maximum(read.mass, 0.0)
