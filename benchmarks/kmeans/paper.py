"""Comparator: the pipeline of Chaturvedi, Nguyen and Xu (2021), under exact accounting.

``skdp_bary.papers.MaxCoverKMeans`` takes the same first step and is more accurate, see
``cover.py``. What the paper charges for its steps is not the same: its averages rely on a bound for
the Gaussian mechanism that ends at epsilon 1.25, and its noise is drawn in floating point. That
accounting, which buys other noise, is in ``cover.py`` too.
"""

import math

import numpy as np

from skdp_bary.estimators.clustering import KMeansMethod, PrivateClusters, about_clusters
from skdp_bary.estimators.noisy_means import read_means, weighted_kmeans
from skdp_bary.geometry.linear_maps import haar_frame
from skdp_bary.papers import MaxCoverKMeans
from skdp_bary.papers.covers import ClusterCounts, CoverQuery, cover_radii
from skdp_bary.papers.max_cover import require_delta
from skdp_bary.privacy.noise import public_generator
from skdp_bary.queries.clusters import ClippedMeans, digits_of
from skdp_bary.queries.frames import Axes, Frame

_DISTORTION = 0.99  # of the projection, which is also the growth of the radii
_UNPROJECTED = 5  # features up to which rows are not projected
_MOST_RADII = 20
_SHARES = {"cover": 0.1, "cells": 0.1, "average": 0.4, "lloyd": 0.4}
_BLOCK_SHARES = (0.3, 1.0)


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
        require_delta(estimator)
        return dict(_SHARES)

    def questions(self, estimator, facts):
        """Ask for picks, their counts, and averages twice."""
        cover = _cover_query(estimator, facts)
        frame, radius, k = cover.frame, facts.domain.radius, estimator.n_clusters
        points = cover.points((yield "cover", cover))
        radii = np.full(len(points), radius)
        counting = about_clusters(ClusterCounts, facts, frame, points, radii, (1.0,))
        counts, _ = counting.read((yield "cells", counting))
        rng = public_generator(estimator.random_state)
        picks, masses = counting.used_centers, np.maximum(counts, 0.0)
        centers = weighted_kmeans(picks, masses, k, estimator.n_init, rng)
        if frame.axes is not None:
            centers = centers @ frame.axes.kept
        for name in ("average", "lloyd"):
            query = about_clusters(
                ClippedMeans,
                facts,
                frame.without_axes(),
                centers,
                np.full(k, 2.0 * radius),
                _BLOCK_SHARES,
            )
            means = read_means((yield name, query))
            centers = means.asked + means.of_known(means.steps)
        masses = np.maximum(means.read.mass, 0.0)
        centers = facts.domain.clip(centers + frame.center)
        return PrivateClusters(centers, masses, np.sqrt(means.noise), 1, None)


class PaperKMeans(MaxCoverKMeans):
    """The paper's pipeline with the interface of PrivateKMeans; `max_iter` does nothing.

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

    _methods = (PaperMethod(),) * 2

    def _finish(self, facts, clusters):
        self.cluster_centers_ = clusters.centers
        self.cluster_weights_ = clusters.weights
        self.center_stderr_ = clusters.stderr
        self.n_iter_ = clusters.n_iter


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
