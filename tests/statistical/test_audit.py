"""Slow audits: thousands of fits on the worst neighbors never show more than epsilon."""

import pytest

from skdp_bary import PrivateMeasure
from skdp_bary.testing import check_empirical_loss
from tests.estimators import AUDITED
from tests.world import DiscreteLaplace, RoundedGaussian, home

_base = home("Facts")


class HalfTheNoise:
    """A mechanism that draws with half the scale it states."""

    def draw(self, scale, shape, noise):
        return super().draw(scale / 2, shape, noise)


class NarrowLaplace(HalfTheNoise, DiscreteLaplace):
    pass


class NarrowGaussian(HalfTheNoise, RoundedGaussian):
    pass


@pytest.mark.slow
@pytest.mark.parametrize("estimator", AUDITED, ids=repr)
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
