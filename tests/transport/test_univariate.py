import numpy as np
import pytest

from skdp_bary.transport import DiscreteMeasure, quantiles, solve_semidiscrete
from tests.cases import every
from tests.world import univariate_cost


def random_measure(rng, size, ties=False):
    points = rng.integers(0, 5, (size, 1)) if ties else rng.standard_normal((size, 1))
    weights = rng.random(size)
    weights[rng.random(size) < 0.2] = 0.0
    weights[0] = 1.0
    return DiscreteMeasure(points, weights)


@every("ties", [False, True])
@every("p", [1, 1.5, 2, 4])
def test_agrees_with_the_general_solver(p, ties):
    rng = np.random.default_rng(0)
    for _ in range(5):
        first, second = random_measure(rng, 60, ties), random_measure(rng, 25, ties)
        expected = solve_semidiscrete(first, second, p=p).cost
        np.testing.assert_allclose(univariate_cost(first, second, p=p), expected, rtol=1e-9)


def test_quantiles_are_the_inverse_of_the_cumulated_masses():
    measure = DiscreteMeasure([[3.0], [1.0], [2.0], [9.0]], [0.25, 0.25, 0.5, 0.0])
    levels = [0.0, 0.25, 0.26, 0.75, 0.76, 1.0]
    assert quantiles(measure, levels).tolist() == [1.0, 1.0, 2.0, 2.0, 3.0, 3.0]
    assert quantiles(measure, 0.5) == 2.0


def test_refuses():
    line, plane = DiscreteMeasure([[0.0]]), DiscreteMeasure([[0.0, 0.0]])
    with pytest.raises(ValueError, match="second must have one feature, got 2"):
        univariate_cost(line, plane)
    with pytest.raises(ValueError, match=r"levels must be numbers in \[0, 1\]"):
        quantiles(line, [1.5])
