"""The documentation shows what its scripts make of the benchmarks; examples import what exists."""

import ast
import csv
import importlib
import io
import re
from pathlib import Path

import pytest

from tests.public import DOC_PAGES

DOC = Path(__file__).parents[1] / "doc"
README, HOME = DOC.parent / "README.rst", DOC / "index.rst"
EXAMPLES = sorted((DOC.parent / "examples").glob("*/plot_*.py"))


SCRIPTS = [
    "draw_adaptation",
    "draw_attack",
    "draw_install",
    "draw_kmeans_evidence",
    "draw_measure_evidence",
    "draw_results",
    "draw_speed",
    "draw_table_evidence",
    "draw_tuning",
]


@pytest.mark.parametrize("script", SCRIPTS)
def test_tables_are_up_to_date(script, monkeypatch):
    monkeypatch.syspath_prepend(str(DOC / "figures"))
    module = importlib.import_module(script)
    stale, made_anew = [], []

    def compare(name, header, rows):
        made_anew.append(name)
        made = io.StringIO()
        csv.writer(made, lineterminator="\n").writerows([header, *rows])
        if (DOC / "tables" / f"{name}.csv").read_text() != made.getvalue():
            stale.append(name)

    monkeypatch.setattr(module, "write_table", compare)
    module.main()
    assert made_anew
    assert not stale, f"python doc/figures/{script}.py makes these tables anew: {stale}"


def test_the_tuned_numbers_of_every_family_are_listed(monkeypatch):
    monkeypatch.syspath_prepend(str(DOC / "figures"))
    module = importlib.import_module("draw_tuning")
    files = {path.stem: path.read_text() for path in module.ESTIMATORS.glob("*.py")}
    families = {file for file, text in files.items() if list(module.numbers_of(text))}
    assert len(families) > 3
    assert families == set(module.FAMILIES.values())


def test_every_table_is_shown_and_every_picture_exists():
    pages = "".join(path.read_text() for path in [*DOC_PAGES, DOC.parent / "README.rst"])
    pictures = [path.name for path in (DOC / "images").iterdir()]
    tables = [path.name for path in (DOC / "tables").glob("*.csv")]
    assert len(pictures) > 5 and len(tables) > 20
    assert not [name for name in pictures if f"images/{name}" not in pages]
    assert not [name for name in tables if f"tables/{name}" not in pages]


def test_the_first_lines_fit_a_phone_and_are_the_same_on_both_pages():
    first = [re.findall(r"^>>> .*", page.read_text(), re.MULTILINE) for page in (README, HOME)]
    assert first[0] == first[1] and len(first[0]) == 5
    assert max(map(len, first[0])) <= 40


def test_examples_and_benchmarks_import_what_exists():
    """Neither runs with the fast tests: a name that moved would be missed first in the gallery."""
    looked, missing = 0, []
    places = DOC / "figures", DOC.parent / "examples", DOC.parent / "benchmarks"
    for path in (path for place in places for path in place.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.ImportFrom) or not str(node.module).startswith("skdp_bary"):
                continue
            try:
                module = importlib.import_module(node.module)
                for name in (each.name for each in node.names):
                    if not hasattr(module, name) and not is_module(f"{node.module}.{name}"):
                        missing.append((path.name, name))
            except ImportError as error:  # of an extra that is not there
                assert "needs the module" in str(error), path
            looked += 1
    assert looked > 200 and not missing


def is_module(name):
    """Whether a name with dots is that of a module."""
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:  # what stands before the last dot is no package
        return False
