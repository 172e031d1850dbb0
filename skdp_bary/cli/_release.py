"""Commands that release something about a table."""

import numpy as np

from ..estimators import (
    DPSlicedWasserstein,
    PrivateEMDHeatmap,
    PrivateKMeans,
    PrivateMeasure,
    PrivateWassersteinBarycenter,
)
from ..exceptions import BudgetError
from ..geometry import Box
from ..privacy._accountant import BudgetAccountant
from ..privacy._neighbors import ADD_REMOVE, RELATIONS
from ._outputs import check_output, write_heatmap, write_points
from ._pages import BARYCENTER, DISTANCE, HEATMAP, KMEANS, MEASURE
from ._tables import Table


def add_releases(commands):
    """Add the commands that release something to the subparsers `commands`."""
    for name, page, options, build, write in (
        ("measure", MEASURE, _no_options, _measure, write_points),
        ("barycenter", BARYCENTER, _barycenter_options, _barycenter, write_points),
        ("heatmap", HEATMAP, _heatmap_options, _heatmap, write_heatmap),
        ("kmeans", KMEANS, _kmeans_options, _kmeans, write_points),
        ("distance", DISTANCE, _distance_options, _distance, None),
    ):
        command = commands.add_parser(name, **page.options())
        _add_rows(command.add_argument_group("rows"))
        release = command.add_argument_group("release")
        options(release)
        if write is not None:
            release.add_argument(
                "--out",
                metavar="FILE",
                help="where the release goes: .csv, .npz, .geojson or .png",
            )
        _add_privacy(command.add_argument_group("privacy"))
        command.set_defaults(run=_run, build=build, write=write)


def _run(given):
    table = Table(given.table, given.columns, getattr(given, "label", None), given.groups)
    estimator = given.build(given, table.columns).set_params(
        epsilon=given.epsilon,
        delta=given.delta,
        bounds=_bounds(given.bounds, len(table.columns)),
        n_hint=given.n_hint,
        accountant=_accountant(given),
    )
    accountant = estimator.accountant
    print(_persons_in_words(table.columns, given))
    if given.dry_run:
        print(_quote_in_words(accountant.quote(estimator, len(table.columns))))
        return 0
    if given.write is not None:
        if given.out is None:
            raise ValueError("--out is needed: the file that the release is written to.")
        check_output(given.out)
    accountant.check(estimator.privacy_plan(len(table.columns)))
    if given.groups is None:
        estimator.fit(table.chunks)
    else:
        X, y, groups = table.whole()
        estimator.fit(X, y, groups=groups)
    if given.write is None:
        distance, error = _distance_of(estimator, given)
        done = f"distance={distance:.6g}, standard error={error:.2g}"
    else:
        given.write(estimator, table.columns, given.out)
        done = f"wrote {given.out}"
    print(f"{done}; {_left(accountant)}")
    return 0


def _persons_in_words(columns, given):
    person = "a row" if given.groups is None else f"all rows with one value of {given.groups}"
    return f"a row is ({', '.join(columns)}); a person is {person}"


def _distance_of(estimator, given):
    """Say which distance it is, and return it with its standard error."""
    if estimator.mechanism == "scalar":
        print("sliced Wasserstein distance of order 2, released as one number")
        return estimator.distance(return_std=True)
    directions = len(estimator.directions_)
    print(
        f"sliced Wasserstein distance of order 2, from a sketch: {estimator.quantiles_.shape[-1]} "
        f"quantiles on {directions} directions were released"
    )
    return estimator.distance(given.public_rows, return_std=True)


def _left(accountant):
    if accountant.ledger is None:
        epsilon, delta = accountant.total()
        return f"spent epsilon={epsilon:g}, delta={delta:g}, recorded nowhere (no --ledger)"
    epsilon, delta = accountant.remaining()
    return f"left of the budget: epsilon={epsilon:g}, delta={delta:g}"


def _accountant(given):
    if given.ledger is None:
        relation = given.neighbors or ADD_REMOVE
        return BudgetAccountant(given.epsilon, given.delta, neighbors=relation)
    accountant = BudgetAccountant.open(given.ledger)
    if given.neighbors not in (None, accountant.neighbors):
        raise ValueError(
            f"--neighbors {given.neighbors} differs from the ledger's {accountant.neighbors}."
        )
    if given.delta > accountant.delta == 0:
        raise BudgetError(
            f"The ledger {given.ledger} was made with delta=0, so it pays for releases with "
            f"--delta 0 alone, got {given.delta:g}. Leave --delta out, or make a ledger with "
            "skdp-bary budget create --delta. Nothing was charged."
        )
    return accountant


def _bounds(given, n_features):
    """Read two numbers, or two lists of numbers, one for each column."""
    if given is None:
        return None
    low, high = ([float(number) for number in text.split(",")] for text in given)
    for corner in (low, high):
        if len(corner) not in (1, n_features):
            raise ValueError(
                f"--bounds must be two numbers or two lists of {n_features}, got {given}."
            )
    widen = [corner * (n_features if len(corner) == 1 else 1) for corner in (low, high)]
    return Box(*widen)


def _quote_in_words(quote):
    steps = "\n".join(f"  {step.name}: {step.mechanism}" for step in quote.plan.steps)
    fits = "fits" if quote.fits else "DOES NOT FIT"
    return (
        f"epsilon={quote.epsilon:g}, delta={quote.delta:g}, {quote.plan.relation}; {fits}\n"
        f"{steps}\nleft afterwards: epsilon={quote.remaining[0]:g}, delta={quote.remaining[1]:g}"
        + (f"\n{quote.advice}" if quote.advice else "")
    )


def _add_rows(group):
    add = group.add_argument
    add("table", help="private table: .csv, .csv.gz or .parquet, with a line of column names")
    add("--columns", nargs="+", metavar="NAME", help="columns that make a row (default: all)")
    add("--groups", metavar="NAME", help="column of person ids: protect persons, not rows")
    add("--bounds", nargs=2, metavar=("LOW", "HIGH"),
        help="public range of the columns: two numbers, or two comma-separated lists")  # fmt: skip
    add("--n-hint", type=int, metavar="N", help="public guess at the number of persons")


def _add_privacy(group):
    add = group.add_argument
    add("--epsilon", type=float, default=1.0, help="privacy loss (default: 1)")
    add("--delta", type=float, default=0.0, help="failure probability (default: 0)")
    add("--neighbors", choices=RELATIONS, default=None,
        help="what is protected (default: the ledger's, or add_remove)")  # fmt: skip
    add("--ledger", metavar="FILE", help="budget that is charged, see: skdp-bary budget create")
    add("--dry-run", action="store_true", help="print what it would cost, read and charge nothing")


def _no_options(command):
    pass


def _barycenter_options(command):
    command.add_argument("--label", metavar="NAME", help="column that names the group of a row")
    command.add_argument("--classes", nargs="+", metavar="LABEL", help="public set of groups")
    command.add_argument(
        "--atoms", type=int, default=8, metavar="N", help="number of points (default: 8)"
    )


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


def _measure(given, columns):
    return PrivateMeasure()


def _barycenter(given, columns):
    return PrivateWassersteinBarycenter(given.atoms, classes=given.classes)


def _heatmap(given, columns):
    return PrivateEMDHeatmap(resolution=given.resolution)


def _kmeans(given, columns):
    return PrivateKMeans(given.clusters)


def _distance(given, columns):
    """With delta=0 release the one number, else slices that give it.

    The public table is read here, so that a wrong one is found before anything is charged.
    """
    given.public_rows = np.concatenate(list(Table(given.reference, columns).chunks()))
    if given.delta > 0:
        return DPSlicedWasserstein()
    return DPSlicedWasserstein(mechanism="scalar", reference=given.public_rows)
