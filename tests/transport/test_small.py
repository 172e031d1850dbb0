"""Barycenters of few points are found by exact plans, and cost no more than by smoothed ones."""

import numpy as np
import pytest

from skdp_bary.transport import DiscreteMeasure, free_support_barycenter
from tests.world import home

free_support = home("free_support_barycenter")


def clouds(seed, n_points, n_measures=2, n_features=2):
    rng = np.random.default_rng(seed)
    middles = rng.normal(size=(4, n_features))
    return [
        DiscreteMeasure(
            middles[rng.integers(4, size=n_points)] + rng.normal(size=(n_points, n_features)),
            rng.exponential(size=n_points),
        )
        for _ in range(n_measures)
    ]


@pytest.mark.parametrize(("n_points", "n_atoms"), [(4, 3), (40, 8)])
def test_costs_are_those_of_smoothed_plans(monkeypatch, n_points, n_atoms):
    ratios = []
    for seed in range(4):
        measures = clouds(seed, n_points)
        found = free_support_barycenter(measures, n_atoms, n_init=2, random_state=seed)
        with monkeypatch.context() as patch:
            patch.setattr(free_support, "is_small", lambda setting: False)
            smoothed = free_support_barycenter(measures, n_atoms, n_init=2, random_state=seed)
        ratios.append(found.cost / smoothed.cost)
    assert np.mean(ratios) < 1.01 and max(ratios) < 1.03


def test_events_and_history_tell_of_every_start():
    events = []
    found = free_support_barycenter(
        clouds(0, 20), 4, n_init=2, random_state=0, callback=events.append
    )
    assert {event.start for event in events} == set(range(6))
    assert (np.diff(found.history) < 0).all() and found.converged
    assert found.history[-1] == min(event.cost for event in events)


def test_given_atoms_and_distances_take_smoothed_plans(monkeypatch):
    monkeypatch.setattr(free_support, "_received_means", None)
    measures = clouds(0, 10)
    free_support_barycenter(measures, 2, p=1, random_state=0)
    free_support_barycenter(measures, 2, init=np.eye(2), random_state=0)
    with pytest.raises(TypeError):
        free_support_barycenter(measures, 2, random_state=0)
