"""Checks of numbers: what they allow, what they say of the rest, and exact decimals."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import world
from tests.cases import every

NOT_NUMBERS = [None, "1", True, np.True_, 1j, [1.0], np.array([1.0, 2.0]), Decimal(1)]
positive = st.fractions(min_value=Fraction(1, 10**6), max_value=10**9)


def real(value):
    return world.check_real(value, "x", low=0.0, high=1.0)


def integer(value):
    return world.check_integer(value, "n", low=3, high=4)


def option(value):
    return world.check_option(value, "kind", ("a", "b"))


@every("open_low", [False, True])
@every("open_high", [False, True])
def test_ends_of_the_interval(open_low, open_high):
    limits = {"low": 0.0, "high": 1.0, "open_low": open_low, "open_high": open_high}
    shown = rf"\{'[('[open_low]}0\.0, 1\.0\{'])'[open_high]}"
    outside = [math.nextafter(0.0, -1.0), math.nextafter(1.0, 2.0)]
    outside += [0.0] * open_low + [1.0] * open_high
    for value in outside:
        with pytest.raises(ValueError, match=f"x must be a finite number in {shown}, got"):
            world.check_real(value, "x", **limits)
    for value in {0.0, 0.5, 1.0} - set(outside):
        assert world.check_real(value, "x", **limits) == value


def test_decimals_are_read_and_kept_as_people_do():
    assert world.exact(0.1) * 3 == world.exact(0.3)
    assert 0.1 + 0.1 + 0.1 != 0.3
    assert world.exact(np.float32(0.5)) == Fraction(1, 2)
    assert world.exact(1e-7) == Fraction(1, 10**7)
    assert world.exact(3) == 3
    assert world.float_below(world.exact(0.1)) == 0.1
    assert world.float_below(Fraction(1, 3), digits=3) == 0.333
    between = Fraction("0.333333333333333310")  # the nearest float reads 0.3333333333333333
    assert world.exact(world.float_below(between, digits=18)) < between


@settings(derandomize=True)
@given(positive, st.integers(0, 20))
def test_float_below_never_exceeds(value, digits):
    found = world.float_below(value, digits)
    assert world.exact(found) <= value
    assert value - world.exact(found) <= Fraction(1, 10**digits) + value / 2**51


@settings(derandomize=True)
@given(positive)
def test_float_above_is_the_next_float(value):
    found = world.float_above(value)
    assert Fraction(found) >= value
    assert Fraction(math.nextafter(math.nextafter(found, 0.0), 0.0)) < value
