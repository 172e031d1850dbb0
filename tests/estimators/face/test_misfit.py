"""Bounds that do not fit the rows are told by the release, where it can tell."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from skdp_bary import (
    BudgetAccountant,
    DPSlicedWasserstein,
    PrivateDriftSketch,
    PrivateEMDHeatmap,
    PrivateGenerator,
    PrivateKMeans,
    PrivateMeasure,
    PrivatePCA,
    PrivateStandardScaler,
    PrivateTable,
    PrivateWassersteinBarycenter,
)
from skdp_bary.exceptions import PrivacyWarning
from skdp_bary.schema import Number
from tests.cases import every
from tests.world import Measurement, noisy_total

N = 2000
RNG = np.random.default_rng(0)
FITTING = RNG.normal(0.5, 0.1, size=(N, 2))
DEGREES = FITTING + [139.0, 35.0]  # in bounds of another unit
CLIPPING = [
    PrivateMeasure(bounds=(0, 1), n_hint=N),
    PrivateKMeans(3, bounds=(0, 1), n_init=1, n_hint=N),
    PrivateWassersteinBarycenter(3, bounds=(0, 1), n_init=1, n_hint=N),
    PrivateGenerator(bounds=(0, 1), n_hint=N),
]
SCALER = PrivateStandardScaler(bounds=(0, 1), n_hint=N)
TOLD_BY_SPREAD = [
    PrivateMeasure(bounds=(0, 1), random_state=0),
    PrivateDriftSketch(bounds=(0, 1), random_state=0),
    DPSlicedWasserstein(bounds=(0, 1), n_quantiles=8, random_state=0),
    PrivatePCA(4, bounds=(0, 1), random_state=0),
    PrivateGenerator(bounds=(0, 1), n_hint=10 * N, random_state=0),
]
NAMES = {"ids": lambda estimator: type(estimator).__name__}


def said(estimator, X):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        estimator.fit(X)
    texts = [str(w.message) for w in caught if w.category is PrivacyWarning]
    return [text for text in texts if "random_state" not in text]


@pytest.mark.parametrize("estimator", CLIPPING, **NAMES)
def test_rows_that_all_lie_at_one_face_are_told(estimator):
    (text,) = said(estimator, DEGREES)
    assert "at the high end of feature" in text
    (text,) = said(estimator, FITTING * [1.0, 1e-3])  # one column in other units
    assert "at the low end of feature 1" in text


def test_a_scaler_tells_of_the_high_end_and_of_cells_too_wide():
    (text,) = said(SCALER, pd.DataFrame(DEGREES, columns=["lon", "lat"]))
    assert "at the high end of column 'lon'" in text
    assert said(SCALER, FITTING * [1.0, 1e-3]) == []  # wide bounds cost it little
    (text,) = said(clone(SCALER).set_params(random_state=0), np.tile(FITTING * 1e-3, (10, 1)))
    assert "fill less than 1/16 of bounds" in text
    drowned = clone(SCALER).set_params(epsilon=0.01)
    assert "mostly noise" in "".join(said(drowned, FITTING)[-1:])  # which lies at an end by chance


@pytest.mark.parametrize("X", [DEGREES, FITTING * 1e-3], ids=["outside", "wide"])
@pytest.mark.parametrize("estimator", TOLD_BY_SPREAD, **NAMES)
def test_rows_that_all_lie_in_one_place_are_told(estimator, X):
    (text,) = said(estimator, np.tile(X, (10, 2)))
    assert "fill less than 1/16 of bounds" in text and "check the units" in text


@pytest.mark.parametrize("estimator", [*CLIPPING, SCALER, *TOLD_BY_SPREAD], **NAMES)
@pytest.mark.parametrize(
    "X",
    [FITTING, RNG.random((N, 2)), RNG.integers(2, size=(N, 2)).astype(float), FITTING * 0.3],
    ids=["inside", "uniform", "binary", "corner"],
)
def test_rows_inside_are_not(estimator, X):
    assert said(estimator, np.tile(X, (1, 2)) if estimator in TOLD_BY_SPREAD else X) == []


@pytest.mark.parametrize(
    "estimator",
    [
        PrivateMeasure(bounds=(0, 1), n_hint=7),
        PrivateEMDHeatmap(bounds=(0, 1), n_hint=7),
        DPSlicedWasserstein(bounds=(0, 1), n_min=7),
        PrivateTable(Number(0, 1), n_hint=7),
        PrivateWassersteinBarycenter(2, bounds=(0, 1), n_hint=7),
    ],
    **NAMES,
)
def test_quotes_tell_that_noise_drowns_so_few(estimator):
    """Before anything is paid, and by public numbers alone."""
    budget = BudgetAccountant(2.0, 1e-5)
    assert "About 7 people are within the noise" in budget.quote(estimator, 2).advice
    size = "n_min" if hasattr(estimator, "n_min") else "n_hint"
    for enough in (8, None):
        assert "people are" not in budget.quote(estimator.set_params(**{size: enough}), 2).advice


def test_about_as_many_persons_as_noise_are_told_by_what_is_public_or_released():
    few = PrivateWassersteinBarycenter(2, bounds=(0, 1), n_init=1)
    (text,) = said(few.set_params(n_hint=7), FITTING[:2])
    assert "About 7 people, by n_hint or a noisy count, are" in text and "16 people" in text
    assert said(few.set_params(n_hint=8), FITTING[:2]) == []  # what is in the rows says nothing
    (text,) = said(few.set_params(n_hint=None, neighbors="replace_one"), FITTING[:2])
    assert "About 2 people are" in text  # public under this relation: neither guess nor count


@every("method", ["adaptive", "one_shot"])
@every("epsilon", [0.2, 1.0])
def test_a_map_beside_the_rows_is_told_without_a_hint(method, epsilon):
    """Nothing says how many to expect; the release is no larger than its noise."""
    heatmap = PrivateEMDHeatmap(
        epsilon, bounds=(0, 1), resolution=16, method=method, random_state=0
    )
    (text,) = said(heatmap, DEGREES)
    assert "The release holds about" in text and "carry no mass" in text
    assert said(heatmap, np.repeat(FITTING, 5, axis=0)) == []


def test_the_noise_of_a_total_counts_what_covers_the_map():
    """A precise look at one cell is no total, and noisy looks at the whole map are averaged."""
    quarters = np.ones(4, dtype=int), np.arange(4)
    looks = [
        Measurement(*quarters, np.array([10.0, -4.0, 3.0, 1.0]), rate=1.0),
        Measurement(*quarters, np.array([5.0, 1.0, 0.0, 0.0]), rate=2.0),
        Measurement(np.array([1]), np.array([2]), np.array([900.0]), rate=50.0),
    ]
    total, deviation = noisy_total(looks)
    assert total == pytest.approx((10.0 + 4.0 * 6.0) / 5.0)
    assert deviation == pytest.approx((1.0 / 8.0 + 4.0 / 8.0) ** -0.5)


def test_a_map_with_nearly_all_mass_in_few_cells_is_told():
    setting = {"n_hint": N, "resolution": 32, "epsilon": 2.0}
    (text,) = said(PrivateEMDHeatmap(bounds=(-50, 60), **setting), FITTING)
    assert "in 4 of 256 equal cells" in text
    assert "Box(low=[-50. -50.]" in text
    assert said(PrivateEMDHeatmap(bounds=(0, 1), **setting), FITTING) == []
    few = PrivateEMDHeatmap(bounds=(-50, 60), resolution=32, n_hint=20)
    assert not any("equal cells" in text for text in said(few, FITTING[:20]))
