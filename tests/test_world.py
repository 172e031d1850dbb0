"""The door to the insides: it finds what is defined once, and hardly a test walks past it."""

import ast
from pathlib import Path

import pytest

from tests import world
from tests.cases import every

HERE = Path(__file__).parent
ROOMS = (
    "papers base cli datasets estimators exceptions geometry inspection interop metrics "
    "model_selection plotting privacy schema testing transformers transport"
)


def inner_imports(text):
    """Return the modules of the package that a test imports and that are not public."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.level == 0:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            modules = [node.module, *(n for n in names if n.rpartition(".")[2].startswith("_"))]
        elif isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        else:
            continue
        parts = [module.split(".") for module in modules if module.startswith("skdp_bary.")]
        found += [".".join(p) for p in parts if len(p) > 2 or p[1] not in ROOMS.split()]
    return found


@every("line", ["from skdp_bary.privacy.noise import Sampler", "from skdp_bary.desk import desk"])
def test_imports_of_insides_are_seen(line):
    assert inner_imports(line) and not inner_imports("from skdp_bary.geometry import Box")


def test_hardly_a_test_imports_the_insides_itself():
    files = {path: inner_imports(path.read_text(encoding="utf-8")) for path in HERE.rglob("*.py")}
    past = {path.relative_to(HERE): found for path, found in files.items() if found}
    assert len(files) > 200 and len(past) <= 15, past


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
