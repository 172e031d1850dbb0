"""Tables on disk in batches, and public ranges as they are written on the command line."""

from pathlib import Path
from shlex import quote

import numpy as np

from ..exceptions import import_optional
from ..geometry.bounds import check_domain
from ..values import names_somebody, unquoted
from .pages import number
from .readers import (
    Batch,
    CsvFile,
    ParquetFile,
    is_number,
    keep_rows,
    missing_words,
    require_columns,
)

# Tables on disk, read in batches.


class Table:
    """Named columns of a CSV or Parquet file.

    Parameters
    ----------
    path : str
        A file ending in .csv, .csv.gz or .parquet.
    columns : list of str or None
        Columns that make a row; None takes all that are not `label` or `groups`.
    label, groups : str or None
        Column of the labels, and of the person IDs.
    rules : list of str, default=()
        Of the rows that are kept, see :func:`skdp_bary.cli.readers.keep_rows`.
    drop_missing : bool, default=False
        Whether rows without a value in a column that is used are left out.
    """

    def __init__(self, path, columns=None, label=None, groups=None, rules=(), drop_missing=False):
        self._file = open_file(path)
        self._label = label
        self._texts = [name for name in (label, groups) if name is not None]
        present = self._file.names
        refuse_doubles(f"the first line of {path}", present)
        self.columns = columns or [name for name in present if name not in self._texts]
        if not self.columns:
            raise ValueError(
                f"{path} has no column left to make a row of. Name some, as in --columns lon lat."
            )
        refuse_doubles("--columns, --label and --groups together", [*self.columns, *self._texts])
        require_columns(self._file, [*self.columns, *self._texts])
        if columns is None:  # all columns are features, unless a name says that one is none
            for name in self.columns:
                if names_somebody(name):
                    raise ValueError(
                        f"The column {name!r} of {path} looks like an id, and would be used as a "
                        "feature. Name the columns that make a row with --columns."
                    )
            places = list(map(str, range(len(self.columns))))
            if any(map(is_number, self.columns)) and self.columns != places:
                raise ValueError(
                    f"The first line of {path} must hold the names of the columns, and has a "
                    "number. If it is a name, name the columns that make a row with --columns."
                )
        filled = [*self.columns, *self._texts] if drop_missing else []
        keep_rows(self._file, rules, dict.fromkeys(filled, missing_words()))

    def chunks(self):
        """Yield ``X`` or ``(X, y)``."""
        for batch in self._batches():
            yield batch.X if self._label is None else (batch.X, _labels(batch.texts[0]))

    def whole(self):
        """Return rows, labels and numbered person IDs of the whole table."""
        X, y, ids = self.read()
        return X, y, numbered(ids)

    def read(self):
        """Return rows, labels and person IDs of the whole table, IDs as Arrow arrays of text."""
        batches = list(self._batches())
        X = np.concatenate([batch.X for batch in batches])
        y = self._label and np.concatenate([_labels(batch.texts[0]) for batch in batches])
        return X, y, [batch.texts[-1] for batch in batches]

    def _batches(self):
        batches = self._file.batches(self.columns, self._texts)
        return checked(self._file, batches, self._texts, np.empty((0, len(self.columns))))


def open_file(path):
    """Return a file whose columns can be read, by the ending of its name."""
    if Path(path).exists() and not Path(path).is_file():
        raise ValueError(
            f"{path} must be a regular file: a table is read more than once. Copy it first."
        )
    return (ParquetFile if Path(path).suffix == ".parquet" else CsvFile)(path)


def numbered(ids):
    """Return IDs, given as Arrow arrays of text, as numbers: equal ones for equal texts.

    They are counted by first appearance.
    """
    arrow = import_optional("pyarrow", "cli", "skdp-bary")
    whole = arrow.chunked_array(ids, arrow.string()).combine_chunks()
    return whole.dictionary_encode().indices.to_numpy()


def checked(file, batches, texts, no_rows):
    """Yield batches of a file, at least one, and refuse empty IDs and labels.

    Parameters
    ----------
    file : CsvFile or ParquetFile
    batches : iterable of Batch
    texts : list of str
        Columns of IDs or labels, which may have no empty cells.
    no_rows : object
        Rows of the only batch where the file has none.
    """
    arrow = import_optional("pyarrow", "cli", "skdp-bary")
    compute = import_optional("pyarrow.compute", "cli", "skdp-bary")
    batch = None
    for batch in batches:
        for name, cells in zip(texts, batch.texts, strict=True):
            if compute.any(compute.equal(cells, "")).as_py():
                raise ValueError(
                    f"The column {name!r} of {file.path} has empty cells. Ids and labels must be "
                    "there in every row: leave out other rows by --drop-missing."
                )
        yield batch
    if batch is None:
        yield Batch(no_rows, [arrow.array([], arrow.string())] * len(texts))


def refuse_doubles(where, names):
    """Raise where a name stands twice."""
    doubled = next((name for name in names if names.count(name) > 1), None)
    if doubled is not None:
        raise ValueError(
            f"The column {doubled!r} is named twice in {where}. Rename one of the two, or leave "
            "one out."
        )


def _labels(texts):
    """Return labels as an array of str."""
    encoded = texts.dictionary_encode()
    names = np.array(unquoted(encoded.dictionary.to_pylist), dtype=object)
    return names[encoded.indices.to_numpy()]


# Public ranges of columns, as they are written on the command line.


def read_bounds(given, columns):
    """Return the domain that ``--bounds`` names, or None.

    Parameters
    ----------
    given : list of str or None
        ``name=low:high`` for every column, or two numbers for all columns.
    columns : list of str
        Columns that make a row.
    """
    if given is None:
        return None
    for_all = len(given) == 2 and not any("=" in text for text in given)
    ranges = []
    for text in [f"{name}={':'.join(given)}" for name in columns] if for_all else given:
        name, _, ends = text.rpartition("=")
        try:
            low, high = map(number, ends.split(":"))
        except ValueError:
            example = " ".join(quote(f"{name}=0:1") for name in columns)
            raise ValueError(
                "--bounds must be name=low:high for every column, or two numbers for all, got "
                f"{' '.join(given)}. For example --bounds {example}."
            ) from None
        ranges.append((name, (low, high)))
    refuse_doubles("--bounds", [name for name, _ in ranges])
    return check_domain(dict(ranges), len(columns), columns)
