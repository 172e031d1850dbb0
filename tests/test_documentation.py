"""The documentation shows what its scripts make of the benchmarks, and examples ask questions."""

import csv
import importlib
import io
import re
from pathlib import Path

import pytest

from tests.test_public_api import DOC_PAGES

DOC = Path(__file__).parents[1] / "doc"
EXAMPLES = sorted((DOC.parent / "examples").glob("*/plot_*.py"))


@pytest.mark.parametrize(
    "script",
    [
        "draw_results",
        "draw_kmeans_evidence",
        "draw_measure_evidence",
        "draw_speed",
        "draw_adaptation",
        "draw_attack",
        "draw_table_evidence",
        "draw_tuning",
    ],
)
def test_tables_are_up_to_date(script, monkeypatch):
    monkeypatch.syspath_prepend(str(DOC / "figures"))
    module = importlib.import_module(script)
    stale = []

    def compare(name, header, rows):
        made = io.StringIO()
        csv.writer(made, lineterminator="\n").writerows([header, *rows])
        if (DOC / "tables" / f"{name}.csv").read_text() != made.getvalue():
            stale.append(name)

    monkeypatch.setattr(module, "write_table", compare)
    module.main()
    assert not stale, f"python doc/figures/{script}.py makes these tables anew: {stale}"


def test_the_tuned_numbers_of_every_family_are_listed(monkeypatch):
    monkeypatch.syspath_prepend(str(DOC / "figures"))
    module = importlib.import_module("draw_tuning")
    families = {path.parent.name for path in module.ESTIMATORS.glob("*/tuning.py")}
    assert families == set(module.FAMILIES.values())


def test_every_table_is_shown_and_every_picture_exists():
    pages = "".join(path.read_text() for path in [*DOC_PAGES, DOC.parent / "README.rst"])
    pictures = [path.name for path in (DOC / "images").iterdir()]
    assert not [name for name in pictures if f"images/{name}" not in pages]
    tables = [path.name for path in (DOC / "tables").glob("*.csv")]
    assert not [name for name in tables if f"tables/{name}" not in pages]


def test_the_lines_of_the_first_page_do_what_they_say():
    """They are ten, they run, and what is left is the comment of the last one."""
    code = (DOC / "figures" / "first_release.py").read_text()
    assert len([line for line in code.splitlines() if line]) <= 10
    made = {}
    exec(code.replace("20_000", "500"), made)
    assert str(made["budget"].remaining()) == code.strip().partition("# ")[2]


@pytest.mark.parametrize(
    ("page", "story"),
    [
        ("publish_a_map", "a city's map"),
        ("duckdb", "a city's map from a database"),
        ("compare_two_hospitals", "two hospitals"),
        ("compare_two_hospitals", "two hospitals, each in its own place"),
        ("place_ten_stores", "ten stores"),
        ("share_a_table", "a bank's table"),
        ("monthly_spark", "a month from Spark"),
    ],
)
def test_a_story_is_told_in_under_fifteen_lines(page, story):
    """What a user types is marked on the page; rows that do not exist are made outside of it."""
    parts = re.findall(
        rf"\.\. story: {story}\n(.*?)\.\. end of story",
        (DOC / "howto" / f"{page}.rst").read_text(),
        re.DOTALL,
    )
    typed = re.findall(r"^(?:>>>|\.\.\.) +(?!#)\S.*", "".join(parts), re.MULTILINE)
    assert any(" import " in line for line in typed) and any("fit(" in line for line in typed)
    assert len(typed) < 15
    assert max(map(len, typed)) <= 110


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_starts_from_a_question(path):
    bar, title, underline = path.read_text().partition('"""')[2].strip().splitlines()[:3]
    assert bar == underline == "=" * len(bar) and len(title) <= len(bar)
    assert "?" in title
