"""From an estimator to a release: price, charge, a promised file, forms of a release."""

import base64
import csv
import io
import json
import os
import secrets
import shlex
import sys
import tempfile
from contextlib import ExitStack, suppress
from pathlib import Path

import numpy as np

from ..exceptions import BudgetError, import_optional, in_digits
from ..privacy.accountant import BudgetAccountant
from ..privacy.entries import ROWS, UNNAMED, shown
from ..privacy.mechanisms import ADD_REMOVE
from ..privacy.policy import SpendingPolicy
from .pages import KEPT, NEED_DELTA, REFUSED, cell, in_shell, number, say, uninterrupted

# From an estimator to a release: the price, the charge, the file and the words.


def offer(estimator, table, given, limits, said, write=None):
    """Make a release, or say what it would cost; return the exit status.

    Parameters
    ----------
    estimator : estimator
        Gets the budget, and what every release may be asked for.
    table : object
        With ``chunks()`` of rows, and ``whole()``: rows, labels and person IDs.
    given : Namespace
        Options, and the ``columns`` that make a row.
    limits : str
        What is public about the rows, in words.
    said : callable
        Says, of estimator and options, what was released.
    write : callable, default=None
        Returns the content of a file, of estimator, options and the ending of a name; None where
        nothing is written.
    """
    accountant, n_features = _open_budget(given), len(given.columns)
    common = {name: getattr(given, name) for name in ("epsilon", "delta", "n_hint")}
    estimator.set_params(accountant=accountant, verbose=int(sys.stderr.isatty()), **common)
    who = "each row" if given.groups is None else f"all rows with the same {shown(given.groups)}"
    say(f"columns: {', '.join(map(shown, given.columns))}; protected: {who}")
    say(limits)
    if given.where or given.drop_missing:  # the same whatever is left, which is private
        rules = [*given.where, *["no missing value"] * given.drop_missing]
        say(
            f"only rows with {' and '.join(map(shown, rules))} are read; whether any are left is "
            "private"
        )
    if write is not None:
        _check_out(given)
    unit = given.unit or {None: ROWS, ROWS: UNNAMED}.get(given.groups, given.groups)
    if given.dry_run:
        quote = accountant.quote(estimator, n_features, unit=unit)
        say(_quote_in_words(quote, given))
        return 0 if quote.fits else REFUSED
    accountant.check(estimator.privacy_plan(n_features), who=type(estimator).__name__, unit=unit)
    terms = {"unit": unit, "note": given.note}
    # all that could be in the way of the files is met before the charge
    with ExitStack() as files:
        outs = [] if write is None else given.out
        promised = [files.enter_context(PromisedFile(out, given.overwrite)) for out in outs]
        if given.groups is None:
            estimator.fit(table.chunks, **terms)
        else:
            X, y, groups = table.whole()
            estimator.fit(X, y, groups=groups, **terms)
        with uninterrupted():
            delivered = [_deliver(file, write, estimator, given) for file in promised]
    whole = all(delivered)
    _tell([said(estimator, given)] if whole else [], accountant, given)
    return 0 if whole else KEPT


def _check_out(given):
    """Raise unless the release can have the size, the forms and the names that are asked for."""
    most = _MOST_CELLS // len(given.columns)
    if not 1 <= getattr(given, "rows", 1) <= most:
        raise ValueError(
            f"--rows must be in [1, {most}] for {len(given.columns)} columns, got {given.rows}: "
            "all rows are held in memory while they are written."
        )
    if given.out is None:
        if given.dry_run:
            return
        raise ValueError("--out must name the file of the release, as in --out release.csv.")
    if len({Path(out).resolve() for out in given.out}) < len(given.out):
        raise ValueError(f"--out must name different files, got {' and '.join(given.out)}.")
    for out in given.out:
        ending = Path(out).suffix
        if ending == ".geojson" and len(given.columns) != 2:
            raise ValueError(
                f"--out {out}: GeoJSON needs two columns (longitude, latitude), got "
                f"{list(given.columns)}."
            )
        if ending == ".parquet":
            import_optional("pyarrow.parquet", "cli", "skdp-bary --out rows.parquet")
        if ending == ".png":
            import_optional("matplotlib.backends.backend_agg", "plot", _PICTURE)
        check_target(out, given.overwrite)
        for read in (given.table, given.ledger, getattr(given, "schema", None)):
            there = read is not None and Path(out).exists() and Path(read).exists()
            if there and os.path.samefile(out, read):
                raise ValueError(
                    f"--out {out} is {read}, which would be replaced. Name another file."
                )


def _deliver(file, write, estimator, given):
    """Write the release, as arrays if the form asked for fails; return whether all went well."""
    try:
        content, ending = write(estimator, given, file.suffix), None
    except Exception as error:
        say(f"skdp-bary: {type(error).__name__}: {error}", sys.stderr)
        content, ending = write(estimator, given, ".npz"), ".npz"
    return file.deliver(content, ending)


def _tell(words, accountant, given):
    """Print the paid release and what is left; if that can be printed no more, as an error."""
    if given.ledger is None:
        left = f"spent {amounts(*accountant.total())}, recorded nowhere (no --ledger)"
    else:
        left = f"{left_of(given.at_most)}: {amounts(*accountant.remaining())}"
    if given.at_most is not None:
        left += f" (the ledger does not store --at-most {given.at_most}: pass it every time)"
    text = "; ".join([*words, left])
    try:
        say(text)
    except OSError:
        say(text, sys.stderr)


def amounts(epsilon, delta):
    """Return an epsilon and a delta in words."""
    return f"epsilon={in_digits(epsilon)}, delta={in_digits(delta)}"


def left_of(limit):
    """Return the words for what is left: of this period where --at-most limits it."""
    return f"left of this {limit.partition('/')[2]}" if limit else "left of the budget"


def _open_budget(given):
    """Return the budget that a release is charged to: that of --ledger, or one of its own."""
    if given.ledger is None:
        relation = given.neighbors or ADD_REMOVE
        accountant = BudgetAccountant(given.epsilon, given.delta, neighbors=relation)
    else:
        accountant = BudgetAccountant.open(given.ledger)
    if given.neighbors not in (None, accountant.neighbors):
        raise ValueError(
            f"--neighbors must be the ledger's {accountant.neighbors}, got {given.neighbors}. "
            "Leave --neighbors out, or name a ledger of its own."
        )
    if given.ledger is not None and given.delta > accountant.delta == 0:
        release = getattr(given, "release", None)
        pure = f"{release} needs a delta." if release in NEED_DELTA else "Say --delta 0."
        raise BudgetError(
            f"The ledger {given.ledger} has delta=0 and allows only --delta 0, but this release "
            f"asks for {in_digits(given.delta)}. {pure} Its owner can raise it: skdp-bary budget "
            f"raise {shlex.quote(given.ledger)} --epsilon {in_digits(accountant.epsilon)} "
            f"--delta {in_digits(given.delta)}. Nothing was charged."
        )
    if accountant.neighbors != ADD_REMOVE and (given.where or given.drop_missing):
        raise ValueError(
            f"--where and --drop-missing need the relation add_remove, got {accountant.neighbors}, "
            "which makes the number of rows that are left public. Filter the file before."
        )
    if given.at_most is None:
        return accountant
    if given.ledger is None:
        raise ValueError("--at-most needs --ledger, which knows what this period has spent.")
    return at_most(accountant, given.at_most)


def at_most(accountant, limit):
    """Return a budget that spends no more than this in a period; its delta is limited in all."""
    epsilon, _, period = limit.partition("/")
    try:
        policy = SpendingPolicy(number(epsilon), accountant.delta, period)
    except ValueError:
        raise ValueError(
            "--at-most must be a positive epsilon per day, month, quarter or year, got "
            f"{limit!r}. For example --at-most 1/year."
        ) from None
    return accountant.under(policy)


def _quote_in_words(quote, given):
    fits = "fits" if quote.fits else "DOES NOT FIT"
    lines = [
        f"{amounts(quote.epsilon, quote.delta)}, {quote.plan.relation}; "
        + ("no --ledger to charge" if given.ledger is None else fits),
        *(f"  {step.name}: {step.mechanism}" for step in quote.plan.steps),
    ]
    if given.ledger is not None:
        left = left_of(given.at_most)
        for when, amount in (("now", quote.now), ("afterwards", quote.after)):
            if amount is not None:
                lines.append(f"{left} {when}: {amounts(*amount)}")
    return "\n".join(filter(None, [*lines, in_shell(quote.advice)]))


# A file for a release that has not been paid for yet.

ROOM = 1 << 23  # bytes written ahead, so that a full disk is met before the charge
_PIECE = 1 << 20


class PromisedFile:
    """The file that a release will be written to, as a context that leaves nothing else behind.

    Parameters
    ----------
    path : str
    overwrite : bool
        Whether a file of that name may be replaced.
    """

    def __init__(self, path, overwrite):
        self._path = path
        self._target = Path(path).resolve()
        self.suffix = Path(path).suffix
        self._overwrite = overwrite
        check_target(path, overwrite)
        self._draft = self._beside(f"{self._target.suffix}.unfinished")
        try:
            self._file = self._draft.open("xb", buffering=0)
            try:
                for _ in range(ROOM // _PIECE):
                    _write_all(self._file, bytes(_PIECE))
                os.fsync(self._file.fileno())
            except OSError:
                self.__exit__()
                raise
        except OSError as error:
            raise ValueError(f"--out {path} cannot be written: {error.strerror}.") from None

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._file.close()
        self._draft.unlink(missing_ok=True)

    def deliver(self, content, ending=None):
        """Write the release, and return whether it has the name and form that were asked for.

        Parameters
        ----------
        content : bytes
        ending : str, default=None
            Of the name, where the form that was asked for could not be made.
        """
        kept = self._beside(ending or self._target.suffix)
        try:
            _write(self._file, content)
        except OSError as error:
            self._keep_elsewhere(content, kept, error.strerror)
            return False
        reason = "it has another form"
        if ending is None:
            try:
                self._publish()
                return True
            except OSError as error:
                reason = error.strerror
        try:
            self._draft.replace(kept)
        except OSError:
            self._keep_elsewhere(content, kept, reason)
        else:
            self._report(reason, kept)
        return False

    def _publish(self):
        """Give the file its name; one that appeared meanwhile is not replaced unasked."""
        if self._overwrite:
            self._draft.replace(self._target)
        else:
            try:
                os.link(self._draft, self._target)
            except OSError:
                if self._target.exists():
                    raise
                self._draft.replace(self._target)  # a file system without links
        with suppress(OSError):  # let the name last, where folders can be opened
            folder = os.open(self._target.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)

    def _keep_elsewhere(self, content, kept, reason):
        kept = Path(tempfile.gettempdir()) / kept.name
        try:
            with kept.open("xb", buffering=0) as file:
                _write(file, content)
        except OSError:
            kept.unlink(missing_ok=True)
            self._report(reason, f"the lines below, to be read by: base64 -d > x{kept.suffix}")
            say(base64.encodebytes(content).decode(), sys.stdout)
        else:
            self._report(reason, kept)

    def _report(self, reason, place):
        say(
            f"skdp-bary: the release was charged, and {self._path} could not be written "
            f"({reason}). It was kept: {place}",
            sys.stderr,
        )

    def _beside(self, ending):
        """Return another name in the folder, short enough for any file system."""
        stem = self._target.stem[:150]
        return self._target.with_name(f"{stem}.{secrets.token_hex(4)}{ending}")


def check_target(path, overwrite, what="a release that was paid for"):
    """Raise unless a file may be made at `path`, where none may be replaced unasked."""
    target = Path(path)
    folder = target.absolute().parent
    if not folder.is_dir():
        raise ValueError(
            f"--out {path}: there is no folder {folder}. Make it first: mkdir -p "
            f"{shlex.quote(str(folder))}"
        )
    if target.exists() and not target.is_file():
        raise ValueError(f"--out {path} is a folder or no regular file. Name a file.")
    if not overwrite and target.exists():
        raise ValueError(
            f"--out {path}: the file exists, and may be {what}. Name another, or give --overwrite."
        )


def _write(file, content):
    """Replace what is in a file, and return when it is on the disk."""
    file.seek(0)
    _write_all(file, content)
    file.truncate()
    os.fsync(file.fileno())


def _write_all(file, content):
    left = memoryview(content)
    while left:
        left = left[file.write(left) :]


# Forms that a release can have, by the ending of the name.

_MOST_CELLS = 1 << 25  # some gigabytes as text
_PICTURE = "skdp-bary --out picture.png"


def points(estimator, given, ending):
    """Return weighted points as the content of a file: people, or shares that add up to one."""
    if hasattr(estimator, "cluster_centers_"):
        points, weights, name = estimator.cluster_centers_, estimator.cluster_weights_, "persons"
    else:
        measure = estimator.to_measure()
        points, weights, name = measure.support, measure.weights, "weight"
    if ending == ".npz":
        return arrays(points=points, columns=np.array(given.columns), **{name: weights})
    if ending == ".geojson":
        features = [
            {
                "type": "Feature",
                "geometry": {"type": "Point", "coordinates": point},
                "properties": {name: weight},
            }
            for point, weight in zip(points.tolist(), weights.tolist(), strict=True)
        ]
        return json.dumps({"type": "FeatureCollection", "features": features}).encode()
    if ending == ".png":
        return _picture(estimator, given.columns)
    return _csv(points, weights, name, given.columns)


def drawn(estimator, given):
    """Return drawn rows, the same for every file."""
    if not hasattr(given, "drawn"):
        given.drawn = estimator.sample(given.rows)
    return given.drawn


def synthetic(estimator, given, ending):
    """Return drawn rows and labels as the content of a file, without --label no labels."""
    X, labels = drawn(estimator, given)
    if ending == ".npz":
        return arrays(rows=X, labels=labels.astype(str), columns=np.array(given.columns))
    rows = [[f"{x:.10g}" for x in row] for row in X.tolist()]
    if given.label is None:
        return text_table(given.columns, rows)
    labeled = ([*row, cell(str(label))] for row, label in zip(rows, labels, strict=True))
    return text_table([*given.columns, given.label], labeled)


def heatmap(estimator, given, ending):
    """Return a heatmap as the content of a file: in CSV the middles of its cells."""
    if ending == ".geojson":
        return json.dumps(estimator.to_geojson()).encode()
    if ending == ".png":
        return _picture(estimator, given.columns)
    if ending == ".npz":
        cells = estimator.cells_
        return arrays(heatmap=estimator.heatmap_, low=cells.low, high=cells.high, mass=cells.mass)
    measure = estimator.to_measure()
    return _csv(measure.support, measure.weights, "weight", given.columns)


def _csv(points, weights, name, columns):
    content = io.BytesIO()
    content.write(text_table([*columns, name], ()))
    np.savetxt(content, np.column_stack([points, weights]), delimiter=",", fmt="%.10g")
    return content.getvalue()


def text_table(names, rows):
    """Return names of columns, and rows of cells, as the content of a CSV file."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(map(cell, names))
    table.writerows(rows)
    return text.getvalue().encode()


def arrays(**named):
    """Return arrays as the content of a file."""
    content = io.BytesIO()
    np.savez_compressed(content, **named)
    return content.getvalue()


def _picture(estimator, columns):
    """Return a plot as the content of a file; in names of columns a dollar is no formula."""
    figure = import_optional("matplotlib.figure", "plot", _PICTURE)
    axes = figure.Figure(figsize=(6, 6)).subplots()
    estimator.plot(ax=axes)
    for name, label in zip(columns, (axes.set_xlabel, axes.set_ylabel), strict=False):
        label(shown(name), parse_math=False)
    axes.locator_params(axis="x", nbins=5)  # labels such as -97.95 fit
    content = io.BytesIO()
    axes.figure.savefig(content, format="png", dpi=150, bbox_inches="tight")
    return content.getvalue()
