"""The layers of the package: imports point down, and what is heavy or secret stays where it is.

A rule takes the source of a module and says what is wrong with it. Every rule is tried on planted
violations, and is about something that exists: it fails when that has been renamed.
"""

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from tests.public import FILES, ROOT, dotted
from tests.world import home

LEVELS = [  # from the lowest
    "_version exceptions", "_sklearn", "values", "privacy geometry transport schema", "parameters",
    "rows", "desk", "queries", "transformers", "estimators",
    "base model_selection metrics plotting datasets interop", "papers", "inspection", "testing cli",
]  # fmt: skip
LEVELS = {name: level for level, names in enumerate(LEVELS) for name in names.split()}
HEAVY = (
    "dask diffprivlib dp_accounting matplotlib mpmath numba ot pandas psycopg pyspark sqlite3 torch"
)
HEAVY = set(HEAVY.split())
# Modules that are themselves imported only when what they wrap is used.
MAY_BE_HEAVY = {
    "papers/sliced_adaptation.py": {"torch"},
    "papers/sliced_adapter.py": {"torch"},
    "papers/sliced_generator.py": {"torch"},
    "papers/sliced_training.py": {"torch"},
    "privacy/sqlite_file.py": {"sqlite3"},
    "privacy/sqlite_ledger.py": {"sqlite3"},
    "transport/compiled_boxes.py": {"numba"},
}
SHARED_BY_FAMILIES = {"base", "clustering", "comparison", "facts", "noisy", "notices"}


@cache
def text_of(module):
    return (ROOT / module).read_text(encoding="utf-8")


_parse = cache(ast.parse)  # a module is looked at by half a dozen rules


@cache
def imports(source, module, top_level_only=False):
    """Return the dotted name of everything a module imports."""
    tree, package = _parse(source), ["skdp_bary", *Path(module).parts[:-1]]
    found = []
    for node in _top_level(tree) if top_level_only else ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            prefix = ".".join([*base, *([node.module] if node.module else [])])
            found += [f"{prefix}.{alias.name}" for alias in node.names]
    return found


def _top_level(node):
    """Yield the nodes that run when the module is imported: all but functions and mere types."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            child = ast.Module(child.orelse, [])
        if not isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            yield child
            yield from _top_level(child)


def layer(name):
    """First part of a name below the package: the layer it belongs to."""
    parts = name.split(".")
    return parts[1] if parts[0] == "skdp_bary" and len(parts) > 1 else None


def room(module):
    """First part of the path of a module."""
    return Path(module).parts[0].removesuffix(".py")


def family(name):
    """Family of estimators that a name is in, the first word of its file, or None."""
    parts = name.split(".")
    if parts[:2] != ["skdp_bary", "estimators"] or len(parts) < 3:
        return None
    word = parts[2].partition("_")[0]
    return None if word in SHARED_BY_FAMILIES else word


# Rules


def climbing(source, module):
    """Imports that do not point to a lower level."""
    own = room(module)
    found = []
    for name in imports(source, module):
        target = layer(name)
        if target is None or target == own or own.startswith("__") or target.startswith("__"):
            continue
        if LEVELS[target] >= LEVELS[own]:
            found.append(name)
    return found


def between_families(source, module):
    """Imports of one family of estimators by another."""
    own = family(dotted(module))
    return [name for name in imports(source, module) if own and family(name) not in (None, own)]


def heavy(source, module):
    """Heavy packages that importing a module would import."""
    allowed = MAY_BE_HEAVY.get(module, set())
    names = {name.split(".")[0] for name in imports(source, module, True)}
    return sorted((names & HEAVY) - allowed)


def private_names(source, module):
    """Names of scikit-learn that are private: a part of them starts with an underscore."""
    return [
        name
        for name in imports(source, module)
        if name.startswith("sklearn.") and "._" in name and module != "_sklearn.py"
    ]


def tapes(source, module):
    """Imports of tapes, which show exact answers, but where fits run and by the audit tools."""
    place = home("Tape").__name__
    opened = [name for name in imports(source, module) if _is_of(name, place, "Tape", "use_tape")]
    return [] if room(module) in (place.split(".")[1], "inspection") else opened


def exact_answers(source, module):
    """Exact answers outside of the layer that adds noise to them."""
    inside = room(module) == home("Sketch").__name__.split(".")[1]
    return [] if inside else [word for word in ("exact_blocks",) if word in source]


def answers_meet_noise(source, module):
    """Imports of what adds noise but at the desk: every fit, search and batch talks to that."""
    place = home("release").__name__
    used = [name for name in imports(source, module) if name == f"{place}.release"]
    return [] if dotted(module) == home("Desk").__name__ else used


def _is_of(name, place, *words):
    return name == place or name.startswith(f"{place}.") or name.rpartition(".")[2] in words


RULES = (climbing, between_families, heavy, private_names, tapes, exact_answers, answers_meet_noise)
PLANTED = [
    (climbing, "rows/persons.py", "from ..estimators import PrivateMeasure"),
    (climbing, "geometry/domains.py", "from ..transport.measures import DiscreteMeasure"),
    (climbing, "geometry/domains.py", "from .. import privacy"),
    (climbing, "privacy/plans.py", "import skdp_bary.estimators"),
    (climbing, "estimators/base.py", "def f():\n    from ..inspection import audit"),
    (between_families, "estimators/table_views.py", "from .kmeans import PrivateKMeans"),
    (between_families, "estimators/kmeans_x.py", "def f():\n    from .table_views import views"),
    (heavy, "transport/costs.py", "import ot"),
    (heavy, "papers/sliced_rows.py", "import torch"),
    (heavy, "cli/run.py", "try:\n    from dask import array\nexcept ImportError:\n    pass"),
    (heavy, "plotting/maps.py", "class A:\n    import matplotlib.pyplot as plt"),
    (heavy, "plotting/maps.py", "if TYPE_CHECKING:\n    pass\nelse:\n    import matplotlib"),
    (heavy, "plotting/maps.py", "if not TYPE_CHECKING:\n    import matplotlib"),
    (private_names, "estimators/base.py", "from sklearn.cluster._kmeans import lloyd"),
    (private_names, "estimators/base.py", "from sklearn.utils import _safe_indexing"),
    (tapes, "estimators/base.py", "from ..desk.tape import Tape"),
    (tapes, "testing/suite.py", "from ..desk import tape"),
    (tapes, "testing/suite.py", "def f():\n    from ..inspection.replay import use_tape"),
    (exact_answers, "estimators/base.py", "sketch.exact_blocks()"),
    (answers_meet_noise, "desk/x.py", "from .desk import release"),
    (answers_meet_noise, "papers/x.py", "from ..desk.desk import release"),
]
ALLOWED = [
    (climbing, "estimators/base.py", "from ..privacy.plans import Plan"),
    (climbing, "desk/query.py", "from ..rows.persons import Chunk"),
    (between_families, "estimators/table_views.py", "from . import noisy_trees"),
    (heavy, "transport/costs.py", "def f():\n    import ot\n    return ot"),
    (heavy, "plotting/maps.py", "if TYPE_CHECKING:\n    from matplotlib.axes import Axes"),
    (heavy, "papers/sliced_training.py", "import torch"),
    (private_names, "estimators/base.py", "from sklearn.base import BaseEstimator"),
    (tapes, "inspection/replay.py", "from ..desk.tape import Tape"),
    (exact_answers, "desk/x.py", "sketch.exact_blocks()"),
    (answers_meet_noise, "papers/x.py", "from ..desk.query import Release"),
]


@pytest.mark.parametrize("rule", RULES)
def test_every_module_keeps_the_rule(rule):
    found = {module: rule(text_of(module), module) for module in FILES}
    assert {module: wrong for module, wrong in found.items() if wrong} == {}


def test_planted_violations_are_seen_and_what_is_allowed_is_not():
    assert [case for case in PLANTED if not case[0](case[2], case[1])] == []
    assert [case for case in ALLOWED if case[0](case[2], case[1])] == []
    assert {rule for rule, *_ in PLANTED} == set(RULES)


def test_what_the_rules_are_about_exists():
    """A rule about a module, a folder or a word that was renamed would find nobody and pass."""
    names = [name for module in FILES for name in imports(text_of(module), module)]
    assert {room(module) for module in FILES} - {"__init__", "__main__"} == set(LEVELS)
    assert len([name for name in names if layer(name)]) > 1000
    assert len({family(dotted(module)) for module in FILES}) > 6
    assert all(list(ROOT.glob(f"estimators/{word}*.py")) for word in SHARED_BY_FAMILIES)
    for module, packages in MAY_BE_HEAVY.items():
        assert packages <= {n.partition(".")[0] for n in imports(text_of(module), module, True)}
    assert [n for n in imports(text_of("_sklearn.py"), "_sklearn.py") if "._" in n]
    for word, users in (("Tape", 3), ("release", 1)):
        place = home(word).__name__
        assert sum(_is_of(name, place) for name in names) >= users, word
    assert sum("exact_blocks" in text_of(module) for module in FILES) > 0


def circles(imported):
    """Groups of modules that reach each other, from what each of them imports."""
    reached = {own: set(others) for own, others in imported.items()}
    for middle in imported:
        for own in imported:
            if middle in reached[own]:
                reached[own] |= reached[middle]
    return {
        frozenset(other for other in reached[own] if own in reached[other])
        for own in imported
        if own in reached[own]
    }


def test_no_modules_import_each_other_in_a_circle():
    """Neither two nor a longer chain, wherever in a module the import stands."""
    names = {dotted(module) for module in FILES}
    imported = {}
    for module in FILES:
        found = {
            full if full in names else full.rpartition(".")[0]
            for full in imports(text_of(module), module)
            if layer(full) is not None
        }
        imported[dotted(module)] = (found & names) - {dotted(module)}
    assert circles(imported) == set() and sum(map(len, imported.values())) > 500
    for planted, expected in (
        ({"a": {"b"}, "b": {"c"}, "c": set()}, []),
        ({"a": {"b"}, "b": {"a"}, "c": {"a"}}, ["ab"]),
        ({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}, ["abc"]),
    ):
        assert circles(planted) == {frozenset(circle) for circle in expected}


def loaded(*statements):
    """Names of the modules that a fresh interpreter newly holds after each statement."""
    script = "import sys\n" + "\n".join(f"{one}; print(*sys.modules)" for one in statements)
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    held = [set(line.split()) for line in run.stdout.splitlines()]
    return [after - before for before, after in zip([set(), *held], held, strict=False)]


def test_imports_pull_in_nothing_heavy_and_the_front_door_alone_no_estimator():
    front, _theirs, *ours, control = loaded(
        "import skdp_bary",
        "import sklearn.model_selection",  # scikit-learn imports pandas where it is
        "from skdp_bary import PrivateMeasure",
        "from skdp_bary import BudgetAccountant; BudgetAccountant(1.0).spend(0.1)",
        "import skdp_bary.inspection, skdp_bary.interop, skdp_bary.plotting, skdp_bary.testing",
        "from skdp_bary.papers import NoisyRowsSlicedWasserstein",
        "import sqlite3",
    )
    assert {name for name in front if name.startswith("skdp_bary.")} == {"skdp_bary._version"}
    assert not {"numpy", "scipy", "sklearn", "joblib"} & front  # start.rst says so
    held = {name.partition(".")[0] for name in front.union(*ours)}
    assert "skdp_bary.papers" in set().union(*ours) and held & HEAVY == set()
    assert "sqlite3" in control and "sqlite3" in HEAVY
