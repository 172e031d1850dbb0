"""Links to scikit-learn's pages, made without a network: addresses follow from the names."""

import importlib
import pkgutil
import zlib

import sklearn

SITE = "https://scikit-learn.org/stable/"
HEAD = """# Sphinx inventory version 2
# Project: scikit-learn
# Version: {version}
# The remainder of this file is compressed using zlib.
"""


def public_names():
    """Yield the full name and the value of what scikit-learn's own reference lists."""
    for info in pkgutil.iter_modules(sklearn.__path__):
        if not info.name.startswith("_") and info.name not in ("conftest", "experimental", "tests"):
            module = importlib.import_module(f"sklearn.{info.name}")
            held = vars(module)  # asking for what is experimental would raise
            for name in getattr(module, "__all__", ["BaseEstimator", "clone"]):
                if callable(held.get(name)):
                    yield f"{module.__name__}.{name}", held[name]


def write_inventory(path):
    """Write the names in the format that intersphinx reads."""
    lines = (
        f"{name} py:{'class' if isinstance(value, type) else 'function'} 1"
        f" modules/generated/{name}.html#$ -\n"
        for name, value in public_names()
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    head = HEAD.format(version=sklearn.__version__).encode()
    path.write_bytes(head + zlib.compress("".join(lines).encode()))
