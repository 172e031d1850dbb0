"""What fitted estimators say of a row depends on that row alone, to the last bit."""

import numpy as np
import pytest

from skdp_bary import (
    DPSlicedWasserstein,
    PrivateEMDHeatmap,
    PrivateKMeans,
    PrivateWassersteinBarycenter,
)
from tests.cases import every

pytestmark = pytest.mark.filterwarnings("ignore::skdp_bary.exceptions.PrivacyWarning")

RNG = np.random.default_rng(0)
ROWS = {d: RNG.uniform(-1, 1, (400, d)) * RNG.uniform(0, 1, (400, 1)) for d in (2, 40)}
PUBLIC = {"bounds": (-1, 1), "random_state": 0, "epsilon": 50.0}
METHODS = [
    (PrivateKMeans(9, n_hint=400, **PUBLIC), 40, ("predict", "transform")),
    (
        PrivateWassersteinBarycenter(9, method="clusters", n_hint=400, **PUBLIC),
        40,
        ("predict", "transform", "map"),
    ),
    (DPSlicedWasserstein(60, n_min=300, **PUBLIC), 40, ("transform",)),
    (PrivateEMDHeatmap(n_hint=400, **PUBLIC), 2, ("transform", "score_samples")),
]


@every("estimator, d, names", METHODS)
def test_a_row_is_answered_alike_beside_any_others(estimator, d, names):
    X = ROWS[d]
    estimator.fit(X)
    for name in names:
        together = np.asarray(getattr(estimator, name)(X))
        for rows in (slice(0, 1), slice(7, 12), slice(1, 400, 3), slice(399, None, -1)):
            apart = np.asarray(getattr(estimator, name)(X[rows]))
            assert apart.tobytes() == together[rows].tobytes(), f"{name}({rows})"
