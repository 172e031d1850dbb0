import numpy as np
import pytest
from scipy import sparse

from skdp_bary.transport import (
    DiscreteMeasure,
    free_support_barycenter,
    lift_support,
    plan_cost,
    solve_semidiscrete,
)
from skdp_bary.transport._barycenter.lift import geometric_median
from tests.cases import every


def projected(seed=0, n_features=60, kept=8):
    rng = np.random.default_rng(seed)
    centers = 3.0 * rng.standard_normal((5, n_features))
    measures = [
        DiscreteMeasure(centers[rng.integers(0, 5, 600)] + rng.standard_normal((600, n_features)))
        for _ in range(2)
    ]
    directions = rng.standard_normal((n_features, kept)) / np.sqrt(kept)
    return measures, [DiscreteMeasure(m.support @ directions, m.weights) for m in measures]


@every("p", [1, 2])
def test_lifted_atoms_are_best_for_the_plans(p):
    measures, low = projected()
    result = free_support_barycenter(low, 5, p=p, random_state=0)
    lifted = lift_support(measures, result.transports, measure_weights=[1.0, 2.0], p=p)

    def cost(support):
        each = [
            plan_cost(m, support, t.plan, p=p)
            for m, t in zip(measures, result.transports, strict=True)
        ]
        return (each[0] + 2.0 * each[1]) / 3.0

    rng = np.random.default_rng(1)
    for _ in range(20):
        assert cost(lifted + 1e-3 * rng.standard_normal(lifted.shape)) > cost(lifted)


def test_few_dimensions_lose_little():
    measures, low = projected()
    result = free_support_barycenter(low, 5, random_state=0)
    lifted = DiscreteMeasure(lift_support(measures, result.transports))
    full = free_support_barycenter(measures, 5, random_state=0)
    cost = np.mean([solve_semidiscrete(measure, lifted).cost for measure in measures])
    assert cost <= 1.05 * full.cost


def test_without_projection_the_lift_of_p_2_is_the_projection():
    measures, _ = projected()
    result = free_support_barycenter(measures, 4, random_state=0)
    lifted = lift_support(measures, result.transports)
    np.testing.assert_allclose(
        lifted, np.mean([t.projections for t in result.transports], axis=0), rtol=1e-10
    )


def test_geometric_median_leaves_a_point_it_meets_and_stays_on_a_heavy_one():
    triangle = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(0.75)]])
    median = geometric_median(triangle, np.ones(3), triangle[0])
    np.testing.assert_allclose(median, triangle.mean(axis=0), atol=1e-6)
    heavy = geometric_median(triangle, np.array([5.0, 1.0, 1.0]), triangle.mean(axis=0))
    np.testing.assert_allclose(heavy, triangle[0], atol=1e-6)


def test_refuses_plans_of_other_measures():
    measures, low = projected()
    result = free_support_barycenter(low, 3, random_state=0)
    with pytest.raises(ValueError, match="one plan for each measure"):
        lift_support(measures[:1], result.transports)


@every("plan", [(3, 2), (2, 3), (3, 3)])
def test_plans_of_another_shape_have_no_cost(plan):
    points = DiscreteMeasure([[0.0], [1.0], [2.0]])
    with pytest.raises(ValueError, match="plan must have a row for each point and a column"):
        plan_cost(points, [[0.0], [1.0], [2.0], [3.0]], sparse.csr_array(np.ones(plan)))
    with pytest.raises(ValueError, match="atoms 1 features"):
        plan_cost(points, [[0.0, 1.0], [2.0, 3.0]], sparse.csr_array(np.ones((3, 2))))
    assert plan_cost(points, [[0], [1]], sparse.csr_array(np.eye(3, 2))) == 0.0  # integers serve
