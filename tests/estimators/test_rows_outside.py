"""Rows outside the bounds count as rows on their border, wherever bounds are given."""

import numpy as np
import pytest

from skdp_bary import PrivateEMDHeatmap
from skdp_bary.geometry import Ball
from skdp_bary.papers import LevelwiseEMDHeatmap
from tests.cases import every
from tests.estimators import PRIVATE
from tests.world import feature_count, make_arguments, record_fit, replay_after, settings

WITHOUT_MASS = (PrivateEMDHeatmap, LevelwiseEMDHeatmap)  # rows outside are left out, as they say
BOUNDED = [
    each
    for each in PRIVATE
    if each.get_params(deep=False).get("bounds") is not None and not isinstance(each, WITHOUT_MASS)
]
assert len(BOUNDED) > 12


@pytest.mark.filterwarnings("ignore")
@every("estimator", BOUNDED)
@every("kind", ["box", "ball"])
def test_rows_outside_count_as_rows_on_the_border(estimator, kind):
    for candidate in settings(estimator)[:2]:
        width = feature_count(candidate)
        domain = Ball(np.zeros(width), 1.0)
        if kind == "ball":
            candidate.set_params(bounds=domain)
        candidate.set_params(random_state=0)
        far = make_arguments(candidate)
        far["X"] = far["X"] * np.linspace(1.0, 30.0, len(far["X"]))[:, None]
        before = record_fit(candidate, far)
        if before.error is not None:
            assert "bounds" in str(before.error)
            continue
        domain = before.fitted.domain_
        assert (domain.clip(far["X"]) != far["X"]).any()
        report = replay_after(before, candidate, far | {"X": domain.clip(far["X"])})
        moved = [step.name for step in report.steps if any(step.l1)]
        assert not moved and report.holds, (candidate, moved)
