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
from functools import partial
from pathlib import Path

import numpy as np

from ..exceptions import BudgetError, import_optional, in_digits
from ..privacy.accountant import BudgetAccountant
from ..privacy.entries import ROWS, UNNAMED, shown
from ..privacy.mechanisms import ADD_REMOVE
from .pages import KEPT, NEED_DELTA, REFUSED, cell, say, uninterrupted

# From an estimator to a release: the price, the charge, the file and the words.


def offer(estimator, n_features, fit, given, check_form=None):
    """Make a release, or say what it would cost; return the exit status.

    Parameters
    ----------
    estimator : estimator
        Its accountant is the budget.
    n_features : int
    fit : callable
        Takes the estimator and fits it, with the ``unit`` of a person and a ``note`` for the
        ledger.
    given : Namespace
        Options, with ``said``, a function of estimator and options that says what was released,
        and ``write``, one of these and of the ending of a name that returns the content of a file,
        or None where nothing is written.
    check_form : callable or None, default=None
        Raises unless a file of that name can be written.
    """
    accountant = estimator.accountant
    if given.write is not None:
        _check_out(given, check_form)
    unit = given.unit or {None: ROWS, ROWS: UNNAMED}.get(given.groups, given.groups)
    if given.dry_run:
        quote = accountant.quote(estimator, n_features, unit=unit)
        say(_quote_in_words(quote, accountant.ledger))
        return 0 if quote.fits else REFUSED
    accountant.check(estimator.privacy_plan(n_features), who=type(estimator).__name__, unit=unit)
    fit = partial(fit, unit=unit, note=given.note)
    if given.write is not None:
        return _release_to_file(estimator, fit, given)
    fit(estimator)
    _tell(f"{given.said(estimator, given)}; {_left(accountant)}")
    return 0


def persons_in_words(columns, groups):
    """Columns that make a row, and the privacy unit."""
    person = "a row" if groups is None else f"all rows with one value of {shown(groups)}"
    return f"a row is ({', '.join(map(shown, columns))}); a person is {person}"


def _check_out(given, check_form):
    """Raise unless the release can have the form and the name that are asked for."""
    if given.out is None:
        if given.dry_run:
            return
        raise ValueError("--out must name the file of the release, as in --out release.csv.")
    check_form(given.out)
    check_target(given.out, given.overwrite)
    for read in (given.table, given.ledger, getattr(given, "schema", None)):
        there = read is not None and Path(given.out).exists() and Path(read).exists()
        if there and os.path.samefile(given.out, read):
            raise ValueError(
                f"--out {given.out} is {read}, which would be replaced. Name another file."
            )


def _release_to_file(estimator, fit, given):
    """Fit and write; everything that could be in the way of the file is met before the charge."""
    with PromisedFile(given.out, given.overwrite) as file:
        fit(estimator)
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
    """Print the paid release; if the output cannot be written any more, as an error."""
    try:
        say(text)
    except OSError:
        say(text, sys.stderr)


def _left(accountant):
    if accountant.ledger is None:
        epsilon, delta = accountant.total()
        return f"spent {_amounts(epsilon, delta)}, recorded nowhere (no --ledger)"
    epsilon, delta = accountant.remaining()
    return f"left of the budget: {_amounts(epsilon, delta)}"


def _amounts(epsilon, delta):
    return f"epsilon={in_digits(epsilon)}, delta={in_digits(delta)}"


def open_budget(given):
    """Return the budget that a release is charged to: that of --ledger, or one of its own."""
    accountant = _budget_of(given)
    if accountant.neighbors != ADD_REMOVE and (given.where or given.drop_missing):
        raise ValueError(
            f"--where and --drop-missing need the relation add_remove, got {accountant.neighbors}, "
            "which makes the number of rows that are left public. Filter the file before."
        )
    return accountant


def _budget_of(given):
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
            f"The ledger {given.ledger} has delta=0, so it pays for releases with --delta 0 alone, "
            f"and this one asks for {in_digits(given.delta)}. {_pure_form(given)} Its owner can "
            f"raise it: skdp-bary budget raise {shlex.quote(given.ledger)} "
            f"--epsilon {in_digits(accountant.epsilon)} --delta {in_digits(given.delta)}. "
            "Nothing was charged."
        )
    return accountant


def _pure_form(given):
    """Say whether the release that is asked for can do without a delta."""
    if getattr(given, "release", None) in NEED_DELTA:
        return f"{given.release} needs a delta."
    return "Say --delta 0."


def _quote_in_words(quote, ledger):
    fits = "fits" if quote.fits else "DOES NOT FIT"
    lines = [
        f"{_amounts(quote.epsilon, quote.delta)}, {quote.plan.relation}; "
        + ("no --ledger to charge" if ledger is None else fits),
        *(f"  {step.name}: {step.mechanism}" for step in quote.plan.steps),
    ]
    if ledger is not None:
        for when, left in (("now", quote.now), ("afterwards", quote.after)):
            if left is not None:
                lines.append(f"left {when}: {_amounts(*left)}")
    return "\n".join([*lines, quote.advice] if quote.advice else lines)


# A file for a release that has not been paid for yet.

ROOM = 1 << 23
_PIECE = 1 << 20
_UNFINISHED = "unfinished"


class PromisedFile:
    """The file that a release will be written to, as a context that leaves nothing else behind.

    Parameters
    ----------
    path : str
    overwrite : bool
        Whether a file of that name may be replaced.
    """

    def __init__(self, path, overwrite):
        self.path = path
        self._target = Path(path).resolve()
        self._overwrite = overwrite
        check_target(path, overwrite)
        self._draft = self._beside(f"{self._target.suffix}.{_UNFINISHED}")
        try:
            self._file = self._draft.open("xb", buffering=0)
        except OSError as error:
            raise self._cannot(error) from None
        try:
            for _ in range(ROOM // _PIECE):
                _write_all(self._file, bytes(_PIECE))
            os.fsync(self._file.fileno())
        except OSError as error:
            self.__exit__()
            raise self._cannot(error) from None

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
        ending : str or None, default=None
            Of the name, where the form that was asked for could not be made.
        """
        try:
            _write(self._file, content)
        except OSError as error:
            self._keep_elsewhere(content, ending or self._target.suffix, error.strerror)
            return False
        try:
            if ending is None:
                self._publish()
                return True
            reason = "it has another form"
        except OSError as error:
            reason = error.strerror
        self._keep_here(ending or self._target.suffix, reason)
        return False

    def _publish(self):
        """Give the file its name; one that appeared meanwhile is not replaced unasked."""
        if self._overwrite:
            self._draft.replace(self._target)
        else:
            try:
                os.link(self._draft, self._target)
            except FileExistsError:
                raise
            except OSError:  # a file system without links
                if self._target.exists():
                    raise
                self._draft.replace(self._target)
        _sync_folder(self._target.parent)

    def _keep_here(self, ending, reason):
        kept = self._beside(ending)
        try:
            self._draft.replace(kept)
        except OSError:
            self._keep_elsewhere(self._draft.read_bytes(), ending, reason)
        else:
            _report(self.path, reason, kept)

    def _keep_elsewhere(self, content, ending, reason):
        kept = Path(tempfile.gettempdir()) / self._beside(ending).name
        try:
            with kept.open("xb", buffering=0) as file:
                _write(file, content)
        except OSError:
            kept.unlink(missing_ok=True)
            _report(self.path, reason, f"the lines below, to be read by: base64 -d > x{ending}")
            say(base64.encodebytes(content).decode(), sys.stdout)
        else:
            _report(self.path, reason, kept)

    def _beside(self, ending):
        stem = self._target.stem[:150]
        return self._target.with_name(f"{stem}.{secrets.token_hex(4)}{ending}")

    def _cannot(self, error):
        return ValueError(f"--out {self.path} cannot be written: {error.strerror}.")


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


def _sync_folder(folder):
    """Let the name last, where folders can be opened."""
    try:
        number = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(number)
    except OSError:
        pass
    finally:
        os.close(number)


def _report(path, reason, place):
    say(
        f"skdp-bary: the release was charged, and {path} could not be written ({reason}). "
        f"It was kept: {place}",
        sys.stderr,
    )


# Forms that a release can have, by the ending of the name.

_MOST_CELLS = 1 << 25  # some gigabytes as text
_PICTURE = "skdp-bary --out picture.png"
_ENDINGS = (".csv", ".geojson", ".npz", ".png")


def check_form(path, columns, endings=_ENDINGS):
    """Raise unless a release about `columns` can have the form that the name `path` asks for."""
    ending = Path(path).suffix
    if ending not in endings:
        raise ValueError(f"--out must end in {' or '.join(endings)}, got {path!r}.")
    if ending == ".geojson" and len(columns) != 2:
        raise ValueError(
            f"--out {path}: GeoJSON needs two columns (longitude, latitude), got {list(columns)}."
        )
    if ending == ".parquet":
        import_optional("pyarrow.parquet", "cli", "skdp-bary --out rows.parquet")
    if ending == ".png":
        import_optional("matplotlib.backends.backend_agg", "plot", _PICTURE)


def check_rows(rows, columns):
    """Raise unless so many rows can be held while they are written."""
    most = _MOST_CELLS // len(columns)
    if not 1 <= rows <= most:
        raise ValueError(
            f"--rows must be in [1, {most}] for {len(columns)} columns, got {rows}: all rows are "
            "held in memory while they are written."
        )


def points(estimator, given, ending):
    """Return weighted points as the content of a file: people, or shares that add up to one."""
    if hasattr(estimator, "cluster_centers_"):
        found = estimator.cluster_centers_, estimator.cluster_weights_, "persons"
    else:
        measure = estimator.to_measure()
        found = measure.support, measure.weights, "weight"
    return _POINTS[ending](*found, given.columns)


def synthetic(estimator, given, ending):
    """Return drawn rows and labels as the content of a file, without --label no labels."""
    columns, label = given.columns, given.label
    X, labels = estimator.sample(given.rows)
    if ending == ".npz":
        return arrays(rows=X, labels=labels.astype(str), columns=np.array(columns))
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    name = [] if label is None else [label]
    table.writerow(map(cell, [*columns, *name]))
    for row, of_row in zip(X.tolist(), labels, strict=True):
        table.writerow([*(f"{x:.10g}" for x in row), *([cell(str(of_row))] if name else [])])
    return text.getvalue().encode()


def heatmap(estimator, given, ending):
    """Return a heatmap as the content of a file: in CSV the middles of its cells."""
    if ending == ".geojson":
        return json.dumps(estimator.to_geojson()).encode()
    if ending == ".png":
        from ..plotting.maps import HeatmapDisplay

        display = HeatmapDisplay.from_estimator(estimator, ax=_axes())
        _name_axes(display.axes_[0], given.columns)
        return _save(display.figure_)
    if ending == ".npz":
        cells = estimator.cells_
        return arrays(heatmap=estimator.heatmap_, low=cells.low, high=cells.high, mass=cells.mass)
    measure = estimator.to_measure()
    return _csv(measure.support, measure.weights, "weight", given.columns)


def _csv(points, weights, name, columns):
    content = io.BytesIO()
    names = io.StringIO()
    csv.writer(names, lineterminator="\n").writerow(map(cell, (*columns, name)))
    content.write(names.getvalue().encode())
    np.savetxt(content, np.column_stack([points, weights]), delimiter=",", fmt="%.10g")
    return content.getvalue()


def _points_npz(points, weights, name, columns):
    return arrays(points=points, columns=np.array(columns), **{name: weights})


def arrays(**named):
    """Return arrays as the content of a file."""
    content = io.BytesIO()
    np.savez_compressed(content, **named)
    return content.getvalue()


def _geojson(points, weights, name, columns):
    features = [
        {
            "type": "Feature",
            "geometry": {"type": "Point", "coordinates": point},
            "properties": {name: weight},
        }
        for point, weight in zip(points.tolist(), weights.tolist(), strict=True)
    ]
    return json.dumps({"type": "FeatureCollection", "features": features}).encode()


def _png(points, weights, name, columns):
    axes = _axes()
    x, y = points[:, 0], points[:, 1] if points.shape[1] > 1 else np.zeros(len(points))
    largest = max(weights.max(), np.finfo(float).tiny)
    axes.scatter(x, y, s=300.0 * weights / largest, alpha=0.6, edgecolors="none")
    _name_axes(axes, columns)
    axes.set_title(f"release; areas show {name}")
    return _save(axes.figure)


def _name_axes(axes, columns):
    """Write names as they are: a dollar in one is no formula."""
    axes.set_xlabel(shown(columns[0]), parse_math=False)
    axes.set_ylabel(shown(columns[1]) if len(columns) > 1 else "", parse_math=False)


def _axes():
    figure = import_optional("matplotlib.figure", "plot", _PICTURE)
    return figure.Figure(figsize=(6, 6)).subplots()


def _save(figure):
    content = io.BytesIO()
    figure.savefig(content, format="png", dpi=150, bbox_inches="tight")
    return content.getvalue()


_POINTS = {".csv": _csv, ".geojson": _geojson, ".npz": _points_npz, ".png": _png}
