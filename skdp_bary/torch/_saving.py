"""Files of trained generators: plain types and tensors, read without running any code."""

import os
from pathlib import Path

import numpy as np
import torch

from .._pickles import warn_of_other_version
from .._version import __version__
from ..estimators._sliced.sketch import SlicedSketch
from ..geometry._ball import Ball
from ..geometry._directions import public_directions
from ..geometry._domains import Box
from ..geometry._slices import SliceLattice
from ..privacy.accounting.plans import Plan, Step
from ..privacy.noise.mechanisms import RoundedGaussian
from ..summaries.slices.quantiles import ProjectedQuantiles

_FORMAT = 1
_NOT_SAVED = ("network", "encoder", "callback", "checkpoint", "accountant", "bounds", "directions")


def write_state(path, state):
    """Write a state so that a crash leaves the file before or the file after, and no half."""
    path = Path(path)
    part = path.with_name(path.name + ".part")
    torch.save({"format": _FORMAT, "version": __version__} | state, part)
    os.replace(part, path)


def read_state(path):
    """Return a state, or raise ValueError where a file holds something else."""
    state = torch.load(path, map_location="cpu", weights_only=True)
    if not isinstance(state, dict) or state.get("format") != _FORMAT:
        raise ValueError(f"path must be a file that was written by save, got {str(path)!r}.")
    warn_of_other_version("This file", state.get("version", "0.1"))
    return state


def generator_state(generator):
    """Return the release, the parameters that are no code, and the state of training."""
    params = generator.get_params(deep=False)
    for name in ("classes", "class_prior", "n_min"):
        if params[name] is not None:
            params[name] = np.asarray(params[name]).tolist()
    params = {
        name: value.item() if isinstance(value, np.generic) else value
        for name, value in params.items()
        if name not in _NOT_SAVED
    }
    return {
        "params": params | {"random_state": None},
        "release": _sketches_state(generator.releases_, generator.directions),
        "classes": generator.classes_.tolist(),
        "plan": _plan_state(generator.privacy_),
        "seeded": generator._seeded,
        "training": generator._training.state(),
    }


def restore_release(generator, state):
    """Set what a fit that made the release of a state would have set."""
    sketches = _restore_sketches(state["release"])
    directions = state["release"]["directions"]
    generator.directions = directions if isinstance(directions, str) else directions.numpy()
    generator.bounds = generator.domain_ = sketches[0].query.lattice.domain
    generator.releases_ = sketches
    generator.directions_ = sketches[0].directions
    generator.quantiles_ = np.array([sketch.quantiles for sketch in sketches])
    generator.noise_std_ = np.array([sketch.noise_std for sketch in sketches])
    generator.classes_ = np.array(state["classes"])
    generator.privacy_ = _restore_plan(state["plan"])
    generator.n_features_in_ = generator.domain_.n_features
    generator._seeded = state["seeded"]


def _plan_state(plan):
    """Return a plan of Gaussian steps as plain types."""
    steps = [(step.name, step.mechanism.mu) for step in plan.steps]
    return {
        "relation": plan.relation,
        "epsilon": float(plan.epsilon),
        "delta": float(plan.delta),
        "steps": steps,
        "one_of_several": plan.one_of_several,
    }


def _restore_plan(state):
    """Return the plan of a state."""
    steps = tuple(Step(name, RoundedGaussian(mu)) for name, mu in state["steps"])
    several = state.get("one_of_several", False)  # earlier versions did not keep it
    terms = state["relation"], state["epsilon"], state["delta"], steps
    return Plan(*terms, one_of_several=several)


def _sketches_state(sketches, directions):
    """Return the releases of all classes as plain types and tensors.

    Directions that have a name follow from it and two numbers; others are kept.
    """
    query = sketches[0].query
    return {
        "domain": _domain_state(query.lattice.domain),
        "directions": directions if isinstance(directions, str) else _tensor(directions),
        "n_directions": query.lattice.n_directions,
        "n_min": None if query.n_min is None else list(query.n_min),
        "units": query.units,
        "quantiles": torch.stack([_tensor(sketch.quantiles) for sketch in sketches]),
        "noise_std": [sketch.noise_std for sketch in sketches],
        "persons": [sketch.persons for sketch in sketches],
    }


def _restore_sketches(state):
    """Return the releases of a state."""
    domain, directions = _restore_domain(state["domain"]), state["directions"]
    if not isinstance(directions, str):
        directions = directions.numpy()
    directions = public_directions(directions, state["n_directions"], domain.n_features)
    quantiles = state["quantiles"].numpy()
    query = ProjectedQuantiles(
        SliceLattice(domain, directions),
        None if state["n_min"] is None else tuple(state["n_min"]),
        len(quantiles),
        state["units"],
        quantiles.shape[2],
    )
    numbers = zip(quantiles, state["noise_std"], state["persons"], strict=True)
    return [SlicedSketch(block, noise_std, query, persons) for block, noise_std, persons in numbers]


def _domain_state(domain):
    if isinstance(domain, Box):
        return {"kind": "box", "low": _tensor(domain.low), "high": _tensor(domain.high)}
    if isinstance(domain, Ball):
        return {"kind": "ball", "center": _tensor(domain.center), "radius": float(domain.radius)}
    raise ValueError(f"bounds must be a Box or a Ball for a state to be written, got {domain!r}.")


def _restore_domain(state):
    if state["kind"] == "box":
        return Box(state["low"].numpy(), state["high"].numpy())
    return Ball(state["center"].numpy(), state["radius"])


def _tensor(array):
    return torch.from_numpy(np.array(array, dtype=np.float64))
