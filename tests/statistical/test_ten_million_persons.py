"""Ten million persons with ids: fits end, are right, and take a few times the memory of rows."""

import resource

import numpy as np
import pytest

from skdp_bary import DPSlicedWasserstein, PrivateEMDHeatmap, PrivateKMeans, PrivateMeasure

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]
N = 10**7
MOST_MEBIBYTES = 6000  # the rows and ids are 230


@pytest.fixture(scope="module")
def crowd():
    corners = np.array([[0.2, 0.2], [0.8, 0.8]])
    rng = np.random.default_rng(0)
    X = corners[rng.integers(2, size=N)] + 0.02 * rng.standard_normal((N, 2))
    return X, np.arange(N)


@pytest.mark.parametrize(
    "estimator",
    [
        PrivateMeasure(epsilon=1.0, bounds=(0, 1)),
        PrivateEMDHeatmap(epsilon=1.0, bounds=(0, 1)),
        PrivateKMeans(2, epsilon=1.0, bounds=(0, 1)),
        DPSlicedWasserstein(8, epsilon=1.0, delta=1e-6, bounds=(0, 1), n_hint=N),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_persons_with_ids(estimator, crowd):
    X, groups = crowd
    fitted = estimator.set_params(random_state=0).fit(X, groups=groups)
    assert fitted.privacy_.epsilon == 1.0
    if isinstance(fitted, PrivateKMeans):
        centers = np.sort(fitted.cluster_centers_, axis=0)
        np.testing.assert_allclose(centers, [[0.2, 0.2], [0.8, 0.8]], atol=0.01)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    assert peak < MOST_MEBIBYTES
