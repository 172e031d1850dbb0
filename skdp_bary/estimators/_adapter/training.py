"""Self-training of the head: exact gradients of the source beside noisy ones of private rows.

The private rows are taught by what the network predicts for them, and have to predict the same for
altered views of themselves. All constants were chosen on public stand-ins.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy import linalg

from ...summaries.networks.head_gradients import (
    ClippedGradients,
    HeadFrame,
    HeadPoint,
    PredictedClasses,
)
from .head import Head, cosine, softmax
from .methods import AdapterMethod
from .source import N_VIEWS

_EVERY = 25  # steps between two looks at the predicted classes
_ALIGNMENT_SHARE = 0.05
_LEAST_CLASS = 0.1  # of an equal share of the rows
_MOMENTUM = 0.9
_SOURCE_ROWS = 2048
_PROBED_ROWS = 4096
_CLIP_QUANTILE = 0.8
_SOME_GRADIENT = 1e-3  # shorter ones say that the network is sure
_HIDDEN_ROOM = 2.0
_SIZES = (  # mu times persons from which on: trained hidden axes, feature axes, noise allowed
    (10_000.0, 100, 64, 3.3),
    (3_500.0, 16, 64, 2.0),
    (0.0, 16, 32, 2.0),
)


@dataclass(frozen=True, eq=False)
class Anchor:
    """The source as the training sees it.

    Attributes
    ----------
    frame : HeadFrame
    start : HeadPoint
    clip : float
        Clipping norm.
    nu : float
        How far noise may carry the weights.
    preactivations, coordinates : ndarray of shape (n_views, n_rows, ...)
        Of source rows and their views.
    codes : ndarray of int of shape (n_rows,)
    """

    frame: HeadFrame
    start: HeadPoint
    clip: float
    nu: float
    preactivations: np.ndarray
    coordinates: np.ndarray
    codes: np.ndarray

    def gradient(self, point, rng):
        """Return the exact mean gradient of some source rows or views."""
        n_views, n_rows, _ = self.preactivations.shape
        size = min(_SOURCE_ROWS, n_views * n_rows)
        chosen = rng.choice(n_views * n_rows, size=size, replace=False)
        views, rows = np.divmod(chosen, n_rows)
        sides = anchor_sides(
            self.frame,
            point,
            self.preactivations[views, rows],
            self.coordinates[views, rows],
            self.codes[rows],
        )
        errors, behind, hidden, coordinates = sides
        return HeadPoint(_mean_outer(behind, coordinates), _mean_outer(errors, hidden))


class SelfTraining(AdapterMethod):
    """Steps of gradient descent, each with a noisy sum of clipped gradients of private rows."""

    needs_gaussian = True
    default_steps = 150

    def shares(self, estimator):
        """Return the steps; looks at the predicted classes, if any, share a twentieth."""
        steps = self.steps(estimator)
        looks = range(0, steps, _EVERY) if estimator.align else ()
        share = (1.0 - _ALIGNMENT_SHARE) if estimator.align else 1.0
        shares = {}
        for step in range(steps):
            if step in looks:
                shares[f"classes_{step}"] = _ALIGNMENT_SHARE / len(looks)
            shares[f"gradient_{step}"] = share / steps
        return shares

    def query(self, estimator, source, step_name, facts):
        """Ask for predicted classes or for gradients, at the weights so far."""
        kind, _, number = step_name.rpartition("_")
        anchor, step = _anchor(source, facts), int(number)
        look = facts.released.get(f"classes_{step}")
        point = look.query.point if look else self._point(estimator, source, facts, step)
        if kind == "classes":
            return PredictedClasses(anchor.frame, point, facts.units)
        adjust = _adjustment(estimator, source, facts, step)
        return ClippedGradients(anchor.frame, point, adjust, anchor.clip, facts.units)

    def finish(self, estimator, source, facts):
        """Put the trained weights of the last step into the head."""
        point = self._point(estimator, source, facts, self.steps(estimator))
        frame = _anchor(source, facts).frame
        inner = frame.directions.T @ point.inner
        outer = point.outer[:, :-1]
        return Head(
            frame.weights + inner[:, :-1] @ frame.axes,
            frame.offsets + inner[:, -1],
            outer,
            point.outer[:, -1] - outer @ frame.hidden_center,
        )

    def frequencies(self, source, facts):
        """Return the shares of the predicted classes at the last look, or None."""
        looks = [name for name in facts.released if name.startswith("classes_")]
        return _shares_of(facts.released[looks[-1]], facts) if looks else None

    def _point(self, estimator, source, facts, step):
        """Return the weights at a step: heavy-ball descent, along earlier releases."""
        anchor = _anchor(source, facts)
        if step == 0:
            return anchor.start
        released = facts.released[f"gradient_{step - 1}"]
        here = released.query.point
        private = released.query.gradient(released.values[0])
        public = anchor.gradient(here, source.generator(2, step))
        steps = self.steps(estimator)
        peak = _peak_rate(anchor, steps, facts)
        rate = cosine(peak, step - 1, steps)
        inner = here.inner - rate * (private.inner / facts.size + public.inner)
        outer = here.outer - rate * (private.outer / facts.size + public.outer)
        if step > 1:
            # the speed is the last move over its rate
            before = facts.released[f"gradient_{step - 2}"].query.point
            kept = _MOMENTUM * rate / cosine(peak, step - 2, steps)
            inner += kept * (here.inner - before.inner)
            outer += kept * (here.outer - before.outer)
        return HeadPoint(inner, outer)


def _mu(facts):
    return math.sqrt(sum(m.mu**2 for m in facts.mechanisms.values()))


def _anchor(source, facts):
    """Return the anchor for the size of the fit; it is made once."""
    signal = _mu(facts) * facts.size
    sizes = next(sizes for least, *sizes in _SIZES if signal >= least)
    return source.once(("anchor", *sizes), lambda: _make_anchor(source, *sizes))


def _make_anchor(source, n_directions, n_axes, nu):
    head, tables = source.head, source.tables
    n_views, n_rows, width = tables.shape
    flat = tables.reshape(-1, width)
    preactivations = flat @ head.inner.T.astype(np.float32) + head.offsets.astype(np.float32)
    axes = source.axes[:n_axes]
    hidden = np.maximum(preactivations, 0.0)
    center = hidden.mean(axis=0, dtype=np.float64)
    frame = HeadFrame(
        source.features,
        N_VIEWS if source.features.views is not None else 0,
        head.inner,
        head.offsets,
        axes,
        np.eye(len(head.inner)),
        center,
        max(_HIDDEN_ROOM * float(hidden.max()), 2.0**-8),
    )
    start = HeadPoint(
        np.zeros((len(head.inner), len(axes) + 1)),
        np.column_stack([head.outer, head.biases + head.outer @ center]),
    )
    shape = n_views, n_rows, -1
    preactivations = preactivations.reshape(shape)
    coordinates = (flat @ axes.T.astype(np.float32)).reshape(shape)
    directions, clip = _probe(frame, start, preactivations, coordinates, source.codes)
    directions = directions[:n_directions]
    frame = replace(frame, directions=directions)
    start = HeadPoint(np.zeros((len(directions), len(axes) + 1)), start.outer)
    return Anchor(frame, start, clip, nu, preactivations, coordinates, source.codes)


def _probe(frame, start, preactivations, coordinates, codes):
    """Return axes of the hidden errors of source views, and the norm to clip at."""
    n_views = len(preactivations)
    probed = slice(0, _PROBED_ROWS)
    views = range(1, 1 + frame.n_views) if n_views > 1 else range(1)
    sides = [
        anchor_sides(frame, start, preactivations[v, probed], coordinates[v, probed], codes[probed])
        for v in views
    ]
    stacked = np.concatenate([side[1] for side in sides])
    directions = linalg.eigh(stacked.T @ stacked)[1][:, ::-1].T
    squares = sum(
        (d * d2).sum(1) * ((h * h2).sum(1) + 1.0) + (e * e2).sum(1) * ((a * a2).sum(1) + 1.0)
        for d, e, h, a in sides
        for d2, e2, h2, a2 in sides
    )
    lengths = np.sqrt(np.maximum(squares, 0.0)) / len(sides)
    lengths = lengths[lengths > _SOME_GRADIENT]
    clip = float(np.quantile(lengths, _CLIP_QUANTILE)) if lengths.size else 1.0
    return np.ascontiguousarray(directions), clip


def anchor_sides(frame, point, preactivations, coordinates, codes):
    """Return errors, hidden errors, hidden values and coordinates of public rows, in floats."""
    moved = point.inner[:, :-1].T @ frame.directions
    values = preactivations + coordinates @ moved + point.inner[:, -1] @ frame.directions
    hidden = np.maximum(values, 0.0) - frame.hidden_center
    errors = softmax(hidden @ point.outer[:, :-1].T + point.outer[:, -1])
    errors[np.arange(len(codes)), codes] -= 1.0
    behind = ((errors @ point.outer[:, :-1]) * (values > 0.0)) @ frame.directions.T
    return errors, behind, hidden, coordinates


def _mean_outer(errors, inputs):
    total = np.column_stack([errors.T @ inputs, errors.sum(axis=0)])
    return total / len(errors)


def _peak_rate(anchor, steps, facts):
    """Return a rate at which noise moves the weights little, by public facts alone."""
    n_weights = anchor.start.inner.size + anchor.start.outer.size
    room = anchor.nu * anchor.clip * _mu(facts) * facts.size
    kappa = min(1.0, room / (10.0 * steps * math.sqrt(n_weights)))
    return kappa / anchor.clip**2


def _adjustment(estimator, source, facts, step):
    """Return what is taken off the scores so that labels are as frequent as in the source."""
    if not estimator.align:
        return np.zeros(source.n_classes)
    look = facts.released[f"classes_{step - step % _EVERY}"]
    ratio = _shares_of(look, facts) / np.maximum(source.frequencies, 1e-9)
    return estimator.align * np.log(ratio)


def _shares_of(look, facts):
    counts = look.values[0] / facts.units
    counts = np.maximum(counts, _LEAST_CLASS * facts.size / len(counts))
    return counts / counts.sum()
