"""Functions are short enough to be read whole."""

import ast
from pathlib import Path

import pytest

import skdp_bary

ROOT = Path(skdp_bary.__file__).parent
MOST_LINES = 40  # without the docstring; constructors only store, and may be longer


def long_functions(source):
    """Names and lengths of the functions of a module that are too long."""
    found = {}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name != "__init__":
            length = node.end_lineno - node.lineno + 1
            if ast.get_docstring(node) is not None:
                length -= node.body[0].end_lineno - node.body[0].lineno + 1
            if length > MOST_LINES:
                found[node.name] = length
    return found


@pytest.mark.parametrize("n_lines", [MOST_LINES, MOST_LINES + 1])
def test_long_functions_are_seen(n_lines):
    lines = ["def f(a):", '    """Say', '    more."""', *["    a += 1"] * (n_lines - 1)]
    expected = {"f": n_lines} if n_lines > MOST_LINES else {}
    assert long_functions("\n".join(lines)) == expected


def test_no_function_is_long():
    found = {path: long_functions(path.read_text()) for path in ROOT.rglob("*.py")}
    assert {path: long for path, long in found.items() if long} == {}
