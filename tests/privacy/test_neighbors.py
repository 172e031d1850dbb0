from fractions import Fraction

import pytest

from tests.world import RELATIONS, check_neighbors, compose_parts


@pytest.mark.parametrize("value", ["replace", "ADD_REMOVE", None, 1, ("add_remove",)])
def test_other_values_are_refused_with_the_three_names(value):
    for check in (lambda: check_neighbors(value, "neighbors"), lambda: compose_parts([1], value)):
        with pytest.raises(ValueError, match="neighbors must be one of") as caught:
            check()
        assert all(repr(relation) in str(caught.value) for relation in RELATIONS)


@pytest.mark.parametrize(
    ("relation", "cost"), [("add_remove", 5), ("replace_one", 5), ("replace_any", 8)]
)
def test_disjoint_parts_cost_what_one_person_touches(relation, cost):
    assert compose_parts([3, 5, 2], relation) == cost
    assert compose_parts([Fraction(1, 3)], relation) == Fraction(1, 3)
    assert compose_parts([], relation) == 0
