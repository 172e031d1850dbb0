"""Neighboring relations: which two data sets a guarantee cannot tell apart.

``add_remove``
    One person is added or removed. Everything about the rows is private: how many there are, and
    which label each one carries. The *set* of labels (``classes``) and size hints are public
    arguments.
``replace_one``
    The rows of one person are replaced by others of the same label. The labels and the number of
    rows of each label are public, and only under this relation may they be read from the data.
``replace_any``
    The rows of one person are replaced by others of any label. Only the total number is public.
    A person who changes the label leaves one part of the data and joins another.
"""

from fractions import Fraction

from ..exceptions import check_option

ADD_REMOVE = "add_remove"
REPLACE_ONE = "replace_one"
REPLACE_ANY = "replace_any"
RELATIONS = (ADD_REMOVE, REPLACE_ONE, REPLACE_ANY)


def check_neighbors(value, name="neighbors"):
    """Return a relation's name, or raise listing the three."""
    return check_option(value, name, RELATIONS)


def compose_parts(costs, relation):
    """Return what disjoint parts of one data set cost together, each part costing ``costs[i]``.

    Under ``add_remove`` and ``replace_one`` a person lives in one part, so the largest cost counts.
    Under ``replace_any`` a person may move from one part to another, so the two largest add up;
    each cost must then hold for replacing a person within the part and for adding or removing one.
    """
    check_neighbors(relation)
    ordered = sorted(costs, reverse=True)
    touched = 2 if relation == REPLACE_ANY else 1
    return sum(ordered[:touched], Fraction(0))
