"""CSV and Parquet files, read row by row from their own bytes alone."""

import csv
import gzip
import operator
import re
import zlib
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE, BOM_UTF32_BE, BOM_UTF32_LE
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import compress
from pathlib import Path

import numpy as np

from ..exceptions import import_optional

# CSV files in which every physical line is a row, read from its own bytes alone.

BLOCK_BYTES = 1 << 23
_WORKERS = 4
_END = b"\n"[0]
_RAGGED = "has lines with more or fewer cells than the line of column names"


class CsvFile:
    """The named columns of a CSV file.

    Parameters
    ----------
    path : str
        Compressed if it ends in .gz.
    kept : RowFilter or None, default=None
        Which rows are read; None: all.
    block_bytes : int, default=2**23
        How much is read at a time; a longer line is an error.

    Attributes
    ----------
    names : list of str
        Content of the first line.
    """

    def __init__(self, path, kept=None, block_bytes=BLOCK_BYTES):
        import_optional("pyarrow.csv", "cli", "skdp-bary")
        self.path = path
        self._block_bytes = block_bytes
        self._size = max(Path(path).stat().st_size, 1)
        first, _ = next(self._blocks(), (b"\n", 0.0))  # of the lines after it nothing is asked
        line = _normal(first[: first.find(b"\n") + 1], path).removesuffix(b"\n")
        self.names = _names(_text_of(line, path), path)
        if not self.names:
            raise ValueError(f"{path} must begin with a line of column names, such as lon,lat.")
        if kept is not None:
            kept.check(self.names, path)
        self._kept = kept

    def batches(self, numbers, texts):
        """Yield the rows in batches, as :class:`Batch`.

        Parameters
        ----------
        numbers, texts : list of str
            Columns to be read as numbers, and as they are written; one at least.
        """
        arrow = import_optional("pyarrow", "cli", "skdp-bary")
        parse = _Parser(self.path, self.names, numbers, texts)
        if self._kept is not None:
            look = _Parser(self.path, self.names, [], self._kept.columns)
            parse = partial(_parse_kept, parse, look, self._kept)
        workers = max(1, min(_WORKERS, arrow.cpu_count()))
        waiting = deque()
        with ThreadPoolExecutor(workers) as pool:
            for block, share in self._lines():
                waiting.append((pool.submit(parse, block), share))
                if len(waiting) > workers:
                    yield _finished(waiting)
            while waiting:
                yield _finished(waiting)

    def tables(self, names):
        """Yield Arrow tables of some columns as text, and the share of the file that was read.

        An empty cell is a missing value; there are no words for one.
        """
        arrow = import_optional("pyarrow", "cli", "skdp-bary")
        compute = import_optional("pyarrow.compute", "cli", "skdp-bary")
        none = arrow.scalar(None, arrow.string())
        for batch in self.batches([], names):
            texts = [compute.if_else(compute.equal(text, ""), none, text) for text in batch.texts]
            yield arrow.table(texts, names=names), batch.share

    def _lines(self):
        """Yield blocks without the line of column names."""
        names_are_read = False
        for block, share in self._blocks():
            rest = block if names_are_read else block[block.find(b"\n") + 1 :]
            names_are_read = True
            if rest:
                yield rest, share

    def _blocks(self):
        """Yield whole lines, and the share of the file that has been read."""
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
                    whole = b"".join((carry, memoryview(piece)[:cut]))  # copied once
                    yield whole, min(raw.tell() / self._size, 1.0)
                carry = piece[cut:] if cut else carry + piece
        if carry:
            yield carry + b"\n", 1.0

    def _read(self, file):
        try:
            return file.read(self._block_bytes)
        except (EOFError, zlib.error, gzip.BadGzipFile):
            raise _error(
                self.path, "is not compressed by gzip, or is damaged or cut short"
            ) from None


def _parse_kept(parse, look, kept, block):
    """Parse the lines of a block that are kept, each by its own cells."""
    mask = kept.mask(look(block)[1])
    lines = _normal(block, parse.path).splitlines(keepends=True)
    return parse(b"".join(compress(lines, mask)))


def _finished(waiting):
    parsed, share = waiting.popleft()
    X, texts = parsed.result()
    return Batch(X, texts, share)


def _normal(block, path):
    """Refuse what may stand in no line, and let all lines end in a line feed."""
    if b"\r" in block:
        block = block.replace(b"\r\n", b"\n")
        if b"\r" in block:
            raise _error(path, "has a carriage return within a line: lines end in LF or CRLF")
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


def _without_mark(piece, path):
    """Refuse other encodings by name; drop the mark that some programs put before UTF-8."""
    marks = {
        "UTF-32": (BOM_UTF32_LE, BOM_UTF32_BE),
        "UTF-16": (BOM_UTF16_LE, BOM_UTF16_BE),
    }
    for encoding, starts in marks.items():
        if piece.startswith(starts):
            raise ValueError(
                f"{path} must be UTF-8, got {encoding}. Convert it: iconv -f {encoding} -t UTF-8."
            )
    return piece.removeprefix(BOM_UTF8)


def _text_of(line, path):
    try:
        return line.decode()
    except UnicodeDecodeError:
        pass  # it holds the line, which may be somebody's, so it is no context of the error
    raise ValueError(f"The column names of {path} are not encoded in UTF-8.")


def _names(line, path):
    try:
        return next(csv.reader([line], strict=True), [])
    except csv.Error:
        pass  # nothing is wrong with quotes here: a cell is too long
    most = csv.field_size_limit()
    raise ValueError(
        f"The first line of {path} has a column name of more than {most:,} characters."
    )


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
        """Return an array of the numbers, and a list of Arrow arrays of the texts."""
        block = _normal(block, self.path)
        if not block:  # no line was kept
            none = self._arrow.array([], self._arrow.string())
            return np.empty((0, len(self._numbers))), [none] * len(self._texts)
        try:
            table = self._read(block, self._types)
        except self._arrow.ArrowInvalid:
            table = None  # Arrow's own message quotes the line, so it is no context of the error
        if table is None:
            raise self._reason(block)
        if table.num_rows != np.count_nonzero(np.frombuffer(block, np.uint8) == _END):
            raise RuntimeError("Arrow and this package disagree about where lines end.")
        X = np.empty((table.num_rows, len(self._numbers)))
        for place, (key, name) in enumerate(self._numbers.items()):
            X[:, place] = finite_numbers(table[key], name, self.path)
        return X, [table[key].combine_chunks() for key in self._texts]

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
        if block.startswith(b"\n") or b"\n\n" in block:  # to Arrow a line of empty cells
            return ValueError(f"{self.path} has an empty line.")
        for key, name in self._texts.items():
            if self._column(block, key, arrow.binary()) is None:
                return ValueError(f"{self.path} {_RAGGED}.")
            if self._column(block, key, arrow.string()) is None:
                return ValueError(f"The column {name!r} of {self.path} is not encoded in UTF-8.")
        for key, name in self._numbers.items():
            written = self._column(block, key, arrow.binary())
            if written is None:
                return ValueError(f"{self.path} {_RAGGED}.")
            if self._column(block, key, arrow.float64()) is None:
                empty = any(not cell.strip(b" \t") for cell in written.to_pylist())
                return (missing if empty else not_numbers)(name, self.path)
        return ValueError(f"{self.path} cannot be read.")


# Where the quotes of a CSV file stand, found for sixty-four bytes at a time.

_COMMA, _QUOTE, _QUOTES_END = b","[0], b'"'[0], b"\n"[0]


def quotes_are_whole(block):
    """Whether in every line the first quote begins a cell, the second ends it, and so on.

    A doubled quote ends and begins again, so both may also stand next to a quote.

    Parameters
    ----------
    block : bytes
        Whole lines.
    """
    data = np.frombuffer(block, np.uint8)
    quotes, ends, edges = (_words(data == sign) for sign in (_QUOTE, _QUOTES_END, _COMMA))
    edges |= quotes | ends
    # set the bits up to which, and with which, an odd number is set
    odd = quotes.copy()
    for width in (1, 2, 4, 8, 16, 32):
        odd ^= odd << np.uint64(width)
    odd_after = np.bitwise_xor.accumulate(odd >> np.uint64(63))
    odd[1:] ^= -odd_after[:-1]  # all ones where the words before hold an odd number
    within = odd
    beginning, ending = quotes & within, quotes & ~within
    # set the bits after those that are set; the first one stands after the end of a line
    found = edges << np.uint64(1)
    found[1:] |= edges[:-1] >> np.uint64(63)
    found[0] |= np.uint64(1)
    wrong = beginning & ~found
    wrong |= ending & ~_before(edges)
    wrong |= within & ends
    return not wrong.any()


def _words(found):
    bits = np.packbits(found, bitorder="little")
    words = np.zeros(-(-len(bits) // 8), "<u8")
    words.view(np.uint8)[: len(bits)] = bits
    return words


def _before(words):
    """Set the bits before those that are set."""
    found = words >> np.uint64(1)
    found[:-1] |= words[1:] << np.uint64(63)
    return found


# Columns of files: numbers that are finite, and text exactly as it is written.


@dataclass(frozen=True)
class Batch:
    """Some rows of a file.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_columns)
    texts : list of Arrow arrays
        Of the columns that are text.
    share : float
        How much of the file has been read, by bytes.
    """

    X: np.ndarray
    texts: list
    share: float

    def __len__(self):
        return len(self.X)


def finite_numbers(column, name, path):
    """Return an Arrow column of float64 as an array, refusing nulls, NaN and infinities."""
    if column.null_count:
        raise missing(name, path)
    numbers = column.to_numpy()
    if not np.isfinite(numbers).all():
        raise missing(name, path)
    return numbers


def missing(name, path):
    """Return the error that a column has cells without a finite number."""
    return ValueError(
        f"The column {name!r} of {path} has missing values or infinities. Leave out their rows, or "
        "put a public value in their place, and ask again."
    )


def not_numbers(name, path):
    """Return the error that a column has cells which are not numbers."""
    return ValueError(
        f"The column {name!r} of {path} must hold numbers, in every row: an empty cell, a word "
        "such as NA, or a decimal comma is none. Leave out such rows, or put a public value in "
        "their place; or name the columns that make a row with --columns."
    )


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
    filled : list of str
        Columns in which no value may be missing.
    """

    def __init__(self, rules, filled=()):
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
            self._rules.append((name, partial(_meets, starts or sign, value)))
        self._rules += [(name, _is_there) for name in filled]
        self.columns = list(dict.fromkeys(name for name, _ in self._rules))

    def check(self, names, path):
        """Raise where a file has no such column."""
        for name in self.columns:
            if name not in names:
                raise ValueError(
                    f"{path} has no column {name!r}, which --where names. See its names with: "
                    f"skdp-bary schema {path}"
                )

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


def _meets(sign, value, text):
    if sign == "startswith":
        return text.startswith(value)
    left, right = _as_number(text), _as_number(value)
    if sign in _COMPARED:
        return left is not None and _COMPARED[sign](left, right)
    equal = text == value or (left is not None and left == right)
    return equal == (sign == "==")


def _is_there(text):
    return text.strip().lower() not in _MISSING


def _as_number(text):
    """Return a finite number, None where the text is none."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if np.isfinite(number) else None


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
    kept : RowFilter or None, default=None
        Which rows are read; None: all.

    Attributes
    ----------
    names : list of str
    """

    def __init__(self, path, kept=None):
        self.path = path
        self._arrow = import_optional("pyarrow", "cli", "skdp-bary")
        self._compute = import_optional("pyarrow.compute", "cli", "skdp-bary")
        self._parquet = import_optional("pyarrow.parquet", "cli", "skdp-bary")
        Path(path).stat()
        self._schema = self._guarded(lambda: self._parquet.read_schema(path))
        self.names = self._schema.names
        if kept is not None:
            kept.check(self.names, path)
        self._kept = kept

    def batches(self, numbers, texts):
        """Yield the rows in batches, as :class:`Batch`.

        Parameters
        ----------
        numbers, texts : list of str
            Columns to be read as numbers, and as text: integers as they are printed.
        """
        self._check_types(numbers, texts)
        for batch, share in self._read([*numbers, *texts]):
            columns = dict(zip(batch.schema.names, batch.columns, strict=True))
            X = np.empty((batch.num_rows, len(numbers)))
            for place, name in enumerate(numbers):
                values = self._compute.cast(columns[name], self._arrow.float64(), safe=False)
                X[:, place] = finite_numbers(values, name, self.path)
            yield Batch(X, [self._text(columns[name], name) for name in texts], share)

    def tables(self, names):
        """Yield Arrow tables of some columns, by their types in the file, and the share read."""
        for batch, share in self._read(names):
            yield self._arrow.Table.from_batches([batch]).select(names), share

    def _read(self, names):
        """Yield record batches of the rows that are kept, and the share that was read."""
        looked_at = [] if self._kept is None else self._kept.columns
        columns = list(dict.fromkeys([*names, *looked_at]))
        with self._guarded(lambda: self._parquet.ParquetFile(self.path)) as file:
            groups = range(file.num_row_groups)
            for group in groups:
                read = file.iter_batches(_BATCH_ROWS, [group], columns)
                while (batch := self._guarded(lambda read=read: next(read, None))) is not None:
                    if looked_at:
                        batch = self._guarded(lambda batch=batch: self._only_kept(batch))
                    yield batch, (group + 1) / len(groups)

    def _only_kept(self, batch):
        texts = [
            self._compute.cast(batch[name], self._arrow.string()).fill_null("")
            for name in self._kept.columns
        ]
        return batch.filter(self._arrow.array(self._kept.mask(texts)))

    def _text(self, column, name):
        if column.null_count:
            raise ValueError(
                f"The column {name!r} of {self.path} has missing values. Ids and labels must be "
                "there in every row."
            )
        return self._compute.cast(column, self._arrow.string())

    def _check_types(self, numbers, texts):
        types = self._arrow.types
        readable = (types.is_integer, types.is_boolean)
        for name in numbers:
            kinds = (*readable, types.is_floating, types.is_decimal)
            if not self._is_one_of(name, kinds):
                raise not_numbers(name, self.path)
        for name in texts:
            if not self._is_one_of(name, (*readable, types.is_string, types.is_large_string)):
                raise ValueError(
                    f"Ids and labels must be strings or integers, but the column {name!r} of "
                    f"{self.path} is of type {self._schema.field(name).type}."
                )

    def _is_one_of(self, name, kinds):
        kind = self._schema.field(name).type
        if self._arrow.types.is_dictionary(kind):
            kind = kind.value_type
        return any(is_kind(kind) for is_kind in kinds)

    def _guarded(self, read):
        """Call `read`; errors of the file quote none of its content."""
        try:
            return read()
        except (self._arrow.ArrowException, OSError):
            pass  # its text quotes the file, so it is no context of the error either
        raise ValueError(f"{self.path} is no Parquet file, or is damaged.")
