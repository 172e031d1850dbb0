"""Fit very different rows with equal releases: nothing that a fit holds or says may differ."""

import warnings
from dataclasses import dataclass

import numpy as np
from sklearn.base import clone

from skdp_bary.geometry import Ball, Mask
from tests.estimators import PRIVATE
from tests.world import (
    ADD_REMOVE,
    Tape,
    corners,
    detached,
    differing_paths,
    feature_count,
    make_arguments,
    settings,
    use_tape,
)

from .promises import Promise, Trial, repeated

_KINDS = ("rows", "persons", "weights")


@dataclass
class Held:
    """One fit: all that is reached from the estimator, what it asked, and what it said."""

    estimator: object
    records: list
    said: list
    error: Exception | None


def fit(estimator, arguments, script=()):
    """Fit a detached clone, with the releases of an earlier fit in place of noise."""
    fitted, error = detached(estimator), None
    with use_tape(Tape(script)) as tape, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            fitted.fit(**arguments)
        except Exception as raised:
            error = raised
    said = [f"{each.category.__name__}: {each.message}" for each in caught]
    return Held(fitted, tape.records, said, error)


def hold_the_same(rng, estimators=PRIVATE):
    """Fit rows of a random setting, then others with the same releases, and compare all."""
    candidates = settings(estimators[rng.integers(len(estimators))])
    candidate = clone(candidates[rng.integers(len(candidates))])
    candidate.set_params(random_state=int(rng.integers(2**31)))
    if rng.random() < 0.5:
        candidate = _in_other_bounds(candidate, rng)
    kind, seed = _KINDS[rng.integers(3)], int(rng.integers(2**31))
    arguments = _closer(candidate, make_arguments(candidate, kind=kind, seed=seed), rng)
    before = fit(candidate, arguments)
    if before.error is not None:  # this setting refuses such rows, or such bounds
        return None
    after = fit(candidate, _others(candidate, arguments, rng), before.records)
    found = differing_paths(vars(before.estimator), vars(after.estimator))
    if after.error is not None:
        found = [f"other rows raise {after.error!r}"]
    elif before.said != after.said:
        found = [f"one fit said {before.said}, the other {after.said}"]
    text = f"{candidate!r}, {kind}: {', '.join(map(str, found[:5]))}" if found else ""
    return Trial(violation=text)


def _in_other_bounds(candidate, rng):
    """Return a clone whose bounds are a ball or, in the plane, a mask."""
    if candidate.get_params(deep=False).get("bounds") is None:
        return candidate
    low, high = corners(candidate, feature_count(candidate))
    if len(low) == 2 and rng.random() < 0.7:
        return clone(candidate).set_params(bounds=Mask([[low, [high[0], low[1]], high]]))
    return clone(candidate).set_params(bounds=Ball((low + high) / 2, (high - low).max() / 2))


def _closer(candidate, arguments, rng):
    """Return the rows nearer to one place of the domain: all inside of it, or outside of a mask."""
    low, high = corners(candidate, arguments["X"].shape[1])
    place = low + (high - low) * rng.random(len(low))
    return arguments | {"X": place + rng.choice([0.0, 1e-3, 1.0]) * (arguments["X"] - place)}


def _others(candidate, arguments, rng):
    """Return other rows: as many where their number is public, with the same labels there."""
    X, n = arguments["X"], len(arguments["X"])
    public = candidate.neighbors != ADD_REMOVE
    kept = np.arange(n) if public else rng.integers(n, size=int(rng.choice([0, 1, 30, 2 * n])))
    low, high = corners(candidate, X.shape[1])
    others = {name: values[kept] for name, values in arguments.items()}
    if not public and "groups" in others:
        others["groups"] = np.arange(len(kept)) // int(rng.integers(1, 5))
    if "sample_weight" in others:
        others["sample_weight"] = rng.choice([0.0, 1e-300, 1.0, 1e300], size=len(kept))
    place = low + (high - low) * rng.uniform(-1, 2, size=X.shape[1])
    scale = rng.choice([0.0, 1e-9, 0.5, 1.0, 3.0, 1e9])
    moved = np.where(rng.random((len(kept), 1)) < rng.choice([0.02, 0.5, 1.0]), 1.0, 0.0)
    others["X"] = others["X"] + moved * (scale * (others["X"] - place) + (place - others["X"]))
    return others


PROMISE = Promise(
    "held", "Fits with equal releases have equal attributes and messages", repeated(hold_the_same)
)
