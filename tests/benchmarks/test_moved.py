"""Numbers that moved are found, those within their noise are not, and no gap is written."""

import math

import numpy as np
import pytest

from benchmarks.moved import Number, difference, lines_of, moved


def sample(mean, runs, seed):
    return Number.of_runs(np.random.default_rng(seed).normal(mean, 1.0, runs))


def test_false_alarms_are_as_rare_as_the_level_says():
    keys = [("panel", at, "series") for at in range(20)]
    alarms = 0
    for trial in range(200):
        old = {key: sample(5.0, 5, (trial, place)) for place, key in enumerate(keys)}
        new = {key: sample(5.0, 3, (trial, place, 1)) for place, key in enumerate(keys)}
        alarms += bool(moved(new, old)[0])
    assert alarms <= 8  # at most 2 expected


def test_a_number_that_moved_by_eight_deviations_is_named():
    old = {("a", 1.0, "ours"): sample(5.0, 10, 0), ("a", 2.0, "ours"): sample(5.0, 10, 1)}
    new = old | {("a", 2.0, "ours"): sample(13.0, 10, 2), ("a", 3.0, "ours"): sample(0, 3, 3)}
    lines, n_compared = moved(new, old)
    assert n_compared == 2 and len(lines) == 1 and lines[0].startswith("a, 2.0, ours: recorded ")


@pytest.mark.parametrize(("now", "far"), [(1.0005, False), (1.002, True), (math.nan, True)])
def test_numbers_without_noise_have_a_thousandth_of_slack(now, far):
    assert bool(moved({(1,): Number(now)}, {(1,): Number(1.0)})[0]) is far


def test_one_run_takes_its_noise_from_the_recorded_runs():
    old = sample(5.0, 10, 0)
    assert difference(Number(5.0, None, 1), old) < 1.0 < difference(Number(15.0, None, 1), old)
    assert difference(Number(5.0, None, 1), Number(7.0, None, 1)) is None


def test_half_an_interval_is_turned_into_the_same_error():
    values = np.random.default_rng(0).normal(size=12)
    number = Number.of_runs(values)
    again = Number.of_interval((number.mean, 2.200985 * number.error), 12)
    assert again.error == pytest.approx(number.error)
    assert Number.of_interval((1.0, None), 1) == Number(1.0, None, 1)


def test_a_gap_stops_the_table_and_names_the_number():
    numbers = {("p", 1, "a"): Number(1.0), ("p", 2, "b"): Number(math.nan)}
    with pytest.raises(SystemExit, match="p, 2, b"):
        lines_of(numbers)
    numbers["p", 2, "b"] = Number(2.0, 0.5, 3)
    head, rows = lines_of(numbers)
    assert head == ["", "at", "a", "b"]
    assert rows == [["p", "1", "1", ""], ["p", "2", "", "2 ± 0.98"]]
