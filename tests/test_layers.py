"""The layers of the package: imports point down, and what is heavy or secret stays where it is."""

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import skdp_bary

ROOT = Path(skdp_bary.__file__).parent
LEVELS = {
    "exceptions": 0,
    "_optional": 0,
    "_progress": 0,
    "_shown": 0,
    "_sklearn": 0,
    "_threads": 1,
    "_types": 0,
    "_values": 0,
    "_version": 0,
    "_pickles": 1,
    "privacy": 1,
    "schema": 1,
    "geometry": 1,
    "transport": 1,
    "_parameter_rules": 1,
    "_parameters": 2,
    "summaries": 2,
    "transformers": 3,
    "estimators": 4,
    "base": 5,
    "metrics": 5,
    "model_selection": 5,
    "plotting": 5,
    "datasets": 5,
    "federated": 5,
    "interop": 5,
    "torch": 5,
    # audits look at everything that spends, the contract suite stands on the audits
    "inspection": 6,
    "testing": 7,
    "cli": 7,
}
HEAVY = {
    "dask",
    "diffprivlib",
    "dp_accounting",
    "matplotlib",
    "mpmath",
    "numba",
    "ot",
    "pandas",
    "psycopg",
    "pyspark",
    "sqlite3",
    "torch",
}
# Modules that are themselves imported only when what they wrap is used.
MAY_BE_HEAVY = {
    "privacy/ledger/sqlite.py": {"sqlite3"},
    "privacy/ledger/sqlite_format.py": {"sqlite3"},
    "interop/_diffprivlib.py": {"diffprivlib"},
    "transport/_compiled.py": {"numba"},
    "transport/_semidiscrete/compiling.py": {"numba"},
}
MODULES = sorted(path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*.py"))


def imports(module, *, top_level_only=False):
    """Return the dotted name of everything a module imports."""
    return _imports(text_of(module), module, top_level_only)


@cache
def text_of(module):
    return (ROOT / module).read_text()


_parse = cache(ast.parse)  # a module is looked at by half a dozen tests


@cache
def _imports(source, module, top_level_only):
    return list(_names(_parse(source), module, top_level_only))


def _names(tree, module, top_level_only):
    package = ["skdp_bary", *Path(module).parts[:-1]]
    for node in _top_level(tree) if top_level_only else ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            prefix = ".".join([*base, *([node.module] if node.module else [])])
            yield from (f"{prefix}.{alias.name}" for alias in node.names)


def _top_level(node):
    """Yield the nodes that run when the module is imported: all but functions and mere types."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            child = ast.Module(child.orelse, [])
        if not isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            yield child
            yield from _top_level(child)


def layer(dotted):
    """First part of a name below the package: the layer it belongs to."""
    parts = dotted.split(".")
    return parts[1] if parts[0] == "skdp_bary" and len(parts) > 1 else None


def climbing(source, module):
    """Imports of a module that do not point to a lower level."""
    own = Path(module).parts[0].removesuffix(".py")
    found = []
    for name in _imports(source, module, False):
        target = layer(name)
        if target is None or target == own or target.startswith("__"):
            continue
        if LEVELS[target] >= LEVELS[own]:
            found.append(name)
    return found


def heavy(source, module):
    """Heavy packages that importing a module would import."""
    allowed = MAY_BE_HEAVY.get(module, set()) | {Path(module).parts[0]}
    names = {name.split(".")[0] for name in _imports(source, module, True)}
    return sorted((names & HEAVY) - allowed)


def private_names(source, module):
    """Names of scikit-learn that are private: a part of them starts with an underscore."""
    names = [name.split(".") for name in _imports(source, module, False)]
    return [
        ".".join(parts)
        for parts in names
        if parts[0] == "sklearn" and any(part.startswith("_") for part in parts)
    ]


def test_every_module_has_a_level():
    own = {Path(module).parts[0].removesuffix(".py") for module in MODULES}
    assert own - {"__init__", "__main__"} <= set(LEVELS)


@pytest.mark.parametrize("module", [m for m in MODULES if m not in ("__init__.py", "__main__.py")])
def test_imports_point_down(module):
    assert climbing(text_of(module), module) == []


SHARED_BY_FAMILIES = {"_clusters", "_denoise", "_face"}


def family(dotted):
    """Folder of a family of estimators that a name is in, or None."""
    parts = dotted.split(".")
    if parts[:2] != ["skdp_bary", "estimators"] or not (ROOT / "/".join(parts[1:3])).is_dir():
        return None
    return None if len(parts) < 3 or parts[2] in SHARED_BY_FAMILIES else parts[2]


def dotted_name(module):
    return ".".join(["skdp_bary", *Path(module).with_suffix("").parts]).removesuffix(".__init__")


@pytest.mark.parametrize("module", [m for m in MODULES if family(dotted_name(m))])
def test_families_do_not_import_each_other(module):
    own = family(dotted_name(module))
    assert not [name for name in imports(module) if family(name) not in (None, own)]


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
    names = {dotted_name(module) for module in MODULES}
    imported = {}
    for module in MODULES:
        found = {
            full if full in names else full.rpartition(".")[0]
            for full in imports(module)
            if layer(full) is not None
        }
        imported[dotted_name(module)] = (found & names) - {dotted_name(module)}
    assert circles(imported) == set()


@pytest.mark.parametrize(
    "imported, expected",
    [
        ({"a": {"b"}, "b": {"c"}, "c": set()}, []),
        ({"a": {"b"}, "b": {"a"}, "c": {"a"}}, ["ab"]),
        ({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}, ["abc"]),
    ],
)
def test_circles_are_seen(imported, expected):
    assert circles(imported) == {frozenset(circle) for circle in expected}


@pytest.mark.parametrize("module", MODULES)
def test_nothing_heavy_is_imported_with_a_module(module):
    assert heavy(text_of(module), module) == []


def test_tapes_are_opened_by_the_audit_tools_only():
    """A tape shows exact answers: whoever can import it can see them."""
    users = {
        module for module in MODULES if any("_tape" in name.split(".") for name in imports(module))
    }
    assert {Path(user).parts[0] for user in users} <= {"summaries", "inspection"}


def test_exact_answers_stay_in_the_layer_that_adds_noise():
    for module in MODULES:
        if Path(module).parts[0] != "summaries":
            assert "exact_blocks" not in text_of(module), module


def test_answers_meet_noise_at_the_desk_only():
    """Every fit, search and batch talks to one piece of code, and so do the audits."""
    users = {
        module
        for module in MODULES
        if "skdp_bary.summaries.asking.release.release" in imports(module)
    }
    assert users == {"summaries/asking/desk.py"}


def test_private_names_of_scikit_learn_come_from_one_module():
    for module in MODULES:
        if module != "_sklearn.py":
            assert private_names(text_of(module), module) == [], module


@cache
def loaded(statement):
    """Names of the modules that a fresh interpreter holds after a statement."""
    script = f"import sys; {statement}; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(run.stdout.split())


@pytest.mark.parametrize(
    "statement",
    [
        "import skdp_bary",
        "from skdp_bary import PrivateMeasure",
        "from skdp_bary import BudgetAccountant; BudgetAccountant(1.0).spend(0.1)",
        "import skdp_bary.inspection, skdp_bary.testing",
    ],
)
def test_import_pulls_in_nothing_heavy(statement):
    theirs = loaded("import sklearn.model_selection")  # scikit-learn imports pandas where it is
    ours = {name.split(".")[0] for name in loaded(statement) - theirs}
    assert ours & HEAVY == set()


def test_the_front_door_alone_imports_no_estimator():
    ours = {name for name in loaded("import skdp_bary") if name.startswith("skdp_bary.")}
    assert ours == {"skdp_bary._version"}


@pytest.mark.parametrize(
    "source, check, module",
    [
        ("from ...estimators import PrivateMeasure", climbing, "summaries/rows/persons.py"),
        ("from ..transport._measures import DiscreteMeasure", climbing, "geometry/_ball.py"),
        ("from .. import privacy", climbing, "geometry/_ball.py"),
        ("import skdp_bary.estimators", climbing, "privacy/accounting/plans.py"),
        ("def f():\n    from ..inspection import audit", climbing, "estimators/_base.py"),
        ("import ot", heavy, "transport/_costs.py"),
        ("try:\n    from dask import array\nexcept ImportError:\n    pass", heavy, "cli/_run.py"),
        ("class A:\n    import matplotlib.pyplot as plt", heavy, "plotting/_maps.py"),
        ("if TYPE_CHECKING:\n    pass\nelse:\n    import matplotlib", heavy, "plotting/_maps.py"),
        ("if not TYPE_CHECKING:\n    import matplotlib", heavy, "plotting/_maps.py"),
        ("from sklearn.cluster._kmeans import lloyd", private_names, "estimators/_base.py"),
        ("from sklearn.utils import _safe_indexing", private_names, "estimators/_base.py"),
    ],
)
def test_forbidden_imports_are_seen(source, check, module):
    assert check(source, module)


@pytest.mark.parametrize(
    "source, check, module",
    [
        ("from ..privacy._plan import Plan", climbing, "estimators/_base.py"),
        ("from ._rows import Chunk", climbing, "summaries/asking/query.py"),
        ("def f():\n    import ot\n    return ot", heavy, "transport/_costs.py"),
        ("if TYPE_CHECKING:\n    from matplotlib.axes import Axes", heavy, "plotting/_maps.py"),
        ("import torch", heavy, "torch/_losses.py"),
        ("from sklearn.base import BaseEstimator", private_names, "estimators/_base.py"),
    ],
)
def test_allowed_imports_are_not(source, check, module):
    assert not check(source, module)
