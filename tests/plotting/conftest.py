"""Pictures are drawn without a screen, and not kept; without matplotlib none is tested."""

import importlib

import pytest

try:
    import matplotlib
except ImportError:
    collect_ignore_glob = ["test_*.py"]
else:
    matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def close_figures():
    yield
    importlib.import_module("matplotlib.pyplot").close("all")
