"""Ways to release what is needed about the slices of k distributions.

The table of methods by name, ``METHODS``, is beside the estimator in ``_sliced``.
"""

from abc import ABC, abstractmethod


class SlicedMechanism(ABC):
    """What is released about slices, and what can be computed from it.

    A mechanism reads the public parameters of the estimator and earlier releases, never a row.
    """

    @abstractmethod
    def check(self, estimator, relation, n_features):
        """Raise ValueError where this mechanism cannot keep what the parameters ask for.

        Called before anything is charged or read.
        """

    @abstractmethod
    def check_facts(self, estimator, facts):
        """Raise ValueError where public facts about the rows do not allow this mechanism.

        Called before anything is charged; nothing has been released yet.
        """

    @abstractmethod
    def shares(self, estimator, relation, n_features):
        """Return the steps, in order, and the share of the budget of each."""

    @abstractmethod
    def query(self, estimator, step_name, facts):
        """Return the query of a step."""

    @abstractmethod
    def finish(self, estimator, facts):
        """Return one SlicedRelease a class, in the order of the classes."""


class SlicedRelease(ABC):
    """What was released about the slices of one distribution.

    Attributes
    ----------
    directions : ndarray of shape (n_features, n_directions)
        Public directions of the slices, as they were used: rows project as ``X @ directions``.
    quantiles : ndarray of shape (n_directions, n_quantiles) or None
        Noisy means of the sorted projections over blocks of equal mass; None where none are
        released.
    noise_std : float
        Standard deviation of the noise on every released number.
    """

    @abstractmethod
    def cost(self, Y, p):
        """Return an estimate of the p-th power of the distance to public rows, and its error.

        Returns
        -------
        cost : float
            For ``p=2`` free of the bias that noise brings, and so possibly below zero.
        std : float
            Standard deviation that the noise gives to `cost`.
        """

    def cost_between(self, other, p):
        """Return the same as `cost` for another release, where two of them can be compared."""
        raise ValueError(f"A {type(self).__name__} cannot be compared with another release.")

    @abstractmethod
    def smoothed_cost(self, Y, p):
        """Return the p-th power of the distance between numbers with noise and public rows.

        Noise makes it too large, and no correction is made.
        """
