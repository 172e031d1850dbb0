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
from tests.world import _parser, _shielded, home

_pages = home("Page")

pandas = pytest.importorskip("pandas")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a table of places, as the working directory."""
    rng = np.random.default_rng(0)
    places = rng.normal(0.5, 0.1, size=(3000, 2))
    table = pandas.DataFrame(places, columns=["lon", "lat"])
    table["user"] = np.arange(3000) // 3
    table["town"] = np.where(np.arange(3000) % 2, "east", "west")
    table.to_csv(tmp_path / "places.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


PLACES = ["places.csv", "--columns", "lon", "lat", "--bounds", "0", "1"]


def test_a_refusal_ends_the_process_with_its_status(folder):
    BudgetAccountant.create("budget.db", 0.5)
    options = [*PLACES, "--ledger", "budget.db", "--out", "measure.csv"]
    done = subprocess.run(
        [sys.executable, "-m", "skdp_bary", "measure", *options],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 3
    (line,) = done.stderr.splitlines()
    assert "Nothing was charged" in line and not (folder / "measure.csv").exists()


@pytest.mark.parametrize("ending", ["csv", "npz", "geojson", "png"])
@pytest.mark.parametrize("command", ["measure", "barycenter", "heatmap", "kmeans"])
def test_every_release_is_written_in_every_form(folder, command, ending, capsys):
    if ending == "png":
        pytest.importorskip("matplotlib")
    extra = ["--resolution", "16"] if command == "heatmap" else []
    out = f"release.{ending}"
    assert main([command, *PLACES, *extra, "--n-hint", "3000", "--out", out]) == 0
    content = (folder / out).read_bytes()
    assert content
    if ending == "geojson":
        assert json.loads(content)["type"] == "FeatureCollection"


def test_labels_persons_and_parquet(folder, capsys):
    parquet = folder / "places.parquet"
    pandas.read_csv("places.csv").to_parquet(parquet)
    options = ["--columns", "lon", "lat", "--bounds", "0,0", "1,1", "--label", "town"]
    options += ["--classes", "east", "west", "--n-hint", "1000", "--atoms", "3"]
    for path in ("places.csv", "places.parquet"):
        options_now = [*options, "--overwrite", "--out"]
        assert main(["barycenter", path, *options_now, "plain.csv"]) == 0
        assert main(["barycenter", path, "--groups", "user", *options_now, "p.csv"]) == 0
    assert np.loadtxt("p.csv", delimiter=",", skiprows=1).shape == (3, 3)


def test_a_ledger_is_charged_and_refuses(folder, capsys):
    assert main(["budget", "create", "budget.db", "--epsilon", "1.5"]) == 0
    assert main(["budget", "create", "budget.db", "--epsilon", "9"]) == 2
    assert main(["measure", *PLACES, "--ledger", "budget.db", "--out", "one.csv"]) == 0
    assert main(["measure", *PLACES, "--ledger", "budget.db", "--out", "two.csv"]) == 3
    assert not (folder / "two.csv").exists()
    assert len(BudgetAccountant.open("budget.db").entries) == 1
    captured = capsys.readouterr()
    assert captured.err.strip().splitlines()[-1].startswith("skdp-bary: PrivateMeasure asks for")


@pytest.mark.parametrize("delta", ["0", "1e-6"])
def test_a_missing_public_table_costs_nothing(folder, delta, capsys):
    BudgetAccountant.create("budget.db", 1.0, 1e-6)
    options = ["--reference", "nowhere.csv", "--delta", delta, "--ledger", "budget.db"]
    assert main(["distance", *PLACES, "--n-hint", "3000", *options]) == 2
    assert BudgetAccountant.open("budget.db").entries == ()


def test_bounds_may_be_negative(folder, capsys):
    pandas.DataFrame({"lon": [-97.9, -97.6], "lat": [30.2, 30.4]}).to_csv("west.csv", index=False)
    bounds = ["--bounds", "lat=30.1:30.5", "lon=-97.95:-97.55"]
    assert main(["measure", "west.csv", *bounds, "--out", "west_out.csv"]) == 0
    lon = np.loadtxt("west_out.csv", delimiter=",", skiprows=1, ndmin=2)[:, 0]
    assert ((lon > -97.96) & (lon < -97.54)).all()
    assert "recorded nowhere (no --ledger)" in capsys.readouterr().out
    assert main(["measure", "west.csv", "--bounds", "-100", "50", "--dry-run"]) == 0


def test_a_dry_run_reads_and_charges_nothing(folder, capsys):
    assert main(["budget", "create", "budget.db", "--epsilon", "1.5"]) == 0
    assert main(["measure", *PLACES, "--ledger", "budget.db", "--dry-run"]) == 0
    said = capsys.readouterr().out
    assert "epsilon=1, delta=0, add_remove; fits" in said
    assert "bounds: lon from 0 to 1, lat from 0 to 1" in said
    assert BudgetAccountant.open("budget.db").entries == ()


@pytest.mark.parametrize("delta", ["0", "1e-6"])
def test_the_distance_to_a_public_table_is_printed(folder, capsys, delta):
    rows = np.random.default_rng(1).normal(0.5, 0.1, size=(2000, 2))
    shifted = pandas.DataFrame(rows + [0.2, 0.0], columns=["lon", "lat"])
    shifted.to_csv("public.csv", index=False)
    options = [*PLACES, "--epsilon", "4", "--delta", delta, "--ledger", "budget.db"]
    assert main(["budget", "create", "budget.db", "--epsilon", "5", "--delta", "1e-5"]) == 0
    assert main(["distance", *options, "--reference", "public.csv"]) == 0
    *_, which, line = capsys.readouterr().out.splitlines()
    assert "of order 2" in which and ("sketch" in which) == (delta != "0")
    distance, error = (float(part.split("=")[1]) for part in line.split(";")[0].split(", "))
    assert abs(distance - 0.2 / 2**0.5) < 4 * error + 0.01 and 0 < error < 0.05
    assert main(["distance", *options, "--reference", "public.csv"]) == 3


def test_the_owner_reads_the_ledger(folder, capsys):
    accountant = BudgetAccountant.create("budget.db", 1.0, 1e-6, neighbors="replace_one")
    accountant.spend(0.25, who="survey")
    for action in (["show"], ["verify"], ["export"], ["export", "--format", "json"]):
        assert main(["budget", *action[:1], "budget.db", *action[1:]]) == 0
    out = capsys.readouterr().out
    assert "survey" in out and "1 entries add up" in out
    assert json.loads(out[out.index("[\n") :])[0]["epsilon"] == 0.25


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["measure", "nowhere.csv", "--out", "m.csv"], "nowhere.csv"),
        (["measure", "places.csv", "--columns", "x", "--out", "m.csv"], "no column 'x'"),
        (["measure", *PLACES], "--out is needed"),
        (["measure", *PLACES, "--out", "m.txt"], "must end in"),
        (["measure", *PLACES, "--out", "no/m.csv"], "no folder"),
        (["measure", *PLACES, "--epsilon", "-1", "--out", "m.csv"], "epsilon"),
        (["measure", "places.csv", "--columns", "town", "--bounds", "0", "1", "--out", "m.csv"],
         "'town' of places.csv must hold numbers"),
        (["measure", "places.csv", "--columns", "lon", "--bounds", "0,0", "1,1", "--out", "m.csv"],
         "two lists of 1 for the columns lon; got 0,0 1,1."),
        (["measure", *PLACES[:-2], "0,5", "1,9", "--out", "m.csv"],
         "write --bounds lon=0:1 lat=5:9; for one range after the other write --bounds lon=0:5 "),
        (["measure", *PLACES[:-2], "lon=0:1", "--out", "m.csv"],
         "must name every column once, got ['lon'] for the columns ['lon', 'lat']"),
        (["measure", *PLACES[:-2], "lon=0,1", "lat=0:1", "--out", "m.csv"],
         "name=low:high for every column"),
        (["measure", "places.csv", "--bounds", "0,0", "1,1", "--groups", "user", "--out", "m.csv"],
         "columns lon, lat, town; got 0,0 1,1. Without --columns all columns of the table"),
        (["budget", "show", "nowhere.db"], "missing"),
        (["audit", "nowhere:pipe"], "nowhere"),
        (["audit", "json"], "module:name"),
        (["audit", "json:nope"], "The module 'json' has nothing named 'nope'."),
    ],
)  # fmt: skip
def test_errors_are_one_line_and_status_two(folder, capsys, arguments, text):
    assert main(arguments) == 2
    lines = capsys.readouterr().err.strip().splitlines()
    assert text in lines[-1] and lines[-1].startswith("skdp-bary: ")
    assert not (folder / "m.csv").exists()


def test_audit_tells_what_leaks(folder, capsys):
    (folder / "pipes_to_audit.py").write_text(
        "from sklearn.pipeline import make_pipeline\n"
        "from sklearn.preprocessing import MinMaxScaler\n"
        "from skdp_bary import DomainScaler, PrivateMeasure\n"
        "good = make_pipeline(DomainScaler((0, 1)), PrivateMeasure(bounds=(0, 1)))\n"
        "bad = make_pipeline(MinMaxScaler(), PrivateMeasure(bounds=(0, 1)))\n"
    )
    assert main(["audit", "pipes_to_audit:good"]) == 0
    assert main(["audit", "pipes_to_audit:bad"]) == 2
    assert "LEAKS  minmaxscaler" in capsys.readouterr().err


def test_a_schema_has_names_and_blanks_and_nothing_of_the_rows(folder, capsys):
    (folder / "bank.csv").write_text("age,on,job\n93,yes,spy\n77,no,king\n")
    assert main(["schema", "bank.csv", "--out", "bank.yaml"]) == 0
    text = (folder / "bank.yaml").read_text()
    assert all(f'"{name}":' in text for name in ("age", "on", "job"))
    assert not any(value in text for value in ("93", "77", "spy", "king"))
    assert "NOT public" in text
    for blank in ("kind", "low", "high", "values", "missing"):
        assert text.count(f"    {blank}:\n") == 3
    with pytest.raises(ValueError, match="'age' needs a kind"):
        Schema.from_yaml("bank.yaml")
    filled = text.replace("    kind:\n", "    kind: boolean\n")
    (folder / "bank.yaml").write_text(filled)
    assert Schema.from_yaml("bank.yaml").names == ("age", "on", "job")
    assert main(["schema", "bank.csv", "--out", "bank.yaml"]) == 2  # is there already
    (folder / "rows.csv").write_text("31,7\n77,8\n")
    assert main(["schema", "rows.csv"]) == 2
    assert "77" not in capsys.readouterr().err


@pytest.mark.parametrize(
    "command",
    ["measure", "barycenter", "heatmap", "kmeans", "generate", "sketch", "distance", "compare"]
    + ["table", "audit", "schema"],
)
def test_every_command_has_a_page(capsys, command):
    with pytest.raises(SystemExit) as stopped:
        main([command, "--help"])
    assert stopped.value.code == 0
    text = capsys.readouterr().out
    for part in (f"usage: skdp-bary {command}", f"  skdp-bary {command} ", "examples:",
                 "exit status:", "environment:", "OMP_NUM_THREADS"):  # fmt: skip
        assert part in text
    assert max(map(len, text.splitlines())) <= 100


def examples():
    """The examples of all pages, as lists of arguments."""
    pages = (value for value in vars(_pages).values() if isinstance(value, _pages.Page))
    for page in pages:
        for line in page.examples.replace("\\\n", " ").splitlines():
            yield pytest.param(shlex.split(line)[1:], id=" ".join(line.split())[:60])


@every("arguments", list(examples()))
def test_examples_are_understood(arguments):
    """They parse, and name options that exist; the files are not there."""
    assert _parser().parse_args(_shielded(arguments)).run


@pytest.mark.parametrize("dry", [True, False])
def test_it_says_which_columns_are_used_and_who_is_protected(folder, capsys, dry):
    ending = ["--dry-run"] if dry else ["--overwrite", "--out", "m.csv"]
    options = ["--bounds", "0", "1", *ending]
    assert main(["measure", "places.csv", "--columns", "lat", "lon", *options]) == 0
    assert "a row is (lat, lon); a person is a row\n" in capsys.readouterr().out
    assert main(["measure", *PLACES, "--groups", "user", *options]) == 0
    assert "a person is all rows with one value of user\n" in capsys.readouterr().out


def test_a_ledger_without_delta_says_what_to_do(folder, capsys):
    assert main(["budget", "create", "budget.db", "--epsilon", "5"]) == 0
    options = ["--delta", "1e-6", "--ledger", "budget.db", "--out", "m.csv"]
    assert main(["measure", *PLACES, *options]) == 3
    said = capsys.readouterr().err
    assert "Say --delta 0." in said
    sketch = ["sketch", *PLACES, "--ledger", "budget.db", "--out", "s.npz"]
    assert main(sketch) == 3
    said = capsys.readouterr().err
    assert "sketch needs a delta" in said
    assert BudgetAccountant.open("budget.db").entries == () and not (folder / "m.csv").exists()
    remedy = re.search(r"skdp-bary (budget raise .*?)\. Nothing", said)[1]
    assert main(shlex.split(remedy)) == 0 and main(sketch) == 0


@pytest.mark.parametrize("command", ["heatmap", "kmeans", "measure"])
def test_pictures_name_the_columns(folder, capsys, command, monkeypatch):
    figure = pytest.importorskip("matplotlib.figure")
    drawn = []

    def savefig(self, path, **settings):
        drawn.append((self.axes[0].get_xlabel(), self.axes[0].get_ylabel()))

    monkeypatch.setattr(figure.Figure, "savefig", savefig)
    extra = ["--resolution", "16"] if command == "heatmap" else []
    assert main([command, *PLACES, *extra, "--n-hint", "3000", "--out", "a.png"]) == 0
    assert drawn == [("lon", "lat")]


def test_a_map_without_bounds_is_refused_first(folder, capsys):
    assert main(["heatmap", "places.csv", "--columns", "lon", "lat", "--out", "m.png"]) == 2
    said = capsys.readouterr()
    assert "--bounds must be given for a map" in said.err and "estimated" not in said.out


def test_a_release_is_not_overwritten_unasked(folder, capsys):
    BudgetAccountant.create("budget.db", 3.0)
    options = [*PLACES, "--ledger", "budget.db", "--out", "m.csv"]
    assert main(["measure", *options]) == 0
    paid_for = (folder / "m.csv").read_bytes()
    assert main(["measure", *options]) == 2
    assert "--overwrite" in capsys.readouterr().err
    assert (folder / "m.csv").read_bytes() == paid_for
    assert len(BudgetAccountant.open("budget.db").entries) == 1
    assert main(["measure", *options, "--overwrite"]) == 0
    assert (folder / "m.csv").read_bytes() != paid_for


def test_a_dry_run_that_does_not_fit_ends_like_a_refusal(folder, capsys):
    BudgetAccountant.create("budget.db", 0.5)
    assert main(["measure", *PLACES, "--ledger", "budget.db", "--dry-run"]) == 3
    out = capsys.readouterr().out
    assert "DOES NOT FIT" in out and "left now: epsilon=0.5" in out
    assert main(["measure", *PLACES, "--dry-run"]) == 0
    out = capsys.readouterr().out
    assert "no --ledger to charge" in out and "fits" not in out and "left" not in out


def usage_of(arguments, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    return capsys.readouterr().err


def test_an_unknown_option_shows_the_usage_of_the_command(capsys):
    text = usage_of(["measure", "rows.csv", "--clusters", "3"], capsys)
    assert text.startswith("usage: skdp-bary measure") and "arguments: --clusters 3" in text
    assert usage_of(["budget", "show", "b.db", "--all"], capsys).startswith(
        "usage: skdp-bary budget show"
    )


def test_a_heatmap_has_no_delta_to_choose(folder, capsys):
    assert "--delta" in usage_of(["heatmap", *PLACES, "--delta", "1e-6"], capsys)
    assert main(["heatmap", *PLACES, "--resolution", "16", "--out", "m.csv"]) == 0


@pytest.mark.parametrize("groups", [[], ["--groups", "user"]])
def test_a_heatmap_says_how_many_persons_are_on_it(folder, capsys, groups):
    options = ["places.csv", "--columns", "lon", "lat", *groups, "--resolution", "16"]
    assert main(["heatmap", *options, "--bounds", "0", "1", "--out", "in.csv"]) == 0
    captured = capsys.readouterr()
    (number,) = re.findall("counted with noise: ([0-9,]+) ", captured.out)
    assert int(number.replace(",", "")) == pytest.approx(1000 if groups else 3000, abs=200)
    assert "note" not in captured.err
    options += ["--bounds", "40", "41", "--n-hint", "1000", "--out", "beside.csv"]
    assert main(["heatmap", *options]) == 0
    assert "of 1000 expected" in capsys.readouterr().err


def test_notes_name_columns(folder, capsys):
    """The estimators are given arrays without names."""
    options = ["places.csv", "--columns", "lat", "lon", "--n-hint", "3000", "--out", "m.csv"]
    assert main(["measure", *options, "--bounds", "lon=5:9", "lat=0:1"]) == 0
    assert "at the low end of column 'lon'" in capsys.readouterr().err


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_missing_values_are_named_and_cost_nothing(folder, capsys, ending):
    table = pandas.read_csv("places.csv")
    table.loc[7, "lat"] = np.nan
    (table.to_csv if ending == "csv" else table.to_parquet)(f"holes.{ending}", index=False)
    BudgetAccountant.create("budget.db", 1.0)
    options = ["--columns", "lon", "lat", "--bounds", "0", "1", "--ledger", "budget.db"]
    assert main(["measure", f"holes.{ending}", *options, "--out", "m.csv"]) == 2
    assert f"The column 'lat' of holes.{ending} has missing values" in capsys.readouterr().err
    assert BudgetAccountant.open("budget.db").entries == ()


def test_persons_and_shares_have_different_names(folder, capsys):
    for command, name in (("kmeans", "persons"), ("measure", "weight")):
        for ending in ("csv", "npz", "geojson"):
            out = f"{command}.{ending}"
            assert main([command, *PLACES, "--n-hint", "3000", "--out", out]) == 0
        assert (folder / f"{command}.csv").read_text().startswith(f"lon,lat,{name}\n")
        assert name in np.load(f"{command}.npz")
        feature, *_ = json.loads((folder / f"{command}.geojson").read_text())["features"]
        assert list(feature["properties"]) == [name]


def test_pages_say_what_is_true_of_their_command(capsys):
    pages = {}
    for command in ("heatmap", "measure", "audit", "budget"):
        with pytest.raises(SystemExit):
            main([command, "--help"])
        pages[command] = capsys.readouterr().out
    assert "--delta" in pages["measure"] and "--delta" not in pages["heatmap"].split("examples")[0]
    assert "--out" not in pages["audit"] + pages["budget"]
    assert "a step leaks" in pages["audit"] and "a step leaks" not in pages["budget"]
    assert "read as a whole" in pages["measure"]


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
def test_synthetic_rows_of_public_classes(folder, ending):
    options = ["--label", "town", "--classes", "east", "west", "--n-hint", "3000", "--rows", "50"]
    out = f"synthetic.{ending}"
    assert main(["generate", *PLACES, *options, "--epsilon", "4", "--out", out]) == 0
    if ending == "csv":
        made = pandas.read_csv(out)
        assert list(made.columns) == ["lon", "lat", "town"]
        assert len(made) == 50 and set(made["town"]) == {"east", "west"}
    else:
        made = np.load(out)
        assert made["rows"].shape == (50, 2) and set(made["labels"]) <= {"east", "west"}


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--out", "s.png"], ".csv or .npz"),
        (["--rows", "0", "--out", "s.csv"], "--rows"),
        (["--rows", "99999999999", "--out", "s.csv"], "--rows"),
    ],
)
def test_rows_that_cannot_be_written_cost_nothing(folder, capsys, options, text):
    BudgetAccountant.create("budget.db", 1.0, 1e-6)
    assert main(["generate", *PLACES, *options, "--ledger", "budget.db"]) == 2
    assert text in capsys.readouterr().err
    assert BudgetAccountant.open("budget.db").entries == ()
