"""Checks that what an estimator documents about its privacy is what it does."""

import inspect
import re

from sklearn.base import clone

from ..inspection._recording import record
from ..privacy._neighbors import RELATIONS
from ..privacy.ledger.accountant import BudgetAccountant
from ._hostile import make_arguments
from ._settings import require, settings

FIELDS = ("Neighbors", "Mechanism", "Sensitivity", "Budget", "Released", "Not covered")
_WORD = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")


def privacy_section(estimator):
    """Return the fields of the Privacy section of an estimator's docstring, by name."""
    lines = (inspect.getdoc(type(estimator)) or "").splitlines()
    try:
        start = next(
            i
            for i, line in enumerate(lines[:-1])
            if line == "Privacy" and set(lines[i + 1]) == {"-"}
        )
    except StopIteration:
        return {}
    fields, current = {}, None
    for i in range(start + 2, len(lines)):
        line = lines[i]
        if i + 1 < len(lines) and line and set(lines[i + 1]) == {"-"}:
            break
        if line and not line.startswith(" "):
            current = line.strip()
            fields[current] = ""
        elif current is not None:
            fields[current] += " " + line.strip()
    return {name: text.strip() for name, text in fields.items()}


def check_privacy_section(estimator):
    """The docstring has a Privacy section with the six fields, and each says something."""
    fields = privacy_section(estimator)
    require(
        tuple(fields) == FIELDS,
        f"The Privacy section of {type(estimator).__name__} must have the fields {list(FIELDS)}, "
        f"in this order; it has {list(fields)}.",
    )
    empty = [name for name, text in fields.items() if not text]
    require(not empty, f"The fields {empty} of the Privacy section are empty.")


def check_neighbors_field(estimator):
    """The relation is the one asked for, else the accountant's, else the documented default."""
    text = privacy_section(estimator).get("Neighbors", "")
    named = [relation for relation in RELATIONS if f'"{relation}"' in text]
    require(len(named) == 1, f"The field Neighbors must name the default relation, got {text!r}.")
    default = clone(estimator).set_params(neighbors=None, accountant=None)
    _require_relation(default, named[0])
    for candidate in settings(estimator):
        _require_relation(clone(candidate), candidate.neighbors)
        budget = BudgetAccountant(100 * candidate.epsilon, 0.5, neighbors=candidate.neighbors)
        shared = clone(candidate).set_params(neighbors=None, accountant=budget)
        _require_relation(shared, candidate.neighbors)


def check_not_covered_field(estimator):
    """The methods named as not covered exist, and every other method that takes rows is named."""
    text = privacy_section(estimator).get("Not covered", "")
    words = _WORD.findall(text.partition(":")[0])
    named = {word for word in words if word not in ("and", "none", "None")}
    missing = {name for name in named if not callable(getattr(type(estimator), name, None))}
    require(not missing, f"The field Not covered names {sorted(missing)}, which are no methods.")
    unnamed = _methods_on_rows(type(estimator)) - named
    require(not unnamed, f"{sorted(unnamed)} take rows but are not named under Not covered.")


def _require_relation(estimator, relation):
    run = record(estimator, make_arguments(estimator), answers_only=True)
    require(run.error is None, f"fit failed: {run.error!r}")
    require(
        run.plan.relation == relation,
        f"A fit that should speak about {relation!r} speaks about {run.plan.relation!r}.",
    )


def _methods_on_rows(cls):
    found = set()
    for name, method in inspect.getmembers(cls, callable):
        if name.startswith("_") or name in ("fit", "set_params", "get_params"):
            continue
        if not inspect.isfunction(method) or name.startswith("set_"):
            continue
        if "X" in inspect.signature(method).parameters:
            found.add(name)
    return found
