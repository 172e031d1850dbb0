import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cases import every
from tests.world import (
    check_delta,
    check_epsilon,
    check_integer,
    check_option,
    check_real,
    exact,
    float_above,
    float_below,
)

NOT_NUMBERS = [None, "1", True, np.True_, 1j, [1.0], np.array([1.0, 2.0]), Decimal(1)]
positive = st.fractions(min_value=Fraction(1, 10**6), max_value=10**9)


@every("value", [1, 1.0, np.float32(1.0), np.int64(1), Fraction(1)])
def test_check_real_returns_a_float(value):
    checked = check_real(value, "x", low=0.0, high=1.0)
    assert type(checked) is float
    assert checked == 1.0


@every("value", NOT_NUMBERS)
def test_check_real_refuses_what_is_not_a_number(value):
    with pytest.raises(TypeError, match="x must be a finite number"):
        check_real(value, "x")


@every("value", [math.nan, math.inf, -math.inf, np.float64("nan")])
@every("check", [lambda v: check_real(v, "x"), check_epsilon, check_delta])
def test_checks_refuse_what_is_not_finite(check, value):
    with pytest.raises(ValueError, match="must be a finite number"):
        check(value)


@every("open_low", [False, True])
@every("open_high", [False, True])
def test_check_real_ends_of_the_interval(open_low, open_high):
    limits = {"low": 0.0, "high": 1.0, "open_low": open_low, "open_high": open_high}
    assert check_real(0.5, "x", **limits) == 0.5
    for value, is_open in [(0.0, open_low), (1.0, open_high)]:
        if is_open:
            with pytest.raises(ValueError, match=r"x must be"):
                check_real(value, "x", **limits)
        else:
            assert check_real(value, "x", **limits) == value
    for value in [math.nextafter(0.0, -1.0), math.nextafter(1.0, 2.0)]:
        with pytest.raises(ValueError, match=r"x must be"):
            check_real(value, "x", **limits)


def test_messages_state_parameter_interval_and_value():
    with pytest.raises(ValueError, match=r"rate must be a finite number in \(0\.0, 1\.0\], got 2"):
        check_real(2, "rate", low=0.0, high=1.0, open_low=True)
    with pytest.raises(ValueError, match=r"n must be an integer in \[1, inf\), got 0"):
        check_integer(0, "n", low=1)


@every("value", [3, np.int64(3), np.uint8(3)])
def test_check_integer_returns_an_int(value):
    checked = check_integer(value, "n", low=3, high=3)
    assert type(checked) is int
    assert checked == 3


@every("value", [*NOT_NUMBERS, 3.0, math.nan, np.float64(3)])
def test_check_integer_refuses_other_types(value):
    with pytest.raises(TypeError, match="n must be an integer"):
        check_integer(value, "n")


@every("value", [2, 5])
def test_check_integer_refuses_outside(value):
    with pytest.raises(ValueError, match=r"\[3, 4\]"):
        check_integer(value, "n", low=3, high=4)


@every("value", ["c", "A", None, 1, ["a"], ("a", "b")])
def test_check_option_lists_the_options(value):
    assert check_option("a", "kind", ("a", "b")) == "a"
    with pytest.raises(ValueError, match=r"kind must be one of 'a', 'b', got"):
        check_option(value, "kind", ("a", "b"))


@every("value", [0, 0.0, -1.0, -5e-324])
def test_epsilon_is_positive(value):
    with pytest.raises(ValueError, match="epsilon"):
        check_epsilon(value)


@every("value", [1.0, 1.5, -1e-9])
def test_delta_is_a_probability_below_one(value):
    assert check_delta(0) == 0.0
    with pytest.raises(ValueError, match="delta"):
        check_delta(value)


def test_exact_reads_decimals_as_people_do():
    assert exact(0.1) * 3 == exact(0.3)
    assert 0.1 + 0.1 + 0.1 != 0.3
    assert exact(np.float32(0.5)) == Fraction(1, 2)
    assert exact(1e-7) == Fraction(1, 10**7)
    assert exact(3) == 3


@settings(derandomize=True)
@given(positive, st.integers(0, 20))
def test_float_below_never_exceeds(value, digits):
    found = float_below(value, digits)
    assert exact(found) <= value
    assert value - exact(found) <= Fraction(1, 10**digits) + value / 2**51


def test_float_below_keeps_a_decimal():
    assert float_below(exact(0.1)) == 0.1
    assert float_below(Fraction(1, 3), digits=3) == 0.333
    between = Fraction("0.333333333333333310")  # the nearest float reads 0.3333333333333333
    assert exact(float_below(between, digits=18)) < between


@settings(derandomize=True)
@given(positive)
def test_float_above_is_the_next_float(value):
    found = float_above(value)
    assert Fraction(found) >= value
    assert Fraction(math.nextafter(math.nextafter(found, 0.0), 0.0)) < value
