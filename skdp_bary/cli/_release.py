"""What the commands do that release something about a table."""

import os
import sys
from pathlib import Path

import numpy as np

from ..estimators import (
    DPSlicedWasserstein,
    PrivateEMDHeatmap,
    PrivateGenerator,
    PrivateKMeans,
    PrivateMeasure,
    PrivateWassersteinBarycenter,
)
from ..exceptions import BudgetError
from ..geometry._bounds import in_words
from ..privacy._checks import check_integer
from ..privacy._neighbors import ADD_REMOVE
from ..privacy.ledger.accountant import BudgetAccountant
from ._bounds import read_bounds
from ._files import PromisedFile, check_target
from ._interrupts import uninterrupted
from ._outputs import check_form, heatmap, points, synthetic
from ._pages import KEPT, REFUSED
from ._tables import Table
from ._text import say, shown


def run(given):
    """Make the release that a command names, or say what it would cost; return the status."""
    given.build, given.write, given.said = _RELEASES[given.release]
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
        content, ending = given.write(estimator, given, Path(given.out).suffix), None
    except Exception as error:
        say(f"skdp-bary: {type(error).__name__}: {error}", sys.stderr)
        content, ending = given.write(estimator, given, ".npz"), ".npz"
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


def _generate(given, columns):
    check_integer(given.rows, "--rows", low=1)
    if given.out is not None and Path(given.out).suffix not in (".csv", ".npz"):
        raise ValueError(f"--out of synthetic rows must end in .csv or .npz, got {given.out!r}.")
    return PrivateGenerator(classes=given.classes)


def _points(estimator, given, ending):
    return points(estimator, given.columns, ending)


def _map(estimator, given, ending):
    return heatmap(estimator, given.columns, ending)


def _rows(estimator, given, ending):
    return synthetic(estimator.sample(given.rows), given.columns, given.label, ending)


_RELEASES = {  # estimator, content of a file, words
    "measure": (_measure, _points, _written),
    "barycenter": (_barycenter, _points, _written),
    "heatmap": (_heatmap, _map, _written_map),
    "kmeans": (_kmeans, _points, _written),
    "generate": (_generate, _rows, _written),
    "distance": (_distance, None, _distance_of),
}
