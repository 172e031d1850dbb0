"""Sums over rows of clipped gradients of a small network, and what it predicts.

A network with one hidden layer reads features that never change. Of its inner layer only q axes of
the hidden units times r axes of the features are trained, of its outer layer everything. A row
brings a label of its own making: the class that the network gives it. Its gradient is the mean over
fixed views of the row, of the cross-entropy between that label and the prediction for the view.

Every matrix product is one of short integers, exact in float64 in any order, and everything else is
elementwise, so a row's gradient does not depend on the rows beside it. A gradient is a sum of outer
products of integer vectors, one a view and layer; its norm follows from inner products of the
factors (Goodfellow, 2015), in exact integers, and it is never formed.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..desk.query import Query
from ..geometry.linear_maps import MatrixMap
from ..privacy.mechanisms import ADD_REMOVE, Sensitivity
from .maps import RowFeatures
from .sizes import PlaceCounts, zeros_of

_BLOCK_ROWS = 1 << 11
_COORDINATE_BITS = 13  # of a row's coordinates, in units of the radius of the features
_HIDDEN_BITS = 13  # of a hidden unit, in units of the largest value it is given room for
_PREACTIVATION_BITS = 24
_WEIGHT_BITS = 24
_ERROR_BITS = 13  # of the difference between a prediction and a label
_BACK_BITS = 20
_CLIP_BITS = 22  # of a clipped gradient
_PER_OCTAVE = 512  # of the table of exponentials
_DEEPEST = 20  # exp(-20) is nothing beside 1
_VIEW_LIMIT = 16.0  # norms of the gradients of single views, in units of the clipping norm
_ROUNDS = 8
_MOST_CACHED = 1 << 29  # bytes of one chunk

# numpy's exponential may give the last rows of a block other bits; a table cannot.
_EXPONENTIALS = np.rint(2.0**30 * np.exp(-np.arange(_DEEPEST * _PER_OCTAVE + 1) / _PER_OCTAVE))


@dataclass(frozen=True, eq=False)
class HeadFrame:
    """What stays fixed while a network is trained: public, made from the source alone.

    Parameters
    ----------
    features : RowFeatures
    n_views : int
        Views of a row that the gradient is averaged over.
    weights : ndarray of shape (n_hidden, n_features)
        Inner layer at the start.
    offsets : ndarray of shape (n_hidden,)
    axes : ndarray of shape (r, n_features)
        Orthonormal axes of the features that are trained.
    directions : ndarray of shape (q, n_hidden)
        Orthonormal axes of the hidden units that are trained.
    hidden_center : ndarray of shape (n_hidden,)
    hidden_reach : float
        Hidden units are cut to at most this.
    """

    features: RowFeatures
    n_views: int
    weights: np.ndarray
    offsets: np.ndarray
    axes: np.ndarray
    directions: np.ndarray
    hidden_center: np.ndarray
    hidden_reach: float

    @cached_property
    def coordinate_unit(self):
        """Width of one unit of a coordinate of a row."""
        return self.features.radius * 2.0**-_COORDINATE_BITS

    @cached_property
    def hidden_unit(self):
        """Width of one unit of a hidden value."""
        return self.hidden_reach * 2.0**-_HIDDEN_BITS

    @cached_property
    def biases(self):
        """What the biases of the two layers are multiplied by, in units: about one."""
        units = self.coordinate_unit, self.hidden_unit
        return tuple(max(1.0, np.rint(1.0 / unit)) for unit in units)

    @cached_property
    def _preactivation_unit(self):
        longest = np.sqrt((self.weights**2).sum(axis=1)).max()
        reach = self.features.radius * longest + np.abs(self.offsets).max()
        return float(max(reach, 1e-300)) * 2.0**-_PREACTIVATION_BITS

    @cached_property
    def _map(self):
        return MatrixMap(np.vstack([self.weights, self.axes]) * self.features.lattice.step)

    @cached_property
    def _directions(self):
        return np.rint(self.directions.T * 2.0**_BACK_BITS)

    def blocks(self, chunk):
        """Yield, a block of rows at a time, what `read` returns, and the masses or None."""
        width = (1 + self.n_views) * (4 * len(self.weights) + 2 * len(self.axes))
        whole = None
        if len(chunk.X) * width <= _MOST_CACHED:
            if self not in chunk.memo:
                chunk.memo[self] = self.read(chunk.X)
            whole = chunk.memo[self]
        for start in range(0, len(chunk.X), _BLOCK_ROWS):
            rows = slice(start, start + _BLOCK_ROWS)
            if whole is None:
                views = self.read(chunk.X[rows])
            else:
                views = [tuple(part[rows] for part in view) for view in whole]
            yield views, chunk.masses_of(rows)

    def read(self, X):
        """Return preactivations and coordinates in units, of the rows and of each of their views.

        Rows meet the feature maps here, and these integers are all that is used of them.
        """
        found = []
        for view in range(1 + self.n_views):
            products = self._map.apply(self.features.integers(X, view).astype(np.float64))
            hidden = products[:, : len(self.weights)] + self.offsets
            hidden = np.rint(hidden / self._preactivation_unit).astype(np.int32)
            coordinates = products[:, len(self.weights) :] / self.coordinate_unit
            found.append((hidden, np.rint(coordinates).astype(np.int16)))
        return found

    def forward(self, view, point):
        """Return centered hidden values in units, which of them are on, and scores of classes."""
        preactivations, coordinates = view
        moved, unit = point.moved(self)
        values = preactivations * self._preactivation_unit
        values += (coordinates.astype(np.float64) @ moved) * (unit * self.coordinate_unit)
        values += point.inner[:, -1] @ self.directions
        hidden = np.rint(np.maximum(values, 0.0) * (1.0 / self.hidden_unit))
        np.minimum(hidden, 2.0**_HIDDEN_BITS, out=hidden)
        hidden -= np.rint(self.hidden_center / self.hidden_unit)
        outer, unit = point.outer_units
        scores = (hidden @ outer.T) * (unit * self.hidden_unit) + point.outer[:, -1]
        return hidden, values > 0.0, scores

    def backward(self, errors, active, point):
        """Return the errors of the trained hidden axes in units, and the unit."""
        outer, unit = point.outer_units
        largest = 2.0 * max(float(np.abs(point.outer[:, :-1]).max()), 1e-300)
        behind = (errors @ outer) * (unit * 2.0**-_ERROR_BITS) * active
        behind = np.rint(behind * (2.0**_BACK_BITS / largest))
        along = (behind @ self._directions) * (largest * 4.0**-_BACK_BITS)
        unit = largest * np.sqrt(len(self.weights)) * 2.0**-_BACK_BITS
        return np.rint(along / unit), unit


@dataclass(frozen=True, eq=False)
class HeadPoint:
    """Trained weights of both layers, the bias in the last column.

    Parameters
    ----------
    inner : ndarray of shape (q, r + 1)
        What is added to the inner layer, along its axes.
    outer : ndarray of shape (n_classes, n_hidden + 1)
        The outer layer, for centered hidden values.
    """

    inner: np.ndarray
    outer: np.ndarray

    def moved(self, frame):
        """Return the map from coordinates to hidden units, as integers, and their unit."""
        return _as_integers(self.inner[:, :-1].T @ frame.directions)

    @cached_property
    def outer_units(self):
        """The outer weights as integers, and their unit."""
        return _as_integers(self.outer[:, :-1])


@dataclass(frozen=True, eq=False)
class PredictedClasses(PlaceCounts):
    """Mass of the rows that a network puts in each class.

    Parameters
    ----------
    frame : HeadFrame
    point : HeadPoint
    units : int
        Largest mass of one person.
    """

    frame: HeadFrame
    point: HeadPoint
    units: int = 1

    in_threads = False  # views and features come from functions of somebody else

    @property
    def n_places(self):
        """Number of classes."""
        return len(self.point.outer)

    def _places(self, chunk):
        for views, masses in self.frame.blocks(chunk):
            yield self.frame.forward(views[0], self.point)[2].argmax(axis=1), masses


@dataclass(frozen=True, eq=False)
class ClippedGradients(Query):
    """Sum of the rows' gradients, each clipped to a public norm, as integers.

    The block is the gradient of the inner and then the outer weights, line by line. A row that has
    part of its person's mass counts by that part.

    Parameters
    ----------
    frame : HeadFrame
    point : HeadPoint
    adjust : ndarray of shape (n_classes,)
        Taken off the scores before a row's label is read off them; from earlier releases.
    clip : float
        Norm that the gradient of a person is clipped to; ``2**22`` units.
    units : int
        Largest mass of one person.
    """

    frame: HeadFrame
    point: HeadPoint
    adjust: np.ndarray
    clip: float
    units: int = 1

    in_threads = False  # views and features come from functions of somebody else

    @property
    def unit(self):
        """Length that one unit of the answer represents."""
        return self.clip * 2.0**-_CLIP_BITS

    def zeros(self):
        """Return the zero gradient of both layers."""
        return zeros_of(self.point.inner.shape, self.point.outer.shape)

    def count(self, state, chunk):
        """Add the gradients of the rows."""
        for views, masses in self.frame.blocks(chunk):
            scores = self.frame.forward(views[0], self.point)[2] - self.adjust
            labels = scores.argmax(axis=1)
            sides = [self._side(view, labels) for view in views[1:]]
            for errors, behind, hidden, coordinates in self._clipped(sides, masses):
                state[0][:] += _outer_sum(behind, coordinates, self.frame.biases[0])
                state[1][:] += _outer_sum(errors, hidden, self.frame.biases[1])

    def blocks(self, state):
        """Return the gradient as one vector."""
        return (np.concatenate([state[0].ravel(), state[1].ravel()]),)

    def sensitivity(self, relation):
        """A person's gradient is at most ``2**22`` long; another one may point the other way."""
        reach = (1 if relation == ADD_REMOVE else 2) << _CLIP_BITS
        width = self.point.inner.size + self.point.outer.size
        # the root is rounded up, as the norm in L1 of integers is whole
        return Sensitivity.single(math.isqrt(width * reach**2 - 1) + 1, reach**2)

    def gradient(self, values):
        """Return sums over rows as a change of both layers, from the released block."""
        layers = self.point.inner, self.point.outer
        parts = zip(np.split(values, [layers[0].size]), layers, strict=True)
        return HeadPoint(*(part.reshape(layer.shape) * self.unit for part, layer in parts))

    def _side(self, view, labels):
        """Return the factors of the gradients of one view, and the units of the errors."""
        hidden, active, scores = self.frame.forward(view, self.point)
        errors = np.rint(probabilities(scores) * 2.0**_ERROR_BITS)
        errors[np.arange(len(labels)), labels] -= 2.0**_ERROR_BITS
        behind, unit = self.frame.backward(errors, active, self.point)
        return errors, behind, hidden, view[1].astype(np.float64), unit

    def _clipped(self, sides, masses):
        """Return the sides with their errors in units of the answer, no row longer than its share.

        The factor of a row follows from rounded errors; what is kept is rounded once more, so the
        norm is taken again of the very integers that are added, and rows that rounding made too
        long shrink until they are not. Single views are kept below 16 clipping norms: with terms
        below ``2**56`` float64 finds the squared norm of their sum within ``2**8``, less than
        what is lost to the unit taken off the limit.
        """
        share = np.ones(len(sides[0][0])) if masses is None else masses / self.units
        limit = np.floor(share * 2.0**_CLIP_BITS)
        h, a = self.frame.hidden_unit, self.frame.coordinate_unit
        raw = [(s[0] * 2.0**-_ERROR_BITS * h, s[1] * s[4] * a, s[2], s[3]) for s in sides]
        units = (2.0**-_ERROR_BITS * h) ** 2, (sides[0][4] * a) ** 2
        pairs = self._products([s[:4] for s in sides], *units)
        longest = np.sqrt(np.max([pairs[k][k] for k in range(len(sides))], axis=0))
        total = np.sqrt(np.maximum(sum(map(sum, pairs)), 0.0)) / len(sides)
        room = np.minimum(1.0, self.clip / np.maximum(total, 1e-300))
        room = np.minimum(room, _VIEW_LIMIT * self.clip / np.maximum(longest, 1e-300))
        factor = room * share / (len(sides) * self.unit)
        for _ in range(_ROUNDS):
            kept = [
                (np.rint(d * factor[:, None]), np.rint(e * factor[:, None]), *rest)
                for d, e, *rest in raw
            ]
            over = sum(map(sum, self._products(kept, 1.0, 1.0))) > np.maximum(limit - 1.0, 0.0) ** 2
            if not over.any():
                break
            # a five-hundredth shorter: rounding makes few rows too long, and these by little
            factor = np.where(over, factor * (1.0 - 2.0**-9), factor)
        for errors, behind, *_ in kept:
            errors[over], behind[over] = 0.0, 0.0
        return kept

    def _products(self, sides, outer_square, inner_square):
        """Return, for every two views, the inner products of their rows' gradients."""
        inner_bias, outer_bias = self.frame.biases
        return [
            [
                outer_square * (_dots(d, d2) * (_dots(h, h2) + outer_bias**2))
                + inner_square * (_dots(e, e2) * (_dots(a, a2) + inner_bias**2))
                for d2, e2, h2, a2 in sides
            ]
            for d, e, h, a in sides
        ]


def probabilities(scores):
    """Return the probabilities of classes, each row a function of its scores alone."""
    depth = (scores.max(axis=1, keepdims=True) - scores) * _PER_OCTAVE
    places = np.rint(np.minimum(depth, len(_EXPONENTIALS) - 1.0)).astype(np.intp)
    masses = _EXPONENTIALS[places]  # integers: their sums are exact
    return masses / masses.sum(axis=1, keepdims=True)


def _dots(first, second):
    """Inner products of rows of integers, exact below 2**53."""
    return np.einsum("ij,ij->i", first, second)


def _outer_sum(errors, inputs, bias):
    """Sum over rows of the outer products of errors and inputs, the bias among them."""
    total = np.empty((errors.shape[1], inputs.shape[1] + 1), dtype=np.int64)
    total[:, :-1] = errors.T @ inputs
    total[:, -1] = errors.sum(axis=0) * bias
    return total


def _as_integers(matrix):
    largest = max(float(np.abs(matrix).max(initial=0.0)), 1e-300)
    unit = largest * 2.0**-_WEIGHT_BITS
    return np.rint(matrix / unit), unit
