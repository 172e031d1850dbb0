"""However the rows arrive, the same seed gives the same support, bit for bit."""

import numpy as np
import pytest

from skdp_bary import PrivateWassersteinBarycenter
from skdp_bary.datasets import COUNTRY_BOUNDS, make_population
from tests.cases import every

pytestmark = pytest.mark.filterwarnings("ignore::skdp_bary.exceptions.PrivacyWarning")


def support(X, y=None, **parameters):
    settings = {"classes": [0, 1], "bounds": COUNTRY_BOUNDS, "n_init": 1, "random_state": 3}
    model = PrivateWassersteinBarycenter(4, **(settings | parameters))
    return model.fit(X, y).support_


@every("neighbors", ["add_remove", "replace_one", "replace_any"])
def test_chunks_and_their_order_do_not_matter(neighbors):
    X, y = make_population(3000, n_classes=2, random_state=0)
    whole = support(X, y, neighbors=neighbors)
    order = np.random.default_rng(0).permutation(3000)
    np.testing.assert_array_equal(support(X[order], y[order], neighbors=neighbors), whole)

    def chunks():
        for rows in np.array_split(order, 7):
            yield X[rows], y[rows]

    np.testing.assert_array_equal(support(chunks, neighbors=neighbors), whole)


@pytest.mark.slow
def test_processes_of_a_cluster_find_the_same_support():
    distributed = pytest.importorskip("distributed")
    da = pytest.importorskip("dask.array")
    X, y = make_population(200_000, n_classes=2, random_state=1)
    whole = support(X, y, n_hint=200_000)
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    )
    with cluster, distributed.Client(cluster):
        chunks = da.from_array(X, chunks=(30_000, 2)), da.from_array(y, chunks=30_000)
        np.testing.assert_array_equal(support(*chunks, n_hint=200_000), whole)
