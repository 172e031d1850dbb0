"""Public features and a head trained on public rows, before any private query."""

from __future__ import annotations

import inspect
import pickle
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import accuracy_score
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, check_X_y

from ..geometry.bounds import check_domain
from ..queries.maps import N_DRAWS, RowFeatures, raw_features
from ..values import column_names
from .noisy_means import softmax

# A classifier with one hidden layer on fixed features, trained on public rows.

MOMENTUM = 0.9  # of gradients, as it is usual
_BATCH, _DECAY = 128, 1e-4


@dataclass(frozen=True, eq=False)
class Head:
    """Weights of a network with one layer of rectified hidden units.

    Parameters
    ----------
    inner : ndarray of shape (n_hidden, n_features)
    offsets : ndarray of shape (n_hidden,)
    outer : ndarray of shape (n_classes, n_hidden)
    biases : ndarray of shape (n_classes,)
    """

    inner: np.ndarray
    offsets: np.ndarray
    outer: np.ndarray
    biases: np.ndarray

    def scores(self, features):
        """Return the scores of the classes."""
        hidden = np.maximum(features @ self.inner.T + self.offsets, 0.0)
        return hidden @ self.outer.T + self.biases

    @property
    def parts(self):
        """The four arrays."""
        return self.inner, self.offsets, self.outer, self.biases


@dataclass(frozen=True, eq=False)
class RowClassifier:
    """Classifier of rows: a public map to features, and a head.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    """

    features: RowFeatures
    head: Head
    classes_: np.ndarray

    def predict_proba(self, X: ArrayLike) -> np.ndarray:
        """Return the probability of each class for each row.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)

        Returns
        -------
        probabilities : ndarray of shape (n_rows, n_classes)
        """
        rows = np.asarray(X, dtype=np.float64)
        return softmax(self.head.scores(self.features.public(rows)))

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Return the most probable class of each row.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)

        Returns
        -------
        labels : ndarray of shape (n_rows,)
        """
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def score(self, X: ArrayLike, y: ArrayLike) -> float:
        """Return the accuracy, an exact function of the rows and labels given.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)

        Returns
        -------
        score : float
        """
        return float(accuracy_score(y, self.predict(X)))


def train_head(head, tables, codes, rng, *, refit=False):
    """Return a head trained by momentum SGD with a cosine rate on the cross-entropy.

    Parameters
    ----------
    head : Head
        Where training starts.
    tables : ndarray of shape (n_views, n_rows, n_features)
        Features of public rows and of views of them; every step takes any of them.
    codes : ndarray of int of shape (n_rows,)
    rng : numpy.random.Generator
    refit : bool, default=False
        Whether the head was trained before, so that small steps are enough.
    """
    n_views, n_rows, _ = tables.shape
    batch = min(_BATCH, n_rows)
    epochs, top_rate = TUNED.epochs, TUNED.rate
    if refit:
        epochs, top_rate = TUNED.refit_epochs, TUNED.refit_rate
    steps = max(epochs * n_rows // batch, TUNED.fewest_steps)
    parts = [part.copy() for part in head.parts]
    speeds = [np.zeros_like(part) for part in parts]
    for step in range(steps):
        rows, views = rng.integers(n_rows, size=batch), rng.integers(n_views, size=batch)
        features, (inner, offsets, outer, biases) = tables[views, rows].astype(np.float64), parts
        hidden = np.maximum(features @ inner.T + offsets, 0.0)
        errors = softmax(hidden @ outer.T + biases)  # the gradient of the cross-entropy by scores
        errors[np.arange(batch), codes[rows]] -= 1.0
        errors /= batch
        behind = (errors @ outer) * (hidden > 0.0)
        gradients = behind.T @ features, behind.sum(axis=0), errors.T @ hidden, errors.sum(axis=0)
        rate = cosine(top_rate, step, steps)
        for part, speed, gradient in zip(parts, speeds, gradients, strict=True):
            speed *= MOMENTUM
            speed += gradient + _DECAY * part
            part -= rate * speed
    return Head(*parts)


def cosine(rate, step, steps):
    """Return a rate that falls to zero along half a wave."""
    return 0.5 * rate * (1.0 + np.cos(np.pi * step / steps))


# What the adapter knows before it asks about a private row: all of it from the public source.

_PROBED = 8
_HELD_OUT = 10  # one source row in so many tells how good the model is
_BLOCK = 1 << 10
_VIEWS = (
    "views is called as views(rows, draws) and returns altered rows: draws has shape (n_rows, "
    f"{N_DRAWS}), uniform numbers in [0, 1) for every row, and is no random generator"
)


class EstimatorFeatures:
    """Features that a public fitted estimator computes of rows."""

    def __init__(self, estimator, method):
        self.estimator = estimator
        self.method = method

    def __call__(self, rows):
        return getattr(self.estimator, self.method)(rows)

    def __eq__(self, other):
        """Two estimators that were fitted alike are one public map."""
        return type(other) is type(self) and pickle.dumps(vars(self)) == pickle.dumps(vars(other))

    __hash__ = object.__hash__


@dataclass(frozen=True, eq=False)
class Source:
    """The public source: its features, the head trained on them, and how good it is.

    Attributes
    ----------
    features : RowFeatures
    tables : ndarray of shape (n_views, n_rows, n_features)
        Scaled features of the training rows and, where there are views, of views of them.
    codes : ndarray of int of shape (n_rows,)
    classes : ndarray of shape (n_classes,)
    head : Head
    score : float
        Accuracy on views (rows, where there are none) that were not trained on.
    seed : int
        Of public random choices.
    n_inputs : int
        Number of features of a row.
    """

    features: RowFeatures
    tables: np.ndarray
    codes: np.ndarray
    classes: np.ndarray
    head: Head
    score: float
    seed: int
    n_inputs: int

    @property
    def n_classes(self):
        """Number of classes."""
        return len(self.classes)

    @cached_property
    def frequencies(self):
        """Share of every class among the source rows."""
        return np.bincount(self.codes, minlength=self.n_classes) / len(self.codes)

    @cached_property
    def axes(self):
        """Principal axes of the features, the widest first, one per line."""
        flat = self.tables.reshape(-1, self.tables.shape[2])
        gram = np.zeros((flat.shape[1], flat.shape[1]))
        for start in range(0, len(flat), _BLOCK):
            block = flat[start : start + _BLOCK].astype(np.float64)
            gram += block.T @ block
        return np.ascontiguousarray(linalg.eigh(gram)[1][:, ::-1].T)

    def generator(self, *place):
        """Return public randomness for a place in the fit."""
        return np.random.default_rng([self.seed, *place])

    def refit(self, moved):
        """Return the head after more training on moved features of the source rows.

        A noisy answer may send rows anywhere; they stay in the ball of features.
        """
        lengths = np.sqrt((moved.astype(np.float64) ** 2).sum(axis=2, keepdims=True))
        room = self.features.radius / np.maximum(lengths, self.features.radius)
        moved = np.nan_to_num(moved * room).astype(np.float32)
        return train_head(self.head, moved, self.codes, self.generator(1), refit=True)


def read_source(estimator, X, y, rng):
    """Train the public part of a :class:`PrivateDomainAdapter` and return it as a source.

    Parameters
    ----------
    estimator : PrivateDomainAdapter
        Its parameters; nothing is written.
    X, y : array-like
        Public rows and their labels.
    rng : numpy.random.Generator
    """
    names = column_names(X)
    X, y = check_X_y(X, y, dtype=np.float64)
    check_classification_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(
            f"y_source must hold at least two classes, got {classes!r}. Add public rows of another "
            "class to source=(X, y)."
        )
    order = rng.permutation(len(X))
    X, codes = X[order], codes[order]
    features = _scaled_features(estimator, X, y[order], names)
    n_tables = 1 + 2 * TUNED.n_views if features.views is not None else 1
    tables = np.stack([features.public(X, view).astype(np.float32) for view in range(n_tables)])
    n_held = len(X) // _HELD_OUT
    seed = int(rng.integers(1 << 31))
    n_features, n_hidden = tables.shape[2], estimator.hidden
    start = Head(  # variances by He et al. 2015: layers of rectified units keep that of features
        rng.normal(size=(n_hidden, n_features)) * np.sqrt(2.0 / n_features),
        np.zeros(n_hidden),
        rng.normal(size=(len(classes), n_hidden)) * np.sqrt(1.0 / n_hidden),
        np.zeros(len(classes)),
    )
    train = tables[:, n_held:]
    head = train_head(start, train, codes[n_held:], rng)
    held = slice(0, n_held) if n_held else slice(None)
    judged = tables[1 : 1 + TUNED.n_views, held] if len(tables) > 1 else tables[:, held]
    score = float(np.mean([head.scores(t).argmax(axis=1) == codes[held] for t in judged]))
    return Source(features, train, codes[n_held:], classes, head, score, seed, X.shape[1])


def _scaled_features(estimator, X, y, names):
    """Return the map to features, scaled by the source so that their typical length is known."""
    domain = None
    if estimator.bounds is not None:
        domain = check_domain(estimator.bounds, X.shape[1], names)
    extract = feature_function(estimator.estimator, X, y)
    maps = domain, estimator.row_map, estimator.views, extract
    bare = RowFeatures(*maps, np.zeros(1), np.ones(1), 1.0, estimator.block_rows)
    if bare.views is not None:
        mapped = replace(bare, extract=None)  # views alone are tried, not what they are fed to
        raw_features(mapped, X[:_PROBED])
        try:
            raw_features(mapped, X[:_PROBED], 1)
        except Exception as error:
            raise ValueError(f"{_VIEWS}. On rows of X_source it failed: {error}") from error
    few = X[:_PROBED]
    for view in (0, 1) if bare.views is not None else (0,):
        together, backwards = raw_features(bare, few, view), raw_features(bare, few[::-1], view)
        alone = np.concatenate([raw_features(bare, few[i : i + 1], view) for i in range(len(few))])
        scale = np.abs(alone).max() + 1e-300
        for other in (together, backwards[::-1]):
            if other.shape != alone.shape or not np.abs(other - alone).max() <= 1e-4 * scale:
                raise ValueError(
                    "row_map, views and estimator must treat every row by itself: the features "
                    "of a row of X_source change with other rows. Pass functions of one row."
                )
    blocks = range(0, len(X), _BLOCK)
    raw = np.concatenate([raw_features(bare, X[b : b + _BLOCK]) for b in blocks])
    if not np.isfinite(raw).all():
        raise ValueError(
            "X_source must have finite features, got NaN or infinity. Pass rows, row_map and "
            "estimator that give none."
        )
    center, width = raw.mean(axis=0), raw.std(axis=0)
    if extract is not None:
        width = np.full(len(width), np.sqrt((width**2).mean()))
    width = np.where(width > 0.0, width, 1.0)
    scale = width * (max(1.0, np.sqrt(len(width)) / TUNED.length))
    radius = TUNED.reach * float(np.sqrt((((raw - center) / scale) ** 2).sum(axis=1)).max())
    return replace(bare, center=center, scale=scale, radius=max(radius, 1.0))


def feature_function(estimator, X, y):
    """Return the function of rows that an estimator, fitted or not, or a callable represents."""
    if estimator is None:
        return None
    method = next((m for m in ("transform", "predict_proba") if hasattr(estimator, m)), None)
    if method is None:  # a function
        return estimator
    if getattr(estimator, "verbose", 0):
        raise ValueError(
            f"estimator must have verbose=0, got {estimator.verbose!r}: it would print lines about "
            "private rows. Pass estimator.set_params(verbose=0)."
        )
    try:
        check_is_fitted(estimator)
    except NotFittedError:
        estimator = clone(estimator).fit(X, y)
    return EstimatorFeatures(estimator, method)


def check_views_signature(views):
    """Raise unless a function of rows can be called with rows and draws."""
    try:
        signature = inspect.signature(views)
    except (TypeError, ValueError):
        return  # some callables of other languages have none
    try:
        signature.bind(None, None)
    except TypeError as error:
        raise ValueError(f"{_VIEWS}; got {views!r} ({error}).") from None


# The tuned numbers of PrivateDomainAdapter, and what each of them trades.


@dataclass(frozen=True)
class AdapterTuning:
    """Chosen on public stand-ins for private rows.

    ``benchmarks/adapter/adaptation.py`` measures what comes of them. None of them changes what is
    guaranteed: they divide the budget, say how the source is trained, and where it is trusted.
    """

    # the source
    n_views: int = 2  # of a private row; the source has as many more: agreement against time
    length: float = 10.0  # of typical scaled features
    reach: float = 2.0  # of features and hidden values, over the largest of the source: clipping

    # training of the head: fit against time
    epochs: int = 20
    refit_epochs: int = 4  # of a head that was trained before
    fewest_steps: int = 400
    rate: float = 0.05
    refit_rate: float = 0.01

    # means and moments of features
    quantile: float = 0.95  # of the norms of source rows,
    room: float = 1.25  # ... times this: where features are clipped, against noise
    shift_shares: tuple = (0.33, 1.0, 1.0)  # relative noise of mass and sum, without views
    leading_axes: int = 30  # of the features, that moments are of: detail against noise
    mean_share: float = 0.3  # of mu**2; the second moment has the rest
    floor: float = 0.05  # of the source variance: noise may leave less along an axis, or none

    # self-training
    steps: int = 150  # fit against noisier steps
    look_every: int = 25  # steps between two looks at the predicted classes
    look_share: float = 0.05  # of mu**2, of all looks: balanced classes against gradients
    least_class: float = 0.1  # of an equal share of the rows
    source_rows: int = 2048  # of a public gradient: precision against time
    clip_quantile: float = 0.8  # of the norms of gradients: clipped rows against noise
    some_gradient: float = 1e-3  # shorter ones say that the network is sure
    # mu times persons from which on: trained hidden axes, feature axes, how far noise may carry
    sizes: tuple = ((10_000.0, 100, 64, 3.3), (3_500.0, 16, 64, 2.0), (0.0, 16, 32, 2.0))


TUNED = AdapterTuning()
