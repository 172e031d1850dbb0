"""PrivateStandardScaler: moments from histograms, with bounds far too wide and without signal."""

import numpy as np
import pytest

from skdp_bary import PrivateStandardScaler
from tests.cases import every
from tests.world import home

scaling = home("PrivateStandardScaler")

pytestmark = pytest.mark.filterwarnings("ignore::skdp_bary.exceptions.PrivacyWarning")


@every("n_cells, width", [(400, 1.0), (8, 1.0), (8, 1e-9)])
def test_moments_of_exact_counts(n_cells, width):
    """Rows even in every cell have half of the variance of that: they lie nearer to the middle."""
    edges = np.stack([width * np.linspace(-1, 1, n_cells + 1), np.linspace(3, 7, n_cells + 1)])
    counts = np.full((2, n_cells), 1e4)
    mean, scale = scaling.moments(edges, counts, 1.0, counts[0].sum())
    np.testing.assert_allclose(mean, [0.0, 5.0], atol=1e-12)
    cells = np.diff(edges, axis=1)[:, 0]
    expected = (n_cells**2 - 1) / 12.0 * cells**2 + cells**2 / 24.0
    np.testing.assert_allclose(scale**2, expected)


def test_what_nothing_stands_out_of_is_even_on_the_domain():
    edges = np.linspace(0.0, 1.0, 33)[None]
    mean, scale = scaling.moments(edges, np.full((1, 32), -5.0), 3.0, 1.0)
    assert mean == pytest.approx(0.5) and scale == pytest.approx(12.0**-0.5, rel=0.01)


@every("delta", [0.0, 1e-6])
@every("width", [1.0, 10.0])
def test_scales_are_found_in_bounds_of_any_width(width, delta):
    X = np.random.default_rng(0).normal([0.2, -0.3], [0.05, 0.2], size=(5000, 2))
    scaler = PrivateStandardScaler(delta=delta, bounds=(-width, width), random_state=0).fit(X)
    np.testing.assert_allclose(scaler.mean_, [0.2, -0.3], atol=0.05)
    np.testing.assert_allclose(scaler.scale_, [0.05, 0.2], rtol=0.2)
    assert scaler.total_ == pytest.approx(5000, rel=0.02)
    back = scaler.inverse_transform(scaler.transform(X[:20]))
    np.testing.assert_allclose(back, X[:20].clip(-width, width), atol=1e-9)
