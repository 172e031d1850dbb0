"""Checks that what an estimator documents about its privacy is what it does."""

import inspect
import re
from importlib.util import find_spec

from sklearn.base import clone

from ..inspection._recording import quiet
from ..privacy._neighbors import RELATIONS
from ..privacy.ledger.accountant import BudgetAccountant
from ._hostile import make_arguments
from ._settings import default_setting, feature_count, require, settings

FIELDS = ("Neighbors", "Mechanism", "Sensitivity", "Budget", "Released", "Not covered")
_WORD = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")
_SETTING = re.compile(r'([a-z_]+)="([^"]*)"')


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
        _require_relation(candidate, candidate.neighbors)
        budget = BudgetAccountant(100 * candidate.epsilon, 0.5, neighbors=candidate.neighbors)
        shared = clone(candidate).set_params(neighbors=None, accountant=budget)
        _require_relation(shared, candidate.neighbors)


def check_mechanism_field(estimator):
    """The mechanisms named are the ones that plans use, over all settings.

    What is named beside ``parameter="value"``, up to the next comma, is for that value alone.
    """
    text = ",".join(
        part
        for part in privacy_section(estimator).get("Mechanism", "").split(",")
        if all(getattr(estimator, name, None) == value for name, value in _SETTING.findall(part))
    )
    used = set()
    for candidate in settings(estimator):
        used |= {type(step.mechanism).__name__ for step in _fit(candidate).privacy_.steps}
    named = {word for word in _WORD.findall(text) if word[0].isupper() and not word.istitle()}
    require(
        named == used, f"The field Mechanism names {sorted(named)}, but fits use {sorted(used)}."
    )


def check_released_field(estimator):
    """The public attributes of a fitted estimator are the ones named as released."""
    text = privacy_section(estimator).get("Released", "")
    named = {word for word in _WORD.findall(text) if word.endswith("_")}
    found = set()
    for candidate in settings(estimator):
        found |= _fitted_attributes(_fit(candidate))
    if find_spec("pandas") is None:
        named.discard("feature_names_in_")
    else:
        found |= _fitted_attributes(_fit_frame(default_setting(estimator)))
    require(
        named == found,
        f"The field Released names {sorted(named - found)} that no fit sets, and leaves out "
        f"{sorted(found - named)}.",
    )


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
    fitted = _fit(estimator).privacy_.relation
    require(
        fitted == relation,
        f"A fit that should speak about {relation!r} speaks about {fitted!r}.",
    )


def _fit(estimator):
    with quiet():
        return clone(estimator).fit(**make_arguments(estimator))


def _fit_frame(estimator):
    import pandas

    arguments = make_arguments(estimator)
    columns = [f"column {j}" for j in range(feature_count(estimator))]
    frame = pandas.DataFrame(arguments.pop("X"), columns=columns)
    with quiet():
        return clone(estimator).fit(frame, **arguments)


def _fitted_attributes(fitted):
    """Public attributes that a fit sets, properties of the class included."""
    properties = {
        name
        for name, value in inspect.getmembers_static(type(fitted))
        if isinstance(value, property) and hasattr(fitted, name)
    }
    names = properties | set(vars(fitted))
    return {name for name in names if name.endswith("_") and not name.startswith("_")}


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
