"""CSV and Parquet files, read row by row from their own bytes alone."""

import csv
import gzip
import operator
import re
import shlex
import zlib
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE, BOM_UTF32_BE, BOM_UTF32_LE
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import compress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..exceptions import import_optional
from .pages import number

# CSV files in which every physical line is a row, read from its own bytes alone.

BLOCK_BYTES = 1 << 23
_WORKERS = 4
_RAGGED = (
    "has lines with more or fewer cells than the line of column names: quote cells that hold a "
    'comma, as in "Smith, J"'
)


class CsvFile:
    """The named columns of a CSV file.

    Parameters
    ----------
    path : str
        Compressed if it ends in .gz.
    block_bytes : int, default=2**23
        How much is read at a time; a longer line is an error.

    Attributes
    ----------
    names : list of str
        Content of the first line.
    kept : RowFilter or None
        Which rows are read, see :func:`keep_rows`; None: all.
    """

    kept = None

    def __init__(self, path, block_bytes=BLOCK_BYTES):
        import_optional("pyarrow.csv", "cli", "skdp-bary")
        self.path = path
        self._block_bytes = block_bytes
        first = next(self._blocks(), b"\n")  # of the lines after it nothing is asked
        line = _normal(first[: first.find(b"\n") + 1], path).removesuffix(b"\n")
        self.names = _names(line, path)
        if not self.names:
            raise ValueError(f"{path} must begin with a line of column names, such as lon,lat.")

    def batches(self, numbers, texts):
        """Yield the rows in batches, as :class:`Batch`.

        Parameters
        ----------
        numbers, texts : list of str
            Columns to be read as numbers, and as they are written; one at least.
        """
        arrow = import_optional("pyarrow", "cli", "skdp-bary")
        parse = _Parser(self.path, self.names, numbers, texts)
        if self.kept is not None:
            look = _Parser(self.path, self.names, [], self.kept.columns)
            parse = partial(_parse_kept, parse, look, self.kept)
        workers = max(1, min(_WORKERS, arrow.cpu_count()))
        waiting = deque()
        with ThreadPoolExecutor(workers) as pool:
            for place, block in enumerate(self._blocks()):
                rest = block if place else block[block.find(b"\n") + 1 :]  # without the names
                if rest:
                    waiting.append(pool.submit(parse, rest))
                if len(waiting) > workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()

    def tables(self, words, texts):
        """Yield batches whose ``X`` is an Arrow table of some columns, as text.

        `words` has, by name of a column, those that are missing values. Columns of `texts` are read
        beside, with cells as they are written.
        """
        arrow = import_optional("pyarrow", "cli", "skdp-bary")
        compute = import_optional("pyarrow.compute", "cli", "skdp-bary")
        none, n = arrow.scalar(None, arrow.string()), len(words)
        absent = [arrow.array(sorted(missing), arrow.string()) for missing in words.values()]
        for batch in self.batches([], [*words, *texts]):
            found = []
            for cells, missing in zip(batch.texts[:n], absent, strict=True):
                bare = compute.utf8_lower(compute.utf8_trim_whitespace(cells))
                found.append(compute.if_else(compute.is_in(bare, missing), none, cells))
            yield Batch(arrow.table(found, names=list(words)), batch.texts[n:])

    def _blocks(self):
        """Yield whole lines."""
        carry, first = b"", True
        with Path(self.path).open("rb") as raw:
            file = gzip.GzipFile(fileobj=raw) if str(self.path).endswith(".gz") else raw
            while piece := self._read(file):
                if first:
                    piece, first = _without_mark(piece, self.path), False
                end, cut = piece.find(b"\n"), piece.rfind(b"\n") + 1
                if len(carry) + (end if cut else len(piece)) >= self._block_bytes:
                    raise _error(self.path, f"has a line of {self._block_bytes:,} or more bytes")
                if cut:
                    yield b"".join((carry, memoryview(piece)[:cut]))  # copied once
                carry = piece[cut:] if cut else carry + piece
        if carry:
            yield carry + b"\n"

    def _read(self, file):
        try:
            return file.read(self._block_bytes)
        except (EOFError, zlib.error, gzip.BadGzipFile):
            raise _error(
                self.path, "is not compressed by gzip, or is damaged or cut short"
            ) from None


def _parse_kept(parse, look, kept, block):
    """Parse the lines of a block that are kept, each by its own cells."""
    block = _normal(block, parse.path)
    mask = kept.mask(look.cells(block).texts)
    return parse(b"".join(compress(block.splitlines(keepends=True), mask)))


def _normal(block, path):
    """Refuse what may stand in no line, and let all lines end in a line feed."""
    if b"\r" in block:
        block = block.replace(b"\r\n", b"\n")
        if b"\r" in block:
            raise _convert(path, "has a carriage return within a line", r"tr '\r' '\n' < {}")
    if b"\0" in block:
        raise _error(path, "has a NUL byte: it is binary, compressed or no UTF-8")
    if BOM_UTF8[:1] in block and BOM_UTF8 in block:  # one byte is looked for much faster
        raise _error(path, "has a byte order mark within, as glued files have")
    if b'"' in block and not quotes_are_whole(block):
        raise _error(
            path,
            "has a line with a quote that is not closed in it, or that stands within a cell: a "
            "cell is quoted as a whole, with quotes in it doubled, and holds no line break",
        )
    return block


def _error(path, what):
    return ValueError(f"{path} {what}.")


def _convert(path, what, command):
    """Return the error that a file has another form, and the command that converts it."""
    return ValueError(f"{path} {what}. Convert it: {command.format(shlex.quote(path))} > new.csv")


_NOT_UTF8 = "not encoded in UTF-8", "iconv -f LATIN1 -t UTF-8 {}"
_EMPTY_LINE = "has an empty line", "grep '[^[:space:]]' {}"


_MARKS = {  # that of UTF-32 begins with that of UTF-16
    "UTF-32": (BOM_UTF32_LE, BOM_UTF32_BE),
    "UTF-16": (BOM_UTF16_LE, BOM_UTF16_BE),
}


def _without_mark(piece, path):
    """Refuse other encodings by name; drop the mark that some programs put before UTF-8."""
    for encoding, marks in _MARKS.items():
        if piece.startswith(marks):
            raise _convert(
                path, f"must be UTF-8, got {encoding}", f"iconv -f {encoding} -t UTF-8 {{}}"
            )
    return piece.removeprefix(BOM_UTF8)


def _names(line, path):
    """Return the cells of the first line; no error holds it, as it may be somebody's row."""
    try:
        return next(csv.reader([line.decode()], strict=True), [])
    except UnicodeDecodeError:
        error = _convert(path, f"has column names {_NOT_UTF8[0]}", _NOT_UTF8[1])
    except csv.Error:  # its quotes are whole, so a cell is too long
        most = csv.field_size_limit()
        error = _error(path, f"has a column name of more than {most:,} characters")
    raise error


class _Parser:
    """Reads the columns that are wanted from blocks of whole lines."""

    def __init__(self, path, names, numbers, texts):
        self._arrow = import_optional("pyarrow", "cli", "skdp-bary")
        self._csv = import_optional("pyarrow.csv", "cli", "skdp-bary")
        self.path, self._width = path, len(names)
        self._numbers = {str(names.index(name)): name for name in numbers}
        self._texts = {str(names.index(name)): name for name in texts}
        self._types = dict.fromkeys(self._numbers, self._arrow.float64())
        self._types |= dict.fromkeys(self._texts, self._arrow.string())

    def __call__(self, block):
        """Return the batch of a block."""
        block = _normal(block, self.path)
        if block.startswith(b"\n") or b"\n\n" in block:  # to Arrow a line of empty cells
            raise _convert(self.path, *_EMPTY_LINE)
        return self.cells(block)

    def cells(self, block):
        """Return the batch of a block, with a row of empty cells for an empty line."""
        if not block:  # no line was kept
            none = self._arrow.array([], self._arrow.string())
            return Batch(np.empty((0, len(self._numbers))), [none] * len(self._texts))
        try:
            table = self._read(block, self._types)
        except self._arrow.ArrowInvalid:
            table = None  # Arrow's own message quotes the line, so it is no context of the error
        if table is None:
            raise self._reason(block)
        if table.num_rows != np.count_nonzero(np.frombuffer(block, np.uint8) == _LINE_END):
            raise RuntimeError("Arrow and this package disagree about where lines end.")
        X = np.empty((table.num_rows, len(self._numbers)))
        for place, (key, name) in enumerate(self._numbers.items()):
            X[:, place] = finite_numbers(table[key], name, self.path)
        return Batch(X, [table[key].combine_chunks() for key in self._texts])

    def _read(self, block, types):
        return self._csv.read_csv(
            self._arrow.BufferReader(block),
            read_options=self._csv.ReadOptions(
                use_threads=False,
                block_size=len(block) + 1,
                column_names=[str(place) for place in range(self._width)],
            ),
            parse_options=self._csv.ParseOptions(ignore_empty_lines=False),
            convert_options=self._csv.ConvertOptions(
                column_types=types,
                include_columns=list(types),
                null_values=[],
                strings_can_be_null=False,
            ),
        )

    def _column(self, block, key, kind):
        """Return one column, or None where it cannot be read as that."""
        try:
            return self._read(block, {key: kind})[key]
        except self._arrow.ArrowInvalid:
            return None

    def _reason(self, block):
        """Return the error that says what is wrong, by the name of a column and not by values."""
        arrow = self._arrow
        for key, name in self._texts.items():
            if self._column(block, key, arrow.binary()) is None:
                return ValueError(f"{self.path} {_RAGGED}.")
            if self._column(block, key, arrow.string()) is None:
                return _convert(self.path, f"has a column {name!r} {_NOT_UTF8[0]}", _NOT_UTF8[1])
        for key, name in self._numbers.items():
            written = self._column(block, key, arrow.binary())
            if written is None:
                return ValueError(f"{self.path} {_RAGGED}.")
            if self._column(block, key, arrow.float64()) is None:
                empty = any(not cell.strip(b" \t") for cell in written.to_pylist())
                return (missing if empty else not_numbers)(name, self.path)
        return ValueError(f"{self.path} cannot be read.")


# Where the quotes of a CSV file stand, found for sixty-four bytes at a time.

_COMMA, _QUOTE, _LINE_END = b',"\n'


def quotes_are_whole(block):
    """Whether in every line the first quote begins a cell, the second ends it, and so on.

    A doubled quote ends and begins again, so both may also stand next to a quote.

    Parameters
    ----------
    block : bytes
        Whole lines.
    """
    data = np.frombuffer(block, np.uint8)
    commas, quotes, ends = (_words(data == sign) for sign in (_COMMA, _QUOTE, _LINE_END))
    edges = commas | quotes | ends
    after, before = edges << np.uint64(1), edges >> np.uint64(1)
    after[1:] |= edges[:-1] >> np.uint64(63)
    after[0] |= np.uint64(1)  # no line is before the first byte
    before[:-1] |= edges[1:] << np.uint64(63)
    within = _odd_so_far(quotes)
    wrong = quotes & within & ~after  # begins a cell, but not at its edge
    wrong |= quotes & ~within & ~before
    wrong |= within & ends
    return not wrong.any()


def _words(found):
    """Return one bit for every byte, the first in the lowest bit of the first word."""
    bits = np.packbits(found, bitorder="little")
    words = np.zeros(-(-len(bits) // 8), "<u8")
    words.view(np.uint8)[: len(bits)] = bits
    return words


def _odd_so_far(words):
    """Set the bits up to which, and with which, an odd number is set."""
    odd = words.copy()
    for width in (1, 2, 4, 8, 16, 32):
        odd ^= odd << np.uint64(width)
    odd_after = np.bitwise_xor.accumulate(odd >> np.uint64(63))
    odd[1:] ^= -odd_after[:-1]  # all ones where the words before hold an odd number
    return odd


# Columns of files: numbers that are finite, and text exactly as it is written.


class Batch(NamedTuple):
    """Some rows of a file.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_columns) or Arrow table
    texts : list of Arrow arrays
        Of the columns that are text.
    """

    X: Any
    texts: list


def finite_numbers(column, name, path):
    """Return an Arrow column of float64 as an array, refusing nulls, NaN and infinities."""
    if column.null_count or not np.isfinite(column.to_numpy()).all():
        raise missing(name, path)
    return column.to_numpy()


class CellError(ValueError):
    """Cells of a column are no numbers: the fact, and what to type about a private table."""

    def __init__(self, fact, advice):
        super().__init__(f"{fact} {advice}")
        self.fact = fact


def missing(name, path):
    """Return the error that a column has cells without a finite number."""
    return CellError(
        f"The column {name!r} of {path} has missing values or infinities.",
        f"Leave out rows without a number by --where {_numeric(name)}, or rows without any value "
        "by --drop-missing.",
    )


def not_numbers(name, path):
    """Return the error that a column has cells which are not numbers."""
    return CellError(
        f"The column {name!r} of {path} must hold numbers such as 1234.5, got text or dates.",
        f"Leave out rows without one by --where {_numeric(name)}. Dates and categories need "
        "skdp-bary table.",
    )


def _numeric(name):
    """Return a rule, quoted, that only rows with a number meet; --drop-missing keeps words."""
    return f"{shlex.quote(f'{name} >= LOW')}, LOW being its lower bound"


# Which rows of a file are kept: public rules, of which each row alone says whether it meets them.

_RULE = re.compile(r"(.+?)(?:\s*(==|!=|<=|>=|<|>)\s*|\s+(startswith)\s+)(.+)", re.DOTALL)
_MISSING = frozenset(("", "na", "n/a", "nan", "null", "none"))
_COMPARED = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


class RowFilter:
    """Rules that a row must meet: what it holds itself decides, whatever other rows hold.

    Parameters
    ----------
    rules : list of str
        Such as ``"month == 2026-03"``, ``"date startswith 2026-03"`` or ``"age >= 18"``.
    filled : dict
        By column in which no value may be missing: words for that.
    """

    def __init__(self, rules, filled):
        self._rules = []
        for rule in rules:
            found = _RULE.fullmatch(rule.strip())
            if found is None:
                raise ValueError(
                    "--where must be COLUMN, one of == != < <= > >= startswith, and a value, got "
                    f"{rule!r}. For example --where 'month == 2026-03'."
                )
            name, sign, starts, value = found.groups()
            if sign in _COMPARED and _as_number(value) is None:
                raise ValueError(
                    f"--where {rule!r} must compare with a number, got {value!r}. For dates write "
                    "--where 'date startswith 2026-03'."
                )
            if value[0] in "'\"" and value[1:].endswith(value[0]):  # as in SQL
                raise ValueError(
                    f"--where {rule!r} must have its value without quotes, got {value}. Write "
                    f"--where '{name} {starts or sign} {value[1:-1]}'."
                )
            self._rules.append((name, partial(_meets, starts or sign, value)))
        for name, words in filled.items():
            self._rules.append((name, lambda text, none=words: text.strip().lower() not in none))
        self.columns = list(dict.fromkeys(name for name, _ in self._rules))

    def mask(self, texts):
        """Return which rows are kept, by the text of their cells in ``columns``, in order."""
        by_name = dict(zip(self.columns, texts, strict=True))
        mask = np.ones(len(texts[0]), dtype=bool)
        for name, meets in self._rules:
            # a rule is asked once for each text that occurs, not once for each row
            cells = by_name[name].dictionary_encode()
            known = np.array([meets(text) for text in cells.dictionary.to_pylist()], dtype=bool)
            mask &= known[cells.indices.to_numpy()] if len(known) else mask
        return mask


def missing_words(values=()):
    """Return words for a missing value, in lower case, of a column that may hold these values."""
    return _MISSING - {str(value).strip().lower() for value in values}


def _meets(sign, value, text):
    if sign == "startswith":
        return text.startswith(value)
    left, right = _as_number(text), _as_number(value)
    if sign in _COMPARED:
        return left is not None and _COMPARED[sign](left, right)
    equal = text == value or (left is not None and left == right)
    equal |= text.lower() == value.lower() in ("true", "false")  # as programs spell flags
    return equal == (sign == "==")


def keep_rows(file, rules, filled):
    """Let a file yield only the rows that meet the rules and have values in some columns."""
    kept = RowFilter(rules, filled)
    require_columns(file, kept.columns, ", which --where names")
    file.kept = kept if kept.columns else None


_SEPARATORS = {";": "tr ',;' '.,' < {}", "\t": r"tr '\t' ',' < {}", "|": "tr '|' ',' < {}"}


def require_columns(file, wanted, who=""):
    """Raise where a file has no column that someone names; a first line of numbers is not shown."""
    names, path = file.names, file.path
    name = next((name for name in wanted if name not in names), None)
    if name is None:
        return
    if path.endswith(".xlsx") or names[0].startswith("PK\3\4"):
        raise _error(path, "is not a CSV file. Save it as CSV in a spreadsheet program")
    if any(map(is_number, names)):
        told = f"(echo NAMES; cat {shlex.quote(path)}) > new.csv"
        raise ValueError(
            f"{path} has no column {name!r}{who}: the first line must hold the names of the "
            f"columns. Write them into a copy, with commas between: {told}"
        )
    for sign, command in _SEPARATORS.items():
        if len(names) == 1 and sign in names[0]:
            raise _convert(path, f"must have commas between cells, got {sign!r}", command)
    near = next((other for other in names if other.strip().lower() == name.strip().lower()), None)
    meant = f" It is called {near!r} there." if near else ""
    if "," in name:
        meant = " Put blanks between names, no commas."
    raise ValueError(f"{path} has no column {name!r}{who}; it has {names}.{meant}")


def is_number(name):
    """Whether the name of a column is a number, as the first value of somebody's row may be."""
    try:
        float(name)
    except ValueError:
        return False
    return True


def _as_number(text):
    """Return a finite number, None where the text is none."""
    try:
        return number(text)
    except ValueError:
        return None


# Parquet files: the type of a column is the file's, and is never guessed from its values.

_BATCH_ROWS = 500_000


class ParquetFile:
    """The named columns of a Parquet file.

    A value is read by the type that its column has in the file, so that it does not matter which
    values stand next to it. That type is public, as names are: whoever writes the file must choose
    it without looking at the rows.

    Parameters
    ----------
    path : str

    Attributes
    ----------
    names : list of str
    kept : RowFilter or None
        Which rows are read, see :func:`keep_rows`; None: all.
    """

    kept = None

    def __init__(self, path):
        self.path = path
        self._arrow = import_optional("pyarrow", "cli", "skdp-bary")
        self._compute = import_optional("pyarrow.compute", "cli", "skdp-bary")
        self._parquet = import_optional("pyarrow.parquet", "cli", "skdp-bary")
        Path(path).stat()
        self._schema = self._guarded(self._parquet.read_schema, path)
        self.names = self._schema.names

    def batches(self, numbers, texts):
        """Yield the rows in batches, as :class:`Batch`.

        Parameters
        ----------
        numbers, texts : list of str
            Columns to be read as numbers, and as text: integers as they are printed.
        """
        self._check_types(numbers, texts)
        for batch in self._read([*numbers, *texts]):
            X = np.empty((batch.num_rows, len(numbers)))
            for place, name in enumerate(numbers):
                values = self._compute.cast(batch[name], self._arrow.float64(), safe=False)
                X[:, place] = finite_numbers(values, name, self.path)
            yield Batch(X, [self._text(batch, name) for name in texts])

    def tables(self, words, texts):
        """Yield batches whose ``X`` is an Arrow table of some columns, by their types in the file.

        Columns of `texts` are read beside, as text. Nulls alone are missing, whatever `words` are.
        """
        self._check_types([], texts)
        for batch in self._read([*words, *texts]):
            table = self._arrow.Table.from_batches([batch]).select(list(words))
            yield Batch(table, [self._text(batch, name) for name in texts])

    def _read(self, names):
        """Yield record batches of the rows that are kept."""
        looked_at = [] if self.kept is None else self.kept.columns
        columns = list(dict.fromkeys([*names, *looked_at]))
        with self._guarded(self._parquet.ParquetFile, self.path) as file:
            for group in range(file.num_row_groups):
                read = file.iter_batches(_BATCH_ROWS, [group], columns)
                while (batch := self._guarded(self._next, read)) is not None:
                    yield batch

    def _next(self, read):
        batch = next(read, None)
        if batch is None or self.kept is None:
            return batch
        cells = (self._compute.cast(batch[n], self._arrow.string()) for n in self.kept.columns)
        mask = self.kept.mask([texts.fill_null("") for texts in cells])
        return batch.filter(self._arrow.array(mask))

    def _text(self, batch, name):
        if batch[name].null_count:
            raise ValueError(
                f"The column {name!r} of {self.path} has missing values. Ids and labels must be "
                "there in every row."
            )
        return self._compute.cast(batch[name], self._arrow.string())

    def _check_types(self, numbers, texts):
        types = self._arrow.types
        readable = (types.is_integer, types.is_boolean)
        for name in numbers:
            if not self._is_one_of(name, (*readable, types.is_floating, types.is_decimal)):
                raise not_numbers(name, self.path)
        for name in texts:
            # flags are spelled otherwise in files of text
            if not self._is_one_of(
                name, (types.is_integer, types.is_string, types.is_large_string)
            ):
                raise ValueError(
                    f"Ids and labels must be strings or integers, but the column {name!r} of "
                    f"{self.path} is of type {self._schema.field(name).type}."
                )

    def _is_one_of(self, name, kinds):
        kind = self._schema.field(name).type
        if self._arrow.types.is_dictionary(kind):
            kind = kind.value_type
        return any(is_kind(kind) for is_kind in kinds)

    def _guarded(self, read, *given):
        """Read something; errors of the file quote none of its content."""
        try:
            return read(*given)
        except (self._arrow.ArrowException, OSError):
            pass  # its text quotes the file, so it is no context of the error either
        raise ValueError(
            f"{self.path} is not a Parquet file, or is damaged. Write it again, for example with "
            "frame.to_parquet, or give a CSV file."
        )
