import subprocess
import sys

import pytest

import skdp_bary.interop


def test_the_package_opens_without_the_other_library():
    code = (
        "import sys, skdp_bary.interop; "
        "sys.exit('diffprivlib' in sys.modules or 'DiffprivlibAccountant' not in "
        "dir(skdp_bary.interop))"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_a_missing_library_names_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "diffprivlib", None)
    monkeypatch.delitem(sys.modules, "skdp_bary.interop.diffprivlib", raising=False)
    with pytest.raises(ImportError, match=r'pip install "skdp_bary\[peers\]"'):
        _ = skdp_bary.interop.DiffprivlibAccountant


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = skdp_bary.interop.no_such_name
