"""Commands that release something about a table."""

import os
import sys
from pathlib import Path

import numpy as np

from ..estimators import (
    DPSlicedWasserstein,
    PrivateEMDHeatmap,
    PrivateKMeans,
    PrivateMeasure,
    PrivateWassersteinBarycenter,
)
from ..exceptions import BudgetError
from ..geometry._bounds import in_words
from ..privacy._neighbors import ADD_REMOVE, RELATIONS
from ..privacy.ledger.accountant import BudgetAccountant
from ._bounds import read_bounds
from ._files import PromisedFile, check_target
from ._interrupts import uninterrupted
from ._outputs import check_form, heatmap, points
from ._pages import BARYCENTER, DISTANCE, HEATMAP, KEPT, KMEANS, MEASURE, REFUSED
from ._tables import Table
from ._text import say, shown


def add_releases(commands):
    """Add the commands that release something to the subparsers `commands`."""
    for name, page, options, build, write, said in (
        ("measure", MEASURE, _no_options, _measure, points, _written),
        ("barycenter", BARYCENTER, _barycenter_options, _barycenter, points, _written),
        ("heatmap", HEATMAP, _heatmap_options, _heatmap, heatmap, _written_map),
        ("kmeans", KMEANS, _kmeans_options, _kmeans, points, _written),
        ("distance", DISTANCE, _distance_options, _distance, None, _distance_of),
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
            release.add_argument(
                "--overwrite", action="store_true", help="replace a file that is there already"
            )
        _add_privacy(command.add_argument_group("privacy"), pure=page is HEATMAP)
        command.set_defaults(run=_run, build=build, write=write, said=said, parser=command)


def _run(given):
    table = Table(given.table, given.columns, getattr(given, "label", None), given.groups)
    bounds = read_bounds(given.bounds, table.columns, named=given.columns is not None)
    given.columns = table.columns
    estimator = given.build(given, table.columns).set_params(
        epsilon=given.epsilon,
        delta=given.delta,
        bounds=bounds,
        n_hint=given.n_hint,
        accountant=_accountant(given),
    )
    accountant = estimator.accountant
    say(_persons_in_words(table.columns, given))
    say(f"bounds: {in_words(bounds, table.columns)}")
    writes = given.write is not None
    if writes:
        _check_out(given, table.columns)
    if given.dry_run:
        quote = accountant.quote(estimator, len(table.columns))
        say(_quote_in_words(quote, accountant.ledger))
        return 0 if quote.fits else REFUSED
    accountant.check(estimator.privacy_plan(len(table.columns)))
    if writes:
        return _release_to_file(estimator, table, given)
    _fit(estimator, table, given)
    _tell(f"{given.said(estimator, given)}; {_left(accountant)}")
    return 0


def _check_out(given, columns):
    """Raise unless the release can have the form and the name that are asked for."""
    if given.out is None:
        if given.dry_run:
            return
        raise ValueError("--out is needed: the file that the release is written to.")
    check_form(given.out, columns)
    check_target(given.out, given.overwrite)
    for read in (given.table, given.ledger):
        there = read is not None and Path(given.out).exists() and Path(read).exists()
        if there and os.path.samefile(given.out, read):
            raise ValueError(f"--out {given.out} is {read}, which would be replaced.")


def _release_to_file(estimator, table, given):
    """Fit and write; everything that could be in the way of the file is met before the charge."""
    with PromisedFile(given.out, given.overwrite) as file:
        _fit(estimator, table, given)
        with uninterrupted():
            whole = _deliver(file, estimator, given)
    said = f"{given.said(estimator, given)}; " if whole else ""
    _tell(f"{said}{_left(estimator.accountant)}")
    return 0 if whole else KEPT


def _deliver(file, estimator, given):
    """Write the release, as arrays if the form asked for fails; return whether all went well."""
    try:
        content, ending = given.write(estimator, given.columns, Path(given.out).suffix), None
    except Exception as error:
        say(f"skdp-bary: {type(error).__name__}: {error}", sys.stderr)
        content, ending = given.write(estimator, given.columns, ".npz"), ".npz"
    return file.deliver(content, ending)


def _tell(text):
    """Print what was paid for; where the output cannot be written any more, as an error."""
    try:
        say(text)
    except OSError:
        say(text, sys.stderr)


def _fit(estimator, table, given):
    if given.groups is None:
        estimator.fit(table.chunks)
    else:
        X, y, groups = table.whole()
        estimator.fit(X, y, groups=groups)


def _persons_in_words(columns, given):
    groups = given.groups
    person = "a row" if groups is None else f"all rows with one value of {shown(groups)}"
    return f"a row is ({', '.join(map(shown, columns))}); a person is {person}"


def _written(estimator, given):
    return f"wrote {given.out}"


def _written_map(estimator, given):
    return f"wrote {given.out}, with about {estimator.total_:,.0f} persons on the map"


def _distance_of(estimator, given):
    """Return which distance it is, its value and its standard error."""
    if estimator.method == "scalar":
        how = "released as one number"
        distance, error = estimator.distance(return_std=True)
    else:
        _, n_directions, n_quantiles = estimator.quantiles_.shape
        how = f"from a sketch: {n_quantiles} quantiles on {n_directions} directions were released"
        distance, error = estimator.distance(given.public_rows, return_std=True)
    return (
        f"sliced Wasserstein distance of order 2, {how}\n"
        f"distance={distance:.6g}, standard error={error:.2g}"
    )


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


def _quote_in_words(quote, ledger):
    fits = "fits" if quote.fits else "DOES NOT FIT"
    lines = [
        f"epsilon={quote.epsilon:g}, delta={quote.delta:g}, {quote.plan.relation}; "
        + ("no --ledger to charge" if ledger is None else fits),
        *(f"  {step.name}: {step.mechanism}" for step in quote.plan.steps),
    ]
    if ledger is not None:
        for when, left in (("now", quote.now), ("afterwards", quote.after)):
            if left is not None:
                lines.append(f"left {when}: epsilon={left[0]:g}, delta={left[1]:g}")
    return "\n".join([*lines, quote.advice] if quote.advice else lines)


def _add_rows(group):
    add = group.add_argument
    add("table", help="private table: .csv, .csv.gz or .parquet, with a line of column names")
    add("--columns", nargs="+", metavar="NAME", help="columns that make a row (default: all)")
    add("--groups", metavar="NAME", help="column of person ids: protect persons, not rows")
    add("--bounds", nargs="+", metavar="NAME=LOW:HIGH",
        help="public range of every column, as lon=-98:-97 lat=30:31; or LOW HIGH, two numbers or "
        "two comma-separated lists")  # fmt: skip
    add("--n-hint", type=int, metavar="N", help="public guess at the number of persons")


def _add_privacy(group, pure):
    """Add the options of the guarantee; `pure` releases have no delta to choose."""
    add = group.add_argument
    add("--epsilon", type=float, default=1.0, help="privacy loss (default: 1)")
    if pure:
        group.set_defaults(delta=0.0)
    else:
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
    return DPSlicedWasserstein(method="scalar", reference=given.public_rows)
