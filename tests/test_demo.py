"""The demonstration shows every estimator, pays from one budget and writes one page."""

import importlib
import re
from pathlib import Path

import pytest

import skdp_bary

EXAMPLES = Path(__file__).parents[1] / "examples"
# Shown in the gallery beside DPSlicedWasserstein, and on the page on replacing KMeans.
ELSEWHERE = {"PrivateDriftSketch", "PrivateStandardScaler", "PrivatePCA"}


@pytest.fixture
def demo(monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    return importlib.import_module("demo")


def test_every_estimator_has_a_section(demo):
    private = {name for name in skdp_bary.__all__ if name.startswith(("Private", "DPSliced"))}
    assert private - ELSEWHERE == {section.__doc__.split()[-1] for section in demo.SECTIONS}


def test_the_page_holds_pictures_quotes_and_ledger_and_asks_for_nothing(demo, tmp_path, capsys):
    demo.main([str(tmp_path), "--people", "300"], [demo.tell_apart])
    page, said = (tmp_path / "index.html").read_text(), capsys.readouterr().out
    assert "[1/1] PrivateTwoSampleTest: Do two halves" in said and said.count("spent: ") == 1
    assert "The quote of PrivateTwoSampleTest: epsilon=0.5" in page
    assert "spent: epsilon=0.5, delta=0.0" in page[page.rindex("<pre") :]
    assert page.count('src="data:image/png;base64,') == len(list(tmp_path.glob("*.png"))) == 2
    assert not re.findall(r'(?:src|href)="(?!data:)', page) and "//" not in page.split("<body>")[0]
    assert "prefers-color-scheme: dark" in page and 'name="viewport"' in page


@pytest.mark.slow
def test_all_sections_pay_from_one_budget(demo, tmp_path):
    demo.main([str(tmp_path), "--people", "2000"])
    page = (tmp_path / "index.html").read_text()
    assert "spent: epsilon=7.0, delta=4e-06" in page
    assert (
        page.count("The quote of ") == len(demo.SECTIONS) == len(list(tmp_path.glob("*.png"))) - 1
    )
