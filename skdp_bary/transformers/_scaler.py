"""Scaling by public bounds instead of by the data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from .._parameter_rules import Flag, Option
from .._parameters import PlainParameters, PublicDomain, check_parameters
from .._pickles import VersionedPickle
from .._sklearn import captioned_block
from ..geometry._ball import Ball
from ..geometry._bounds import check_domain, width_of
from ..geometry._domains import Box
from ..geometry._rowwise import saturated
from ._columns import warn_of_ids
from ._reading import names_seen, read_rows, rows_of_width

if TYPE_CHECKING:
    from .._types import Rows
    from ..geometry._bounds import Bounds


class DomainScaler(
    PlainParameters, VersionedPickle, OneToOneFeatureMixin, TransformerMixin, BaseEstimator
):
    """Map a public domain to the unit box or the unit ball.

    The usual scalers take minima, maxima or variances of the rows, and each of those is a release
    that has to be paid for. This one takes them from public bounds: fitting reads nothing but the
    number of features, costs no privacy budget, and gives the same transformer on neighboring data
    sets. The rows of the result are as private as those that came in.

    A feature counts by the width of its bounds in what follows, where behind ``StandardScaler`` it
    counts by the spread of its rows. So clusters differ: with bounds much wider than the rows a
    feature hardly counts. Choose bounds whose widths are in about the ratio of the spreads that
    are known in public.

    Parameters
    ----------
    bounds : (low, high) pair, Box, Ball or Mask, default=(-1.0, 1.0)
        Public domain of the rows: what the features can be, not what they are in this data set.
        The default suits features that are already scaled to [-1, 1].
    target : {"box", "ball"}, default="box"
        "box" maps the bounding box to ``[0, 1]`` in every feature, each feature with its own
        scale. "ball" moves the center to zero and divides all features by the radius of the domain,
        so ratios of distances stay as they are.
    clip : bool, default=True
        Whether to move rows outside the domain to its nearest point first. Without it no bounds
        can be handed on.

    Attributes
    ----------
    output_bounds_ : Box, Ball or None
        Public domain of the output: give it as ``bounds`` to what follows. None without
        clipping.
    offset_ : ndarray of shape (n_features_in_,)
        Point that becomes zero.
    scale_ : ndarray of shape (n_features_in_,)
        Numbers that features are divided by.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of features seen during fit, where `X` has names that are all strings.

    Examples
    --------
    >>> from skdp_bary.transformers import DomainScaler
    >>> scaler = DomainScaler(bounds=([18, 0], [100, 200_000]))
    >>> scaler.fit_transform([[59, 50_000], [30, 900_000]])
    array([[0.5       , 0.25      ],
           [0.14634146, 1.        ]])
    >>> scaler.output_bounds_
    Box(low=[0. 0.], high=[1. 1.])
    """

    _parameter_rules = {
        "bounds": PublicDomain(),
        "target": Option(("box", "ball")),
        "clip": Flag(),
    }

    def __init__(
        self,
        bounds: Bounds | None = (-1.0, 1.0),
        *,
        target: Literal["box", "ball"] = "box",
        clip: bool = True,
    ) -> None:
        self.bounds = bounds
        self.target = target
        self.clip = clip

    def fit(self, X: Rows, y: Rows | None = None) -> Self:
        """Take offset and scale from the bounds.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, of which only the number and the names of the features are used.
        y : None
            Ignored.

        Returns
        -------
        self : object
            The fitted transformer.
        """
        check_parameters(self)
        read_rows(self, X, reset=True)
        warn_of_ids(names_seen(self), self.bounds)
        d = self.n_features_in_
        self._domain = check_domain(self.bounds, d, names_seen(self))
        if self.target == "box":
            self.offset_ = self._domain.low.copy()
            self.scale_ = self._domain.high - self._domain.low
            unit = Box(np.zeros(d), np.ones(d))
        else:
            self.offset_ = self._domain.center.copy()
            self.scale_ = np.full(d, self._domain.radius)
            unit = Ball(np.zeros(d), 1.0)
        self.output_bounds_ = unit if self.clip else None
        return self

    def transform(self, X: ArrayLike) -> np.ndarray:
        """Scale rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_features)
            Scaled rows, within `output_bounds_` unless ``clip=False``.
        """
        check_is_fitted(self)
        X = read_rows(self, X, reset=False)
        if self.output_bounds_ is None:
            with np.errstate(over="ignore"):
                return saturated((X - self.offset_) / self.scale_)
        return self.output_bounds_.clip((self._domain.clip(X) - self.offset_) / self.scale_)

    def inverse_transform(self, X: ArrayLike) -> np.ndarray:
        """Undo the scaling.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Scaled rows, released centers or anything else in the scaled space.

        Returns
        -------
        X_original : ndarray of shape (n_samples, n_features)
            Rows in the original space.
        """
        check_is_fitted(self)
        X = rows_of_width(X, self.n_features_in_)
        return X * self.scale_ + self.offset_

    def _known_features(self):
        return width_of(self.bounds, None)

    def _features_after(self, n_features):
        return n_features

    def _sk_visual_block_(self):
        return captioned_block(self, "public: fitting reads no row")
