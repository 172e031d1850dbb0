"""Bought facts: the size and the domain, from nothing but releases."""

import warnings
from functools import partial

import numpy as np
import pytest

from skdp_bary import PrivateMeasure, PrivateWassersteinBarycenter
from skdp_bary.exceptions import PrivacyWarning
from tests.cases import every

pytestmark = pytest.mark.filterwarnings("ignore::skdp_bary.exceptions.PrivacyWarning")


def rows(n=20_000, d=2, seed=0, middle=3.0, spread=0.5):
    return np.random.default_rng(seed).normal(middle, spread, size=(n, d))


def fit(X, **parameters):
    parameters = {"epsilon": 1.0, "random_state": 1} | parameters
    return PrivateMeasure(**parameters).fit(X)


@every("delta", [0.0, 1e-6])
@every("middle, spread", [(0.0, 1.0), (3.0, 0.5), (-1e4, 1e3), (1e-8, 1e-7), (1e15, 3e14)])
def test_the_bought_box_holds_the_rows_and_is_not_much_too_large(middle, spread, delta):
    X = rows(middle=middle, spread=spread)
    box = fit(X, delta=delta).domain_
    assert box.contains(X).mean() > 0.995
    assert ((box.high - box.low) < 6 * (X.max(axis=0) - X.min(axis=0)).max()).all()


@every("make", [PrivateMeasure, partial(PrivateWassersteinBarycenter, 2)])
def test_bounds_that_are_a_guess_are_told_by_the_release(make):
    """Fifty persons do not stand out in any octave at epsilon 1, and twenty thousand do."""
    bought = pytest.warns(PrivacyWarning, match="bounds=None: a share of the budget")
    with pytest.warns(PrivacyWarning, match="in domain_ are a guess"), bought:
        make(epsilon=1.0, n_hint=20_000).fit(rows(50))  # n_hint says nothing about rows
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        make(epsilon=1.0, n_hint=20_000).fit(rows())
    assert not any("guess" in str(told.message) for told in caught)
