"""ClusterDisplay draws releases, not rows."""

import numpy as np
import pytest

from skdp_bary import PrivateKMeans
from skdp_bary.plotting import ClusterDisplay


@pytest.fixture(scope="module")
def plane():
    X = np.random.default_rng(0).random((500, 2))
    return PrivateKMeans(3, bounds=(0, 1), n_hint=500).fit(X)


def test_points_of_the_plane(plane):
    display = ClusterDisplay.from_estimator(plane)
    assert display.axes_[0].get_title() == "centers, epsilon=1"
    assert display.plot(ax=display.axes_[0]) is display


def test_pictures_are_ordered_by_size():
    X = np.random.default_rng(0).random((500, 6))
    kmeans = PrivateKMeans(5, epsilon=10.0, delta=1e-6, bounds=(0, 1), n_hint=500).fit(X)
    display = ClusterDisplay.from_estimator(kmeans, image_shape=(2, 3))
    titles = [float(axes.get_title()) for axes in display.axes_]
    assert len(titles) == 5 and titles == sorted(titles, reverse=True)
    with pytest.raises(ValueError, match="image_shape"):
        ClusterDisplay.from_estimator(kmeans)
