"""Self-training of the head: exact gradients of the source beside noisy ones of private rows.

The private rows are taught by what the network predicts for them, and have to predict the same for
altered views of themselves.
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
from .._denoise.softmax import softmax
from .head import Head, cosine
from .methods import Adapted, AdapterMethod
from .tuning import TUNED


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
        size = min(TUNED.source_rows, n_views * n_rows)
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

    def shares(self, setting):
        """Return the steps; looks at the predicted classes, if any, share a twentieth."""
        steps = _steps(setting)
        looks = math.ceil(steps / TUNED.look_every) if setting.align else 0
        share = (1.0 - TUNED.look_share) if looks else 1.0
        shares = {}
        for step in range(steps):
            if looks and step % TUNED.look_every == 0:
                shares[f"classes_{step}"] = TUNED.look_share / looks
            shares[f"gradient_{step}"] = share / steps
        return shares

    def questions(self, setting, facts):
        """Descend with momentum; what a row is taught follows looks at the predicted classes."""
        source, steps = setting.source, _steps(setting)
        mu = math.sqrt(sum(m.mu**2 for m in facts.mechanisms.values()))
        anchor = make_anchor(source, mu * facts.size)
        peak = peak_rate(anchor, steps, mu, facts.size)
        adjust, frequencies = np.zeros(source.n_classes), None
        before = point = anchor.start
        for step in range(steps):
            if setting.align and step % TUNED.look_every == 0:
                look = yield f"classes_{step}", PredictedClasses(anchor.frame, point, facts.units)
                frequencies = class_shares(look, facts)
                ratio = frequencies / np.maximum(source.frequencies, 1e-9)
                adjust = setting.align * np.log(ratio)
            query = ClippedGradients(anchor.frame, point, adjust, anchor.clip, facts.units)
            released = yield f"gradient_{step}", query
            private = query.gradient(released.values[0])
            public = anchor.gradient(point, source.generator(2, step + 1))
            inner = private.inner / facts.size + public.inner
            outer = private.outer / facts.size + public.outer
            rate = cosine(peak, step, steps)
            # the speed is the last move over its rate
            kept = TUNED.private_momentum * rate / cosine(peak, step - 1, steps) if step else 0.0
            before, point = point, descended(point, before, (inner, outer), rate, kept)
        return Adapted(trained_head(anchor.frame, point), frequencies)


def _steps(setting):
    return TUNED.steps if setting.max_iter is None else setting.max_iter


def descended(point, before, gradient, rate, kept):
    """Return the point after a step down a gradient, which keeps part of the last move."""
    layers = zip((point.inner, point.outer), (before.inner, before.outer), gradient, strict=True)
    return HeadPoint(*(here - rate * slope + kept * (here - last) for here, last, slope in layers))


def trained_head(frame, point):
    """Return the head with the trained weights put in."""
    inner = frame.directions.T @ point.inner
    outer = point.outer[:, :-1]
    return Head(
        frame.weights + inner[:, :-1] @ frame.axes,
        frame.offsets + inner[:, -1],
        outer,
        point.outer[:, -1] - outer @ frame.hidden_center,
    )


def make_anchor(source, signal):
    """Return the anchor for a budget and a number of persons: mu times the number."""
    n_directions, n_axes, nu = next(sizes for least, *sizes in TUNED.sizes if signal >= least)
    head, tables = source.head, source.tables
    n_views, n_rows, width = tables.shape
    flat = tables.reshape(-1, width)
    preactivations = flat @ head.inner.T.astype(np.float32) + head.offsets.astype(np.float32)
    axes = source.axes[:n_axes]
    hidden = np.maximum(preactivations, 0.0)
    center = hidden.mean(axis=0, dtype=np.float64)
    frame = HeadFrame(
        source.features,
        TUNED.n_views if source.features.views is not None else 0,
        head.inner,
        head.offsets,
        axes,
        np.eye(len(head.inner)),
        center,
        max(TUNED.hidden_room * float(hidden.max()), 2.0**-8),
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
    probed = slice(0, TUNED.probed_rows)
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
    lengths = lengths[lengths > TUNED.some_gradient]
    clip = float(np.quantile(lengths, TUNED.clip_quantile)) if lengths.size else 1.0
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


def peak_rate(anchor, steps, mu, size):
    """Return a rate at which noise moves the weights little, by public facts alone."""
    n_weights = anchor.start.inner.size + anchor.start.outer.size
    room = anchor.nu * anchor.clip * mu * size
    kappa = min(1.0, room / (10.0 * steps * math.sqrt(n_weights)))
    return kappa / anchor.clip**2


def class_shares(look, facts):
    """Return the released shares of the predicted classes, none far below an equal one."""
    counts = look.values[0] / facts.units
    counts = np.maximum(counts, TUNED.least_class * facts.size / len(counts))
    return counts / counts.sum()
