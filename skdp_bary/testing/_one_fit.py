"""One fit of every setting, seen from all sides: ledger, draws, parameters and documents."""

import inspect
import re
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from unittest import mock

import numpy as np

from ..inspection._recording import record
from ..privacy.noise.sampler import NoiseSource
from ..summaries.asking.desk import RehearsalNoise
from ._document_checks import privacy_section
from ._hostile import make_arguments
from ._settings import require, settings, with_budget

_WORD = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")
_SETTING = re.compile(r'([a-z_]+)="([^"]*)"')


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
        named = number == 0 and find_spec("pandas") is not None
        fitted, accountant = with_budget(candidate)
        quote = accountant.quote(fitted, n_features=arguments["X"].shape[1])
        parameters, paid = fitted.get_params(deep=False), []
        with watched_draws(lambda: paid.append(accountant.entries)) as draws:  # noqa: B023
            run = record(fitted, _with_names(arguments) if named else arguments)
        require(run.error is None, f"fit failed: {run.error!r}")
        _require_draws(draws, run.records)
        _require_charge(fitted, accountant.entries, quote.plan)
        require(paid, "A fit drew no noise from the noise generator.")
        require(all(paid), "Noise was drawn before the fit was charged.")
        after = fitted.get_params(deep=False)
        changed = [name for name in parameters if after[name] is not parameters[name]]
        require(not changed, f"fit wrote the parameters {changed}.")
        attributes |= _fitted_attributes(fitted)
        mechanisms |= {type(step.mechanism).__name__ for step in fitted.privacy_.steps}
    _require_released_field(estimator, attributes)
    _require_mechanism_field(estimator, mechanisms)


def _require_draws(draws, records):
    """Every block that is not public gets one draw of its shape and scale, added as it came."""
    stated = list(_stated_draws(records))
    drawn, expected = ([(d.sampler, d.scale, d.shape) for d in ds] for ds in (draws, stated))
    require(drawn == expected, f"Drawn noise is {drawn}, but the releases state {expected}.")
    same = all(np.array_equal(d.noise, s.noise) for d, s in zip(draws, stated, strict=True))
    require(same, "What was added to the exact answers is not the noise that was drawn.")


def _stated_draws(records):
    """Yield the draws that explain the releases: their scales, and released minus exact."""
    for made in records:
        released = made.released
        sampler = "rounded_gaussian" if hasattr(released.mechanism, "mu") else "discrete_laplace"
        for exact_block, values, scale in zip(
            made.exact, released.values, released.scales, strict=True
        ):
            if scale > 0:
                yield Draw(sampler, scale, exact_block.shape, values - exact_block)


def _require_charge(fitted, entries, quoted):
    """One entry: what the parameters, the plan and the quote say."""
    spent = [(entry.who, entry.epsilon, entry.delta) for entry in entries]
    expected = [(type(fitted).__name__, fitted.epsilon, fitted.delta)]
    require(spent == expected, f"A fit should be charged {expected}, was charged {spent}.")
    require(quoted == fitted.privacy_, "The quoted plan is not the plan that was fitted.")


def _require_released_field(estimator, found):
    """The public attributes that fits set are the ones named as released."""
    text = privacy_section(estimator).get("Released", "")
    named = {word for word in _WORD.findall(text) if word.endswith("_")}
    if find_spec("pandas") is None:
        named.discard("feature_names_in_")
    require(
        named == found,
        f"The field Released names {sorted(named - found)} that no fit sets, and leaves out "
        f"{sorted(found - named)}.",
    )


def _require_mechanism_field(estimator, used):
    """The mechanisms named are the ones that plans use, over all settings.

    What is named beside ``parameter="value"``, up to the next comma, is for that value alone.
    """
    text = ",".join(
        part
        for part in privacy_section(estimator).get("Mechanism", "").split(",")
        if all(getattr(estimator, name, None) == value for name, value in _SETTING.findall(part))
    )
    named = {word for word in _WORD.findall(text) if word[0].isupper() and not word.istitle()}
    require(
        named == used, f"The field Mechanism names {sorted(named)}, but fits use {sorted(used)}."
    )


def _with_names(arguments):
    import pandas

    columns = [f"column {j}" for j in range(arguments["X"].shape[1])]
    return arguments | {"X": pandas.DataFrame(arguments["X"], columns=columns)}


def _fitted_attributes(fitted):
    """Public attributes that a fit sets, properties of the class included."""
    properties = {
        name
        for name, value in inspect.getmembers_static(type(fitted))
        if isinstance(value, property) and hasattr(fitted, name)
    }
    names = properties | set(vars(fitted))
    return {name for name in names if name.endswith("_") and not name.startswith("_")}
