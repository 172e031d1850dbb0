"""The interface of the ways to cluster privately, and what they share."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace

import numpy as np

from ...privacy.accounting.calibration import gaussian_mu
from ...privacy.noise.mechanisms import RoundedGaussian
from ...privacy.noise.sampler import public_generator
from .._denoise.weighted_kmeans import nearest, weighted_kmeans
from .tuning import TUNED


@dataclass(frozen=True, eq=False)
class KMeansSetting:
    """Public parameters that a method may use: those of the estimator, and the number of features.

    See :class:`~skdp_bary.PrivateKMeans` for what they mean.
    """

    n_features: int
    n_clusters: int
    init: object
    n_init: int
    max_iter: object
    n_hint: int | None
    epsilon: float
    delta: float
    random_state: object

    @property
    def mu(self):
        """Gaussian parameter that the budget buys; needs ``delta > 0``."""
        return gaussian_mu(self.epsilon, self.delta)

    def rounds(self, wanted):
        """Return the number of private rounds, where "auto" means `wanted`."""
        return wanted if self.max_iter == "auto" else self.max_iter


@dataclass(frozen=True, eq=False)
class PrivateClusters:
    """What a method makes of its releases.

    Attributes
    ----------
    centers : ndarray of shape (n_clusters, n_features)
    weights : ndarray of shape (n_clusters,)
        Noisy number of persons of every cluster, not negative.
    stderr : ndarray of shape (n_clusters,)
        Root mean square error of a center that is due to the noise.
    n_iter : int
        Number of private rounds of Lloyd's algorithm, or of looks; public.
    coarse : WeightedPoints
        A few weighted points that stand for the rows, made of an earlier release.
    """

    centers: np.ndarray
    weights: np.ndarray
    stderr: np.ndarray
    n_iter: int
    coarse: object


@dataclass(frozen=True, eq=False)
class WeightedPoints:
    """Weighted points that stand for the rows.

    Attributes
    ----------
    points : ndarray of shape (n_points, n_features)
    masses : ndarray of shape (n_points,)
        Noisy numbers of persons, not negative.
    mass_sd : float
        Standard deviation of the noise of one mass.
    within : float
        Estimated mean squared distance of a row from its point.
    """

    points: np.ndarray
    masses: np.ndarray
    mass_sd: float
    within: float

    def only(self, kept):
        """Return some of the points."""
        return replace(self, points=self.points[kept], masses=self.masses[kept])

    def stand_out(self, label, masses):
        """Return which clusters of points hold more than noise, beyond what their number tells."""
        return np.zeros(len(masses), dtype=bool)

    def best_centers(self, n_clusters, n_init, random_state):
        """Return the centers of least cost over several starts."""
        rng = public_generator(random_state)
        return weighted_kmeans(self.points, self.masses, n_clusters, n_init, rng)

    def spread_about(self, centers):
        """Return the mean squared distance of every cluster's rows from its center."""
        if not len(self.points):
            return np.full(len(centers), self.within)
        label, squares = nearest(self.points, centers)
        masses = np.bincount(label, weights=self.masses, minlength=len(centers))
        total = np.bincount(label, weights=self.masses * squares, minlength=len(centers))
        overall = total.sum() / max(float(masses.sum()), 1e-300)
        return np.where(masses > 0, total / np.maximum(masses, 1e-300), overall) + self.within

    def masses_about(self, centers):
        """Return the mass of every cluster, and the variance of a coordinate of its center."""
        label, squares = nearest(self.points, centers) if len(self.points) else ([], [])
        masses = np.bincount(label, weights=self.masses, minlength=len(centers))
        total = np.bincount(label, weights=squares, minlength=len(centers)) / centers.shape[1]
        return masses, self.mass_sd**2 * total / np.maximum(masses, self.mass_sd) ** 2


class KMeansMethod(ABC):
    """What is released for a clustering, and how centers are made of it.

    A method reads public parameters and earlier releases, never a row.
    """

    @abstractmethod
    def shares(self, setting):
        """Return the steps, in order, and the share of the budget of each."""

    def settled_shares(self, setting, facts):
        """Return other steps and shares at the same total, by the size of the data, or None."""
        return None

    def check(self, facts):
        """Raise, before anything is charged, where such rows or this relation are not allowed."""
        return

    def priced(self, plan):
        """Return the plan of the fit, from one with noise of one kind in all steps."""
        return plan

    @abstractmethod
    def questions(self, setting, facts):
        """Ask about the rows, and return the PrivateClusters."""


def about_clusters(query_class, facts, frame, centers, radii, shares):
    """Return a question about the clusters of centers, for the noise of a fit."""
    pure = not is_gaussian(facts)
    kind = pure, facts.units, facts.mass_public, facts.least
    return query_class(frame, centers, radii, shares, *kind)


def standing_out(setting, counts, sd, most=TUNED.kept_factor):
    """Return which counts stand out of their noise, the largest first.

    They are at least as many as the clusters, and at most `most` times that.
    """
    k = setting.n_clusters
    wanted = int((counts > TUNED.kept_sds * sd).sum())
    wanted = int(np.clip(wanted, min(k, len(counts)), most * k))
    return np.argsort(-counts, kind="stable")[:wanted]


def total_privacy(facts):
    """Return what the steps of a fit cost together: mu for Gaussian noise, else epsilon."""
    steps = facts.mechanisms.values()
    if is_gaussian(facts):
        return math.sqrt(sum(mechanism.mu**2 for mechanism in steps))
    return sum(mechanism.epsilon for mechanism in steps)


def is_gaussian(facts):
    """Whether the steps of a fit add Gaussian noise."""
    return any(isinstance(m, RoundedGaussian) for m in facts.mechanisms.values())


def rescaled(masses, total):
    """Return masses that add up to a total, for sums of clip factors that count rows in part."""
    masses = np.maximum(masses, 0.0)
    return masses * (max(total, 0.0) / max(float(masses.sum()), 1e-300))
