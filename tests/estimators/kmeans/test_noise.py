"""The words about noise, at their borders."""

import numpy as np
import pytest

from skdp_bary import PrivateKMeans
from skdp_bary.geometry import Ball
from tests.cases import every


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
