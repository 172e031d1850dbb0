import numpy as np

from tests.world import break_cycles


def entries(flow):
    """Return points, atoms and units of the positive entries of a flow."""
    atoms, points = np.nonzero(flow)
    return points, atoms, flow[atoms, points]


def test_break_cycles_leaves_a_forest_with_the_same_masses():
    rng = np.random.default_rng(0)
    flow = rng.integers(0, 4, (5, 8))
    flow[:2] += 1
    points, atoms, units = entries(flow)
    break_cycles(points, atoms, units, np.zeros(len(units)))
    assert units.min() >= 0
    np.testing.assert_array_equal(np.bincount(atoms, units), flow.sum(axis=1))
    np.testing.assert_array_equal(np.bincount(points, units), flow.sum(axis=0))
    assert np.count_nonzero(units) <= 5 + 8 - 1


def test_break_cycles_goes_the_cheaper_way():
    points, atoms, units = entries(np.array([[2, 2], [2, 2]]))
    break_cycles(points, atoms, units, np.array([0.0, 1.0, 1.0, 0.0]))
    assert units.tolist() == [4, 0, 0, 4]
