"""A classifier with one hidden layer on fixed features, trained on public rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import accuracy_score

from ...summaries.networks.row_features import RowFeatures
from .._denoise.softmax import softmax
from .tuning import TUNED


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

    def hidden(self, features):
        """Return the hidden values of rows of features."""
        return np.maximum(features @ self.inner.T + self.offsets, 0.0)

    def scores(self, features):
        """Return the scores of the classes."""
        return self.hidden(features) @ self.outer.T + self.biases

    @property
    def parts(self):
        """The four arrays."""
        return self.inner, self.offsets, self.outer, self.biases


@dataclass(frozen=True, eq=False)
class RowClassifier:
    """Predicts the classes of rows: the public map to features, and a head.

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


def new_head(n_features, n_hidden, n_classes, rng):
    """Return a head before training."""
    return Head(
        rng.normal(size=(n_hidden, n_features)) * np.sqrt(2.0 / n_features),
        np.zeros(n_hidden),
        rng.normal(size=(n_classes, n_hidden)) * np.sqrt(1.0 / n_hidden),
        np.zeros(n_classes),
    )


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
    batch = min(TUNED.batch, n_rows)
    epochs, top_rate = (
        (TUNED.refit_epochs, TUNED.refit_rate) if refit else (TUNED.epochs, TUNED.rate)
    )
    steps = max(epochs * n_rows // batch, TUNED.fewest_steps)
    parts = [part.copy() for part in head.parts]
    speeds = [np.zeros_like(part) for part in parts]
    for step in range(steps):
        rows, views = rng.integers(n_rows, size=batch), rng.integers(n_views, size=batch)
        gradients = _gradients(parts, tables[views, rows].astype(np.float64), codes[rows])
        rate = cosine(top_rate, step, steps)
        for part, speed, gradient in zip(parts, speeds, gradients, strict=True):
            speed *= TUNED.momentum
            speed += gradient + TUNED.decay * part
            part -= rate * speed
    return Head(*parts)


def cosine(rate, step, steps):
    """Return a rate that falls to zero along half a wave."""
    return 0.5 * rate * (1.0 + np.cos(np.pi * step / steps))


def _gradients(parts, features, codes):
    inner, offsets, outer, biases = parts
    hidden = np.maximum(features @ inner.T + offsets, 0.0)
    errors = softmax(hidden @ outer.T + biases)
    errors[np.arange(len(codes)), codes] -= 1.0
    errors /= len(codes)
    behind = (errors @ outer) * (hidden > 0.0)
    return behind.T @ features, behind.sum(axis=0), errors.T @ hidden, errors.sum(axis=0)
