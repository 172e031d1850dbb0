"""Slow audits: thousands of fits on the worst neighbors never show more than epsilon."""

import pytest

from skdp_bary import (
    DPSlicedWasserstein,
    PrivateEMDHeatmap,
    PrivateKMeans,
    PrivateMeasure,
    PrivateTable,
    PrivateTwoSampleTest,
    PrivateWassersteinBarycenter,
)
from skdp_bary.estimators import _base
from skdp_bary.privacy.noise.mechanisms import DiscreteLaplace, RoundedGaussian
from skdp_bary.schema import Integer, Schema
from skdp_bary.testing import check_empirical_loss
from skdp_bary.testing._discovery import private_estimators
from skdp_bary.testing._public_source import AdapterOnPublicSource

# Few released numbers, so that a thousand runs come near the true loss, and short fits: each is
# repeated 2,000 times for every relation and kind of noise.
SMALL = {
    "DPSlicedWasserstein": [DPSlicedWasserstein(2, bounds=(0, 1), n_quantiles=3)],
    "PrivateDomainAdapter": [
        AdapterOnPublicSource(method="class_means", max_iter=1, hidden=2, n_hint=60),
    ],
    "PrivateEMDHeatmap": [PrivateEMDHeatmap(bounds=(0, 1), resolution=2, method="laplace")],
    "PrivateKMeans": [PrivateKMeans(1, n_init=1, bounds=(0, 1), n_hint=60)],
    "PrivateMeasure": [
        PrivateMeasure(bounds=(0, 1), depth=1, n_hint=60),
        PrivateMeasure(bounds=(0, 1), depth=3, method="least_squares"),
        PrivateMeasure(epsilon=0.5, depth=1, n_hint=60),
        PrivateMeasure(bounds=(0, 1), depth=2, n_hint=60, method="pyramid"),
    ],
    "PrivateTable": [
        PrivateTable(Schema([Integer(-1, 1)] * 2), n_components=2, max_iter=1),
    ],
    "PrivateTwoSampleTest": [
        PrivateTwoSampleTest(["a", "b"], bounds=(0, 1), n_min=30, n_resamples=9),
    ],
    "PrivateWassersteinBarycenter": [
        PrivateWassersteinBarycenter(1, n_init=1, bounds=(0, 1), n_hint=60),
    ],
}
ESTIMATORS = [
    estimator
    for name, cls in private_estimators().items()
    for estimator in (SMALL[name] if name in SMALL else [cls()])
]


class HalfTheNoise:
    """A mechanism that draws with half the scale it states."""

    def draw(self, scale, shape, noise):
        return super().draw(scale / 2, shape, noise)


class NarrowLaplace(HalfTheNoise, DiscreteLaplace):
    pass


class NarrowGaussian(HalfTheNoise, RoundedGaussian):
    pass


@pytest.mark.slow
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_runs_never_show_more_than_epsilon(estimator):
    reports = check_empirical_loss(estimator, n_runs=1000)
    assert len(reports) >= 3


@pytest.mark.slow
def test_audit_has_power():
    reports = check_empirical_loss(PrivateMeasure(bounds=(0, 1), depth=1, n_hint=60), n_runs=4000)
    assert max(report.epsilon for report in reports) > 0.6


@pytest.mark.slow
def test_half_the_noise_is_found_out(monkeypatch):
    monkeypatch.setattr(_base, "DiscreteLaplace", NarrowLaplace)
    monkeypatch.setattr(_base, "RoundedGaussian", NarrowGaussian)
    with pytest.raises(AssertionError, match="more than epsilon=1.0"):
        check_empirical_loss(PrivateMeasure(bounds=(0, 1), depth=1, n_hint=60), n_runs=4000)
