"""The door to the insides: it finds what is defined once, and hardly a test walks past it."""

import ast
from pathlib import Path

import pytest

from tests import world

HERE = Path(__file__).parent
WHITE_BOX = ("privacy", "transport", "geometry")
ROOMS = {
    "base",
    "cli",
    "datasets",
    "estimators",
    "exceptions",
    "federated",
    "geometry",
    "inspection",
    "interop",
}
ROOMS |= {"metrics", "model_selection", "plotting", "privacy", "schema", "testing", "torch"}
ROOMS |= {"transformers", "transport"}


def inner_imports(path):
    """Return the modules of the package that a test imports and that are not public."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level == 0:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            modules = [node.module, *(n for n in names if n.rpartition(".")[2].startswith("_"))]
        elif isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        else:
            continue
        parts = [module.split(".") for module in modules if module.startswith("skdp_bary.")]
        found += [".".join(p) for p in parts if len(p) > 2 or p[1] not in ROOMS]
    return found


def test_few_tests_import_the_insides_outside_of_the_white_box_rooms():
    files = {path.relative_to(HERE): inner_imports(path) for path in HERE.rglob("*.py")}
    assert any(found for path, found in files.items() if path.parts[0] in WHITE_BOX)
    past = {path: found for path, found in files.items() if found}
    past = {path: found for path, found in past.items() if path.parts[0] not in WHITE_BOX}
    assert len(past) <= 15, past


def test_names_are_found_where_they_are_defined():
    assert world.CellTree is world.home("CellTree").CellTree
    assert world.home("Sketch").__name__ == world.Sketch.__module__
    for name in ("no_such_name", "TUNED"):
        with pytest.raises(ImportError, match="must be defined in one module"):
            world.home(name)
    with pytest.raises(ImportError, match="no_such_name"):
        exec("from tests.world import no_such_name")


def test_what_is_replaced_everywhere_comes_back(monkeypatch):
    users = [world.home(name) for name in ("release", "Desk")]
    with monkeypatch.context() as patch:
        world.everywhere(patch, "release", None)
        assert [module.release for module in users] == [None, None]
    assert [module.release for module in users] == [world.release] * 2
