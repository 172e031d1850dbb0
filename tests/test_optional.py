import subprocess
import sys

import pytest

from tests.world import import_optional


def test_a_missing_module_names_caller_module_and_extra():
    with pytest.raises(ImportError) as caught:
        import_optional("no_such_module_here", "accounting", "pld_delta")
    message = str(caught.value)
    assert message.startswith("pld_delta needs the module 'no_such_module_here'")
    assert 'pip install "skdp_bary[accounting]"' in message
    assert isinstance(caught.value.__cause__, ModuleNotFoundError)


def test_a_star_import_needs_no_torch():
    """It asked for every name, and failed at the first that needs torch."""
    program = """
import sys
class NoTorch:
    def find_spec(self, name, path=None, target=None):
        if name == "torch":
            raise ImportError
sys.meta_path.insert(0, NoTorch())
from skdp_bary.papers import *
from skdp_bary import papers
assert ShuffleAnalyzer and "SlicedNetworkGenerator" in dir(papers)
try:
    papers.SlicedNetworkGenerator
except ImportError as error:
    assert "skdp_bary[torch]" in str(error)
else:
    raise AssertionError
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_broken_module_shows_its_own_reason(tmp_path, monkeypatch):
    (tmp_path / "broken_module_here.py").write_text("from math import no_such_name\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ImportError, match="no_such_name"):
        import_optional("broken_module_here", "plot", "caller")
