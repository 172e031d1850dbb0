"""Tables on disk in batches, and public ranges as they are written on the command line."""

import sys
from pathlib import Path
from shlex import quote

import numpy as np

from ..exceptions import import_optional
from ..geometry.bounds import check_domain
from ..values import names_somebody, unquoted
from .readers import Batch, CsvFile, ParquetFile, RowFilter

# Tables on disk, read in batches.

_SHOWN_PERCENT = 5


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
        Of the rows that are kept, see ``RowFilter``.
    drop_missing : bool, default=False
        Whether rows without a value in a column that is used are left out.
    """

    def __init__(self, path, columns=None, label=None, groups=None, rules=(), drop_missing=False):
        self._file = open_file(path)
        self._path, self._label, self._groups = path, label, groups
        self._texts = [name for name in (label, groups) if name is not None]
        present = self._file.names
        refuse_doubles(f"the first line of {path}", present)
        self.columns = columns or [name for name in present if name not in self._texts]
        if not self.columns:
            raise ValueError(
                f"{path} has no column left to make a row of. Name some, as in --columns lon lat."
            )
        refuse_doubles("--columns, --label and --groups together", [*self.columns, *self._texts])
        for name in (*self.columns, *self._texts):
            if name not in present:
                raise ValueError(f"{path} has no column {name!r}{_listed(present)}")
        if columns is None:
            _refuse_what_is_no_feature(self.columns, path)
        if rules or drop_missing:
            used = [*self.columns, *self._texts] if drop_missing else []
            self._file = open_file(path, RowFilter(rules, used))

    def chunks(self):
        """Yield ``X`` or ``(X, y)``, saying on a terminal how far it is."""
        for batch in self._batches():
            yield batch.X if self._label is None else (batch.X, _labels(batch.texts[0]))

    def whole(self):
        """Return rows, labels and numbered person IDs of the whole table."""
        X, y, ids = self.read()
        return X, y, numbered(ids)

    def read(self):
        """Return rows, labels and person IDs of the whole table, IDs as Arrow arrays of text."""
        batches = list(self._batches())
        X = np.concatenate([np.empty((0, len(self.columns))), *(batch.X for batch in batches)])
        y = None
        if self._label is not None:
            y = np.concatenate([np.empty(0, dtype=object), *(_labels(b.texts[0]) for b in batches)])
        return X, y, [batch.texts[-1] for batch in batches]

    def _batches(self):
        batches = self._file.batches(self.columns, self._texts)
        arrow = import_optional("pyarrow", "cli", "skdp-bary")
        none = [arrow.array([], arrow.string())] * len(self._texts)
        no_rows = Batch(np.empty((0, len(self.columns))), none, 1.0)
        for batch in watched(((batch, batch.share) for batch in batches), no_rows):
            for name, texts in zip(self._texts, batch.texts, strict=True):
                refuse_empty(name, texts, self._path)
            yield batch


def open_file(path, kept=None):
    """Return a file whose columns can be read, by the ending of its name."""
    if Path(path).exists() and not Path(path).is_file():
        raise ValueError(
            f"{path} must be a regular file: a table is read more than once. Copy it first."
        )
    return (ParquetFile if Path(path).suffix == ".parquet" else CsvFile)(path, kept)


def numbered(ids):
    """Return IDs, given as Arrow arrays of text, as numbers: equal ones for equal texts.

    They are counted by first appearance.
    """
    arrow = import_optional("pyarrow", "cli", "skdp-bary")
    whole = arrow.chunked_array(ids, arrow.string()).combine_chunks()
    return whole.dictionary_encode().indices.to_numpy()


def watched(pieces, no_rows):
    """Yield pieces of a file, saying on a terminal how far it is.

    Parameters
    ----------
    pieces : iterable of (piece, share)
        With how much of the file was read with it.
    no_rows : object
        What a piece without rows is: the only one where the file has none.
    """
    shown, found = None, False
    for piece, share in pieces:
        percent = int(100 * share) // _SHOWN_PERCENT * _SHOWN_PERCENT
        if percent != shown:
            _say(f"\rread {percent} % of the file")
            shown = percent
        found = True
        yield piece
    if not found:
        yield no_rows
    _say("\n")


def refuse_empty(name, texts, path):
    """Raise where IDs or labels, an Arrow array of text, are empty."""
    compute = import_optional("pyarrow.compute", "cli", "skdp-bary")
    if compute.any(compute.equal(texts, "")).as_py():
        raise ValueError(
            f"The column {name!r} of {path} has empty cells. Ids and labels must be there in every "
            "row."
        )


def refuse_doubles(where, names):
    """Raise where a name stands twice."""
    doubled = next((name for name in names if names.count(name) > 1), None)
    if doubled is not None:
        raise ValueError(f"The column {doubled!r} is named twice in {where}.")


def _listed(names):
    """Return the names, unless they look like values: then the line may be someone's row."""
    if any(map(_is_number, names)):
        return ": the first line must hold the names of the columns."
    return f"; it has {names}."


def refuse_values_as_names(names, path):
    """Refuse a first line that looks like someone's row."""
    if any(map(_is_number, names)):
        raise ValueError(f"The first line of {path} must hold the names of the columns.")


def _refuse_what_is_no_feature(names, path):
    """Refuse to take all columns for features where a name says that one is none."""
    for name in names:
        if names_somebody(name):
            raise ValueError(
                f"The column {name!r} of {path} looks like an id, and would be used as a feature. "
                "Name the columns that make a row with --columns."
            )
    counted = [str(place) for place in range(len(names))]
    if any(map(_is_number, names)) and names != counted:
        raise ValueError(
            f"The first line of {path} must hold the names of the columns, and has a number. If it "
            "is a name, name the columns that make a row with --columns."
        )


def _is_number(name):
    try:
        float(name)
    except ValueError:
        return False
    return True


def _labels(texts):
    """Return labels as an array of str."""
    encoded = texts.dictionary_encode()
    names = np.array(unquoted(encoded.dictionary.to_pylist), dtype=object)
    return names[encoded.indices.to_numpy()]


def _say(text):
    if sys.stderr.isatty():
        print(text, end="", file=sys.stderr, flush=True)


# Public ranges of columns, as they are written on the command line.


def read_bounds(given, columns, named):
    """Return the domain that ``--bounds`` names, or None.

    Parameters
    ----------
    given : list of str or None
        ``name=low:high`` for every column; or two numbers, or two lists of numbers.
    columns : list of str
        Columns that make a row.
    named : bool
        Whether the columns were named, and are not all that the table has.
    """
    if given is None:
        return None
    if any("=" in text for text in given):
        ranges = list(map(_range, given))
        refuse_doubles("--bounds", [name for name, _ in ranges])
        return check_domain(dict(ranges), len(columns), columns)
    if len(given) != 2:
        raise ValueError(f"--bounds must be {_SPELLINGS}, got {' '.join(given)}.")
    low, high = ([_number(number) for number in text.split(",")] for text in given)
    for corner in (low, high):
        if len(corner) not in (1, len(columns)):
            raise ValueError(
                f"--bounds must be {_SPELLINGS}, two lists of {len(columns)} for the columns "
                f"{', '.join(columns)}; got {' '.join(given)}."
                + ("" if named else " Without --columns all columns of the table make a row.")
            )
    # refuse two lists of two that could be the ranges of two columns
    if len(low) == len(high) == 2 and low[1] != high[0]:
        by_column = low[0] < low[1] and high[0] < high[1]
        if by_column:
            corners = zip(columns, zip(low, high, strict=True), strict=True)
            in_turn = zip(columns, (low, high), strict=True)
            raise ValueError(
                f"--bounds {_list(low)} {_list(high)} can be read in two ways. For all lows and "
                f"all highs write --bounds {_by_name(corners)}; for one range after the other "
                f"write --bounds {_by_name(in_turn)}."
            )
    sides = (c * len(columns) if len(c) == 1 else c for c in (low, high))
    ranges = dict(zip(columns, zip(*sides, strict=True), strict=True))
    return check_domain(ranges, len(columns), columns)


_SPELLINGS = "name=low:high for every column, or two numbers, or two lists of numbers"


def _by_name(ranges):
    return " ".join(quote(f"{name}={low:g}:{high:g}") for name, (low, high) in ranges)


def _range(text):
    name, _, ends = text.rpartition("=")
    low, colon, high = ends.partition(":")
    if not name or not colon:
        raise ValueError(f"--bounds must be {_SPELLINGS}, got {text!r}.")
    return name, (_number(low), _number(high))


def _number(text):
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"--bounds must be {_SPELLINGS}, got {text!r} for a number.") from None


def _list(corner):
    return ",".join(f"{number:g}" for number in corner)
