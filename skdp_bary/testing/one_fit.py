"""One fit of every setting, seen from all sides: ledger, draws, state and documents."""

import inspect
import re
from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from importlib.util import find_spec
from unittest import mock

import numpy as np
from sklearn.base import clone

from ..desk.desk import RehearsalNoise
from ..inspection.replay import record
from ..privacy.accountant import BudgetAccountant
from ..privacy.mechanisms import RELATIONS
from ..privacy.noise import NoiseSource
from .hostile import make_arguments, require, settings, with_budget

# Checks that what an estimator documents about its privacy is what it does.

FIELDS = ("Neighbors", "Mechanism", "Sensitivity", "Budget", "Released", "Not covered")
_WORD = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")


def privacy_section(estimator):
    """Return the fields of the Privacy section of an estimator's docstring, by name."""
    text = inspect.getdoc(type(estimator)) or ""
    rest = r"(.*?)(?=^\S[^\n]*\n-+$|\Z)"  # up to the next underlined heading
    section = re.search(r"^Privacy\n-+\n" + rest, text, re.MULTILINE | re.DOTALL)
    if section is None:
        return {}
    # what stands at the margin names a field, and what is indented is its text
    _, *parts = re.split(r"^(\S.*)$", section[1], flags=re.MULTILINE)
    told = zip(parts[::2], parts[1::2], strict=True)
    return {name.strip(): " ".join(words.split()) for name, words in told}


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
    methods = inspect.getmembers(type(estimator), inspect.isfunction)
    on_rows = {name for name, each in methods if "X" in inspect.signature(each).parameters}
    unnamed = {name for name in on_rows - named if name != "fit" and not name.startswith("_")}
    require(not unnamed, f"{sorted(unnamed)} take rows but are not named under Not covered.")


def _require_relation(estimator, relation):
    run = record(estimator, make_arguments(estimator), answers_only=True)
    require(run.error is None, f"fit failed: {run.error!r}")
    require(
        run.plan.relation == relation,
        f"A fit that should speak about {relation!r} speaks about {run.plan.relation!r}.",
    )


# One fit of every setting, seen from all sides: ledger, draws, parameters and documents.

_SETTING = re.compile(r'([a-z_]+)(!?)="([^"]*)"')


@dataclass(frozen=True)
class Draw:
    """One call of a sampler, and what it returned."""

    sampler: str
    scale: float
    shape: tuple
    noise: np.ndarray


@contextmanager
def watched_draws(on_draw=None):
    """Run fits while every call of a sampler is noted; yields the list of draws."""
    draws = []

    def watch(name):
        original = getattr(NoiseSource, name)

        def sampler(self, scale, shape):
            if isinstance(self, RehearsalNoise):
                return original(self, scale, shape)
            if on_draw is not None:
                on_draw()
            noise = original(self, scale, shape)
            draws.append(Draw(name, scale, tuple(shape), noise.copy()))
            return noise

        return mock.patch.object(NoiseSource, name, sampler)

    with watch("discrete_laplace"), watch("rounded_gaussian"):
        yield draws


def check_one_fit(estimator):
    """A fit is charged once, as quoted, before its draws, which are those that its releases state.

    It writes no parameter, and what it sets and draws with is what the class documents. The rows
    of the first setting have named columns.
    """
    attributes, mechanisms = set(), set()
    for number, candidate in enumerate(settings(estimator)):
        arguments = make_arguments(candidate, 20 + number, seed=number)
        if number == 0 and find_spec("pandas") is not None:
            import pandas

            columns = [f"column {j}" for j in range(arguments["X"].shape[1])]
            arguments["X"] = pandas.DataFrame(arguments["X"], columns=columns)
        fitted, accountant = with_budget(candidate)
        quote = accountant.quote(fitted, n_features=arguments["X"].shape[1])
        parameters, paid = fitted.get_params(deep=False), []
        with watched_draws(lambda: paid.append(accountant.entries)) as draws:  # noqa: B023
            run = record(fitted, arguments)
        require(run.error is None, f"fit failed: {run.error!r}")
        # every block that is not public gets one draw of its shape and scale, added as it came
        stated = []
        for made in run.records:
            found = made.released
            if found.query.picks:
                continue
            sampler = "rounded_gaussian" if found.mechanism.is_gaussian else "discrete_laplace"
            for exact, values, scale in zip(made.exact, found.values, found.scales, strict=True):
                if scale > 0:
                    stated.append(Draw(sampler, scale, exact.shape, values - exact))
        drawn, expected = ([(d.sampler, d.scale, d.shape) for d in ds] for ds in (draws, stated))
        require(drawn == expected, f"Drawn noise is {drawn}, but the releases state {expected}.")
        same = all(np.array_equal(d.noise, s.noise) for d, s in zip(draws, stated, strict=True))
        require(same, "What was added to the exact answers is not the noise that was drawn.")
        spent = [(entry.who, entry.epsilon, entry.delta) for entry in accountant.entries]
        expected = [(type(fitted).__name__, fitted.epsilon, fitted.delta)]
        require(spent == expected, f"A fit should be charged {expected}, was charged {spent}.")
        require(quote.plan == fitted.privacy_, "The quoted plan is not the plan that was fitted.")
        require(paid, "A fit drew no noise from the noise generator.")
        require(all(paid), "Noise was drawn before the fit was charged.")
        after = fitted.get_params(deep=False)
        changed = [name for name in parameters if after[name] is not parameters[name]]
        require(not changed, f"fit wrote the parameters {changed}.")
        kept = inspect.getmembers_static(type(fitted), lambda value: isinstance(value, property))
        names = {name for name, _ in kept if hasattr(fitted, name)} | set(vars(fitted))
        attributes |= {name for name in names if name.endswith("_") and not name.startswith("_")}
        mechanisms |= {type(step.mechanism).__name__ for step in fitted.privacy_.steps}
    section = privacy_section(estimator)
    named = {word for word in _WORD.findall(section.get("Released", "")) if word.endswith("_")}
    if find_spec("pandas") is None:
        named.discard("feature_names_in_")
    require(
        named == attributes,
        f"The field Released names {sorted(named - attributes)} that no fit sets, and leaves out "
        f"{sorted(attributes - named)}.",
    )
    # what is named next to parameter="value" or !="value", up to a comma, is for those values alone
    text = ",".join(
        part
        for part in section.get("Mechanism", "").split(",")
        if all(
            (getattr(estimator, name, None) == value) != bool(unlike)
            for name, unlike, value in _SETTING.findall(part)
        )
    )
    named = {word for word in _WORD.findall(text) if word[0].isupper() and not word.istitle()}
    require(
        named == mechanisms,
        f"The field Mechanism names {sorted(named)}, but fits use {sorted(mechanisms)}.",
    )


# What a fitted estimator holds, down to the last number.

_ATOMS = (str, bytes, int, float, complex, bool, type(None), np.generic)


def leaves(value, path="estimator"):
    """Yield (path, leaf) for every array and number that can be reached from `value`.

    Containers come too, as (path, their length), because a list of the length of the data gives
    away how long the data were.
    """
    yield from _walk(value, path, set())


def differing_paths(first, second):
    """Return the paths at which two states differ."""
    ours, theirs = dict(leaves(first, "")), dict(leaves(second, ""))
    paths = sorted(ours.keys() ^ theirs.keys())
    return paths + [path for path in ours if path in theirs and not _same(ours[path], theirs[path])]


def _walk(value, path, seen):
    if isinstance(value, np.ndarray) and value.dtype != object:
        yield path, value
        return
    if isinstance(value, _ATOMS):
        yield path, value
        return
    if id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, Mapping):
        yield f"{path}.length", len(value)
        for key, item in value.items():
            yield from _walk(item, f"{path}.{key}", seen)
    elif isinstance(value, (list, tuple, set, frozenset, np.ndarray)):
        yield f"{path}.length", len(value)
        for i, item in enumerate(value):
            yield from _walk(item, f"{path}[{i}]", seen)
    else:
        yield f"{path}.type", type(value).__qualname__
        held = dict(getattr(value, "__dict__", {}))  # attributes, wherever they are kept
        if is_dataclass(value) and not isinstance(value, type):
            held |= {f.name: getattr(value, f.name) for f in fields(value)}
        for cls in type(value).__mro__:
            slots = cls.__dict__.get("__slots__", ())
            for name in (slots,) if isinstance(slots, str) else slots:
                if hasattr(value, name):
                    held[name] = getattr(value, name)
        for name, item in held.items():
            yield from _walk(item, f"{path}.{name}", seen)


def _same(first, second):
    if type(first) is not type(second):
        return False
    if isinstance(first, np.ndarray):
        return first.dtype == second.dtype and first.tobytes() == second.tobytes()
    return first == second or (first != first and second != second)
