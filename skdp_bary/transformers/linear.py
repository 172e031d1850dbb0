"""DomainScaler and JLTransformer: public scalings and projections of rows."""

from __future__ import annotations

from typing import Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import sparray
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    OneToOneFeatureMixin,
    TransformerMixin,
)
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .._sklearn import VersionedPickle, captioned_block
from ..exceptions import RandomState, Rows
from ..geometry.bounds import Bounds, check_domain, width_of
from ..geometry.domains import Ball, Box
from ..geometry.linear_maps import IdentityMap, MatrixMap, distance_dimension
from ..geometry.rowwise import row_blocks, saturated
from ..parameters import (
    MOST_FEATURES,
    MOST_PERSONS,
    Flag,
    Integer,
    Number,
    Option,
    PlainParameters,
    PublicDomain,
    Seed,
    check_parameters,
)
from ..values import names_seen, read_rows, rows_of_width, warn_of_ids


class PublicStep(PlainParameters, VersionedPickle, TransformerMixin, BaseEstimator):
    """Base of transformers whose fit reads no more of rows than their width, and public bounds."""

    def _known_features(self):
        return width_of(self.bounds, None)

    def _sk_visual_block_(self):
        return captioned_block(self, "public: fitting reads no row")


# Scaling by public bounds instead of by the data.


class DomainScaler(OneToOneFeatureMixin, PublicStep):
    """Map a public domain to the unit box or the unit ball.

    The usual scalers compute minima, maxima or variances of the rows, and each of these is a
    release with a privacy cost. This scaler uses public bounds: fitting reads only the number of
    features, has no privacy cost, and gives the same transformer on neighboring datasets. The
    output rows are as private as the input rows.

    In later steps, the weight of a feature depends on the width of its bounds; after
    ``StandardScaler`` it depends on the spread of its values. So clusters can differ: a feature
    whose bounds are much wider than its values has little weight. Choose widths in about the same
    ratio as the publicly known spreads.

    Parameters
    ----------
    bounds : (low, high) pair, Box, Ball or Mask, default=(-1.0, 1.0)
        Public domain of the rows: what the features can be, not what they are in this dataset.
        The default suits features that are already scaled to [-1, 1].
    target : {"box", "ball"}, default="box"
        "box" maps the bounding box to ``[0, 1]`` in every feature, each feature with its own
        scale. "ball" moves the center to zero and divides all features by the radius of the domain,
        so ratios of distances stay as they are.
    clip : bool, default=True
        Whether to first move rows outside the domain to its nearest point. Without clipping there
        are no bounds for the next step.

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
    >>> from skdp_bary import DomainScaler
    >>> scaler = DomainScaler(bounds=([18, 0], [100, 200_000]))
    >>> scaler.fit_transform([[59, 50_000], [30, 900_000]])
    array([[0.5       , 0.25      ],
           [0.14634146, 1.        ]])
    >>> scaler.output_bounds_
    Box(low=[0. 0.], high=[1. 1.])
    """

    _parameter_rules = {"bounds": PublicDomain(), "target": Option(("box", "ball")), "clip": Flag()}

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
        with np.errstate(all="ignore"):  # what it raises would tell of one row
            if self.output_bounds_ is None:
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

    def _features_after(self, n_features):
        return n_features


# Random projection to fewer features by a public matrix.


class JLTransformer(ClassNamePrefixFeaturesOutMixin, PublicStep):
    """Project rows to fewer features by a random matrix that does not depend on the rows.

    The number of components, the matrix and the output bounds depend only on the parameters and
    the number of features, so fitting has no privacy cost, and neighboring datasets give the same
    fitted transformer. The output rows are as private as the input rows.

    Parameters
    ----------
    n_components : int or "auto", default="auto"
        Number of output features, at most the number of input features. "auto" takes the
        number that keeps all distances of `n_hint` rows up to `distortion`, by the constants proven
        for a Gaussian matrix. If that reaches the number of input features, rows keep their
        coordinates.
    distortion : float, default=0.5
        Allowed relative error of squared distances, in (0, 1). Only used by "auto".
    n_hint : int, default=None
        Public bound on the number of rows. Needed by "auto": the number of rows of `X` is
        never used, it may be private.
    bounds : (low, high) pair, Box or Ball, default=None
        Public domain of the input rows. Rows are clipped to it and centered; after the projection,
        which can lengthen a row, they are clipped to the ball `output_bounds_` of the same radius.
        Without bounds nothing is clipped, there are no output bounds, and the next step needs its
        own bounds.
    random_state : int or RandomState instance, default=None
        Seed of the public matrix; None draws it from the operating system. The matrix is public
        either way. It must not be chosen after looking at results on the data.

    Attributes
    ----------
    n_components_ : int
        Number of output features.
    components_ : ndarray or sparse array of shape (n_components_, n_features_in_)
        The matrix. Its entries are rounded to multiples of a power of two.
    output_bounds_ : Ball or None
        Public domain of the output: give it as ``bounds`` to what follows. Two rows of the output
        are at most ``2 * output_bounds_.radius`` apart.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of features seen during fit, where `X` has names that are all strings.

    Notes
    -----
    Not even the last bit of a projected row depends on other rows: matrix products are computed
    with integers short enough for float64 to be exact. In a plain floating-point product, one row
    could change the rounding of another row.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp_bary import JLTransformer
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(100, 1000))
    >>> jl = JLTransformer(distortion=0.5, n_hint=100, bounds=(-1, 1), random_state=0).fit(X)
    >>> jl.transform(X).shape
    (100, 222)
    >>> float(round(jl.output_bounds_.radius, 3))
    31.623
    """

    _parameter_rules = {
        "n_components": Integer(1, MOST_FEATURES) | Option(("auto",)),
        "distortion": Number(0.0, 1.0, open_low=True, open_high=True),
        "n_hint": Integer(2, MOST_PERSONS) | None,
        "bounds": PublicDomain() | None,
        "random_state": Seed(2**32 - 1) | None,
    }

    def __init__(
        self,
        n_components: int | Literal["auto"] = "auto",
        *,
        distortion: float = 0.5,
        n_hint: int | None = None,
        bounds: Bounds | None = None,
        random_state: RandomState | None = None,
    ) -> None:
        self.n_components = n_components
        self.distortion = distortion
        self.n_hint = n_hint
        self.bounds = bounds
        self.random_state = random_state

    def fit(self, X: Rows, y: Rows | None = None) -> Self:
        """Draw the matrix.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows, of which only the number and the names of the features are used.
        y : None
            Ignored.

        Returns
        -------
        self : object
            The fitted transformer.
        """
        check_parameters(self)
        read_rows(self, X, reset=True, accept_sparse="csr")
        warn_of_ids(names_seen(self), self.bounds)
        d = self.n_features_in_
        self._domain = None
        if self.bounds is not None:
            self._domain = check_domain(self.bounds, d, names_seen(self))
        self.n_components_ = k = self._target_dimension(d)
        if self.n_components == "auto" and k == d:
            self._map = IdentityMap(d)
        else:  # fresh entropy without a seed, not numpy's global state
            fresh = np.random.RandomState(np.random.MT19937())
            rng = fresh if self.random_state is None else check_random_state(self.random_state)
            self._map = MatrixMap(rng.normal(scale=1.0 / np.sqrt(k), size=(k, d)))
        self.output_bounds_ = None
        if self._domain is not None:
            self.output_bounds_ = Ball(np.zeros(self.n_components_), self._domain.radius)
        return self

    def transform(self, X: Rows) -> np.ndarray:
        """Project rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_components_)
            Projected rows, within `output_bounds_` where `bounds` was given.
        """
        check_is_fitted(self)
        X = read_rows(self, X, reset=False, accept_sparse="csr")
        projected = np.empty((X.shape[0], self.n_components_))
        with np.errstate(all="ignore"):  # an underflow would tell of one row
            for rows in row_blocks(*X.shape):
                block = X[rows] if isinstance(X, np.ndarray) else X[rows].toarray()
                if self._domain is None:
                    projected[rows] = self._map.apply(block)
                else:
                    inside = self._domain.clip(block) - self._domain.center
                    projected[rows] = self.output_bounds_.clip(self._map.apply(inside))
        return projected

    def inverse_transform(self, X: ArrayLike) -> np.ndarray:
        """Map projected rows back to rows that project to them, by the pseudo-inverse.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components_)
            Projected rows.

        Returns
        -------
        X_original : ndarray of shape (n_samples, n_features)
            Rows in the original space.
        """
        check_is_fitted(self)
        X = rows_of_width(X, self.n_components_)
        rows = self._map.invert(X)
        return rows if self._domain is None else rows + self._domain.center

    @property
    def components_(self) -> np.ndarray | sparray:
        """The matrix, of shape (n_components_, n_features_in_)."""
        check_is_fitted(self)
        return self._map.matrix()

    def _target_dimension(self, d):
        if not isinstance(self.n_components, str):
            k = self.n_components
            if k > d:
                raise ValueError(f"n_components must be at most n_features={d}, got {k}.")
            return int(k)
        if self.n_hint is None:
            raise ValueError(
                'n_components="auto" needs the public number n_hint: nothing is derived from the '
                "rows, not even how many there are."
            )
        return min(d, distance_dimension(self.n_hint, self.distortion))

    @property
    def _n_features_out(self):
        return self.n_components_

    def _features_after(self, n_features):
        return self._target_dimension(n_features)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
