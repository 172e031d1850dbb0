"""What the package offers, for tests that go through all of it: modules, names and pages.

Everything here fails when it finds nearly nobody: a guard without anybody to guard passes always.
"""

import inspect
import re
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

import skdp_bary

ROOT = Path(skdp_bary.__file__).parent
HOME = ROOT.parent
DOC = HOME / "doc"
IN_THE_REPOSITORY = pytest.mark.skipif(not DOC.is_dir(), reason="the documentation is not here")
_SECTIONS = ("tour", "howto", "explanation", "reference")
DOC_PAGES = [
    *DOC.glob("*.rst"),
    *(page for part in _SECTIONS for page in DOC.glob(f"{part}/*.rst")),
]
REFERENCE = [page for page in DOC.glob("reference/*.rst") if "autosummary::" in page.read_text()]
_OPTIONAL = {"dask", "diffprivlib", "dp_accounting", "matplotlib", "torch"}
_FUNCTION = type(lambda: None)


def dotted(path):
    """Return the dotted name of a file of the package."""
    return ".".join(["skdp_bary", *Path(path).with_suffix("").parts]).removesuffix(".__init__")


FILES = sorted(path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*.py"))
assert len(FILES) > 100


def _or_none(get):
    """Return what `get` returns, None where a library that is optional is missing."""
    try:
        return get()
    except ImportError as error:
        missing = getattr(error, "name", None) or getattr(error.__cause__, "name", None) or ""
        if missing.partition(".")[0] in _OPTIONAL:
            return None
        raise


@cache
def modules():
    """Return every module of the package that can be imported here, by its dotted name."""
    names = [dotted(file) for file in FILES if not file.endswith("__main__.py")]
    found = {name: _or_none(lambda name=name: import_module(name)) for name in names}
    found = {name: module for name, module in found.items() if module is not None}
    assert len(found) > 0.9 * len(names)
    return found


@cache
def public():
    """Return every name in an ``__all__`` of a public module, by (module, name)."""
    found = {}
    for name, module in modules().items():
        if any(part.startswith("_") for part in name.split(".")):
            continue
        for listed in getattr(module, "__all__", ()):
            value = _or_none(lambda module=module, listed=listed: getattr(module, listed))
            if not listed.startswith("__") and value is not None:
                found[name, listed] = value
    assert len(found) > 80 and len({module for module, _ in found}) > 10
    return found


def is_a(value, classes):
    """Whether a value is a class below some others."""
    return inspect.isclass(value) and issubclass(value, classes)


def called():
    """Return the public classes and functions that are no errors, by (module, name)."""
    found = {
        key: value
        for key, value in public().items()
        if isinstance(value, (type, _FUNCTION)) and not is_a(value, (Exception, Warning))
    }
    assert len(found) > 60
    return found


def methods():
    """Yield the key of a public name, a label and the plain function of what users call of it."""
    for key, value in public().items():
        if inspect.isfunction(value):
            yield key, value.__name__, value
        for cls in value.__mro__ if inspect.isclass(value) else ():
            for name, member in vars(cls).items() if cls.__module__.startswith("skdp_bary") else ():
                plain = getattr(member, "__func__", getattr(member, "fget", member))
                written = inspect.isfunction(plain) and plain.__code__.co_filename.startswith("/")
                if written and (name == "__init__" or not name.startswith("_")):
                    yield key, f"{cls.__name__}.{name}", plain


@cache
def text_of(*paths):
    """Return all that is in some files."""
    return "\n".join(path.read_text(encoding="utf-8") for path in paths)


def names(text, name):
    """Whether a text has a name as a word of its own."""
    return re.search(rf"\b{re.escape(name)}\b", text) is not None
