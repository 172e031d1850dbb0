"""The command that draws a synthetic table, from one release of a private table with a schema."""

import csv
import io
from functools import partial

import numpy as np

from .._optional import import_optional
from .._values import column_names, column_values, is_missing
from ..estimators import PrivateTable
from ..schema import Schema
from ..schema._kinds import Date, Number
from ._offer import offer, open_budget, persons_in_words
from ._outputs import arrays, check_form, check_rows
from ._tables import numbered, open_file, refuse_doubles, refuse_empty, watched
from ._text import cell, say


def run(given):
    """Release a table and write rows of its kind, or say what it would cost; return the status."""
    schema = Schema.from_yaml(given.schema)
    if schema.names is None:
        raise ValueError(f"{given.schema} must name the columns.")
    check_rows(given.rows, schema.names)
    file = open_file(given.table)
    _check_columns(file.names, schema.names, given)
    estimator = PrivateTable(
        schema,
        given.label,
        epsilon=given.epsilon,
        delta=given.delta,
        n_hint=given.n_hint,
        accountant=open_budget(given),
    )
    given.columns, given.write, given.said = list(schema.names), _content, _written
    say(persons_in_words(schema.names, given.groups))
    say(schema.describe())
    check = partial(check_form, columns=schema.names, endings=(".csv", ".npz", ".parquet"))
    return offer(estimator, schema.n_columns, partial(_fit, file, given), given, check)


def _check_columns(present, declared, given):
    refuse_doubles(f"the first line of {given.table}", present)
    missing = [name for name in declared if name not in present]
    if missing or (given.groups is not None and given.groups not in present):
        lacking = [*missing, given.groups][0]
        raise ValueError(f"{given.table} has no column {lacking!r}, which {_who(missing, given)}.")
    if given.groups in declared:
        raise ValueError(
            f"--groups {given.groups} is a column of {given.schema} as well: leave ids out of the "
            "schema."
        )


def _who(missing, given):
    return f"{given.schema} declares" if missing else "--groups names"


def _fit(file, given, estimator, unit):
    arrow = import_optional("pyarrow", "cli", "skdp-bary table")
    names = list(estimator.schema.names)
    read = names if given.groups is None else [*names, given.groups]
    no_rows = arrow.schema([(name, arrow.string()) for name in read]).empty_table()
    if given.groups is None:
        estimator.fit(lambda: watched(file.tables(read), no_rows), unit=unit)
        return
    tables, ids = [], []
    for batch in watched(file.tables(read), no_rows):
        tables.append(batch.select(names))
        ids.append(_ids(batch[given.groups], given))
    estimator.fit(arrow.concat_tables(tables), groups=numbered(ids), unit=unit)


def _ids(column, given):
    """Return person ids as an Arrow array of text, whole."""
    arrow = import_optional("pyarrow", "cli", "skdp-bary table")
    types, kind = arrow.types, column.type
    if types.is_dictionary(kind):
        kind = kind.value_type
    if not (types.is_integer(kind) or types.is_string(kind) or types.is_large_string(kind)):
        raise ValueError(f"Ids must be strings or integers: the column {given.groups!r} is {kind}.")
    texts = column.cast(arrow.string()).combine_chunks().fill_null("")
    refuse_empty(given.groups, texts, given.table)
    return texts


def _written(estimator, given):
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
