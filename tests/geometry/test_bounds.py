"""Bounds are read in one way, by order or by name, or refused with the ways to write them."""

import re

import numpy as np
import pandas as pd
import pytest

from skdp_bary import BudgetAccountant, DomainScaler, PrivateMeasure
from skdp_bary.geometry import Ball, Box
from tests.cases import every
from tests.world import check_domain, in_words, width_of

AUSTIN = Box([-97.95, 30.1], [-97.55, 30.5])
NAMED = {"lat": (30.1, 30.5), "lon": (-97.95, -97.55)}


@every(
    "bounds",
    [
        [(-97.95, -97.55), (30.1, 30.5)],
        [[-97.95, 30.1], [-97.55, 30.5]],
        np.array([[-97.95, -97.55], [30.1, 30.5]]),
        ((-125, 24), (-66, 50)),
    ],
)
def test_four_numbers_with_two_readings_are_refused_with_both(bounds):
    with pytest.raises(ValueError, match=r"two ways.*Box.of_features\(.*name the.*Box\(\["):
        check_domain(bounds, 2)
    with pytest.raises(ValueError, match="two ways"):  # before rows are read
        PrivateMeasure(bounds=bounds).privacy_plan(2)


@every(
    "bounds, box",
    [
        (((0, 0), (1, 1)), Box([0, 0], [1, 1])),
        (([18, 0], [100, 200_000]), Box([18, 0], [100, 200_000])),
        ([(0, 1), (1, 2)], Box([0, 1], [1, 2])),  # both readings are the same
        ((np.array([-125, 24]), np.array([-66, 50])), Box([-125, 24], [-66, 50])),
        ((-1, 1), Box([-1, -1], [1, 1])),
        ((-1.0, [2, 2]), Box([-1, -1], [2, 2])),
        (np.array([[-1, -1], [2, 2]]), Box([-1, -1], [2, 2])),
    ],
)
def test_one_reading_is_taken(bounds, box):
    assert check_domain(bounds, 2) == box


@every("bounds", [[(0, 1)], [(0, 1)] * 3, [(30.1, 30.5), (-97.95, -97.55)]])
def test_one_pair_a_feature_is_told_how_to_be_written(bounds):
    with pytest.raises((TypeError, ValueError), match="one .low, high. pair per feature write"):
        check_domain(bounds, len(bounds))


def test_a_box_is_made_of_pairs_and_a_quote_says_bounds_by_name():
    assert Box.of_features([(-97.95, -97.55), (30.1, 30.5)]) == AUSTIN
    for wrong in ([], [(1, 2, 3)], ["ab"], [(0, 1), 2]):
        with pytest.raises(ValueError, match="one .low, high. for each feature"):
            Box.of_features(wrong)
    quote = BudgetAccountant(1.0).quote(PrivateMeasure(bounds=NAMED), 2)
    assert quote.bounds == "lat from 30.1 to 30.5, lon from -97.95 to -97.55"


def test_names_are_matched_with_the_columns_of_a_frame():
    frame = pd.DataFrame({"lon": [-97.9, -97.6] * 9, "lat": [30.2, 30.4] * 9})
    assert PrivateMeasure(bounds=NAMED, n_hint=18).fit(frame).domain_ == AUSTIN
    assert PrivateMeasure(bounds=NAMED, n_hint=18).fit([frame, frame]).domain_ == AUSTIN
    np.testing.assert_array_equal(DomainScaler(NAMED).fit(frame).offset_, AUSTIN.low)
    budget = BudgetAccountant(1.0)
    for rows, error in ((frame.to_numpy(), "no names"), (frame[["lon"]], "every column once")):
        with pytest.raises(ValueError, match=error):
            PrivateMeasure(bounds=NAMED, accountant=budget).fit(rows)
    assert budget.entries == ()
    with pytest.raises(ValueError, match="map names to"):
        PrivateMeasure(bounds={"lon": 3}).privacy_plan(1)


@every(
    "names, advice",
    [
        (["lon", "latt"], "No column is named ['latt']; ['lat'] have no bounds."),
        (["lon", "lat", "alt"], "No column is named ['alt']: leave them out of bounds."),
        (["lon"], "Give bounds for ['lat'] too, or drop ['lat'] from the rows"),
    ],
)
def test_errors_say_which_names_differ(names, advice):
    frame = pd.DataFrame({"lon": [-97.9, -97.6] * 9, "lat": [30.2, 30.4] * 9})
    with pytest.raises(ValueError, match=re.escape(advice)):
        PrivateMeasure(bounds=dict.fromkeys(names, (0, 1)), n_hint=18).fit(frame)


@every("pair", [(1, 0), (1, 1), (0, float("nan")), (0, "high"), (0, None)])
def test_errors_about_a_named_range_name_its_column(pair):
    frame = pd.DataFrame({"lon": [-97.9, -97.6] * 9, "lat": [30.2, 30.4] * 9})
    with pytest.raises(ValueError, match=re.escape(f"for every column, got 'lat': {pair}.")):
        PrivateMeasure(bounds={"lon": (-98, -97), "lat": pair}, n_hint=18).fit(frame)


@every(
    "bounds, names, words",
    [
        (None, None, "estimated from the rows, with noise"),
        ((0, 1), None, "every feature from 0 to 1"),
        (AUSTIN, ["lon", "lat"], "lon from -97.95 to -97.55, lat from 30.1 to 30.5"),
        (AUSTIN, ["lon"], "feature 0 from -97.95 to -97.55, feature 1 from 30.1 to 30.5"),
        (Ball([0.0], 1.0), None, repr(Ball([0.0], 1.0))),
    ],
)
def test_bounds_in_words(bounds, names, words):
    assert in_words(bounds, names) == words
    assert in_words(Box([0] * 9, [1] * 9)).endswith("feature 4 from 0 to 1, and 4 more")
    assert width_of(NAMED, None) == 2
