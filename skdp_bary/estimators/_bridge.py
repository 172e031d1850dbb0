"""Estimators that answer step by step, with ``_query(name, facts)`` and ``_finish(facts)``.

They talk at the same desk as the others; this module goes when none of them is left.
"""

from dataclasses import replace


def asks_by_step(estimator):
    """Whether an estimator has no conversation of its own."""
    return hasattr(estimator, "_query")


def step_by_step(estimator, facts):
    """Ask the query of every step in turn, and return the facts with all releases."""
    bought = estimator._prelude_shares()
    for name in facts.mechanisms:
        if name not in bought:
            released = yield name, estimator._query(name, facts)
            facts = replace(facts, released=facts.released | {name: released})
    return facts
