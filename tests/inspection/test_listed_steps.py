"""The table of scikit-learn's steps in the documentation is what check_private says."""

import csv
import importlib.util
from pathlib import Path

import sklearn

ROOT = Path(__file__).parents[2]


def test_the_table_of_steps_is_fresh():
    place = ROOT / "doc" / "figures" / "list_steps.py"
    spec = importlib.util.spec_from_file_location("list_steps", place)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    with script.TABLE.open(encoding="utf-8") as file:
        (head, *_), *rows = csv.reader(file)
    written = {name: [verdict, advice] for name, verdict, advice in rows}
    said = {name: [verdict, advice] for name, verdict, advice in script.listed()}
    if head.endswith(".".join(sklearn.__version__.split(".")[:2])):
        assert said == written, "run doc/figures/list_steps.py"
    for name in said.keys() & written.keys():
        assert said[name][0] == written[name][0]
    assert len(said.keys() & written.keys()) > 70
    assert {"public", "leaks", "unknown"} == {verdict for verdict, _ in written.values()}
    assert all(advice or verdict == "public" for verdict, advice in written.values())
