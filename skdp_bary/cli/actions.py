"""Actions of the commands, imported on demand."""

import csv
import importlib
import io
import json
import os
import sys
import zipfile
from dataclasses import asdict
from functools import partial
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
    arrays,
    check_form,
    check_rows,
    check_target,
    heatmap,
    offer,
    open_budget,
    persons_in_words,
    points,
    synthetic,
)
from .pages import cell, say
from .readers import RowFilter
from .tables import (
    Table,
    numbered,
    open_file,
    read_bounds,
    refuse_doubles,
    refuse_empty,
    refuse_values_as_names,
    watched,
)

# What the commands do that release something about a table.


def run_release(given):
    """Make the release that a command names, or say what it would cost; return the status."""
    given.build, given.write, given.said = _RELEASES[given.release]
    label = getattr(given, "label", None)
    table = Table(given.table, given.columns, label, given.groups, given.where, given.drop_missing)
    bounds = read_bounds(given.bounds, table.columns, named=given.columns is not None)
    if bounds is None and given.release == "heatmap":
        raise ValueError("--bounds must be given for a map, as in --bounds lon=139:140 lat=35:36.")
    given.columns = table.columns
    estimator = given.build(given, table.columns).set_params(
        epsilon=given.epsilon,
        delta=given.delta,
        bounds=bounds,
        n_hint=given.n_hint,
        accountant=open_budget(given),
    )
    say(persons_in_words(table.columns, given.groups))
    say(f"bounds: {in_words(bounds, table.columns)}")
    check = partial(_check_form, given)
    return offer(estimator, len(table.columns), partial(_fit, table, given), given, check)


def _check_form(given, path):
    forms = {"generate": (".csv", ".npz"), "sketch": (".npz",)}.get(given.release)
    check_form(path, given.columns, *(() if forms is None else (forms,)))


def _fit(table, given, estimator, **terms):
    if given.groups is None:
        estimator.fit(table.chunks, **terms)
    else:
        X, y, groups = table.whole()
        estimator.fit(X, y, groups=groups, **terms)


def _written(estimator, given):
    return f"wrote {given.out}"


def _written_map(estimator, given):
    persons, error = estimator.count_persons(return_std=True)
    return (
        f"wrote {given.out}; persons on the map, counted with noise: {max(persons, 0.0):,.0f} "
        f"(standard error {error:,.0f})"
    )


def _distance_of(estimator, given):
    """Distance, its value and its standard error."""
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


def _distance(given, columns):
    """With delta=0 release the one number, else slices that give it.

    The public table is read here, so that a wrong one is found before anything is charged.
    """
    given.public_rows = np.concatenate(list(Table(given.reference, columns).chunks()))
    if given.delta > 0:
        return DPSlicedWasserstein()
    return DPSlicedWasserstein(method="scalar", reference=given.public_rows)


def _generate(given, columns):
    check_rows(given.rows, columns)
    return PrivateGenerator(classes=given.classes)


def _sketch(given, columns):
    if given.bounds is None:
        raise ValueError(
            "--bounds must be given for a sketch, as in --bounds lon=139:140 lat=35:36. Sketches "
            "can be compared if they have the same."
        )
    return PrivateDriftSketch()


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


_RELEASES = {  # estimator, content of a file, words
    "measure": (lambda given, columns: PrivateMeasure(), points, _written),
    "barycenter": (
        lambda given, columns: PrivateWassersteinBarycenter(given.atoms, classes=given.classes),
        points,
        _written,
    ),
    "heatmap": (
        lambda given, columns: PrivateEMDHeatmap(resolution=given.resolution),
        heatmap,
        _written_map,
    ),
    "kmeans": (lambda given, columns: PrivateKMeans(given.clusters), points, _written),
    "generate": (_generate, synthetic, _written),
    "sketch": (_sketch, _moments, _written),
    "distance": (_distance, None, _distance_of),
}


# The command that tells whether two private tables, or two released sketches, have one law.

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
        say(f"{in_numbers(compare_sketches(*paths))}; nothing was charged")
        return 0
    kept = {"groups": given.groups, "rules": given.where, "drop_missing": given.drop_missing}
    first = Table(given.table, given.columns, **kept)
    tables = (first, Table(given.other, first.columns, **kept))
    bounds = read_bounds(given.bounds, first.columns, named=given.columns is not None)
    given.columns = first.columns
    given.write, given.said = None, lambda estimator, given: in_numbers(estimator.result_)
    estimator = PrivateTwoSampleTest(
        _COHORTS,
        n_min=_sizes(given.n_min),
        epsilon=given.epsilon,
        delta=given.delta,
        bounds=bounds,
        n_hint=given.n_hint,
        accountant=open_budget(given),
    )
    say(persons_in_words(first.columns, given.groups))
    say(f"bounds: {in_words(bounds, first.columns)}")
    return offer(estimator, len(first.columns), partial(_compare_fit, tables, given), given)


def in_numbers(result):
    """Return the outcome of a test in two lines."""
    low, high = result.interval
    return (
        f"two-sample test: p={result.pvalue:.4g}\n"
        f"distance={result.distance:.4g}, 95 % interval {low:.4g} to {high:.4g} (0: one law; at "
        "most 1.41)"
    )


def _sizes(given):
    if given is None or len(given) == 1:
        return given if given is None else given[0]
    if len(given) > 2:
        raise ValueError(
            f"--n-min must be one number, or one a table, got {len(given)}. For example "
            "--n-min 500 800."
        )
    return tuple(given)


def _compare_fit(tables, given, estimator, **terms):
    if given.groups is None:
        estimator.fit(lambda: _chunks(tables), **terms)
        return
    parts = [table.read() for table in tables]
    X = np.concatenate([part[0] for part in parts])
    y = np.repeat(_COHORTS, [len(part[0]) for part in parts])
    # one id is one person in both tables
    ids = numbered([ids for part in parts for ids in part[2]])
    estimator.fit(X, y, groups=ids, **terms)


def _chunks(tables):
    for cohort, table in zip(_COHORTS, tables, strict=True):
        for X in table.chunks():
            yield X, np.full(len(X), cohort)


# Released sketches in files, and what two of them say of each other.

_NUMBERS = ("persons", "mass_sd", "mean_sd", "second_sd")


def read_sketch(path):
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
        moments = WaveMoments(
            mean=found["mean"],
            second=found["second"],
            **{name: float(found[name]) for name in _NUMBERS},
        )
        return sketch._restored(moments, len(columns)), columns
    except (KeyError, TypeError, ValueError, EOFError, zipfile.BadZipFile):
        raise ValueError(f"{path} is no sketch made by skdp-bary sketch, or is damaged.") from None


def compare_sketches(first, second):
    """Return the outcome of the test whether two released sketches have one distribution."""
    (ours, own), (theirs, others) = read_sketch(first), read_sketch(second)
    if own != others:
        raise ValueError(f"{first} has the columns {own}, and {second} has {others}.")
    return ours.test(theirs)


# The command that draws a synthetic table, from one release of a private table with a schema.


def run_synthetic(given):
    """Release a table and write rows of its kind, or say what it would cost; return the status."""
    schema = Schema.from_yaml(given.schema)
    if schema.names is None:
        raise ValueError(
            f"{given.schema} must name the columns. For a schema with names to fill in: skdp-bary "
            f"schema {given.table} --out {given.schema}"
        )
    check_rows(given.rows, schema.names)
    if given.keep_columns:
        schema = _only(schema, given)
    present = open_file(given.table).names
    refuse_doubles(f"the first line of {given.table}", present)
    missing = [name for name in schema.names if name not in present]
    if missing or (given.groups is not None and given.groups not in present):
        lacking = [*missing, given.groups][0]
        raise ValueError(f"{given.table} has no column {lacking!r}, which {_who(missing, given)}.")
    if given.groups in schema.names:
        raise ValueError(
            f"--groups {given.groups} is a column of {given.schema} as well: leave ids out of the "
            "schema."
        )
    used = [*schema.names, given.groups] if given.groups else list(schema.names)
    kept = RowFilter(given.where, used if given.drop_missing else ())
    file = open_file(given.table, kept if kept.columns else None)
    estimator = PrivateTable(
        schema,
        given.label,
        epsilon=given.epsilon,
        delta=given.delta,
        n_hint=given.n_hint,
        accountant=open_budget(given),
    )
    given.columns, given.write, given.said = list(schema.names), _content, _synthetic_written
    say(persons_in_words(schema.names, given.groups))
    say(schema.describe())
    check = partial(check_form, columns=schema.names, endings=(".csv", ".npz", ".parquet"))
    return offer(estimator, schema.n_columns, partial(_synthetic_fit, file, given), given, check)


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


def _who(missing, given):
    return f"{given.schema} declares" if missing else "--groups names"


def _synthetic_fit(file, given, estimator, **terms):
    arrow = import_optional("pyarrow", "cli", "skdp-bary table")
    names = list(estimator.schema.names)
    read = names if given.groups is None else [*names, given.groups]
    no_rows = arrow.schema([(name, arrow.string()) for name in read]).empty_table()
    if given.groups is None:
        estimator.fit(lambda: watched(file.tables(read), no_rows), **terms)
        return
    tables, ids = [], []
    for batch in watched(file.tables(read), no_rows):
        tables.append(batch.select(names))
        ids.append(_ids(batch[given.groups], given))
    estimator.fit(arrow.concat_tables(tables), groups=numbered(ids), **terms)


def _ids(column, given):
    """Return person IDs as an Arrow array of text, whole."""
    arrow = import_optional("pyarrow", "cli", "skdp-bary table")
    types, kind = arrow.types, column.type
    if types.is_dictionary(kind):
        kind = kind.value_type
    if not (types.is_integer(kind) or types.is_string(kind) or types.is_large_string(kind)):
        raise ValueError(f"Ids must be strings or integers: the column {given.groups!r} is {kind}.")
    texts = column.cast(arrow.string()).combine_chunks().fill_null("")
    refuse_empty(given.groups, texts, given.table)
    return texts


def _synthetic_written(estimator, given):
    return f"wrote {given.rows} rows to {given.out}, of a table of about {estimator.total_:,.0f}"


def _content(estimator, given, ending):
    """Return drawn rows as the content of a file."""
    drawn = estimator.sample(given.rows)
    if ending == ".parquet":
        return _parquet(drawn)
    columns = {
        name: _texts(column_values(drawn, place), kind)
        for place, (name, kind) in enumerate(
            zip(column_names(drawn), estimator.schema.kinds(0), strict=True)
        )
    }
    if ending == ".npz":
        return arrays(**{name: np.array(texts) for name, texts in columns.items()})
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(map(cell, columns))
    table.writerows(zip(*columns.values(), strict=True))
    return text.getvalue().encode()


def _parquet(drawn):
    """Return a frame of drawn rows as the content of a Parquet file, with the types it has."""
    arrow = import_optional("pyarrow", "cli", "skdp-bary table")
    parquet = import_optional("pyarrow.parquet", "cli", "skdp-bary --out rows.parquet")
    if not hasattr(drawn, "column_names"):
        drawn = arrow.Table.from_pandas(drawn, preserve_index=False)
    content = io.BytesIO()
    parquet.write_table(drawn, content)
    return content.getvalue()


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
    names = open_file(given.table).names
    refuse_values_as_names(names, given.table)
    for name in given.keep_columns or ():
        if name not in names:
            raise ValueError(f"{given.table} has no column {name!r}, which --keep-columns names.")
    names = [name for name in names if not given.keep_columns or name in given.keep_columns]
    text = template_of(names)
    if given.out is None:
        say(text.rstrip("\n"))
        return 0
    check_target(given.out, given.overwrite, "a schema that was filled in by hand")
    with Path(given.out).open("w" if given.overwrite else "x", encoding="utf-8") as file:
        file.write(text)
    say(f"skdp-bary: note: {given.out} has blanks, to be filled in by hand.", sys.stderr)
    return 0


# What the commands for the owner of a budget do.

_CEILINGS = ("ceiling_epsilon", "ceiling_delta")


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
    return 0


def show(given):
    """Print the entries and what is left."""
    say(BudgetAccountant.open(given.ledger))
    return 0


def raise_(given):
    """Raise the ceiling."""
    accountant = BudgetAccountant.open(given.ledger)
    accountant.raise_ceiling(given.epsilon, given.delta, who=given.who, note=given.note)
    say(accountant)
    return 0


def receipt(given):
    """Print a receipt."""
    print(BudgetAccountant.open(given.ledger).receipt().to_json())
    return 0


def verify(given):
    """Check a ledger."""
    accountant = BudgetAccountant.open(given.ledger)
    receipt = given.receipt and Receipt.from_json(Path(given.receipt).read_text())
    number = accountant.verify(receipt)
    held = f", and hold the {receipt.number} of the receipt" if receipt else ""
    say(f"{accountant.ledger}: {number} entries add up to its running totals{held}")
    return 0


def backup(given):
    """Write a backup."""
    BudgetAccountant.open(given.ledger).backup(given.copy)
    return 0


def restore(given):
    """Replace a ledger by a backup."""
    print(BudgetAccountant.restore(given.copy, given.ledger, who=given.who, note=given.note))
    return 0


def export(given):
    """Print the entries as data."""
    entries = [_exported(entry) for entry in BudgetAccountant.open(given.ledger).entries]
    if given.format == "json":
        json.dump(entries, sys.stdout, indent=1)
        print()
        return 0
    table = csv.DictWriter(sys.stdout, (*FIELDS, *_CEILINGS), lineterminator="\n")
    table.writeheader()
    table.writerows(map(_for_spreadsheets, entries))
    return 0


def _for_spreadsheets(entry):
    return {name: cell(value) if isinstance(value, str) else value for name, value in entry.items()}


def _exported(entry):
    """Return an entry as a record whose ceilings, raised, are not in the columns of the spends."""
    record = asdict(entry) | dict.fromkeys(_CEILINGS)
    if entry.kind == RAISE:
        ceiling = zip(_CEILINGS, (entry.epsilon, entry.delta), strict=True)
        record |= {"epsilon": None, "delta": None} | dict(ceiling)
    return record


# The command that says of a pipeline which of its steps keep the guarantee.


def run_audit(given):
    """Print the report of a pipeline."""
    say(check_private(_load(given.pipeline), strict=True))
    return 0


def _load(place):
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
        raise ValueError(f"{place} is no estimator, but {found!r}.")
    return found
