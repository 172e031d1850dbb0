"""The guide to the command line works as it is written, from top to bottom."""

import csv
import re
import shlex
from pathlib import Path

import numpy as np
import pytest

from skdp_bary.cli import main

for needed in ("pyarrow", "yaml", "matplotlib"):
    pytest.importorskip(needed)

GUIDE = Path(__file__).parents[2] / "doc" / "howto" / "command_line.rst"
LINES = re.findall(r"^    (skdp-bary (?:.*\\\n)*.*)$", GUIDE.read_text(), re.MULTILINE)
YAML = re.search(r"code-block:: yaml\n\n((?:    .*\n)+)", GUIDE.read_text())[1]


def write(name, columns, rows):
    with Path(name).open("w", newline="") as file:
        csv.writer(file).writerows([columns, *rows])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The tables that the guide speaks of."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    places = rng.uniform([139.5, 35.5], [139.9, 35.9], (600, 2))
    checkins = [(i // 2, *p, f"2026-0{3 + i % 2}-01", 17 + i % 5) for i, p in enumerate(places)]
    write("checkins.csv", ["user", "lon", "lat", "date", "age"], checkins)
    write("public.csv", ["lon", "lat"], places[:100])
    for start, name in enumerate(["north", "south"]):
        people = np.c_[3000 * start + np.arange(300), rng.integers(0, 120, (300, 2))]
        write(f"{name}.csv", ["patient", "age", "weight"], people)
    for name in ("march", "april"):
        write(f"{name}.csv", ["x", "y"], rng.random((300, 2)))
    regions = rng.choice(["east", "west"], 300)
    stores = [(*row, region) for row, region in zip(rng.random((300, 3)), regions, strict=True)]
    write("stores.csv", ["x", "y", "z", "region"], stores)
    chosen = [rng.choice(values, 300) for values in (["office", "trade", ""], ["yes", "no"])]
    customers = zip(range(300), rng.integers(18, 90, 300), *chosen, strict=True)
    write("customers.csv", ["customer", "age", "job", "trouble"], customers)


@pytest.mark.filterwarnings("ignore::skdp_bary.exceptions.PrivacyWarning")
def test_every_command_of_the_guide_runs_in_its_order(folder, capsys):
    commands = [shlex.split(line.replace("\\\n", " "))[1:] for line in LINES]
    assert {"heatmap", "kmeans", "barycenter", "measure", "sketch", "table", "generate"} <= {
        command[0] for command in commands
    }
    for command in commands:
        assert main(command) == 0, (command, capsys.readouterr().err)
        if command[0] == "schema":
            Path("customers.yaml").write_text(YAML)
    assert {"city.png", "centers.csv", "depots.csv", "points.csv", "synthetic.csv"} <= {
        path.name for path in Path().iterdir()
    }
