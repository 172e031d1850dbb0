"""The ways to adapt: mean shift, moments, self-training."""

import math
from dataclasses import dataclass, replace
from types import SimpleNamespace

import numpy as np
from scipy import linalg
from scipy.optimize import nnls

from ..privacy.mechanisms import ADD_REMOVE
from ..queries.maps import FeaturesOf
from ..queries.networks import ClippedGradients, HeadFrame, HeadPoint, PredictedClasses
from ..queries.sizes import Moments, symmetric
from .adapter_source import MOMENTUM, TUNED, Head, cosine
from .noisy_means import shrink_rows, softmax
from .notices import more_of, noise_of_last

# Noise from where on adapted models were no better than those of the source, on mixtures of three
# classes in 2 to 30 features: of a mean over the clipping length, of a covariance over a variance,
# and people times mu.
_HIDDEN_MOVE, _NOISY_COVARIANCE, _LEAST_SIGNAL = 0.2, 0.1, 200.0

# A move of the mean is doubted if it is so many standard deviations of noise, if other class shares
# explain so much of its square, and if these change so many rows.
_CLEAR_MOVE, _EXPLAINED, _CHANGED = 3.0, 0.5, 0.1

# A way to adapt says what is released of the private rows, and computes the head from it: its
# ``shares(estimator)`` are the steps, in order, and the share of the budget of each, and its
# ``questions(estimator, source, facts)`` asks them, and returns what was Adapted.


@dataclass(frozen=True, eq=False)
class Adapted:
    """Result of a method.

    Attributes
    ----------
    head : Head
    frequencies : ndarray of shape (n_classes,) or None
        Released shares of the predicted classes.
    other_classes : float
        Part of the rows that would have to be of other classes to move the mean as it moved; 0
        where that does not explain the move.
    """

    head: Head
    frequencies: np.ndarray | None = None
    other_classes: float = 0.0


class MeanShift:
    """Move the source by the difference of the means, shrunken: what is done without views."""

    def shares(self, estimator):
        """Return the one step."""
        return {"mean": 1.0}

    def noise(self, estimator, plan, n_features, persons):
        """Return the length of a move of rows that noise hides, in words, and if it is too much."""
        sums = noise_of_moments(plan, n_features, "none", TUNED.shift_shares)[1]
        hidden = math.sqrt(n_features) * sums / persons
        text = f"Noise hides moves of rows by less than {hidden:.2g} of their clipping length"
        return _judged(text, hidden, _HIDDEN_MOVE, estimator, persons)

    def questions(self, estimator, source, facts):
        """Ask for the sum of the features, and shift all of them: other offsets of the head do."""
        axes = source.axes
        here = source.tables[0].astype(np.float64) @ axes.T
        query = moments_query(clipping_radius(here), axes, facts, "none", TUNED.shift_shares)
        released = yield "mean", FeaturesOf(source.features, axes, query)
        unit = query.step / facts.units / counted_mass(released, facts)
        step = released.values[1].astype(np.float64) * unit
        noise = (released.noise_sd[1] * unit) ** 2
        move = step - here.mean(axis=0)
        shift = shrink_rows(move, noise) @ axes
        head = source.head
        offsets = head.offsets - head.inner @ shift[0]
        adapted = Head(head.inner, offsets, head.outer, head.biases)
        return Adapted(adapted, other_classes=other_classes(source, here, move[0], noise))


def other_classes(source, here, move, noise):
    """Return which part of the rows other class shares would change, if they explain a move.

    Post-processing: the move of the mean was released, and the means of the classes are public.

    Parameters
    ----------
    source : Source
    here : ndarray of shape (n_rows, n_axes)
        Coordinates of the source rows.
    move : ndarray of shape (n_axes,)
        From the mean of the source to that of the private rows.
    noise : float
        Variance of the noise of a coordinate of the move.
    """
    n_axes, own = here.shape[1], source.frequencies
    means = np.stack([here[source.codes == code].mean(axis=0) for code in range(len(own))])
    means -= own @ means
    signal = float(move @ move) - n_axes * noise
    if signal <= _CLEAR_MOVE * noise * math.sqrt(2.0 * n_axes):
        return 0.0
    one = 1e3 * max(float(np.abs(means).max()), 1e-9)  # so that the shares sum to one
    shares, _ = nnls(np.vstack([means.T, np.full(len(own), one)]), np.append(move, one))
    left = move - shares @ means
    beyond = float(left @ left) - max(n_axes - len(own) + 1, 0) * noise
    changed = 0.5 * float(np.abs(shares - own).sum())
    return changed if beyond < (1.0 - _EXPLAINED) * signal and changed > _CHANGED else 0.0


def clipping_radius(here):
    """Return the length that private features are clipped to, from source features."""
    lengths = np.sqrt((here**2).sum(axis=1))
    return max(TUNED.room * float(np.quantile(lengths, TUNED.quantile)), 1e-9)


def moments_query(radius, axes, facts, second, weights):
    """Return the query of the moments of features along some axes."""
    origin, kind = np.zeros((1, len(axes))), (facts.units, facts.total_public)
    return Moments(origin, radius, None, second, weights, *kind)


def _judged(text, noise, most, estimator, persons):
    """Return a text about noise with what helps against it, and whether it is too much."""
    if noise <= most:
        return f"{text}.", False
    more = more_of(estimator, persons, noise / most)
    return f"{text}; above {most:g} adapting can harm. {more}.", True


def noise_of_moments(plan, n_features, second, weights):
    """Return the noise of sums and second moments of people, relative to the clipping length."""
    facts = SimpleNamespace(units=1, total_public=plan.relation != ADD_REMOVE)
    query = moments_query(1.0, np.eye(n_features), facts, second, weights)
    sds = noise_of_last(query, plan)
    return [sd * query.step**power for sd, power in zip(sds, (0, 1, 2, 2), strict=False)]


def counted_mass(released, facts):
    """Return the number of people that released moments are about."""
    if facts.relation == ADD_REMOVE or not facts.mass_public:
        return float(max(facts.size, 1))
    return max(float(released.values[0][0]) / facts.units, 1.0)


# Adapting by moments: the source is moved to what is released of the private features.


class MomentsMethod:
    """Mean and covariance of the leading coordinates, and the Gaussian optimal transport map."""

    def shares(self, estimator):
        """Return the one step: both moments are one release."""
        return {"moments": 1.0}

    def noise(self, estimator, plan, n_features, persons):
        """Return the noise of a covariance in words, and whether it is too much."""
        width = min(n_features, TUNED.leading_axes)
        noise = noise_of_moments(plan, width, "pooled", _moment_weights())[3] * width / persons
        text = f"A covariance has noise of {noise:.2g} of a variance"
        return _judged(text, noise, _NOISY_COVARIANCE, estimator, persons)

    def questions(self, estimator, source, facts):
        """Ask for the moments, move every source table by the map to them, and refit."""
        axes = source.axes[: TUNED.leading_axes]
        shape = source.tables.shape
        flat = source.tables.reshape(-1, shape[2]).astype(np.float64)
        here = flat @ axes.T
        radius = clipping_radius(here[: shape[1]])  # of rows, without their views
        query = moments_query(radius, axes, facts, "pooled", _moment_weights())
        released = yield "moments", FeaturesOf(source.features, axes, query)
        unit = query.step
        persons = counted_mass(released, facts) * facts.units
        mean = released.values[1][0] * (unit / persons)
        noise, move = (released.noise_sd[1] * unit / persons) ** 2, mean - here.mean(axis=0)
        second = symmetric(released.values[2][0], released.values[3][0]) * (unit**2 / persons)
        centered = here - here.mean(axis=0)
        before = centered.T @ centered / len(here)
        scale = np.sqrt(np.maximum(np.diag(before), 1e-12))
        after = (second - np.outer(mean, mean)) / np.outer(scale, scale)
        matrix = gaussian_map(before / np.outer(scale, scale), after)
        there = mean + ((centered / scale) @ matrix.T) * scale
        moved = flat + (there - here) @ axes
        head = source.refit(moved.reshape(shape).astype(np.float32))
        rows = here[: shape[1]]
        return Adapted(head, other_classes=other_classes(source, rows, move, noise))


def _moment_weights():
    share = TUNED.mean_share
    return 1.0, 2.0 / math.sqrt(share), math.sqrt(2.0 / (1.0 - share))


def gaussian_map(before, after):
    """Return the matrix of the optimal transport map between centered Gaussians.

    The second covariance may be noisy: eigenvalues below a small part of the typical variance of
    the first are raised to it.
    """
    before = _raised(before, TUNED.floor * float(np.mean(np.diag(before))))
    after = _raised(after, TUNED.floor * float(np.mean(np.diag(before))))
    # A**-1/2 (A**1/2 B A**1/2)**1/2 A**-1/2 (Dowson and Landau 1982)
    values, vectors = linalg.eigh(before)
    root = (vectors * np.sqrt(values)) @ vectors.T
    inverse = (vectors / np.sqrt(values)) @ vectors.T
    values, vectors = linalg.eigh(root @ after @ root)
    middle = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    return inverse @ middle @ inverse


def _raised(matrix, least):
    values, vectors = linalg.eigh((matrix + matrix.T) / 2.0)
    return (vectors * np.maximum(values, least)) @ vectors.T


# Self-training of the head: exact gradients of the source beside noisy ones of private rows.

_PROBED_ROWS = 4096  # that axes and the clipping norm are found on: time


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
        own = (each[views, rows] for each in (self.preactivations, self.coordinates))
        sides = anchor_sides(self.frame, point, *own, self.codes[rows])
        errors, behind, hidden, coordinates = sides
        return HeadPoint(_mean_outer(behind, coordinates), _mean_outer(errors, hidden))


class SelfTraining:
    """Steps of gradient descent, each with a noisy sum of clipped gradients of private rows."""

    def shares(self, estimator):
        """Return the steps; looks at the predicted classes, if any, share a twentieth."""
        steps = estimator.max_iter or TUNED.steps
        looks = math.ceil(steps / TUNED.look_every) if estimator.align else 0
        share = (1.0 - TUNED.look_share) if looks else 1.0
        shares = {}
        for step in range(steps):
            if looks and step % TUNED.look_every == 0:
                shares[f"classes_{step}"] = TUNED.look_share / looks
            shares[f"gradient_{step}"] = share / steps
        return shares

    def noise(self, estimator, plan, n_features, persons):
        """Return how far noise lets the model go, in words, and whether that is hardly at all."""
        signal = persons * math.sqrt(sum(step.mechanism.mu**2 for step in plan.steps))
        text = f"The signal of self-training, people times mu, is {signal:.2g}"
        if signal >= _LEAST_SIGNAL:
            return f"{text}.", False
        more = more_of(estimator, persons, _LEAST_SIGNAL / signal)
        return f"{text}; below {_LEAST_SIGNAL:g} the model stays about as it was. {more}.", True

    def questions(self, estimator, source, facts):
        """Descend with momentum; what a row is taught follows looks at the predicted classes."""
        steps, align = estimator.max_iter or TUNED.steps, estimator.align
        mu = math.sqrt(sum(m.mu**2 for m in facts.mechanisms.values()))
        anchor = make_anchor(source, mu * facts.size)
        # a rate at which noise moves the weights little, by public facts alone
        n_weights = anchor.start.inner.size + anchor.start.outer.size
        room = anchor.nu * anchor.clip * mu * facts.size
        kappa = min(1.0, room / (10.0 * steps * math.sqrt(n_weights)))
        peak = kappa / anchor.clip**2
        adjust, frequencies = np.zeros(source.n_classes), None
        before = point = anchor.start
        for step in range(steps):
            if align and step % TUNED.look_every == 0:
                look = yield f"classes_{step}", PredictedClasses(anchor.frame, point, facts.units)
                # the released shares, none far below an equal one
                counts = look.values[0] / facts.units
                least = TUNED.least_class * facts.size / len(counts)
                counts = np.maximum(counts, least)
                frequencies = counts / counts.sum()
                adjust = align * np.log(frequencies / np.maximum(source.frequencies, 1e-9))
            query = ClippedGradients(anchor.frame, point, adjust, anchor.clip, facts.units)
            released = yield f"gradient_{step}", query
            private = query.gradient(released.values[0])
            public = anchor.gradient(point, source.generator(2, step + 1))
            rate = cosine(peak, step, steps)
            # the speed is the last move over its rate
            kept = MOMENTUM * rate / cosine(peak, step - 1, steps) if step else 0.0
            moved = []
            for part in ("inner", "outer"):
                now, last, noisy, own = (getattr(p, part) for p in (point, before, private, public))
                moved.append(now - rate * (noisy / facts.size + own) + kept * (now - last))
            before, point = point, HeadPoint(*moved)
        frame = anchor.frame
        inner, outer = frame.directions.T @ point.inner, point.outer[:, :-1]
        weights, offsets = frame.weights + inner[:, :-1] @ frame.axes, frame.offsets + inner[:, -1]
        biases = point.outer[:, -1] - outer @ frame.hidden_center
        return Adapted(Head(weights, offsets, outer, biases), frequencies)


def make_anchor(source, signal):
    """Return the anchor for a budget and a number of people: mu times the number."""
    n_directions, n_axes, nu = next(sizes for least, *sizes in TUNED.sizes if signal >= least)
    head, tables = source.head, source.tables
    n_views, n_rows, width = tables.shape
    flat = tables.reshape(-1, width)
    preactivations = flat @ head.inner.T.astype(np.float32) + head.offsets.astype(np.float32)
    axes = source.axes[:n_axes]
    hidden = np.maximum(preactivations, 0.0)
    center = hidden.mean(axis=0, dtype=np.float64)
    reach, all_units = max(TUNED.reach * float(hidden.max()), 2.0**-8), np.eye(len(head.inner))
    seen = TUNED.n_views if source.features.views is not None else 0
    weights = head.inner, head.offsets, axes, all_units, center, reach
    frame = HeadFrame(source.features, seen, *weights)
    outer = np.column_stack([head.outer, head.biases + head.outer @ center])
    start = HeadPoint(np.zeros((len(head.inner), len(axes) + 1)), outer)
    preactivations = preactivations.reshape(n_views, n_rows, -1)
    coordinates = (flat @ axes.T.astype(np.float32)).reshape(n_views, n_rows, -1)
    directions, clip = _probe(frame, start, preactivations, coordinates, source.codes)
    directions = directions[:n_directions]
    frame = replace(frame, directions=directions)
    start = HeadPoint(np.zeros((len(directions), len(axes) + 1)), outer)
    return Anchor(frame, start, clip, nu, preactivations, coordinates, source.codes)


def _probe(frame, start, preactivations, coordinates, codes):
    """Return axes of the hidden errors of source views, and the norm to clip at."""
    n_views = len(preactivations)
    probed = slice(0, _PROBED_ROWS)
    views = range(1, 1 + frame.n_views) if n_views > 1 else range(1)
    own = [(preactivations[v, probed], coordinates[v, probed], codes[probed]) for v in views]
    sides = [anchor_sides(frame, start, *each) for each in own]
    stacked = np.concatenate([side[1] for side in sides])
    directions = linalg.eigh(stacked.T @ stacked)[1][:, ::-1].T
    # gradients are outer products, so their products are products of lengths; 1.0 is the bias
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
