"""The public base: estimators of strangers are written from public names, and short."""

import ast
import inspect
import re
from importlib import import_module

import pytest

import skdp_bary.base
from tests.public import HOME, IN_THE_REPOSITORY, REFERENCE

MOST_LINES = 40


def _page_source():
    """Return the code of the private mean on the contributing page."""
    page = (HOME / "doc" / "contributing.rst").read_text().splitlines()
    code = [line[4:] for line in page if line.startswith((">>> ", "... ", "..."))]
    return "\n".join(code)


def _example_source():
    return (HOME / "examples" / "privacy" / "plot_own_estimator.py").read_text()


def _sources():
    return ast.parse(_page_source()), ast.parse(_example_source())


def _imported(tree):
    """Yield (module, name) of what is imported from the package."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module.startswith("skdp_bary"):
            yield from ((node.module, alias.name) for alias in node.names)


def _own_lines(cls):
    """Lines of a class without its docstrings and without empty ones."""
    for node in ast.walk(cls):
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node):
            node.body = node.body[1:] or [ast.Pass()]
    return [line for line in ast.unparse(cls).splitlines() if line.strip()]


@IN_THE_REPOSITORY
def test_examples_of_estimators_take_public_names_only():
    found = [pair for tree in _sources() for pair in _imported(tree)]
    assert ("skdp_bary.base", "BasePrivateEstimator") in found
    for module, name in found:
        assert name in import_module(module).__all__, f"{module}.{name}"
        assert module.count(".") == 1, module


@IN_THE_REPOSITORY
def test_examples_of_estimators_are_short():
    classes = {
        node.name: node
        for tree in _sources()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    }
    assert {"PrivateMean", "PrivateQuantile", "PrivateLinearRegression"} <= set(classes)
    for name, node in classes.items():
        assert len(_own_lines(node)) < MOST_LINES, name


@IN_THE_REPOSITORY
def test_the_reference_points_at_no_private_module():
    """Every entry is in the ``__all__`` of a public module, or a class that one returns."""
    targets = [each for page in REFERENCE for each in _listed_on(page)]
    assert len(targets) > 100 and sum(returned for _, returned in targets) > 10
    for target, returned in targets:
        module, _, name = target.rpartition(".")
        if returned and module.count(".") > 1:  # users get one, and need not import it
            assert inspect.isclass(getattr(import_module(module), name)), target
            continue
        assert module.count(".") <= 1, target
        public = import_module(module)  # without torch, "import *" leaves out what needs it
        assert name in {*public.__all__, *getattr(public, "_HOMES", ())}, target


def _listed_on(page):
    """Yield the full names in the tables of a page, and whether they are those of results."""
    text = page.read_text()
    within = re.findall(r"^\.\. automodule:: (\S+)$", text, re.MULTILINE)
    for i, part in enumerate(text.split("\nResults\n")):
        for name in re.findall(r"^   ~?([\w.]+)$", part, re.MULTILINE):
            yield name if name.startswith("skdp_bary.") else f"{within[0]}.{name}", i == 1


@pytest.mark.parametrize("name", skdp_bary.base.__all__)
def test_every_name_of_the_base_is_explained(name):
    value = getattr(skdp_bary.base, name)
    if inspect.isclass(value):
        assert len(inspect.getdoc(value)) > 10
