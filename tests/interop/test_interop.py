import sys

import pytest

import skdp_bary.interop


def test_a_missing_library_names_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "diffprivlib", None)
    monkeypatch.delitem(sys.modules, "skdp_bary.interop.diffprivlib", raising=False)
    with pytest.raises(ImportError, match=r'pip install "skdp_bary\[peers\]"'):
        _ = skdp_bary.interop.DiffprivlibAccountant


def test_names_are_listed_and_an_unknown_one_is_an_attribute_error():
    assert "DiffprivlibAccountant" in dir(skdp_bary.interop)
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = skdp_bary.interop.no_such_name
