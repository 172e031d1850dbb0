"""Actions of the commands, imported on demand; one returns its exit status, or None for 0."""

import csv
import importlib
import io
import json
import os
import sys
import zipfile
from dataclasses import asdict
from pathlib import Path

import numpy as np
from sklearn.base import BaseEstimator

from ..estimators.barycenter import PrivateWassersteinBarycenter
from ..estimators.drift import PrivateDriftSketch, WaveMoments
from ..estimators.generator import PrivateGenerator
from ..estimators.heatmap import PrivateEMDHeatmap
from ..estimators.kmeans import PrivateKMeans
from ..estimators.measure import PrivateMeasure
from ..estimators.sliced import DPSlicedWasserstein
from ..estimators.table import PrivateTable
from ..estimators.two_sample import PrivateTwoSampleTest
from ..exceptions import import_optional
from ..geometry.bounds import in_words
from ..inspection.check_private import check_private
from ..privacy.accountant import BudgetAccountant
from ..privacy.entries import FIELDS, RAISE, Receipt
from ..schema.kinds import Date, Number
from ..schema.schema import Schema, template_of
from ..values import column_names, column_values, is_missing
from .offer import (
    amounts,
    arrays,
    at_most,
    check_target,
    drawn,
    heatmap,
    left_of,
    offer,
    points,
    synthetic,
    text_table,
)
from .pages import cell, say
from .readers import CellError, is_number, keep_rows, missing_words, require_columns
from .tables import Table, checked, numbered, open_file, read_bounds, refuse_doubles

# What the commands do that release something about a table.


def run_release(given):
    """Make the release that a command names, or say what it would cost."""
    build, *form = _RELEASES[given.release]
    label = getattr(given, "label", None)
    table = Table(given.table, given.columns, label, given.groups, given.where, given.drop_missing)
    bounds = read_bounds(given.bounds, table.columns)
    if bounds is None and given.release in ("heatmap", "sketch"):
        raise ValueError(
            f"--bounds must be given for {given.release}, as in --bounds lon=139:140 lat=35:36."
        )
    given.columns = table.columns
    estimator = build(given).set_params(bounds=bounds)
    return offer(estimator, table, given, f"bounds: {in_words(bounds, table.columns)}", *form)


def _written(estimator, given):
    return f"wrote {' and '.join(given.out)}"


def _written_map(estimator, given):
    persons, error = estimator.count_persons(return_std=True)
    told = (
        f"{_written(estimator, given)}; people on the map, counted with noise: "
        f"{max(persons, 0.0):,.0f} (standard error {error:,.0f})"
    )
    if not any(out.endswith(".geojson") for out in given.out):
        return told
    return f"{told}; masses, with noise smoothed out, add up to {estimator.total_:,.0f}"


def _distance_of(estimator, given):
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


def _distance(given):
    """With delta=0 release the one number, else slices that give it.

    The public table is read here, so that a wrong one is found before anything is charged.
    """
    public = Table(given.reference, given.columns, drop_missing=given.drop_missing)
    try:
        given.public_rows = np.concatenate(list(public.chunks()))
    except CellError as error:
        raise ValueError(
            f"{error.fact} Leave such rows out of that file, which is public, or rows without any "
            f"value by --drop-missing: --where keeps rows of {given.table} alone."
        ) from None
    if not len(given.public_rows):
        raise ValueError(f"--reference must be a table with rows, got {given.reference}.")
    if given.delta > 0:
        return DPSlicedWasserstein()
    return DPSlicedWasserstein(method="scalar", reference=given.public_rows)


def _moments(estimator, given, ending):
    moments, plan, domain = estimator.moments_, estimator.privacy_, estimator.domain_
    return arrays(
        columns=np.array(given.columns),
        bounds=np.array([domain.low, domain.high]),
        epsilon=plan.epsilon,
        delta=plan.delta,
        relation=plan.relation,
        mean=moments.mean,
        second=moments.second,
        **{name: getattr(moments, name) for name in _NUMBERS},
    )


_RELEASES = {  # estimator, words, content of a file
    "measure": (lambda given: PrivateMeasure(), _written, points),
    "barycenter": (
        lambda given: PrivateWassersteinBarycenter(given.atoms, classes=given.classes),
        _written,
        points,
    ),
    "heatmap": (
        lambda given: PrivateEMDHeatmap(resolution=given.resolution),
        _written_map,
        heatmap,
    ),
    "kmeans": (lambda given: PrivateKMeans(given.clusters), _written, points),
    "generate": (lambda given: PrivateGenerator(classes=given.classes), _written, synthetic),
    "sketch": (lambda given: PrivateDriftSketch(), _written, _moments),
    "distance": (_distance, _distance_of),
}


# The command that tells whether two private tables, or sketches, have the same distribution.

_COHORTS = ("first", "second")


def run_compare(given):
    """Compare two tables, or say what it would cost; or two sketches, which costs nothing."""
    paths = (given.table, given.other)
    if all(Path(path).exists() for path in paths) and os.path.samefile(*paths):
        raise ValueError(
            f"other must be another file than table, got {given.table} and {given.other}, one "
            "file. For example skdp-bary compare spring.csv autumn.csv."
        )
    sketches = [Path(path).suffix == ".npz" for path in paths]
    if any(sketches) and not all(sketches):
        raise ValueError(
            "table and other must be two tables or two sketches, got one of each. Make a sketch of "
            "the table first: skdp-bary sketch."
        )
    if all(sketches):
        (ours, own), (theirs, others) = map(_read_sketch, paths)
        if own != others:
            raise ValueError(
                f"{paths[0]} has the columns {own}, and {paths[1]} has {others}. Make both "
                f"sketches with the same --columns {' '.join(map(str, own))}."
            )
        say(_in_numbers(ours.test(theirs)) + "; nothing was charged")
        return
    tables, columns = [], given.columns
    for path in paths:
        kept = {"rules": given.where, "drop_missing": given.drop_missing}
        tables.append(Table(path, columns, groups=given.groups, **kept))
        columns = tables[0].columns
    bounds = read_bounds(given.bounds, columns)
    given.columns = columns
    n_min = given.n_min[0] if given.n_min and len(given.n_min) == 1 else given.n_min
    estimator = PrivateTwoSampleTest(_COHORTS, n_min=n_min, bounds=bounds)
    limits = f"bounds: {in_words(bounds, columns)}"
    return offer(
        estimator, _Cohorts(tables), given, limits, lambda fitted, _: _in_numbers(fitted.result_)
    )


def _in_numbers(result):
    """Return the outcome of a test in two lines."""
    low, high = result.interval
    return (
        f"two-sample test: p={result.pvalue:.4g}\n"
        f"distance={result.distance:.4g}, 95 % interval {low:.4g} to {high:.4g} (0: equal; at "
        "most 1.41; 0 is in the interval exactly if p is above 0.05)"
    )


class _Cohorts:
    """Two tables as one, whose labels say from which a row is."""

    def __init__(self, tables):
        self._tables = dict(zip(_COHORTS, tables, strict=True))

    def chunks(self):
        for cohort, table in self._tables.items():
            for X in table.chunks():
                yield X, np.full(len(X), cohort)

    def whole(self):
        rows, _, ids = zip(*(table.read() for table in self._tables.values()), strict=True)
        y = np.repeat(_COHORTS, [len(X) for X in rows])
        # one id is one person in both tables
        return np.concatenate(rows), y, numbered([texts for of_one in ids for texts in of_one])


# Released sketches in files, and what two of them say of each other.

_NUMBERS = ("persons", "mass_sd", "mean_sd", "second_sd")


def _read_sketch(path):
    """Return the released sketch in a file, and the names of its columns."""
    try:
        with np.load(path, allow_pickle=False) as file:
            found = dict(file)
        sketch = PrivateDriftSketch(
            float(found["epsilon"]),
            float(found["delta"]),
            tuple(found["bounds"]),
            neighbors=str(found["relation"]),
        )
        columns = found["columns"].tolist()
        numbers = {name: float(found[name]) for name in _NUMBERS}
        moments = WaveMoments(mean=found["mean"], second=found["second"], **numbers)
        return sketch._restored(moments, len(columns)), columns
    except (KeyError, TypeError, ValueError, EOFError, zipfile.BadZipFile):
        raise ValueError(f"{path} was not made by skdp-bary sketch, or is damaged.") from None


# The command that draws a synthetic table, from one release of a private table with a schema.


def run_synthetic(given):
    """Release a table and write rows of its kind, or say what it would cost."""
    schema = Schema.from_yaml(given.schema)
    if schema.names is None:
        raise ValueError(
            f"{given.schema} must name the columns. For a schema with names to fill in: skdp-bary "
            f"schema {given.table} --out {given.schema}"
        )
    if given.keep_columns:
        schema = _only(schema, given)
    given.columns = names = list(schema.names)
    file = open_file(given.table)
    refuse_doubles(f"the first line of {given.table}", file.names)
    require_columns(file, names, f", which {given.schema} declares")
    groups = [given.groups] if given.groups is not None else []
    require_columns(file, groups, ", which --groups names")
    if given.groups in names:
        raise ValueError(
            f"--groups {given.groups} is a column of {given.schema} as well: leave ids out of the "
            "schema."
        )
    kinds = dict(schema.columns).items()
    words = {name: missing_words(getattr(kind, "values", ())) for name, kind in kinds}
    filled = words | dict.fromkeys(groups, missing_words()) if given.drop_missing else {}
    keep_rows(file, given.where, filled)
    estimator = PrivateTable(schema, given.label)
    table = _DeclaredTable(file, words, groups)
    return offer(estimator, table, given, schema.describe(), _synthetic_written, _content)


def _only(schema, given):
    """Return the schema of the columns of --keep-columns."""
    kinds = dict(schema.columns)
    for name in (*given.keep_columns, *([given.label] if given.label else [])):
        if name not in kinds:
            raise ValueError(
                f"--keep-columns and --label must be columns of {given.schema}, got {name!r}. It "
                f"has {list(kinds)}."
            )
        if name not in given.keep_columns:
            raise ValueError(
                f"--keep-columns must hold the --label {name!r}. Add {name} to it, or leave "
                "--label out."
            )
    return Schema({name: kind for name, kind in kinds.items() if name in given.keep_columns})


class _DeclaredTable:
    """The columns of a file that a schema declares."""

    def __init__(self, file, words, groups):
        self._file, self._words, self._groups = file, words, groups

    def chunks(self):
        return (batch.X for batch in self._batches())

    def whole(self):
        arrow = import_optional("pyarrow", "cli", "skdp-bary table")
        batches = list(self._batches())
        ids = numbered([batch.texts[0] for batch in batches])
        return arrow.concat_tables([batch.X for batch in batches]), None, ids

    def _batches(self):
        arrow = import_optional("pyarrow", "cli", "skdp-bary table")
        no_rows = arrow.table(
            [arrow.array([], arrow.string())] * len(self._words), list(self._words)
        )
        batches = self._file.tables(self._words, self._groups)
        return checked(self._file, batches, self._groups, no_rows)


def _synthetic_written(estimator, given):
    files = " and ".join(given.out)
    unit = "rows" if given.groups is None else "people"
    return f"wrote {given.rows} rows to {files}; the table has about {estimator.total_:,.0f} {unit}"


def _content(estimator, given, ending):
    """Return drawn rows as the content of a file."""
    rows = drawn(estimator, given)
    if ending == ".parquet":
        arrow = import_optional("pyarrow", "cli", "skdp-bary table")
        parquet = import_optional("pyarrow.parquet", "cli", "skdp-bary --out rows.parquet")
        if not hasattr(rows, "column_names"):  # a frame of pandas
            rows = arrow.Table.from_pandas(rows, preserve_index=False)
        content = io.BytesIO()
        parquet.write_table(rows, content)
        return content.getvalue()
    kinds = zip(column_names(rows), estimator.schema.kinds(0), strict=True)
    columns = {
        name: _texts(column_values(rows, place), kind) for place, (name, kind) in enumerate(kinds)
    }
    if ending == ".npz":
        return arrays(**{name: np.array(texts) for name, texts in columns.items()})
    return text_table(columns, zip(*columns.values(), strict=True))


def _texts(values, kind):
    """Return the values of a column as cells, empty where missing."""
    if isinstance(kind, Date):
        unit = "D" if kind.resolution == "day" else "s"
        moments = np.array(values, dtype="datetime64[s]").astype(f"datetime64[{unit}]")
        return ["" if np.isnat(moment) else str(moment) for moment in moments]
    exact = {*kind.line, *kind.special} if isinstance(kind, Number) else ()
    return ["" if is_missing(value) else _text(value, exact) for value in values.tolist()]


def _text(value, exact):
    if isinstance(value, str):
        return cell(value)
    if value in exact and float(f"{value:.10g}") != value:
        return repr(value)
    return f"{value:.10g}" if isinstance(value, float) else str(value)


# The command that writes a schema for a person to fill in.


def run_schema(given):
    """Write the skeleton of a schema."""
    file = open_file(given.table)
    if any(map(is_number, file.names)):  # they look like somebody's row
        raise ValueError(f"The first line of {given.table} must hold the names of the columns.")
    require_columns(file, given.keep_columns or (), ", which --keep-columns names")
    kept = given.keep_columns or file.names
    text = template_of([name for name in file.names if name in kept])
    if given.out is None:
        say(text.rstrip("\n"))
        return
    check_target(given.out, given.overwrite, "a schema that was filled in by hand")
    with Path(given.out).open("w" if given.overwrite else "x", encoding="utf-8") as written:
        written.write(text)
    say(f"skdp-bary: note: {given.out} has blanks, to be filled in by hand.", sys.stderr)


# What the commands for the owner of a budget do.


def create(given):
    """Make a ledger."""
    accountant = BudgetAccountant.create(
        given.ledger,
        given.epsilon,
        given.delta,
        neighbors=given.neighbors,
        composition=given.composition,
        unit=given.unit,
        file_group=given.file_group,
    )
    say(accountant)


def show(given):
    """Print the entries and what is left."""
    accountant = BudgetAccountant.open(given.ledger)
    say(accountant)
    if given.at_most is not None:
        limited = at_most(accountant, given.at_most)
        say(f"{left_of(given.at_most)}: {amounts(*limited.remaining())}")
        for finding in limited.policy.audit(accountant.entries):
            say(f"not within {given.at_most}: {finding}")


def raise_(given):
    """Raise the ceiling."""
    accountant = BudgetAccountant.open(given.ledger)
    accountant.raise_ceiling(given.epsilon, given.delta, who=given.who, note=given.note)
    say(accountant)


def receipt(given):
    """Print a receipt."""
    print(BudgetAccountant.open(given.ledger).receipt().to_json())


def verify(given):
    """Check a ledger."""
    accountant = BudgetAccountant.open(given.ledger)
    receipt = given.receipt and Receipt.from_json(Path(given.receipt).read_text())
    number = accountant.verify(receipt)
    held = f", and hold the {receipt.number} of the receipt" if receipt else ""
    say(f"{accountant.ledger}: {number} entries add up to its running totals{held}")


def backup(given):
    """Write a backup."""
    BudgetAccountant.open(given.ledger).backup(given.copy)


def restore(given):
    """Replace a ledger by a backup."""
    print(BudgetAccountant.restore(given.copy, given.ledger, who=given.who, note=given.note))


def export(given):
    """Print the entries as data."""
    ceilings = ("ceiling_epsilon", "ceiling_delta")
    records = []
    for entry in BudgetAccountant.open(given.ledger).entries:
        record = asdict(entry) | dict.fromkeys(ceilings)
        if entry.kind == RAISE:  # whoever sums the columns of the spends gets what was spent
            record |= dict(zip(ceilings, (entry.epsilon, entry.delta), strict=True))
            record |= {"epsilon": None, "delta": None}
        records.append(record)
    if given.format == "json":
        json.dump(records, sys.stdout, indent=1)
        print()
        return
    table = csv.DictWriter(sys.stdout, (*FIELDS, *ceilings), lineterminator="\n")
    table.writeheader()
    for record in records:
        table.writerow({k: cell(v) if isinstance(v, str) else v for k, v in record.items()})


# The command that says of a pipeline which of its steps keep the guarantee.


def run_audit(given):
    """Print the report of a pipeline."""
    place = given.pipeline
    module, separator, name = place.partition(":")
    if not separator or not name:
        raise ValueError(
            f"The pipeline must be named as module:name, got {place!r}. For example "
            "mypackage.models:pipe."
        )
    sys.path.insert(0, os.getcwd())
    try:
        imported = importlib.import_module(module)
    finally:
        sys.path.pop(0)
    if not hasattr(imported, name):
        raise ValueError(f"The module {module!r} has nothing named {name!r}.")
    found = getattr(imported, name)
    if not isinstance(found, BaseEstimator):
        raise ValueError(
            f"{place} must be an estimator, got {found!r}. Name a fitted or unfitted one, or a "
            "Pipeline, for example mypackage.models:pipe."
        )
    say(check_private(found, strict=True))
