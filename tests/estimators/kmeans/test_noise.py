"""The words about noise, at their borders."""

import pytest

from skdp_bary.estimators._kmeans.noise import NoiseLevel


@pytest.mark.parametrize(
    ("current", "most", "words"),
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
