"""What the package offers: every public name is listed, documented, and its examples run."""

import ast
import doctest
import inspect
import re
from dataclasses import is_dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator

import skdp_bary
from skdp_bary.exceptions import PrivacyWarning
from skdp_bary.testing._discovery import private_estimators, public_estimators

ROOT = Path(skdp_bary.__file__).parent
OPTIONAL = {"dask", "diffprivlib", "dp_accounting", "matplotlib", "torch"}


def _dotted(path):
    parts = ("skdp_bary", *path.relative_to(ROOT).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = sorted(_dotted(path) for path in ROOT.rglob("*.py") if path.name != "__main__.py")
PUBLIC_MODULES = [name for name in MODULES if not any(p.startswith("_") for p in name.split("."))]


def _import(name):
    """Import a module of the package, or skip where the library that it wraps is missing."""
    try:
        return import_module(name)
    except ImportError as error:
        missing = (error.name or getattr(error.__cause__, "name", None) or "").split(".")[0]
        if missing in OPTIONAL:
            pytest.skip(f"{missing} is not installed")
        raise


def _public_objects():
    """Yield (label, module name, name) of everything in an ``__all__``."""
    for module_name in PUBLIC_MODULES:
        listed = getattr(import_module(module_name), "__all__", ())
        for name in listed:
            if not name.startswith("__"):
                yield pytest.param(module_name, name, id=f"{module_name}.{name}")


def _get(module_name, name):
    home = import_module(module_name)
    try:
        return getattr(home, name)
    except ImportError as error:
        missing = getattr(error.__cause__, "name", None)
        if missing not in OPTIONAL:
            raise
        pytest.skip(f"{missing} is not installed")


PUBLIC = list(_public_objects())
CLASSES_AND_FUNCTIONS = (type, type(_get))


@pytest.mark.parametrize("module", MODULES)
def test_module_has_a_docstring(module):
    assert _import(module).__doc__


@pytest.mark.parametrize("module", PUBLIC_MODULES)
def test_all_is_sorted_and_complete(module):
    """Whatever a public module imports from its own private ones is in ``__all__``."""
    namespace = import_module(module)
    listed = list(getattr(namespace, "__all__", ()))
    assert listed == sorted(listed, key=lambda name: (name.startswith("__"), name))
    assert len(listed) == len(set(listed))
    reexported = {
        name
        for name, value in vars(namespace).items()
        if not name.startswith("_")
        and isinstance(value, CLASSES_AND_FUNCTIONS)
        and value.__module__.startswith("skdp_bary.")
    }
    if module.count(".") == 1 and hasattr(namespace, "__path__"):
        assert reexported <= set(listed)


@pytest.mark.parametrize("module, name", PUBLIC)
def test_public_name_is_documented(module, name):
    value = _get(module, name)
    assert inspect.getdoc(value)
    if inspect.isclass(value):
        assert value.__doc__, "the docstring is inherited"
        for method_name, method in vars(value).items():
            if not method_name.startswith("_") and inspect.isfunction(method):
                assert inspect.getdoc(getattr(value, method_name)), method_name


@pytest.mark.parametrize("name", skdp_bary.__all__)
def test_the_front_door_has_examples(name):
    if not name.startswith("__"):
        assert "Examples\n" in getattr(skdp_bary, name).__doc__


DOC = ROOT.parent / "doc"
SECTIONS = ("tour", "howto", "explanation", "reference")
DOC_PAGES = [*DOC.glob("*.rst"), *(page for name in SECTIONS for page in DOC.glob(f"{name}/*.rst"))]
REFERENCE = [page for page in DOC.glob("reference/*.rst") if "autosummary::" in page.read_text()]
PAGES = [*DOC_PAGES, *(ROOT.parent / "examples").rglob("*.py"), ROOT.parent / "README.rst"]
IN_THE_REPOSITORY = pytest.mark.skipif(not DOC.is_dir(), reason="the documentation is not here")
IN_THE_REFERENCE = [param for param in PUBLIC if param.values[0] != "skdp_bary.cli"]
# Estimators that no common suite can make by itself, and where they are tested instead.
OWN_TESTS = {
    "BasePrivateEstimator": "tests/estimators/test_base.py",
    "PrivateSearchCV": "tests/model_selection/test_search.py",
    "ShuffleAnalyzer": "tests/federated/test_protocol.py",
    "SlicedNetworkAdapter": "tests/torch/test_contract.py",
    "SlicedNetworkGenerator": "tests/torch/test_contract.py",
}


@cache
def _text_of(*paths):
    return "\n".join(path.read_text() for path in paths)


def _names(text, name):
    return re.search(rf"\b{re.escape(name)}\b", text) is not None


@IN_THE_REPOSITORY
@pytest.mark.parametrize("module, name", IN_THE_REFERENCE)
def test_public_name_is_in_the_reference(module, name):
    if not name.isupper():  # constants are explained where they are used
        assert _names(_text_of(*REFERENCE), name)


@IN_THE_REPOSITORY
@pytest.mark.parametrize("module, name", IN_THE_REFERENCE)
def test_public_name_has_an_example(module, name):
    """In its docstring, in the guide, or in the gallery; results have that of what returns them."""
    value = _get(module, name)
    if not isinstance(value, CLASSES_AND_FUNCTIONS) or issubclass_of(value, (Exception, Warning)):
        return
    if "Examples\n" in (value.__doc__ or "") or _is_returned(value, name):
        return
    assert _names(_text_of(*(page for page in PAGES if page not in REFERENCE)), name)


def _is_returned(value, name):
    """Whether it is a plain result that the documentation of another public name speaks of."""
    if not is_dataclass(value):
        return False
    others = (getattr(import_module(m), n, None) for m, n in _listed() if n != name)
    return any(_names(other.__doc__ or "", name) for other in others)


def _listed():
    """Public names whose documentation can be read without what is optional."""
    for param in PUBLIC:
        try:
            _get(*param.values)
        except pytest.skip.Exception:
            continue
        yield param.values


@pytest.mark.parametrize("module, name", PUBLIC)
def test_public_estimators_are_in_the_common_suites(module, name):
    if issubclass_of(_get(module, name), BaseEstimator) and name not in public_estimators():
        assert (ROOT.parent / OWN_TESTS[name]).exists()


@pytest.mark.parametrize("module, name", PUBLIC)
def test_signatures_are_explicit(module, name):
    """No **kwargs, no *args, and every parameter is documented."""
    value = _get(module, name)
    if not isinstance(value, CLASSES_AND_FUNCTIONS) or issubclass_of(value, (Exception, Warning)):
        return
    parameters = inspect.signature(value).parameters
    for parameter in parameters.values():
        assert parameter.kind not in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL), parameter
    undocumented = [p for p in parameters if not re.search(rf"\b{re.escape(p)}\b", value.__doc__)]
    assert undocumented == []


@pytest.mark.parametrize("module, name", PUBLIC)
def test_signatures_are_annotated(module, name):
    """Parameters and results of public functions, constructors and methods say their types."""
    value = _get(module, name)
    missing = []
    for label, function in _own_functions(value):
        first, *others = [*inspect.signature(function).parameters.values()] or [None]
        bound = inspect.isclass(value) and first is not None and first.name in ("self", "cls")
        parameters = others if bound or first is None else [first, *others]
        hints = function.__annotations__
        missing += [f"{label}({p.name})" for p in parameters if p.name not in hints]
        missing += [f"{label} ->"] * ("return" not in hints and "__init__" not in label)
    assert not missing


def _own_functions(value):
    """Yield the label and the plain function of everything that users call, written here."""
    if not inspect.isclass(value):
        if inspect.isfunction(value):
            yield value.__name__, value
        return
    for cls in value.__mro__:
        if not cls.__module__.startswith("skdp_bary"):
            continue
        for name, member in vars(cls).items():
            member = getattr(member, "__func__", getattr(member, "fget", member))
            written = inspect.isfunction(member) and not member.__code__.co_filename.startswith("<")
            if written and (name == "__init__" or not name.startswith("_")):
                yield f"{cls.__name__}.{name}", member


def issubclass_of(value, classes):
    return inspect.isclass(value) and issubclass(value, classes)


@pytest.mark.parametrize("module", MODULES)
def test_examples_run(module):
    namespace = _import(module)
    if "plotting" in module and find_spec("matplotlib") is None:
        pytest.skip("matplotlib is not installed")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MPLBACKEND", "Agg")
        found = doctest.DocTestFinder(exclude_empty=True).find(namespace)
        runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
        for test in found:
            runner.run(test)
    assert runner.summarize(verbose=False).failed == 0


@pytest.mark.parametrize("name", public_estimators())
def test_estimator_documents_its_parameters_and_attributes(name):
    cls = public_estimators()[name]
    doc = inspect.getdoc(cls)
    parameters = _entries(doc, "Parameters")
    assert set(parameters) == set(inspect.signature(cls).parameters)
    attributes = _entries(doc, "Attributes")
    assert attributes and all(attribute.endswith("_") for attribute in attributes)


@pytest.mark.parametrize("name", private_estimators())
def test_private_estimators_share_their_parameters(name):
    """The same words everywhere, with the same defaults, and what they mean in the same place."""
    parameters = inspect.signature(private_estimators()[name]).parameters
    shared = {"epsilon", "delta", "bounds", "n_hint", "neighbors", "accountant", "random_state"}
    of_rows = {"bounds"} if "schema" in parameters else set()  # a schema says it in its place
    assert shared - of_rows <= set(parameters)
    for public in ("neighbors", "accountant", "random_state"):
        assert parameters[public].default is None
    ordered = [name for name in parameters if name in shared - {"epsilon", "delta", "bounds"}]
    assert ordered == ["n_hint", "neighbors", "accountant", "random_state"]


@pytest.mark.parametrize("name", public_estimators())
def test_constructors_only_store(name):
    cls = public_estimators()[name]
    marks = {p: object() for p in inspect.signature(cls).parameters}
    assert vars(cls(**marks)) == marks


def test_estimators_of_the_package_are_at_the_front_door():
    package = import_module("skdp_bary.estimators")
    listed = {name for name in package.__all__ if issubclass_of(vars(package)[name], BaseEstimator)}
    assert listed <= set(skdp_bary.__all__)


def test_unknown_names_are_refused():
    with pytest.raises(AttributeError, match="no attribute 'Missing'"):
        skdp_bary.Missing  # noqa: B018


def test_dir_lists_the_front_door():
    assert dir(skdp_bary) == sorted(skdp_bary.__all__)


def test_version_is_the_installed_one():
    assert skdp_bary.__version__ == version("skdp_bary")


def test_privacy_warnings_are_user_warnings():
    assert issubclass(PrivacyWarning, UserWarning)


def _entries(doc, section):
    """Names documented in a numpydoc section."""
    lines = doc.splitlines()
    starts = [i for i, line in enumerate(lines) if line == section and set(lines[i + 1]) == {"-"}]
    if not starts:
        return []
    names = []
    for line, following in zip(lines[starts[0] + 2 :], lines[starts[0] + 3 :] + [""], strict=True):
        if line and set(following) == {"-"}:
            break
        if line and not line.startswith(" "):
            names += [name.strip() for name in line.partition(" :")[0].split(",")]
    return names


def test_editors_can_read_the_front_door():
    """What is imported at its first use is listed in words and imported for type checkers."""
    tree = ast.parse(Path(skdp_bary.__file__).read_text(encoding="utf-8"))
    assigned = {
        node.targets[0].id: node.value for node in tree.body if isinstance(node, ast.Assign)
    }
    assert ast.literal_eval(assigned["__all__"]) == skdp_bary.__all__
    assert set(skdp_bary.__all__) == {*skdp_bary._HOMES, "__version__"}
    (typed,) = [node for node in tree.body if isinstance(node, ast.If)][:1]
    seen = {alias.name for node in typed.body for alias in node.names}
    assert seen == set(skdp_bary._HOMES)
    assert (Path(skdp_bary.__file__).parent / "py.typed").exists()


@pytest.mark.parametrize(
    "estimator",
    [skdp_bary.PrivateKMeans(2, bounds=(0, 1), n_hint=9), skdp_bary.DomainScaler((0, 1))],
)
def test_sparse_rows_are_told_where_they_are_taken(estimator):
    rows = sparse.csr_array(np.eye(9))
    with pytest.raises(TypeError, match="sparse matrix.*JLTransformer"):
        estimator.fit(rows)
    assert skdp_bary.JLTransformer(3, bounds=(0, 1)).fit_transform(rows).shape == (9, 3)
