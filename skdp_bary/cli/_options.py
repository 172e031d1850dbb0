"""Commands that release something about a table, and their options: read before anything heavy."""

from ..privacy._neighbors import RELATIONS
from ._later import later
from ._pages import (
    BARYCENTER,
    COMPARE,
    DISTANCE,
    GENERATE,
    HEATMAP,
    KMEANS,
    MEASURE,
    NEED_DELTA,
    SKETCH,
    TABLE,
)


def add_releases(commands):
    """Add the commands that release something to the subparsers `commands`."""
    for name, page, options in (
        ("measure", MEASURE, _no_options),
        ("barycenter", BARYCENTER, _barycenter_options),
        ("heatmap", HEATMAP, _heatmap_options),
        ("kmeans", KMEANS, _kmeans_options),
        ("generate", GENERATE, _generate_options),
        ("sketch", SKETCH, _no_options),
        ("distance", DISTANCE, _distance_options),
    ):
        command = commands.add_parser(name, **page.options())
        _add_rows(command.add_argument_group("rows"))
        release = command.add_argument_group("release")
        options(release)
        if page is not DISTANCE:
            _add_out(release, _FORMS.get(name, ".csv, .npz, .geojson or .png"))
        privacy = command.add_argument_group("privacy")
        _add_privacy(privacy, pure=page is HEATMAP, delta=_DELTAS.get(name, 0.0))
        command.set_defaults(run=later("_release", "run"), release=name, parser=command)
    _add_compare(commands)
    _add_table(commands)


_FORMS = {"generate": ".csv or .npz", "sketch": ".npz"}
_DELTAS = dict.fromkeys(NEED_DELTA, 1e-6)


def _add_compare(commands):
    command = commands.add_parser("compare", **COMPARE.options())
    rows = command.add_argument_group("rows")
    _add_rows(rows, " or a sketch, .npz")
    rows.add_argument("other", help="another one of the kind, with the same columns")
    rows.add_argument(
        "--n-min", type=int, nargs="+", metavar="N",
        help="public lower bound of the number of persons of each table (default: bought)",
    )  # fmt: skip
    _add_privacy(command.add_argument_group("privacy"), pure=False, delta=0.0)
    command.set_defaults(run=later("_compare", "run"), parser=command)


def _add_table(commands):
    command = commands.add_parser("table", **TABLE.options())
    rows = command.add_argument_group("rows")
    rows.add_argument("table", help=_TABLE)
    rows.add_argument(
        "--schema", metavar="FILE", required=True,
        help="public .yaml or .json of what the columns can hold, see: skdp-bary schema",
    )  # fmt: skip
    _add_persons(rows)
    release = command.add_argument_group("release")
    release.add_argument("--label", metavar="NAME", help="column that others are to predict")
    _add_synthetic_rows(release)
    _add_out(release, ".csv, .npz or .parquet")
    _add_privacy(command.add_argument_group("privacy"), pure=False, delta=1e-6)
    command.set_defaults(run=later("_synthetic", "run"), parser=command)


_TABLE = "private table: .csv, .csv.gz or .parquet, with a line of column names"


def _add_out(group, forms):
    group.add_argument("--out", metavar="FILE", help=f"where the release goes: {forms}")
    group.add_argument(
        "--overwrite", action="store_true", help="replace a file that is there already"
    )


def _add_rows(group, others=""):
    add = group.add_argument
    add("table", help=_TABLE + others)
    add("--columns", nargs="+", metavar="NAME", help="columns that make a row (default: all)")
    add("--bounds", nargs="+", metavar="NAME=LOW:HIGH",
        help="public range of every column, as lon=-98:-97 lat=30:31; or LOW HIGH, two numbers or "
        "two comma-separated lists")  # fmt: skip
    _add_persons(group)


def _add_persons(group):
    add = group.add_argument
    add("--groups", metavar="NAME", help="column of person ids: protect persons, not rows")
    add("--unit", metavar="NAME",
        help="what a person is, as in the ledger (default: the column of --groups)")  # fmt: skip
    add("--n-hint", type=int, metavar="N", help="public guess at the number of persons")


def _add_privacy(group, pure, delta):
    """Add the options of the guarantee; `pure` releases have no delta to choose."""
    add = group.add_argument
    add("--epsilon", type=float, default=1.0, help="privacy loss (default: 1)")
    if pure:
        group.set_defaults(delta=0.0)
    else:
        add("--delta", type=float, default=delta,
            help=f"failure probability (default: {delta:g})")  # fmt: skip
    add("--neighbors", choices=RELATIONS, default=None,
        help="what is protected (default: the ledger's, or add_remove)")  # fmt: skip
    add("--ledger", metavar="FILE", help="budget that is charged, see: skdp-bary budget create")
    add("--dry-run", action="store_true", help="print what it would cost, read and charge nothing")


def _no_options(command):
    pass


def _barycenter_options(command):
    _add_labels(command)
    command.add_argument(
        "--atoms", type=int, default=8, metavar="N", help="number of points (default: 8)"
    )


def _add_labels(command):
    command.add_argument("--label", metavar="NAME", help="column that names the group of a row")
    command.add_argument("--classes", nargs="+", metavar="LABEL", help="public set of groups")


def _heatmap_options(command):
    command.add_argument(
        "--resolution", type=int, default=256, metavar="N", help="cells along a side (default: 256)"
    )


def _kmeans_options(command):
    command.add_argument(
        "--clusters", type=int, default=8, metavar="N", help="number of centers (default: 8)"
    )


def _distance_options(command):
    command.add_argument(
        "--reference", metavar="FILE", required=True, help="public table with the same columns"
    )


def _generate_options(command):
    _add_labels(command)
    _add_synthetic_rows(command)


def _add_synthetic_rows(command):
    command.add_argument(
        "--rows", type=int, default=1000, metavar="N",
        help="number of synthetic rows, which costs nothing (default: 1000)",
    )  # fmt: skip
