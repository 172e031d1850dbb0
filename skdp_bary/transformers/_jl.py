"""Random projection to fewer features by a public matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.random_projection import GaussianRandomProjection, SparseRandomProjection
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .._parameter_rules import MOST_FEATURES, MOST_PERSONS, Integer, Number, Option
from .._parameters import PlainParameters, PublicDomain, Seed, check_parameters
from .._pickles import VersionedPickle
from .._sklearn import captioned_block
from ..geometry._ball import Ball
from ..geometry._bounds import check_domain, width_of
from ..geometry._linear_maps import HadamardMap, IdentityMap, MatrixMap
from ..geometry._projections import barycenter_dimension, distance_dimension, kmeans_dimension
from ..geometry._rowwise import row_blocks
from ._columns import warn_of_ids
from ._reading import names_seen, read_rows, rows_of_width

if TYPE_CHECKING:
    from scipy.sparse import sparray

    from .._types import RandomState, Rows
    from ..geometry._bounds import Bounds

_METHODS = ("gaussian", "sparse", "hadamard")
# What the dimension depends on under each rule: a parameter of the transformer, and the formula.
_RULES = {
    "distance": ("n_hint", distance_dimension),
    "kmeans": ("n_clusters", kmeans_dimension),
    "barycenter": ("n_atoms", barycenter_dimension),
}


class JLTransformer(
    PlainParameters,
    VersionedPickle,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    BaseEstimator,
):
    """Project rows to fewer features by a random matrix drawn without looking at them.

    The number of components, the matrix and the bounds handed on are functions of the parameters
    and of the number of features alone, so fitting costs no privacy budget, and neighboring data
    sets give the same fitted transformer. The rows of the result are as private as those that came
    in.

    Parameters
    ----------
    n_components : int or "auto", default="auto"
        Number of output features, at most the number of input features. "auto" takes what `rule`
        says for `distortion`; where that reaches the number of input features, nothing would be
        gained and rows keep their coordinates.
    distortion : float, default=0.5
        Allowed relative error of squared distances (or of costs), in (0, 1). Only used by "auto".
    n_hint : int, default=None
        Public bound on the number of rows. Needed by "auto" under ``rule="distance"``: the number
        of rows of `X` is never used, it may be private.
    method : {"gaussian", "sparse", "hadamard"}, default="gaussian"
        A dense Gaussian matrix; a sparse one with density ``1 / sqrt(n_features)`` (Li, Hastie and
        Church 2006); or signs followed by a subsampled Walsh-Hadamard transform, the fastest in
        high dimension.
    rule : {"distance", "kmeans", "barycenter"}, default="distance"
        What "auto" preserves: all distances of `n_hint` rows; the k-means cost of every partition
        into `n_clusters`; the Wasserstein cost of every barycenter of `n_atoms` atoms. The first
        has proven constants for a Gaussian matrix, the other two fix the constants that their
        theorems leave open by convention. The theory asks for more components, by further
        logarithms, when the matrix is not Gaussian.
    n_clusters : int, default=None
        Public number of clusters, for ``rule="kmeans"``.
    n_atoms : int, default=None
        Public number of atoms, for ``rule="barycenter"``.
    bounds : (low, high) pair, Box or Ball, default=None
        Public domain of the input rows. Rows are clipped to it and centered; after the projection,
        which can lengthen a row, they are clipped to the ball `output_bounds_` of the same radius.
        Without it nothing is clipped, no bound is handed on, and the next step has to bring its
        own.
    random_state : int, RandomState instance or None, default=None
        Seed of the public matrix; None draws it from the operating system. The matrix is public
        either way. What matters is that it was not chosen after looking at results on the data.

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
    A projected row does not depend, in a single bit, on the rows beside it: matrix products are
    made of integers short enough for float64 to be exact. With a plain floating point product a
    neighbor could change the rounding of a row that nobody touched.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp_bary.transformers import JLTransformer
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
        "method": Option(_METHODS),
        "rule": Option(tuple(_RULES)),
        "n_clusters": Integer(1, MOST_FEATURES) | None,
        "n_atoms": Integer(1, MOST_FEATURES) | None,
        "bounds": PublicDomain() | None,
        "random_state": Seed(2**32 - 1) | None,
    }

    def __init__(
        self,
        n_components: int | Literal["auto"] = "auto",
        *,
        distortion: float = 0.5,
        n_hint: int | None = None,
        method: Literal["gaussian", "sparse", "hadamard"] = "gaussian",
        rule: Literal["distance", "kmeans", "barycenter"] = "distance",
        n_clusters: int | None = None,
        n_atoms: int | None = None,
        bounds: Bounds | None = None,
        random_state: RandomState | None = None,
    ) -> None:
        self.n_components = n_components
        self.distortion = distortion
        self.n_hint = n_hint
        self.method = method
        self.rule = rule
        self.n_clusters = n_clusters
        self.n_atoms = n_atoms
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
        self.n_components_ = self._target_dimension(d)
        self._map = self._draw_map(d, self.n_components_)
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
        for rows in row_blocks(*X.shape):
            block = X[rows] if isinstance(X, np.ndarray) else X[rows].toarray()
            projected[rows] = self._project(block)
        return projected

    def inverse_transform(self, X: ArrayLike) -> np.ndarray:
        """Map projected rows back to rows that project to them, or nearly so.

        The pseudo-inverse of the matrix is used; for ``method="hadamard"`` its scaled transpose,
        which is the same when the number of features is a power of two.

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

    def _project(self, block):
        if self._domain is None:
            return self._map.apply(block)
        inside = self._domain.clip(block) - self._domain.center
        return self.output_bounds_.clip(self._map.apply(inside))

    def _target_dimension(self, d):
        if not isinstance(self.n_components, str):
            k = self.n_components
            if k > d:
                raise ValueError(f"n_components must be at most n_features={d}, got {k}.")
            return int(k)
        name, dimension = _RULES[self.rule]
        size = getattr(self, name)
        if size is None:
            raise ValueError(
                f'n_components="auto" with rule={self.rule!r} needs the public number {name}: '
                "nothing is derived from the rows, not even how many there are."
            )
        return min(d, dimension(size, self.distortion))

    def _draw_map(self, d, k):
        if self.n_components == "auto" and k == d:
            return IdentityMap(d)
        rng = _public_generator(self.random_state)
        if self.method == "hadamard":
            return HadamardMap(d, k, rng)
        family = GaussianRandomProjection if self.method == "gaussian" else SparseRandomProjection
        # Fitted on a row of zeros: scikit-learn takes nothing from it but the number of features.
        return MatrixMap(family(n_components=k, random_state=rng).fit(np.zeros((1, d))).components_)

    @property
    def _n_features_out(self):
        return self.n_components_

    def _known_features(self):
        return width_of(self.bounds, None)

    def _features_after(self, n_features):
        return self._target_dimension(n_features)

    def _sk_visual_block_(self):
        return captioned_block(self, "public: fitting reads no row")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _public_generator(random_state):
    """Return a RandomState; None takes fresh entropy, not numpy's global state."""
    if random_state is None:
        return np.random.RandomState(np.random.MT19937())
    return check_random_state(random_state)
