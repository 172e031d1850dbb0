"""Odd commands: whatever was charged is in the file, and whatever was refused cost nothing."""

import contextlib
import csv
import io
import json
import tempfile
from pathlib import Path

from skdp_bary import BudgetAccountant
from skdp_bary.cli import main

from .promises import Promise, Trial, repeated

_NAMES = ("x", "y", "age", "=1+1", "", "a b", "x,y", "\u00e9", "1", 'say "so"', "z" * 200_000)
_CELLS = ("0", "1", "0.5", "-3", "1e300", "", "nan", "a", "b", "=A1", "\u00e9", '"', "2020-01-31")
_KINDS = (
    {"kind": "integer", "low": 0, "high": 9},
    {"kind": "number", "low": 0, "high": 1, "missing": True},
    {"kind": "number", "low": 1, "high": 0},
    {"kind": "category", "values": ["a", "b"], "missing": True},
    {"kind": "category", "values": ["a", "\ud800"], "missing": True},
    {"kind": "category", "values": ["=A1", "\u00e9", '"'], "missing": True},
    {"kind": "date", "low": "2020-01-01", "high": "2020-12-31", "missing": True},
    {"kind": "text"},
    {"kind": "nonsense"},
    None,
)
_ROWS = ("0", "1", "7", "-1", "99999999999999", "1e3", str(1 << 62))
_OPTIONS = {
    "--epsilon": ("1", "0.01", "1e-300", "nan", "-1", "1e9", "one"),
    "--delta": ("0", "1e-6", "1", "1e-300", "nan"),
    "--n-hint": ("1", "20", "-5", str(1 << 60)),
    "--clusters": ("1", "3", "0", "99999999999"),
    "--atoms": ("1", "3", "0", "99999999999"),
    "--resolution": ("8", "0", "99999999999"),
    "--rows": _ROWS,
    "--classes": ("a", "b", "\udcff"),
    "--label": ("x", "nowhere"),
    "--groups": ("y", "nowhere"),
    "--neighbors": ("replace_one", "nobody"),
    "--overwrite": None,
}
_OWN = {
    "measure": (),
    "kmeans": ("--clusters",),
    "barycenter": ("--atoms", "--label", "--classes"),
    "heatmap": ("--resolution",),
    "generate": ("--rows", "--label", "--classes"),
    "sketch": (),
    "table": ("--rows", "--label"),
}
_SHARED = ("--epsilon", "--delta", "--n-hint", "--groups", "--neighbors", "--overwrite")
_OUT = ("o.csv", "o.npz", "o.geojson", "o.png", "o.parquet", "o", "nowhere/o.csv", ".", "b.db")


def try_command(rng, command=None, option=None):
    """Run one odd command, or one of this name with this option, in a folder of its own."""

    def pick(options):
        return options[int(rng.integers(len(options)))]

    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        arguments = _arguments(rng, pick, command or pick(sorted(_OWN)), option)
        BudgetAccountant.create("b.db", 5.0, 1e-5)
        before = set(Path().iterdir())
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            try:
                status = main(arguments)
            except SystemExit as end:
                status = end.code
            except Exception as error:
                return Trial(violation=f"{_short(arguments)}: {type(error).__name__}: {error}")
        n_charged = len(BudgetAccountant.open("b.db").entries)
        made = [path for path in set(Path().iterdir()) - before if path.stat().st_size]
        nothing = not n_charged and not made
        fine = {0: n_charged == 1 and made, 4: n_charged == 1}.get(status, nothing)
    words = f"status {status}, {n_charged} charges, files {sorted(map(str, made))}: "
    return Trial(violation="" if fine else words + _short(arguments) + said.getvalue()[-200:])


def _arguments(rng, pick, command, option):
    """Write a table and a schema; return the arguments of a command about them."""
    names = ["x", "y"] if rng.random() < 0.7 else [pick(_NAMES) for _ in range(2)]
    cells = ("0", "1", "0.5") if rng.random() < 0.5 else _CELLS
    with Path("t.csv").open("w", newline="", encoding="utf-8") as file:
        rows = [[pick(cells) for _ in names] for _ in range(int(rng.integers(0, 30)))]
        csv.writer(file).writerows([names, *rows])
    kinds = _KINDS if rng.random() < 0.7 else _KINDS[:2]
    Path("s.json").write_text(json.dumps({"columns": {name: pick(kinds) for name in names}}))
    if command == "table":
        arguments = ["--schema", "s.json"]
    else:
        bounds = [f"{name}=0:1" for name in names]
        arguments = ["--bounds", *bounds] if rng.random() < 0.8 else []
    known = [*_OWN[command], *_SHARED]
    wanted = {pick(known) for _ in range(int(rng.integers(0, 3)))} | ({option} - {None})
    for name in sorted(wanted):
        values = _OPTIONS[name]
        arguments += [name] if values is None else [name, pick(values)]
    out = pick(_OUT if rng.random() < 0.5 else _OUT[:2])
    return [command, "t.csv", *arguments, "--out", out, "--ledger", "b.db"]


def _short(arguments):
    return " ".join(argument[:40] for argument in arguments).encode("ascii", "replace").decode()


PROMISE = Promise(
    "commands",
    "On the command line, whatever is charged is delivered, and whatever is refused costs nothing",
    repeated(try_command, seconds=60.0),
)
