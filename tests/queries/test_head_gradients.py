"""Clipped gradients of a head: the right ones, never longer than stated, each of its row alone."""

from dataclasses import replace

import numpy as np

from tests.cases import every
from tests.world import ClippedGradients, HeadFrame, HeadPoint, RowFeatures, home
from tests.world import answer as blocks_of

RNG = np.random.default_rng(0)
WIDTH, HIDDEN, CLASSES, AXES, DIRECTIONS = 5, 7, 3, 4, 6
X = RNG.normal(size=(300, WIDTH)) * np.exp(RNG.normal(size=(300, 1)))
LIMIT = 1 << 22


def jittered(rows, draws):
    return rows + draws[:, :WIDTH] - 0.5


def opposite(rows, draws):
    """Views on both sides of a border: their gradients nearly cancel, or add up."""
    return rows * np.where(draws[:, :1] < 0.5, -3.0, 3.0)


def frame(views=jittered, n_views=2):
    features = RowFeatures(None, None, views, None, np.zeros(WIDTH), np.ones(WIDTH), 30.0, 1)
    rng = np.random.default_rng(1)
    layer = rng.normal(size=(HIDDEN, WIDTH)), rng.normal(size=HIDDEN)
    shapes = (WIDTH, AXES), (HIDDEN, DIRECTIONS)
    trained = (np.linalg.qr(rng.normal(size=shape))[0].T for shape in shapes)
    return HeadFrame(features, n_views, *layer, *trained, rng.random(HIDDEN), 40.0)


def point():
    rng = np.random.default_rng(2)
    inner = 0.3 * rng.normal(size=(DIRECTIONS, AXES + 1))
    return HeadPoint(inner, rng.normal(size=(CLASSES, HIDDEN + 1)))


def gradients(clip, *, views=jittered, n_views=2, units=1):
    adjust = np.array([0.3, 0.0, -0.3])
    return ClippedGradients(frame(views, n_views), point(), adjust, clip, units)


def answer(query, rows, masses=None):
    return blocks_of(query, rows, None, masses)[0]


def loss(query, row, here, label):
    """Mean cross-entropy of the views of one row, in floats, as the module's text says it."""
    f = query.frame
    total = 0.0
    for view in range(1, 1 + f.n_views):
        features = f.features.public(row[None], view)[0]
        weights = f.weights + f.directions.T @ here.inner[:, :-1] @ f.axes
        hidden = np.maximum(weights @ features + f.offsets + f.directions.T @ here.inner[:, -1], 0)
        scores = here.outer[:, :-1] @ (hidden - f.hidden_center) + here.outer[:, -1]
        total -= scores[label] - np.log(np.exp(scores - scores.max()).sum()) - scores.max()
    return total / f.n_views


def label_of(query, row):
    views = query.frame.read(row[None])
    return int((query.frame.forward(views[0], query.point)[2] - query.adjust).argmax())


def numeric_gradient(query, row, size=1e-5):
    label, found = label_of(query, row), []
    for name in ("inner", "outer"):
        weights = getattr(query.point, name)
        for place in np.ndindex(weights.shape):
            step = np.zeros_like(weights)
            step[place] = size
            up, down = (replace(query.point, **{name: weights + s}) for s in (step, -step))
            found.append((loss(query, row, up, label) - loss(query, row, down, label)) / 2 / size)
    return np.array(found)


@every("place", range(8))
def test_short_gradients_are_those_of_the_mean_loss_over_views(place):
    query = gradients(clip=60.0)
    given = answer(query, X[place : place + 1]) * query.unit
    expected = numeric_gradient(query, X[place])
    np.testing.assert_allclose(given, expected, atol=0.01 * np.linalg.norm(expected) + 0.01)


@every("clip", [1e-3, 0.1, 1.0, 10.0])
@every("views", [jittered, opposite])
def test_no_row_is_longer_than_stated(clip, views):
    """In exact integers, with views that cancel and rows far away among them."""
    query = gradients(clip, views=views)
    rows = np.vstack([X[:120], 1e3 * X[:30], [[1e300, 0, 0, 0, 0]], np.zeros((1, WIDTH))])
    squares = [int(sum(int(v) ** 2 for v in answer(query, row[None]))) for row in rows]
    assert max(squares) <= LIMIT**2
    if clip <= 0.1:
        assert max(squares) >= 0.95 * LIMIT**2


def test_blocks_and_bounded_memory_change_nothing(monkeypatch):
    whole = answer(gradients(0.1), X)
    monkeypatch.setattr(home("ClippedGradients"), "_BLOCK_ROWS", 7)
    np.testing.assert_array_equal(answer(gradients(0.1), X), whole)
    monkeypatch.setattr(home("ClippedGradients"), "_MOST_CACHED", 0)
    np.testing.assert_array_equal(answer(gradients(0.1), X), whole)


def test_gradient_is_read_back_in_shape_and_adjusted_scores_change_labels():
    query = gradients(0.5)
    total = answer(query, X)
    read = query.gradient(total)
    flat = np.concatenate([read.inner.ravel(), read.outer.ravel()])
    np.testing.assert_allclose(flat, total * query.unit)
    assert (read.inner.shape, read.outer.shape) == (query.point.inner.shape, (3, HIDDEN + 1))
    query = gradients(1.0)
    far = replace(query, adjust=np.array([1e6, 0.0, 1e6]))
    assert {label_of(far, row) for row in X[:50]} == {1}
    assert {label_of(query, row) for row in X[:50]} == {0, 1, 2}
