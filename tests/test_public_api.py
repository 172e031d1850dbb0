"""What the package offers: names are listed, documented and annotated, and their examples run.

A test goes through everybody and says all that is wrong.
"""

import ast
import doctest
import inspect
from dataclasses import is_dataclass
from importlib.metadata import version
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator

import skdp_bary
from skdp_bary.exceptions import PrivacyWarning
from tests.discovery import private_estimators, public_estimators
from tests.public import (
    DOC_PAGES,
    FILES,
    HOME,
    IN_THE_REPOSITORY,
    REFERENCE,
    ROOT,
    called,
    dotted,
    is_a,
    methods,
    modules,
    names,
    public,
    text_of,
)

# Estimators that no common suite can make by itself, and where they are tested instead.
OWN_TESTS = {
    "BasePrivateEstimator": "tests/estimators/test_base.py",
    "PrivateSearchCV": "tests/model_selection/test_search.py",
    "ShuffleAnalyzer": "tests/papers/test_shuffle_protocol.py",
    "SlicedNetworkAdapter": "tests/papers/test_network_contract.py",
    "SlicedNetworkGenerator": "tests/papers/test_network_contract.py",
}


def test_modules_have_docstrings():
    assert [name for name, module in modules().items() if not module.__doc__] == []


def test_every_all_is_sorted_and_complete():
    """Whatever a public room imports from its own private files is in its ``__all__``."""
    wrong, rooms = [], 0
    for name in {module for module, _ in public()}:
        module = modules()[name]
        listed = list(module.__all__)
        if listed != sorted(set(listed), key=lambda each: (each.startswith("__"), each)):
            wrong.append(name)
        if name.count(".") == 1 and hasattr(module, "__path__"):
            rooms += 1
            own = {
                each
                for each, value in vars(module).items()
                if not each.startswith("_")
                and (inspect.isclass(value) or inspect.isfunction(value))
                and value.__module__.startswith("skdp_bary.")
            }
            wrong += [f"{name}.{each}" for each in own - set(listed)]
    assert wrong == [] and rooms > 5


def test_public_names_are_documented():
    wrong = [key for key, value in public().items() if not inspect.getdoc(value)]
    wrong += [
        key for key, value in public().items() if inspect.isclass(value) and not value.__doc__
    ]
    for key, value in public().items():
        for name, method in vars(value).items() if inspect.isclass(value) else ():
            if inspect.isfunction(method) and not name.startswith("_"):
                wrong += [] if inspect.getdoc(getattr(value, name)) else [(*key, name)]
    assert wrong == []


@IN_THE_REPOSITORY
def test_public_names_are_in_the_reference_and_have_an_example():
    """In the docstring, in the guide or in the gallery; results have that of what returns them."""
    pages = [*DOC_PAGES, *(HOME / "examples").rglob("*.py"), HOME / "README.rst"]
    reference = text_of(*REFERENCE)
    guide = text_of(*(page for page in pages if page not in REFERENCE))
    docs = {name: value.__doc__ or "" for (_, name), value in public().items()}
    unlisted, unshown = [], []
    for (module, name), value in public().items():
        if module == "skdp_bary.cli":
            continue
        if not name.isupper() and not names(reference, name):  # constants: where they are used
            unlisted.append(name)
        if (module, name) not in called() or "Examples\n" in docs[name] or names(guide, name):
            continue
        others = "\n".join(doc for other, doc in docs.items() if other != name)
        if not (is_dataclass(value) and names(others, name)):
            unshown.append(name)
    assert (unlisted, unshown) == ([], [])


def test_the_front_door_has_examples_and_lists_what_editors_see():
    offered = [name for name in skdp_bary.__all__ if not name.startswith("__")]
    assert [n for n in offered if "Examples\n" not in getattr(skdp_bary, n).__doc__] == []
    tree = ast.parse(Path(skdp_bary.__file__).read_text(encoding="utf-8"))
    assigned = {n.targets[0].id: n.value for n in tree.body if isinstance(n, ast.Assign)}
    assert ast.literal_eval(assigned["__all__"]) == skdp_bary.__all__
    assert dir(skdp_bary) == sorted(skdp_bary.__all__) and set(skdp_bary._HOMES) == set(offered)
    typed = next(node for node in tree.body if isinstance(node, ast.If))
    assert {alias.name for node in typed.body for alias in node.names} == set(offered)
    assert (ROOT / "py.typed").exists()


def test_names_versions_and_warnings_are_what_they_are_elsewhere():
    assert skdp_bary.__version__ == version("skdp_bary")
    assert issubclass(PrivacyWarning, UserWarning)
    with pytest.raises(AttributeError, match="no attribute 'Missing'"):
        skdp_bary.Missing  # noqa: B018


def test_signatures_are_explicit_and_documented():
    """No **kwargs, no *args, and every parameter is in the docstring."""
    wrong = []
    for key, value in called().items():
        for parameter in inspect.signature(value).parameters.values():
            if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
                wrong.append((*key, str(parameter)))
            if not names(value.__doc__, parameter.name):
                wrong.append((*key, f"{parameter.name} is not documented"))
    assert wrong == []


def test_signatures_are_annotated():
    """Parameters and results of public functions, constructors and methods say their types."""
    wrong, seen = [], 0
    for key, label, function in methods():
        first, *others = [*inspect.signature(function).parameters.values()] or [None]
        bound = "." in label and first is not None and first.name in ("self", "cls")
        hints, seen = function.__annotations__, seen + 1
        parameters = others if bound or first is None else [first, *others]
        wrong += [(*key, f"{label}({p.name})") for p in parameters if p.name not in hints]
        if "return" not in hints and "__init__" not in label:
            wrong.append((*key, f"{label} ->"))
    assert wrong == [] and seen > 300


@pytest.mark.parametrize("room", sorted({file.rpartition("/")[0].split("/")[0] for file in FILES}))
def test_examples_run(room, monkeypatch):
    """Those of all files of a room; the files that are in none have hardly any."""
    if room == "plotting" and find_spec("matplotlib") is None:
        pytest.skip("matplotlib is not installed")
    monkeypatch.setenv("MPLBACKEND", "Agg")
    files = [dotted(file) for file in FILES if file.rpartition("/")[0].split("/")[0] == room]
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    for module in (modules()[name] for name in files if name in modules()):
        for test in doctest.DocTestFinder(exclude_empty=True).find(module):
            runner.run(test)
    assert runner.summarize(verbose=False).failed == 0
    missing = {name for name in files if not name.endswith("__main__")} - set(modules())
    assert runner.tries > 0 or missing or room in ("", "cli", "desk", "queries", "rows")


def test_estimators_document_their_parameters_and_attributes_and_only_store():
    wrong = []
    for name, cls in public_estimators().items():
        doc, parameters = inspect.getdoc(cls), inspect.signature(cls).parameters
        attributes = _entries(doc, "Attributes")
        marks = {parameter: object() for parameter in parameters}
        if set(_entries(doc, "Parameters")) != set(parameters):
            wrong.append(f"{name}: parameters")
        if not attributes or not all(attribute.endswith("_") for attribute in attributes):
            wrong.append(f"{name}: attributes")
        if vars(cls(**marks)) != marks:
            wrong.append(f"{name}: stores something else")
    assert wrong == [] and len(public_estimators()) > 10


def test_private_estimators_share_their_parameters():
    """The same words everywhere, with the same defaults, and what they mean in the same place."""
    shared = {"epsilon", "delta", "bounds", "n_hint", "neighbors", "accountant", "random_state"}
    wrong = []
    for name, cls in private_estimators().items():
        parameters = inspect.signature(cls).parameters
        of_rows = {"bounds"} if "schema" in parameters else set()  # a schema says it in its place
        unset = [p for p in ("neighbors", "accountant", "random_state") if p in parameters]
        ordered = [p for p in parameters if p in shared - {"epsilon", "delta", "bounds"}]
        if not shared - of_rows <= set(parameters):
            wrong.append(f"{name}: {shared - of_rows - set(parameters)} missing")
        if any(parameters[p].default is not None for p in unset):
            wrong.append(f"{name}: a default")
        if ordered != ["n_hint", "neighbors", "accountant", "random_state"]:
            wrong.append(f"{name}: {ordered}")
    assert wrong == [] and len(private_estimators()) > 8


def test_public_estimators_are_in_the_common_suites_or_tested_elsewhere():
    others = [
        name
        for (_, name), value in public().items()
        if is_a(value, BaseEstimator) and name not in public_estimators()
    ]
    assert [name for name in others if not (HOME / OWN_TESTS[name]).exists()] == []
    assert len(others) >= 3


def _entries(doc, section):
    """Names documented in a numpydoc section."""
    lines = doc.splitlines()
    starts = [i for i, line in enumerate(lines) if line == section and set(lines[i + 1]) == {"-"}]
    found = []
    for line, below in pairwise([*lines[starts[0] + 2 :], ""] if starts else ()):
        if line and set(below) == {"-"}:
            break
        if line and not line.startswith(" "):
            found += [name.strip() for name in line.partition(" :")[0].split(",")]
    return found


def test_sparse_rows_are_told_where_they_are_taken():
    rows = sparse.csr_array(np.eye(9))
    for estimator in (
        skdp_bary.PrivateKMeans(2, bounds=(0, 1), n_hint=9),
        skdp_bary.DomainScaler((0, 1)),
    ):
        with pytest.raises(TypeError, match="sparse matrix.*JLTransformer"):
            estimator.fit(rows)
    assert skdp_bary.JLTransformer(3, bounds=(0, 1)).fit_transform(rows).shape == (9, 3)
