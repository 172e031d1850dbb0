"""Digests of what seeded fits release, to compare two versions of the package.

``python -m tests.releases > before.txt`` fits every estimator in every relation, noise, kind of
row, container, composition and method under fixed seeds. It prints one line per public fitted
attribute: setting, attribute, digest; a fit that raises is its error's class and the parameter it
names. ``python -m tests.releases before.txt`` compares with such a file and fails if a line that
both have differs. A rebuilding that is meant to keep releases runs it before and after on one
machine; digests are of exact bits, so they are no record to keep.
"""

import hashlib
import inspect
import re
import sys
import warnings
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.base import clone

from skdp_bary import BudgetAccountant, PrivateKMeans
from skdp_bary.geometry import Ball
from skdp_bary.model_selection import PrivateSearchCV
from tests.discovery import public_estimators
from tests.estimators import PRIVATE
from tests.world import make_arguments, settings

KINDS = ("rows", "persons", "weights")
WIDTHS = (1, 2, 3, 4, 10)
# Methods and parameters that branch an algorithm, each tried in every width that admits it.
BRANCHES = {
    "PrivateKMeans": [{}, {"n_hint": 900}, {"max_iter": 3}],
    "MaxCoverKMeans": [{}],
    "PrivateMeasure": [{"method": name} for name in ("auto", "haar", "pyramid")],
    "PrivateEMDHeatmap": [{"resolution": 32}, {"resolution": 32, "method": "one_shot"}],
    "PrivateWassersteinBarycenter": [
        {"method": name, "n_atoms": 3, "classes": [0, 1]}
        for name in ("auto", "coreset", "clusters", "pyramid", "subspace")
    ],
    "CoresetBarycenter": [{"n_atoms": 3, "classes": [0, 1]}],
    "DPSlicedWasserstein": [{"classes": [0, 1]}, {"n_hint": 900, "classes": [0, 1]}],
    "PrivateGenerator": [{"classes": [0, 1]}, {"covariance_type": "tied", "classes": [0, 1]}],
    "PrivateTwoSampleTest": [{}],
    "PrivateDriftSketch": [{}],
}
COMPOSITIONS = ("sum", "renyi")
BAD_PARAMETERS = {
    "epsilon": (0, "1", np.nan),
    "delta": (1.0,),
    "n_hint": (0, 2.5),
    "neighbors": ("swap",),
    "random_state": (-1,),
    "accountant": (3,),
    "bounds": ((1, 0), (0, np.nan), "x", (0, 1e31), {"a": (0, 1)}, Ball([0.0] * 7, 1.0)),
}
_ATOMS = (str, bytes, int, float, complex, bool, type(None), np.generic)


def cases():
    """Yield (setting, estimator, arguments of fit)."""
    for base in PRIVATE:
        for candidate in settings(base):
            candidate.set_params(random_state=0)
            for kind in KINDS:
                name = f"{candidate!r} {kind}"
                yield name, clone(candidate), make_arguments(candidate, kind=kind)
    for base in PRIVATE:
        yield from _containers(base)
        yield from _budgets(base)
        yield from _refused(base)
    yield from _branches()
    rows = _blobs(2)
    search = PrivateSearchCV(
        PrivateKMeans(3, bounds=(0, 1)), {"n_init": [1, 2]}, epsilon=1.0, random_state=0
    )
    yield "search", search, {"X": rows}


def released(estimator, arguments):
    """Return the digest of every public fitted attribute, or what the fit raised."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            estimator.fit(**arguments)
        except Exception as error:
            return {"raises": f"{type(error).__name__} {_parameter(error)}"}
    names = [n for n in vars(estimator) if n.endswith("_") and not n.startswith("_")]
    found = {name: _digest(getattr(estimator, name)) for name in sorted(names)}
    accountant = getattr(estimator, "accountant", None)
    if accountant is not None:
        entries = [(e.who, e.epsilon, e.delta) for e in accountant.entries]
        found["entries"] = _digest(entries)
    return found


def lines():
    """Yield the lines of the report."""
    for setting, estimator, arguments in cases():
        for name, digest in released(estimator, arguments).items():
            setting = re.sub(r" at 0x\w+", "", " ".join(setting.split()))
            yield f"{setting} | {name} | {digest}"


def compare(before, after):
    """Return what differs between two reports: the changed lines, and the whole in words."""
    ours, theirs = (dict(line.rsplit(" | ", 1) for line in lines) for lines in (before, after))
    changed = [key for key in ours if key in theirs and ours[key] != theirs[key]]
    told = [f"changed: {key}: {ours[key]} -> {theirs[key]}" for key in changed]
    told += [f"gone: {key}" for key in ours if key not in theirs]
    told += [f"new: {key}" for key in theirs if key not in ours]
    told.append(f"{len(ours.keys() & theirs.keys())} lines in both, {len(changed)} changed")
    return changed, told


def _containers(base):
    candidate = settings(base)[0].set_params(random_state=0)
    arguments = make_arguments(candidate)
    X, y = arguments["X"], arguments.get("y")
    chunks = [X[:20], X[20:]] if y is None else [(X[:20], y[:20]), (X[20:], y[20:])]
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])])
    for name, more in (("chunks", {"X": chunks, "y": None}), ("frame", {"X": frame})):
        yield f"{candidate!r} {name}", clone(candidate), arguments | more


def _budgets(base):
    candidate = settings(base)[0].set_params(random_state=0)
    for composition in COMPOSITIONS:
        budget = BudgetAccountant(
            candidate.epsilon, max(candidate.delta, 1e-6), composition=composition
        )
        paid = clone(candidate).set_params(accountant=budget)
        yield f"{candidate!r} {composition}", paid, make_arguments(candidate)
    half = BudgetAccountant(candidate.epsilon / 2, candidate.delta)
    poor = clone(candidate).set_params(accountant=half)
    yield f"{candidate!r} half the budget", poor, make_arguments(candidate)


def _refused(base):
    candidate = settings(base)[0].set_params(random_state=0)
    arguments = make_arguments(candidate)
    for name, values in BAD_PARAMETERS.items():
        if name not in candidate.get_params(deep=False):
            continue
        for value in values:
            bad = clone(candidate).set_params(**{name: value})
            yield f"{candidate!r} {name}={value!r}", bad, arguments
    broken = np.where(arguments["X"] == arguments["X"].max(), np.nan, arguments["X"])
    for name, X in (("nan", broken), ("no rows", arguments["X"][:0]), ("words", [["a", "b"]])):
        yield f"{candidate!r} {name}", clone(candidate), arguments | {"X": X}


def _branches():
    for name, branches in BRANCHES.items():
        cls = public_estimators()[name]
        for width in WIDTHS:
            X = _blobs(width)
            y = np.arange(len(X)) % 2
            for branch in branches:
                for delta in (0.0, 1e-6):
                    for bounds in ((0.0, 1.0), (-3.0, 5.0), Ball([0.5] * width, 1.0)):
                        base = {"epsilon": 2.0, "delta": delta, "bounds": bounds}
                        base["random_state"] = 0
                        yield (
                            f"{name} d={width} delta={delta} {bounds} {branch}",
                            cls(**_known(cls, base | branch)),
                            {"X": X, "y": y} if not issubclass(cls, PrivateKMeans) else {"X": X},
                        )


def _known(cls, params):
    return {key: value for key, value in params.items() if key in inspect.signature(cls).parameters}


def _blobs(n_features, n_rows=900):
    rng = np.random.default_rng(n_features)
    centers = rng.uniform(0.15, 0.85, size=(4, n_features))
    return centers[rng.integers(4, size=n_rows)] + 0.05 * rng.normal(size=(n_rows, n_features))


def _parameter(error):
    """The first word of a message that looks like a parameter: messages may be rewritten."""
    found = re.match(r"[a-z_]+(?= must)", str(error))
    return found.group() if found else ""


def _digest(value):
    held = hashlib.sha256()
    _feed(held, value)
    return held.hexdigest()[:16]


def _feed(held, value):
    """Feed the numbers and words of a value, whatever its class is called."""
    if isinstance(value, np.ndarray) and value.dtype != object:
        held.update(f"{value.dtype}{value.shape}".encode() + np.ascontiguousarray(value).tobytes())
    elif isinstance(value, _ATOMS):
        held.update(repr(value).encode())
    elif isinstance(value, Mapping):
        for key, item in value.items():
            _feed(held, (key, item))
    elif isinstance(value, (list, tuple, np.ndarray)):
        for item in value:
            _feed(held, item)
    elif is_dataclass(value):
        _feed(held, {f.name: getattr(value, f.name) for f in fields(value) if f.name[0] != "_"})
    elif not callable(value):
        _feed(held, {k: v for k, v in vars(value).items() if k[0] != "_"})


def main():
    """Print the report, or compare it with the file that is named."""
    if len(sys.argv) == 1:
        for line in lines():
            sys.stdout.write(line + "\n")
        return 0
    before = Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()
    changed, told = compare(before, list(lines()))
    sys.stdout.write("\n".join(told) + "\n")
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main())
