"""Pages at the root of the sources: links lead somewhere, versions agree, targets exist."""

import re
from pathlib import Path

import pytest

import skdp_bary

ROOT = Path(__file__).parents[1]
PAGES = sorted(ROOT.glob("*.rst"))
CALLERS = [
    ".ci/run",
    ".github/workflows/tests.yml",
    ".pre-commit-config.yaml",
    "CONTRIBUTING.rst",
    "SECURITY.rst",
    "doc/contributing.rst",
]
_LINK = re.compile(r"<([^>`\s]+)>`_")
_CALL = re.compile(r"(?:^step \d+ |``make |run: make |entry: make --\S+ )([a-z-]+)", re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files(page):
    assert [link for link in _LINK.findall(page.read_text()) if not (ROOT / link).exists()] == []


def test_the_citation_is_of_this_version():
    assert f"\nversion: {skdp_bary.__version__}\n" in (ROOT / "CITATION.cff").read_text()


@pytest.mark.parametrize("caller", CALLERS)
def test_targets_that_are_called_exist(caller):
    (listed,) = re.findall(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    called = set(_CALL.findall((ROOT / caller).read_text()))
    assert called and called <= set(listed.split())
