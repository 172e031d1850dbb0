"""The words about noise, at their borders."""

import numpy as np
import pytest

from skdp_bary import PrivateKMeans
from skdp_bary.geometry import Ball
from tests.cases import every
from tests.world import NoiseLevel


@every(
    "current, most, words",
    [
        (0.05, 11, "Below 0.1, most of a center is signal."),
        (0.4, 4, "With up to 4 clusters the level is below 0.1."),
        (3.0, 1, "With 1 cluster the level is below 0.1."),
        (90.0, 0, "A single cluster is above 0.1 too: that takes more rows or a larger epsilon."),
    ],
)
def test_how_many_clusters_there_could_be(current, most, words):
    text = str(NoiseLevel(current, current, current, most, 1e-6))
    assert text.endswith(words) and "0 clusters" not in text


def test_delta_is_named_where_it_helps():
    assert "With delta=1e-06 it is below 0.1." in str(NoiseLevel(0.4, 0.4, 0.09, 4, 1e-6))
    assert "With delta" not in str(NoiseLevel(0.4, 0.4, 0.2, 4, 1e-6))


@pytest.mark.parametrize(
    "settings",
    [
        {"bounds": ([0.0] * 16, [1.0] * 16)},
        {"bounds": Ball([0.0] * 16, 1.0)},
        {"bounds": {f"x{j}": (0.0, 1.0) for j in range(16)}},
        {"bounds": None},
        {"bounds": (0, 1), "init": np.full((3, 16), 0.5)},
        {"bounds": (0, 1)},
    ],
)
@pytest.mark.filterwarnings("ignore::skdp_bary.exceptions.PrivacyWarning")
@every("delta", [0.0, 1e-6])
def test_there_is_a_remedy_for_every_setting(settings, delta):
    """A fit is paid for when it asks for remedies, so they must not raise."""
    import pandas as pd

    X = pd.DataFrame(np.full((40, 16), 0.25), columns=[f"x{j}" for j in range(16)])
    fitted = PrivateKMeans(3, epsilon=0.1, delta=delta, n_hint=40, **settings).fit(X)
    assert "The cheapest remedy is" in fitted.privacy_advice(16)


@every("d", [1, 2, 3])
@every("delta", [0.0, 1e-6])
def test_in_few_features_there_are_no_rounds(d, delta):
    """Looks, which are "auto", are better there than any number of rounds."""
    settings = {"epsilon": 0.1, "delta": delta, "bounds": (0, 1)}
    for n in (30, 100, 300, 1000, 3000, 10_000):
        kmeans = PrivateKMeans(8, n_hint=n, **settings)
        assert "max_iter=" not in kmeans.noise_level(d).remedy
    for max_iter in (0, 1, 5):
        with pytest.raises(ValueError, match=f'max_iter must be "auto".*got {max_iter}'):
            PrivateKMeans(8, max_iter=max_iter, n_hint=30, **settings).fit(np.ones((9, d)))
