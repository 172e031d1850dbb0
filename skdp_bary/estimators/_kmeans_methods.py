"""The interface of the ways to cluster privately, and what they share."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from ..privacy._calibration import gaussian_mu
from ..privacy._mechanisms import RoundedGaussian


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
        Number of private rounds of Lloyd's algorithm; public.
    coarse : CoarseData
        A few weighted points that stand for the rows, made of an earlier release.
    """

    centers: np.ndarray
    weights: np.ndarray
    stderr: np.ndarray
    n_iter: int
    coarse: object


@dataclass(frozen=True, eq=False)
class CoarseData:
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


class KMeansMethod(ABC):
    """What is released for a clustering, and how centers are made of it.

    A method reads the public parameters of the estimator and earlier releases, never a row. What a
    later step needs and what depends on chance is taken from the ``query`` of an earlier release.
    """

    @abstractmethod
    def shares(self, estimator, n_features):
        """Return the steps, in order, and the share of the budget of each.

        Only public facts count: the estimator's parameters and the number of features.
        """

    def settled_shares(self, estimator, facts):
        """Return other steps and shares at the same total, by the size of the data, or None."""
        return None

    def check(self, facts):
        """Raise, before anything is charged, where such rows or this relation are not allowed."""
        return

    def priced(self, plan):
        """Return the plan of the fit, from one with noise of one kind in all steps."""
        return plan

    @abstractmethod
    def query(self, estimator, step_name, facts):
        """Return the query of a step."""

    @abstractmethod
    def finish(self, estimator, facts):
        """Return the PrivateClusters."""


def total_privacy(facts):
    """Return what the steps of a fit cost together: mu for Gaussian noise, else epsilon."""
    steps = facts.mechanisms.values()
    if is_gaussian(facts):
        return math.sqrt(sum(mechanism.mu**2 for mechanism in steps))
    return sum(mechanism.epsilon for mechanism in steps)


def is_gaussian(facts):
    """Whether the steps of a fit add Gaussian noise."""
    return any(isinstance(m, RoundedGaussian) for m in facts.mechanisms.values())


def public_mu(estimator):
    """Return the Gaussian parameter that the estimator's budget buys; needs ``delta > 0``."""
    return gaussian_mu(estimator.epsilon, estimator.delta)


def rescaled(masses, total):
    """Return masses that add up to a total, for sums of clip factors that count rows in part."""
    masses = np.maximum(masses, 0.0)
    return masses * (max(total, 0.0) / max(float(masses.sum()), 1e-300))
