"""The one door from the tests to the insides of the package, so that its files can move.

Words come first: a test that asks a question, opens rows or records a fit uses `answer`, `rows`,
`record` and the other functions below. Whatever else is needed is imported from here by its name
alone, ``from tests.world import CellTree``, and found wherever in the package it is defined.
Better than that is a public class or :mod:`skdp_bary.base`: what is named here cannot be renamed.
"""

import importlib
import re
import sys
from functools import cache
from pathlib import Path

import joblib
import numpy as np

import skdp_bary

_DEFINED = re.compile(r"^(?:class|def) (\w+)|^((?:\w+, )*\w+)(?:: [^=\n]+)? = ", re.MULTILINE)


@cache
def _places():
    """Return the modules that define each name, in all of the package."""
    root, found = Path(skdp_bary.__file__).parent, {}
    for path in sorted(root.rglob("*.py")):
        module = ".".join(["skdp_bary", *path.relative_to(root).with_suffix("").parts])
        for match in _DEFINED.finditer(path.read_text(encoding="utf-8")):
            for name in (match[1] or match[2]).split(", "):
                found.setdefault(name, set()).add(module.removesuffix(".__init__"))
    return found


def home(name):
    """Return the one module that defines `name`."""
    modules = sorted(_places().get(name, ()))
    if len(modules) != 1:
        raise ImportError(f"{name} must be defined in one module, found it in {modules}.")
    return importlib.import_module(modules[0])


def __getattr__(name):
    """Find what is defined somewhere in the package; ``from tests.world import name`` asks this."""
    if name.startswith("__") or name not in _places():
        raise AttributeError(f"nothing in skdp_bary is called {name}")
    return getattr(home(name), name)


def everywhere(monkeypatch, name, value):
    """Put `value` in the place of what the package calls `name`, wherever it was imported to."""
    old = getattr(home(name), name)
    for module in [m for n, m in sys.modules.items() if n.partition(".")[0] == "skdp_bary"]:
        if vars(module).get(name) is old:
            monkeypatch.setattr(module, name, value)


# Questions


def chunk(X, codes=None, masses=None, **more):
    """Return checked rows; a single row may be given as one."""
    X = np.atleast_2d(np.asanyarray(X, dtype=float))
    codes, masses = (None if v is None else np.asarray(v) for v in (codes, masses))
    return home("Chunk").Chunk(X, codes, masses, **more)


def sketch(query, X=None, codes=None, masses=None, **more):
    """Return what a query counts of rows; None: of no rows."""
    found = home("Sketch").Sketch(query)
    return found if X is None else found.update(chunk(X, codes, masses, **more))


def answer(query, X=None, codes=None, masses=None, **more):
    """Return the blocks of the exact answer to a query."""
    return sketch(query, X, codes, masses, **more).exact_blocks()


def same(one, other):
    """Whether two answers are the same integers."""
    return len(one) == len(other) and all(map(np.array_equal, one, other))


class Exact:
    """A mechanism without noise: for what is read back from releases."""

    def scales(self, sensitivity, weights):
        return (0.0,) * sensitivity.n_blocks

    def standard_deviation(self, scale):
        return scale


def released(query, mechanism, X=None, *given, relation="add_remove", seed=0, name="step"):
    """Return the release of a query about rows, with seeded noise unless `seed` is None."""
    step = home("Step").Step(name, mechanism)
    noise = home("noise_generator").noise_generator(seed)
    return release_of(sketch(query, X, *given), step, relation, noise)


def release_of(sketch, step, relation, noise):
    """Return a release of what was counted, under the tape of the moment."""
    price = home("require_noise").require_noise(sketch.query, step, relation)
    tape = home("active_tape").active_tape()
    return home("release").release(sketch, step, relation, noise, *price, tape)


# Rows


def rows(X, y=None, *, classes=None, **beside):
    """Return the rows of a fit whose public classes are known."""
    opening = home("open_source")
    return opening.Rows(opening.open_source(X, y, classes=classes, **beside), classes)


def read(source):
    """Return all chunks of rows, or of their source."""
    source = getattr(source, "source", source)
    return [part for place in range(source.n_parts) for part in source.read(place)]


def integers(query, opened):
    """Return the exact answer to a query about rows, counted as a fit counts them."""
    return home("collect").collect(query, opened).exact_blocks()


# Fits


def fingerprint(estimator):
    """Return a hash of everything a fit has set."""
    names = [name for name in vars(estimator) if name.endswith("_")]
    assert names
    return joblib.hash({name: vars(estimator)[name] for name in names})


def record(estimator, X, y=None, *, script=(), accountant=None, **beside):
    """Return a fit under a tape: what it asked, the exact answers and what was released."""
    given = {"X": X, "y": y, **beside}
    given = {name: value for name, value in given.items() if value is not None}
    return home("record_fit").record_fit(estimator, given, script, accountant=accountant)
