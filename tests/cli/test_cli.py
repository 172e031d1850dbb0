"""The command line: what is written, what is charged, and which status ends it."""

import json
import re
import shlex
import subprocess
import sys

import numpy as np
import pytest

from skdp_bary import BudgetAccountant, Schema
from skdp_bary.cli import main
from tests.cases import every
from tests.world import _parser, home

PAGES = home("PAGES").PAGES
pandas = pytest.importorskip("pandas")
COLUMNS = ["places.csv", "--columns", "lon", "lat"]
PLACES = [*COLUMNS, "--bounds", "0", "1"]
HINTED = [*PLACES, "--n-hint", "3000"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a table of places, as the working directory."""
    table = pandas.DataFrame(np.random.default_rng(0).normal(0.5, 0.1, size=(3000, 2)))
    table.columns = ["lon", "lat"]
    table["user"] = np.arange(3000) // 3
    table["town"] = np.where(np.arange(3000) % 2, "east", "west")
    table.to_csv(tmp_path / "places.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(capsys):
    """Run a command; return its status, and what it says on both streams."""

    def command(*arguments):
        capsys.readouterr()
        try:
            status = main(list(arguments))
        except SystemExit as stopped:
            status = stopped.code
        return status, *capsys.readouterr()

    return command


@pytest.fixture
def n_charged():
    """A budget on file; return a function that counts what it was charged for."""

    def create(*amounts):
        BudgetAccountant.create("budget.db", *amounts)
        return lambda: len(BudgetAccountant.open("budget.db").entries)

    return create


LEDGER = ["--ledger", "budget.db"]


def rows_of(path):
    return np.loadtxt(path, delimiter=",", skiprows=1, ndmin=2)


@pytest.mark.parametrize("ending", ["csv", "npz", "geojson", "png"])
@pytest.mark.parametrize("command", ["measure", "barycenter", "heatmap", "kmeans"])
def test_every_release_is_written_in_every_form(folder, run, command, ending):
    """Persons and shares have different names."""
    if ending == "png":
        pytest.importorskip("matplotlib")
    extra = ["--resolution", "16"] if command == "heatmap" else []
    out = folder / f"release.{ending}"
    name = {"kmeans": "persons", "measure": "weight"}.get(command)
    assert run(command, *HINTED, *extra, "--out", out.name)[0] == 0 and out.read_bytes()
    if ending == "geojson":
        collection = json.loads(out.read_text())
        assert collection["type"] == "FeatureCollection"
        assert name is None or list(collection["features"][0]["properties"]) == [name]
    elif name is not None and ending == "npz":
        assert name in np.load(out)
    elif name is not None and ending == "csv":
        assert out.read_text().startswith(f"lon,lat,{name}\n")


def test_a_ledger_is_charged_and_refuses(folder, run):
    assert run("budget", "create", "budget.db", "--epsilon", "1.5")[0] == 0
    assert run("budget", "create", "budget.db", "--epsilon", "9")[0] == 2
    assert run("measure", *PLACES, *LEDGER, "--out", "one.csv")[0] == 0
    status, _, err = run("measure", *PLACES, *LEDGER, "--out", "two.csv")
    assert status == 3 and not (folder / "two.csv").exists()
    assert err.strip().splitlines()[-1].startswith("skdp-bary: PrivateMeasure asks for")
    assert len(BudgetAccountant.open("budget.db").entries) == 1


def test_bounds_may_be_negative(folder, run):
    pandas.DataFrame({"lon": [-97.9, -97.6], "lat": [30.2, 30.4]}).to_csv("west.csv", index=False)
    bounds = ["--bounds", "lat=30.1:30.5", "lon=-97.95:-97.55"]
    status, said, _ = run("measure", "west.csv", *bounds, "--out", "out.csv")
    assert status == 0 and "recorded nowhere (no --ledger)" in said
    lon = rows_of("out.csv")[:, 0]
    assert ((lon > -97.96) & (lon < -97.54)).all()
    assert run("measure", "west.csv", "--bounds", "-1e2", "50", "--dry-run")[0] == 0
    status, _, err = run("measure", "west.csv", "--bounds", "-97.95:-97.55", "30:31", "--dry-run")
    assert status == 2 and "must be name=low:high for every column" in err


def test_a_dry_run_reads_and_charges_nothing_and_ends_like_a_refusal(folder, run, n_charged):
    count = n_charged(1.5)
    status, said, _ = run("measure", *PLACES, *LEDGER, "--dry-run")
    assert status == 0 and "epsilon=1, delta=0, add_remove; fits" in said
    assert "bounds: lon from 0 to 1, lat from 0 to 1" in said
    status, said, _ = run("measure", *PLACES, *LEDGER, "--epsilon", "2", "--dry-run")
    assert status == 3 and "DOES NOT FIT" in said and "left of the budget now: epsilon=1.5" in said
    status, said, _ = run("measure", *PLACES, "--dry-run")
    assert status == 0 and "no --ledger to charge" in said
    assert "fits" not in said and "left" not in said and count() == 0
    many = ["--clusters", "500", "--n-hint", "3000", "--dry-run"]
    assert re.search("Noise level.* fix is --clusters ", run("kmeans", *PLACES, *many)[1])


@pytest.mark.parametrize("delta", ["0", "1e-6"])
def test_the_distance_to_a_public_table_is_printed(folder, run, n_charged, delta):
    count = n_charged(5.0, 1e-5)
    options = [*PLACES, "--epsilon", "4", "--delta", delta, *LEDGER, "--reference"]
    assert run("distance", *options, "nowhere.csv")[0] == 2 and count() == 0
    rows = np.random.default_rng(1).normal(0.5, 0.1, size=(2000, 2))
    pandas.DataFrame(rows + [0.2, 0.0], columns=["lon", "lat"]).to_csv("public.csv", index=False)
    status, said, _ = run("distance", *options, "public.csv")
    *_, which, line = said.splitlines()
    assert status == 0 and "of order 2" in which and ("sketch" in which) == (delta != "0")
    distance, error = (float(part.split("=")[1]) for part in line.split(";")[0].split(", "))
    assert abs(distance - 0.2 / 2**0.5) < 4 * error + 0.01 and 0 < error < 0.05
    assert run("distance", *options, "public.csv")[0] == 3


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["measure", "nowhere.csv", "--out", "m.csv"], "nowhere.csv"),
        (["measure", "places.csv", "--columns", "x", "--out", "m.csv"], "no column 'x'"),
        (["measure", *PLACES], "--out must name"),
        (["measure", *PLACES, "--out", "no/m.csv"], "no folder"),
        (["measure", *PLACES, "--epsilon", "-1", "--out", "m.csv"], "epsilon"),
        (["measure", "places.csv", "--columns", "town", "--bounds", "0", "1", "--out", "m.csv"],
         "'town' of places.csv must hold numbers"),
        (["measure", *COLUMNS, "--bounds", "lon=0:1", "--out", "m.csv"],
         "must name every column once, got ['lon'] for the columns ['lon', 'lat']"),
        (["measure", *COLUMNS, "--bounds", "lon=0,1", "lat=0:1", "--out", "m.csv"],
         "name=low:high for every column"),
        (["heatmap", *COLUMNS, "--out", "m.csv"], "--bounds must be given for heatmap"),
        (["budget", "show", "nowhere.db"], "missing"),
        (["audit", "nowhere:pipe"], "nowhere"),
        (["audit", "json"], "module:name"),
        (["audit", "json:nope"], "The module 'json' has nothing named 'nope'."),
    ],
)  # fmt: skip
def test_errors_are_one_line_and_status_two(folder, run, arguments, text):
    status, said, err = run(*arguments)
    last = err.strip().splitlines()[-1]
    assert status == 2 and text in last and last.startswith("skdp-bary: ")
    assert not (folder / "m.csv").exists() and "estimated" not in said


def test_audit_tells_what_leaks(folder, run):
    (folder / "pipes_to_audit.py").write_text(
        "from sklearn.pipeline import make_pipeline\n"
        "from sklearn.preprocessing import MinMaxScaler\n"
        "from skdp_bary import DomainScaler, PrivateMeasure\n"
        "good = make_pipeline(DomainScaler((0, 1)), PrivateMeasure(bounds=(0, 1)))\n"
        "bad = make_pipeline(MinMaxScaler(), PrivateMeasure(bounds=(0, 1)))\n"
    )
    assert run("audit", "pipes_to_audit:good")[0] == 0
    status, _, err = run("audit", "pipes_to_audit:bad")
    assert status == 2 and "LEAKS  minmaxscaler" in err


def test_a_schema_has_names_and_blanks_and_nothing_of_the_rows(folder, run):
    (folder / "bank.csv").write_text("age,on,job\n93,yes,spy\n77,no,king\n")
    assert run("schema", "bank.csv", "--out", "bank.yaml")[0] == 0
    text = (folder / "bank.yaml").read_text()
    assert all(f'"{name}":' in text for name in ("age", "on", "job"))
    assert not any(value in text for value in ("93", "77", "spy", "king")) and "NOT public" in text
    for blank in ("kind", "low", "high", "values", "missing"):
        assert text.count(f"    {blank}:\n") == 3
    with pytest.raises(ValueError, match="'age' needs a kind"):
        Schema.from_yaml("bank.yaml")
    (folder / "bank.yaml").write_text(text.replace("    kind:\n", "    kind: boolean\n"))
    assert Schema.from_yaml("bank.yaml").names == ("age", "on", "job")
    status, _, err = run("schema", "bank.csv", "--out", "bank.yaml")
    assert status == 2 and "filled in by hand" in err and "--overwrite" in err
    assert run("schema", "bank.csv", "--out", "bank.yaml", "--overwrite")[0] == 0
    assert (folder / "bank.yaml").read_text() == text
    (folder / "rows.csv").write_text("31,7\n77,8\n")
    status, _, err = run("schema", "rows.csv")
    assert status == 2 and "77" not in err


def examples():
    """The examples of all pages, as lists of arguments."""
    for page in PAGES.values():
        lines = page["epilog"].removeprefix("examples:\n").partition("\nexit status")[0]
        for line in lines.replace("\\\n", " ").splitlines():
            yield shlex.split(line.partition(" > ")[0])[1:]


@every("arguments", examples())
def test_examples_are_understood(arguments):
    """They parse, name options that exist, and run an action; the files are not there."""
    assert hasattr(home("run_release"), _parser().parse_args(arguments).run)


def test_a_ledger_without_delta_says_what_to_do(folder, run, n_charged):
    count = n_charged(5.0)
    status, _, err = run("measure", *PLACES, "--delta", "1e-6", *LEDGER, "--out", "m.csv")
    assert status == 3 and "Say --delta 0." in err
    sketch = ["sketch", *PLACES, *LEDGER, "--out", "s.npz"]
    status, _, err = run(*sketch)
    assert status == 3 and "sketch needs a delta" in err
    assert count() == 0 and not (folder / "m.csv").exists()
    remedy = re.search(r"skdp-bary (budget raise .*?)\. Nothing", err)[1]
    assert run(*shlex.split(remedy))[0] == 0 and run(*sketch)[0] == 0


def test_a_release_is_not_overwritten_unasked(folder, run, n_charged):
    count, options = n_charged(3.0), [*PLACES, *LEDGER, "--out", "m.csv"]
    assert run("measure", *options)[0] == 0
    paid_for = (folder / "m.csv").read_bytes()
    status, _, err = run("measure", *options)
    assert status == 2 and "--overwrite" in err
    assert (folder / "m.csv").read_bytes() == paid_for and count() == 1
    assert run("measure", *options, "--overwrite")[0] == 0
    assert (folder / "m.csv").read_bytes() != paid_for


def test_an_unknown_option_shows_the_usage_of_the_command(run):
    for arguments, usage, words in (
        (["measure", "rows.csv", "--clusters", "3"], "measure", "arguments: --clusters 3"),
        (["budget", "show", "b.db", "--all"], "budget show", "--all"),
        (["heatmap", *PLACES, "--delta", "1e-6"], "heatmap", "--delta"),
    ):
        status, _, err = run(*arguments)
        assert status == 2 and err.startswith(f"usage: skdp-bary {usage}") and words in err


def test_notes_name_columns(folder, run):
    """The estimators are given arrays without names."""
    options = ["places.csv", "--columns", "lat", "lon", "--n-hint", "3000", "--out", "m.csv"]
    status, _, err = run("measure", *options, "--bounds", "lon=5:9", "lat=0:1")
    assert status == 0 and "at the low end of column 'lon'" in err


@pytest.mark.parametrize(
    "cells", [{7: "unknown"}, {7: ""}, {7: "", 8: "N/A", 9: "12,5", 10: "inf"}]
)
def test_one_correction_is_enough_for_cells_that_are_no_numbers(folder, run, n_charged, cells):
    """They were told to ask again, and told the same whatever they asked."""
    table = pandas.read_csv("places.csv", dtype=str)
    for row, cell in cells.items():
        table.loc[row, "lat"] = cell
    table.to_csv("messy.csv", index=False)
    count = n_charged(1.0)
    asked = ("measure", "messy.csv", *PLACES[1:], *LEDGER, "--out", "m.csv")
    status, _, err = run(*asked)
    assert status == 2 and count() == 0
    rule = re.search(r"--where '(.+?)'", err).group(1)
    assert run(*asked, "--where", rule.replace("LOW", "-90"))[0] == 0 and count() == 1


def test_help_comes_before_anything_heavy_is_imported():
    """Help, errors of options and versions take a fifth of a second instead of four."""
    code = (
        "import sys; from skdp_bary.cli import main\n"
        "try: main(['kmeans', '--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'sklearn', 'scipy', 'pandas'} & set(sys.modules); assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


@pytest.mark.parametrize("ending", ["csv", "npz"])
def test_synthetic_rows_of_public_classes(folder, run, ending):
    options = ["--label", "town", "--classes", "east", "west", "--rows", "50", "--epsilon", "4"]
    out = f"synthetic.{ending}"
    assert run("generate", *HINTED, *options, "--out", out)[0] == 0
    if ending == "csv":
        made = pandas.read_csv(out)
        assert list(made.columns) == ["lon", "lat", "town"]
        assert len(made) == 50 and set(made["town"]) == {"east", "west"}
    else:
        made = np.load(out)
        assert made["rows"].shape == (50, 2) and set(made["labels"]) <= {"east", "west"}
