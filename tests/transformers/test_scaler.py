import pickle

import numpy as np
import pytest
from sklearn.base import clone

from skdp_bary import DomainScaler, JLTransformer
from skdp_bary.geometry import Ball, Box, Mask
from tests.cases import every

DOMAINS = [(-2, 5), Box([-1, 0, 10], [1, 5, 11]), Ball([1.0, 2.0, 3.0], 0.7)]
everywhere = [(bounds, target) for bounds in DOMAINS for target in ("box", "ball")]
everywhere.append((Mask([[0, 0], [3, 0], [0, 2]], resolution=32), "box"))
everywhere.append((Mask([[0, 0], [3, 0], [0, 2]], resolution=32), "ball"))
by_bounds = pytest.mark.parametrize(("bounds", "target"), everywhere)


def rows(bounds, n=500):
    d = 2 if isinstance(bounds, Mask) else 3
    return np.random.default_rng(0).normal(1, 4, (n, d))


@by_bounds
def test_nothing_depends_on_the_rows(bounds, target):
    X = rows(bounds)
    scaler = DomainScaler(bounds, target=target)
    states = {pickle.dumps(clone(scaler).fit(Z)) for Z in (X, X[:-1], X * 1e9, np.zeros_like(X))}
    assert len(states) == 1


@by_bounds
def test_rows_land_in_the_bounds_handed_on_and_come_back(bounds, target):
    X = rows(bounds)
    scaler = DomainScaler(bounds, target=target).fit(X)
    Y = scaler.transform(X)
    assert scaler.output_bounds_.contains(Y).all()
    inside = scaler._domain.contains(X)
    back = scaler.inverse_transform(Y)
    np.testing.assert_allclose(back, scaler._domain.clip(X), atol=1e-12)
    np.testing.assert_allclose(back[inside], X[inside], atol=1e-12)


@by_bounds
def test_a_row_gives_the_same_bits_beside_any_other_rows(bounds, target):
    X = rows(bounds)
    scaler = DomainScaler(bounds, target=target).fit(X)
    parts = [scaler.transform(X[i : i + 7]) for i in range(0, len(X), 7)]
    assert np.concatenate(parts).tobytes() == scaler.transform(X).tobytes()
    assert scaler.transform(np.asfortranarray(X)).tobytes() == scaler.transform(X).tobytes()
    with np.errstate(all="raise"):  # no row alone may raise
        scaler.transform(np.full_like(X[:1], 5e-324))


def test_rows_scaled_to_just_outside_the_unit_ball_are_clipped_again():
    ball = Ball([0.1, 0.1, 0.1], 0.7)
    X = ball.clip(np.random.default_rng(0).normal(0, 99, (20_000, 3)))
    scaler = DomainScaler(ball, target="ball").fit(X)
    assert not scaler.output_bounds_.contains((X - ball.center) / ball.radius).all()
    assert scaler.output_bounds_.contains(scaler.transform(X)).all()


def test_without_clipping_no_bounds_are_handed_on():
    scaler = DomainScaler((0, 2), clip=False).fit([[1.0]])
    assert scaler.output_bounds_ is None
    np.testing.assert_array_equal(scaler.transform([[6.0]]), [[3.0]])
    assert DomainScaler((0, 2)).fit([[1.0]]).transform([[6.0]]) == 1.0


@every("step", [DomainScaler(), JLTransformer(1)])
@every(
    "X, message",
    [
        (np.ma.array([[0.0, 5.0]], mask=[[False, True]]), "masked entries"),
        (np.array([[1, 2]], dtype="timedelta64[s]"), "dates and durations"),
        (np.array([[1.0, np.complex128(2j)]], dtype=object), "Complex data not supported"),
    ],
)
def test_what_is_no_number_is_refused(step, X, message):
    with pytest.raises(ValueError, match=message):
        step.fit(X)
    with pytest.raises(ValueError, match=message):
        step.fit(np.zeros((1, 2))).transform(X)
