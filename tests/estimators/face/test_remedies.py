"""Advice about noise names what is cheapest, and doing it reaches the number that it names."""

import re

import pytest

from skdp_bary import PrivateGenerator, PrivateKMeans, PrivateWassersteinBarycenter
from tests.cases import every
from tests.world import home, projections, rounded_up

cheapest = home("projections").cheapest

D = 64


def kmeans(**settings):
    return PrivateKMeans(**({"n_clusters": 10, "bounds": (0, 1), "n_hint": 5000} | settings))


def test_the_first_that_is_enough_is_named():
    tries = [("a", 3.0), ("b", 0.0521), ("c", 0.01)]
    assert cheapest(tries, lambda x: x < 0.1, "9 people") == (
        "The cheapest fix is b, which reaches 0.052."
    )
    assert cheapest(tries, lambda x: x < 0, "9 people").startswith("The cheapest fix is 9 peop")
    assert [n for n, _ in projections(64)] == [32, 16, 8, 4] and projections(2) == []
    assert [rounded_up(n) for n in (7.2, 1234.0)] == ["8 people", "1,300 people"]


@every(
    "settings, remedy",
    [
        ({}, r"delta=1e-06"),
        ({"delta": 1e-6, "n_clusters": 20, "max_iter": 16}, r"max_iter=\d"),
        ({"delta": 1e-6, "n_hint": 600, "max_iter": 1}, r"JLTransformer\(n_components=(\d+)\)"),
        ({"n_hint": 100}, r"JLTransformer|people"),
    ],
)
def test_k_means_reaches_what_is_said(settings, remedy):
    level = kmeans(**settings).noise_level(D)
    assert level.current > 0.1
    assert re.search(remedy, level.remedy)
    mended = dict(re.findall(r"is (delta|max_iter|n_clusters)=([\d.e-]+),", level.remedy))
    width = re.search(r"n_components=(\d+)", level.remedy)
    said = re.search(r"reaches ([\d.e-]+)\.", level.remedy)
    if said:
        kinds = {"delta": float, "max_iter": int, "n_clusters": int}
        numbers = {name: kinds[name](text) for name, text in mended.items()}
        again = kmeans(**settings | numbers).noise_level(int(width[1]) if width else D)
        assert again.current <= 0.1
        assert again.current == pytest.approx(float(said[1]), rel=0.05)
    assert level.remedy in str(level)


@every("kind, d", [(PrivateWassersteinBarycenter, 60), (PrivateGenerator, 200)])
def test_barycenters_and_generators_name_a_remedy(kind, d):
    advice = kind(bounds=(0, 1), n_hint=300).privacy_advice(d)
    assert re.search(r"cheapest fix is .*(which reaches [\d.]+|people)", advice)
