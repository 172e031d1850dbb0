"""Commands that release something about a table, and their options: read before anything heavy."""

from ..privacy._neighbors import RELATIONS
from ._later import later
from ._pages import BARYCENTER, DISTANCE, GENERATE, HEATMAP, KMEANS, MEASURE


def add_releases(commands):
    """Add the commands that release something to the subparsers `commands`."""
    for name, page, options in (
        ("measure", MEASURE, _no_options),
        ("barycenter", BARYCENTER, _barycenter_options),
        ("heatmap", HEATMAP, _heatmap_options),
        ("kmeans", KMEANS, _kmeans_options),
        ("generate", GENERATE, _generate_options),
        ("distance", DISTANCE, _distance_options),
    ):
        command = commands.add_parser(name, **page.options())
        _add_rows(command.add_argument_group("rows"))
        release = command.add_argument_group("release")
        options(release)
        if page is not DISTANCE:
            forms = ".csv or .npz" if page is GENERATE else ".csv, .npz, .geojson or .png"
            release.add_argument("--out", metavar="FILE", help=f"where the release goes: {forms}")
            release.add_argument(
                "--overwrite", action="store_true", help="replace a file that is there already"
            )
        privacy = command.add_argument_group("privacy")
        _add_privacy(privacy, pure=page is HEATMAP, delta=1e-6 if page is GENERATE else 0.0)
        command.set_defaults(run=later("_release", "run"), release=name, parser=command)


def _add_rows(group):
    add = group.add_argument
    add("table", help="private table: .csv, .csv.gz or .parquet, with a line of column names")
    add("--columns", nargs="+", metavar="NAME", help="columns that make a row (default: all)")
    add("--groups", metavar="NAME", help="column of person ids: protect persons, not rows")
    add("--bounds", nargs="+", metavar="NAME=LOW:HIGH",
        help="public range of every column, as lon=-98:-97 lat=30:31; or LOW HIGH, two numbers or "
        "two comma-separated lists")  # fmt: skip
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
    command.add_argument(
        "--rows", type=int, default=1000, metavar="N",
        help="number of synthetic rows, which costs nothing (default: 1000)",
    )  # fmt: skip
