"""Post-processing of released slices: distances, tests, gradients, particles, ranks."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ..rows.persons import encode_labels
from ..transport.measures import sliced_gradient
from ..values import read_rows
from .sliced_methods import SlicedSketch, mean_sketch

if TYPE_CHECKING:
    from ..exceptions import RandomState

TWO_SIDED = 1.96  # standard deviations that hold 95 % of a Gaussian


class SlicedViews(ClassNamePrefixFeaturesOutMixin, TransformerMixin):
    """Methods of everything that has been fitted to slices.

    They need ``releases_``, ``classes_``, ``domain_``, ``p`` and ``random_state``.
    """

    def cost(
        self, Y: ArrayLike | None = None, *, label: object = None, return_std: bool = False
    ) -> float | tuple[float, float]:
        """Return the estimated p-th power of the distance to public rows.

        For ``p=2`` the estimate is free of bias, and so below zero now and then when the distance
        is small against the noise. For ``p=1`` noise is smoothed away by isotonic regression, which
        leaves estimates of small distances too large.

        Parameters
        ----------
        Y : array-like of shape (n_rows, n_features) or None, default=None
            Public rows; moved to the border of the domain where they are outside. None is the
            reference of ``method="scalar"``, which answers about no others.
        label : object, default=None
            The distribution that is compared; may be left out when there is only one.
        return_std : bool, default=False
            Whether to return the standard error too.

        Returns
        -------
        cost : float
        std : float
            Standard deviation that the noise gives to `cost` (an upper bound for ``p=1``). That
            the private rows are themselves a sample is not in it. Only with ``return_std=True``.
        """
        cost, std = self._cost(Y, label)
        return (cost, std) if return_std else cost

    def distance(
        self, Y: ArrayLike | None = None, *, label: object = None, return_std: bool = False
    ) -> float | tuple[float, float]:
        """Return the estimated distance to public rows: the p-th root of :meth:`cost`.

        Parameters
        ----------
        Y : array-like of shape (n_rows, n_features) or None, default=None
            As in :meth:`cost`.
        label : object, default=None
            The distribution that is compared; may be left out when there is only one.
        return_std : bool, default=False
            Whether to return the standard error too.

        Returns
        -------
        distance : float
            Zero where the estimated cost is below zero.
        std : float
            Its standard error. Near zero, where a root has none, it is such that 1.96 of it reach
            to both ends of what `cost` and 1.96 of its error allow. Only with ``return_std=True``.
        """
        distance, std = _root(*self._cost(Y, label), self.p)
        return (distance, std) if return_std else distance

    def distance_between(
        self,
        other: Self,
        *,
        label: object = None,
        other_label: object = None,
        return_std: bool = False,
    ) -> float | tuple[float, float]:
        """Return the estimated distance between two private distributions, from their releases.

        Parameters
        ----------
        other : DPSlicedWasserstein
            Fitted with the same directions and number of quantiles, or this estimator itself with
            another label. A copy of one release is rejected.
        label, other_label : object, default=None
            The distributions that are compared; may be left out where there is only one.
        return_std : bool, default=False
            Whether to return the standard error too.

        Returns
        -------
        distance : float
        std : float
            Only with ``return_std=True``.
        """
        check_is_fitted(other)
        ours, theirs = self._release(label), other._release(other_label)
        distance, std = _root(*ours.cost_between(theirs, self.p), self.p)
        return (distance, std) if return_std else distance

    def gradient(self, Z: ArrayLike, *, label: object = None) -> np.ndarray:
        """Return the gradient of the squared distance with respect to public points.

        Parameters
        ----------
        Z : array-like of shape (n_points, n_features)
            Points of equal mass, such as the output of a generator.
        label : object, default=None
            The target; may be left out when there is only one distribution.

        Returns
        -------
        gradient : ndarray of shape (n_points, n_features)
            It is free of bias given the order of the points on every slice.
        """
        sketch = self.sketch(label)
        return sliced_gradient(self._public_rows(Z), sketch.directions, sketch.quantiles)[1]

    def transform(self, X: ArrayLike) -> np.ndarray:
        """Return the ranks of projected rows among the private quantiles.

        A feature is the share of the private distribution that lies below the row on one slice,
        from 0 to 1; with several distributions, the ranks in the first come first.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)

        Returns
        -------
        ranks : ndarray of shape (n_rows, n_classes * n_directions)
        """
        sketches = [self.sketch(label) for label in self._labels()]
        X = read_rows(self, X, reset=False)
        return np.hstack([sketch.ranks(X) for sketch in sketches])

    def score(self, X: ArrayLike, y: ArrayLike | None = None) -> float:
        """Return minus the distance to the rows given.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        y : array-like of shape (n_rows,), default=None
            Labels of the rows, needed when there are several distributions; the mean over those
            that occur is returned.

        Returns
        -------
        score : float
        """
        X = self._floats(X)
        if len(self.classes_) == 1:
            return -self.distance(X)
        codes = encode_labels(y, self.classes_, len(X))
        distances = [
            self.distance(X[codes == code], label=self.classes_[code]) for code in np.unique(codes)
        ]
        return -float(np.mean(distances))

    def sample(
        self, n_samples: int = 1, *, label: object = None, random_state: RandomState | None = None
    ) -> np.ndarray:
        """Return points fitted to the release, so that their slices are as released.

        Parameters
        ----------
        n_samples : int, default=1
            All points are fitted together; a few thousand take seconds.
        label : object, default=None
            The distribution; may be left out when there is only one.
        random_state : None, int or RandomState, default=None
            Randomness of the start, which is public.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
        """
        return self.sketch(label).sample(n_samples, random_state)

    def barycenter(
        self, weights: ArrayLike | None = None, others: Iterable[SlicedViews] = ()
    ) -> SlicedSketch:
        """Return the sliced barycenter of the distributions, from their releases.

        On every slice its quantiles are the weighted means of theirs.

        Parameters
        ----------
        weights : array-like or None, default=None
            Non-negative, one a distribution: first those of this estimator, in the order of
            ``classes_``, then those of the others. Equal by default.
        others : sequence of DPSlicedWasserstein, default=()
            Fitted with the same bounds, directions and number of quantiles. A release that occurs
            twice, or a copy of it, counts once with both weights.

        Returns
        -------
        barycenter : SlicedSketch
            With ``quantiles``, ``noise_std``, ``sample(n_samples, random_state)`` and
            ``cost(Y, p)``.
        """
        sketches = [
            estimator.sketch(label)
            for estimator in (self, *others)
            for label in estimator._labels()
        ]
        return mean_sketch(sketches, _mean_weights(weights, len(sketches)))

    @property
    def _n_features_out(self):
        return len(self.releases_) * self.directions_.shape[1]

    def _labels(self):
        check_is_fitted(self)
        return self.classes_

    def _release(self, label):
        check_is_fitted(self)
        if label is None and len(self.releases_) == 1:
            return self.releases_[0]
        places = [i for i, known in enumerate(self.classes_.tolist()) if known == label]
        if label is None or not places:
            raise ValueError(f"label must be one of {self.classes_.tolist()!r}, got {label!r}.")
        return self.releases_[places[0]]

    def sketch(self, label: object = None) -> SlicedSketch:
        """Return the released quantiles of one distribution.

        Parameters
        ----------
        label : object, default=None
            The distribution; may be left out when there is only one.

        Returns
        -------
        sketch : SlicedSketch
            With ``quantiles``, ``noise_std``, ``directions``, ``sample`` and ``cost``.
        """
        release = self._release(label)
        if not isinstance(release, SlicedSketch):
            raise ValueError(
                "Quantiles are needed, which method='sketch' releases; this estimator has "
                f"method={self.method!r}."
            )
        return release

    def _public_rows(self, Y):
        return read_rows(self, Y, reset=False)

    def _cost(self, Y, label):
        release = self._release(label)
        return release.cost(None if Y is None else self._public_rows(Y), self.p)


def _root(cost, std, p):
    """Return the p-th root of a cost and its standard error.

    A root is not nearly linear around zero. The error is scaled to hold the roots of an interval
    for the cost; far from zero that is ``std / (2 * distance)``.
    """
    if p == 1:
        return max(cost, 0.0), std
    cost = max(cost, 0.0)
    distance, half = math.sqrt(cost), TWO_SIDED * std
    low, high = math.sqrt(max(cost - half, 0.0)), math.sqrt(cost + half)
    return distance, max(distance - low, high - distance) / TWO_SIDED


def _mean_weights(weights, count):
    if weights is None:
        return np.full(count, 1.0 / count)
    weights = np.asarray(weights, dtype=np.float64)
    valid = weights.shape == (count,) and np.isfinite(weights).all() and weights.min() >= 0
    if not valid or not weights.sum() > 0:
        raise ValueError(
            f"weights must be {count} non-negative numbers, not all zero, got {weights!r}."
        )
    return weights / weights.sum()
