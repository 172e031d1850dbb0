"""Rows on their way to integers: checked, labeled, weighted, and whose they are."""

from __future__ import annotations

import hashlib
import math
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from numbers import Integral

import numpy as np

from ..geometry.bounds import check_domain
from ..values import (
    array_of,
    as_array_of_objects,
    as_floats,
    column_names,
    column_values,
    exact_values,
    is_missing,
    refuse_masked,
    refuse_other_tensors,
)

# Rows on their way to integers: checked chunk by chunk, labeled, weighted, never kept.

WEIGHT_UNITS = 1 << 16
PERSON_UNITS = 1 << 20
CHUNK_ROWS = 1 << 19  # counted at once: float64 sums of so many masses are exact
_MOST_UNITS = 1 << 38  # of all persons; a unit adds at most 2**21 to a sum, which leaves 8 of 2**62
_SEEN_UNITS = 1 << 25  # at an epsilon or mu of one: more would need noise wider than is drawn
_COARSER = 3  # digits; persons and weighted rows never have the same units
_COARSEST = 1 << 13  # finer ones are made coarser
_PLAIN = np.dtype(object)
_ID_KINDS = str, Integral, np.bool_
_WITHOUT_ORDER = set, frozenset, Mapping  # of rows: their values belong to nobody
IDS = "groups must hold integers or strings"
MISSING_IDS = (
    "groups must hold an ID in every row, got missing ones. Give each of those rows a new ID if "
    "each is a person, or one ID if they are one, groups.fillna(-1).astype(int), or leave them "
    "out."
)
MIXED_IDS = (
    "groups must hold integers in all rows and chunks, or text in all, got both. Write all as "
    "text, for example list(map(str, groups)), the same text for the same person."
)
_OTHER_IDS = "Write ids of other kinds, such as times, as text, for example list(map(str, groups))."
_FLOAT_IDS = (  # as text, all missing ones would be one person
    "pandas makes floats of integers where some are missing, and above 2**53 they run together. "
    "Leave out rows without an ID, then write groups.astype('int64')."
)
ROW_UNITS = (1, WEIGHT_UNITS, WEIGHT_UNITS >> 3, WEIGHT_UNITS >> 6)  # of persons with one row each


@dataclass(frozen=True)
class Chunk:
    """Checked rows: finite float64 values, codes of public classes, integer masses.

    Its arrays cannot be written: they may be those that a fit was given.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
    codes : ndarray of shape (n_rows,) or None
        Places of the rows' labels among the public classes; None: there is one class.
    masses : ndarray of shape (n_rows,) or None
        None: one unit per row.
    memo : dict
        What queries computed of the rows and will need again; it lives as long as the rows are
        read.
    starts : ndarray of shape (n_rows,) or None
        Where a row's mass begins among the units of its person; None: at zero.
    units : int or None
        Mass of a person.
    """

    X: np.ndarray
    codes: np.ndarray | None
    masses: np.ndarray | None
    memo: dict = field(default_factory=dict, compare=False, repr=False)
    starts: np.ndarray | None = None
    units: int | None = None

    def __post_init__(self):
        for name in ("X", "codes", "masses", "starts"):
            if (given := getattr(self, name)) is not None:
                shown = given.view()
                shown.flags.writeable = False
                object.__setattr__(self, name, shown)

    def masses_of(self, rows: slice) -> np.ndarray | None:
        """Return the masses of some rows, or None."""
        return None if self.masses is None else self.masses[rows]

    def in_units(self, units: int | None) -> Chunk:
        """Return the chunk with masses of which one person has at most `units`.

        The mass of a row runs from a start to an end among the units of its person. Both are
        rounded down, so neighboring rows of a person still meet, and the sum is at most `units`.
        """
        if self.masses is None or None in (units, self.units) or units == self.units:
            return self
        shift = (self.units // units).bit_length() - 1
        if units << shift != self.units:
            raise ValueError(f"Masses in units of 1/{self.units} cannot be had in 1/{units}.")
        starts = 0 if self.starts is None else self.starts
        masses = ((starts + self.masses) >> shift) - (starts >> shift)
        return replace(self, masses=masses, starts=None, units=units)

    def pieces(self, n_pieces: int) -> Iterator[Chunk]:
        """Yield the chunk in pieces of about equal size, each with a memo that stays."""
        edges = [len(self.X) * i // n_pieces for i in range(n_pieces + 1)]
        for start, end in zip(edges[:-1], edges[1:], strict=True):
            memo = self.memo if n_pieces == 1 else self.memo.setdefault((start, end), {})
            yield self._slice(slice(start, end), memo)

    def parts(self, n_rows: int | None = None) -> Iterator[Chunk]:
        """Yield the chunk in pieces of `n_rows`; None: as many as float64 adds up exactly."""
        n_rows = CHUNK_ROWS if n_rows is None else n_rows
        if len(self.X) <= n_rows:
            yield self
            return
        for start in range(0, len(self.X), n_rows):
            yield self._slice(slice(start, start + n_rows), {})

    def _slice(self, rows, memo):
        columns = (self.codes, self.masses, self.starts)
        codes, masses, starts = (c if c is None else c[rows] for c in columns)
        return Chunk(self.X[rows], codes, masses, memo, starts, self.units)


def encode_labels(y, classes, n_rows):
    """Return the position of every label in the public set `classes`.

    Labels are looked up one value at a time, so that no row's label changes how another's is read.
    """
    if y is None:
        raise ValueError(
            "y is needed: it says which of the classes each row belongs to. Call fit(X, y)."
        )
    places = {label: place for place, label in enumerate(np.asarray(classes).tolist())}
    dtype = getattr(y, "dtype", None)
    if isinstance(dtype, np.dtype) and dtype.kind != "O":
        # of a plain type: each different label is looked up once
        labels, inverse = np.unique(column(y, "y", n_rows), return_inverse=True)
        codes = np.array([places.get(label, -1) for label in labels.tolist()], dtype=np.int64)
        codes = codes[inverse]
    else:
        values = column(as_objects(y), "y", n_rows)
        codes = np.fromiter((places.get(label, -1) for label in values), np.int64, n_rows)
    if (codes < 0).any():
        raise ValueError(
            f"y holds labels that are not among the public classes {list(places)!r}. Pass all that "
            "can occur, with the type, case and blanks of y: classes=['a', 'b'] or classes=[0, 1]."
        )
    return codes


def encode_persons(groups, n_rows):
    """Return equal integers, counted from 0, exactly for equal person IDs."""
    ids = plain_ids(groups, n_rows)
    return number_objects(ids) if ids.dtype.kind == "O" else number_values(ids)


def plain_ids(groups, n_rows):
    """Return person IDs, one for every row, as an array of integers, or of text.

    Objects stay objects: a dtype shared by all of them would let one person's ID round those of
    others. Integers next to text are rejected, as no one knows whether 1 and "1" are one person,
    and missing IDs are rejected, as no one knows whether those rows are one person's or many
    people's.
    """
    dtype = getattr(groups, "dtype", None)
    is_column = hasattr(groups, "to_pylist") or not isinstance(dtype, np.dtype | None)
    if is_column and column_names(groups) is None:  # of polars, Arrow or pandas' own types
        found = exact_values(groups)
        groups = found if found.dtype.kind in "iu" else groups
        dtype = getattr(groups, "dtype", None)
    if isinstance(dtype, np.dtype) and dtype.kind in "biuU":
        return column(groups, "groups", n_rows)
    if isinstance(dtype, np.dtype) and dtype.kind not in "OT":
        raise ValueError(
            f"{IDS}, got dtype {dtype}. {_FLOAT_IDS if dtype.kind == 'f' else _OTHER_IDS}"
        )
    ids = column(as_objects(groups), "groups", n_rows)
    if not isinstance(groups, (list, tuple)):
        head = groups.slice(0, 0) if hasattr(groups, "slice") else groups  # of Arrow and polars
        if np.asarray(head).dtype.kind in "mM":  # as objects they may be integers
            raise ValueError(f"{IDS}, and nothing else. {_OTHER_IDS}")
    listed = ids.tolist()
    kinds = set(map(type, listed))
    # numpy calls differences of times integers, and equal ones in two units differ as such
    others = {k for k in kinds if not issubclass(k, _ID_KINDS) or issubclass(k, np.timedelta64)}
    if others and any(type(value) in others and not is_missing(value) for value in listed):
        raise ValueError(f"{IDS}, and nothing else. {_OTHER_IDS}")
    if others:
        raise ValueError(MISSING_IDS)
    same_kind([issubclass(kind, str) for kind in kinds])
    return ids


def have_one_class(codes, persons):
    """Whether no person, of those counted from 0, has rows of two classes."""
    classes = np.empty(int(persons.max(initial=-1)) + 1, dtype=np.int64)
    classes[persons] = codes
    return bool((classes[persons] == codes).all())


def are_texts(ids):
    """Whether plain IDs are text and not integers, None where there are none."""
    return isinstance(ids[0], str) if len(ids) else None


def same_kind(found):
    """Whether IDs are text, from whether some of them and others are; None: no IDs."""
    kinds = {kind for kind in found if kind is not None}
    if len(kinds) > 1:
        raise ValueError(MIXED_IDS)
    return kinds.pop() if kinds else None


def encode_weights(sample_weight, n_rows):
    """Return weights in [0, 1] rounded down to multiples of 2**-16, as integers.

    Weights above 1 count as 1: raising would answer a question about one row.
    """
    weights = as_floats(column(sample_weight, "sample_weight", n_rows), "sample_weight")
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise ValueError(
            "sample_weight must hold finite non-negative numbers. Replace others, for example "
            "numpy.nan_to_num(sample_weight).clip(0, 1)."
        )
    return np.floor(np.minimum(weights, 1.0) * WEIGHT_UNITS).astype(np.int64)


def coarser_units(units, size=1, least=math.inf):
    """Return the units of a person, so few that sums fit 64 bits, and their noise what is drawn.

    People have ``2**20`` and 3, 6 or 9 digits less, weighted rows ``2**16`` and 3 or 6 less.

    Parameters
    ----------
    units : int
        The finest, in which the rows are; 1 where rows have no masses.
    size : int, default=1
        Public or estimated number of people.
    least : float, default=inf
        The smallest epsilon or mu of a step; noise in which a unit would not be seen.
    """
    while units >= _COARSEST and (size * units > _MOST_UNITS or units > _SEEN_UNITS * least):
        units >>= _COARSER
    return units


def shared_masses(X, codes, persons, weights, bounds):
    """Share the units of every person among the person's rows inside public bounds, if given.

    Returns
    -------
    starts, masses : ndarray of int64
        See `person_spans`.
    """
    if bounds is not None:
        inside = check_domain(bounds, X.shape[1]).contains(X)
        weights = inside.astype(np.int64) if weights is None else weights * inside
    return person_spans(X, codes, persons, weights)


def person_spans(X, codes, persons, weights, units=PERSON_UNITS):
    """Share `units` among the rows of every person in proportion to their integer weights.

    Row r of a person gets what lies from ``floor(U C_(r-1) / C)`` to ``floor(U C_r / C)``, with C_r
    the running sum of weights over that person's rows sorted by label, values and weight.

    Returns
    -------
    starts, masses : ndarray of int64
        Where the share of a row begins, and how long it is.
    """
    if not len(persons):
        return np.zeros((2, 0), dtype=np.int64)
    weights = np.ones(len(persons), dtype=np.int64) if weights is None else weights
    order = person_order(X, codes, persons, weights)
    persons, weights = persons[order], weights[order]
    running = np.cumsum(weights)
    first = np.flatnonzero(np.r_[True, persons[1:] != persons[:-1]])
    counts = np.diff(np.r_[first, len(persons)])
    before = running[first] - weights[first]
    totals = np.maximum(running[first + counts - 1] - before, 1)
    running -= np.repeat(before, counts)
    ends = _parts_of(units, running, np.repeat(totals, counts))
    begins = np.r_[0, ends[:-1]]
    begins[first] = 0
    spans = np.empty((2, len(ends)), dtype=np.int64)
    spans[0, order] = begins
    spans[1, order] = ends - begins
    return spans[0], spans[1]


def _parts_of(units, parts, wholes):
    """Return ``floor(units * parts / wholes)`` for parts up to their wholes below ``2**61``.

    Where products would leave 64 bits, `units` is taken in digit by digit: the remainder stays
    below three wholes. An error instead would be an answer about one person.
    """
    if int(wholes.max(initial=0)) <= np.iinfo(np.int64).max // units:
        return parts * units // wholes
    found, rest = np.zeros_like(parts), np.zeros_like(parts)
    # long division in base two: found = floor(units read so far * parts / wholes)
    for digit in f"{units:b}":
        rest = 2 * rest + int(digit) * parts
        found = 2 * found + rest // wholes
        rest %= wholes
    return found


def person_order(X, codes, persons, weights):
    """Return the order of rows by person, label, values and weight; equal rows stay in order.

    The order of ``np.lexsort``, in 20% of its time: integers made of person and label, of the
    leading bits of the first value and of the number of the row are sorted by themselves, and only
    rows that these bits leave in a wrong order are compared in full.
    """
    n_rows = len(persons)
    labels = persons if codes is None else persons * (int(codes.max(initial=0)) + 1) + codes
    row_bits = max(n_rows - 1, 1).bit_length()
    value_bits = 63 - row_bits - int(labels.max(initial=0)).bit_length()
    if value_bits < 0:
        return np.lexsort([weights, *X.T[::-1], labels])
    keys = _leading_bits(X[:, 0], value_bits)
    keys |= labels << value_bits
    keys <<= row_bits
    keys |= np.arange(n_rows)
    keys.sort()
    order = keys & ((1 << row_bits) - 1)
    keys >>= row_bits
    tied = np.flatnonzero(keys[1:] == keys[:-1])
    # whether a row comes before the one in front of it, by the first column in which they differ
    before, equal = np.zeros(len(tied), dtype=bool), np.ones(len(tied), dtype=bool)
    for values in (*X.T, weights):
        second, first = values[order[tied + 1]], values[order[tied]]
        before |= equal & (second < first)
        equal &= second == first
    wrong = tied[before]
    if wrong.size:
        # keys are sorted, so those of a row in a wrong place are one run
        runs = np.unique(keys[wrong])
        edges = np.zeros(n_rows + 1, dtype=np.int8)
        edges[np.searchsorted(keys, runs)] += 1
        edges[np.searchsorted(keys, runs, side="right")] -= 1
        part = np.flatnonzero(np.cumsum(edges[:-1], dtype=np.int8))
        rows = order[part]
        order[part] = rows[np.lexsort([weights[rows], *X[rows].T[::-1], keys[part]])]
    return order


def _leading_bits(values, n_bits):
    """Return integers below ``2**n_bits`` that are ordered as the values are, with ties."""
    bits = (values + 0.0).view(np.int64)  # -0.0 becomes 0.0, which it equals
    bits ^= (bits >> 63) & np.iinfo(np.int64).max  # the larger a negative number, the fewer bits
    bits >>= 1  # so that differences fit
    bits -= bits.min()
    bits >>= max(int(bits.max()).bit_length() - n_bits, 0)
    return bits


def split_chunk(item, most=3):
    """Return (X, y, sample_weight) of one chunk, and with `most` of 4 the person IDs."""
    parts = item if isinstance(item, tuple) else (item,)
    if not 1 <= len(parts) <= most:
        last = " or (X, y, sample_weight, groups)" if most > 3 else ""
        raise ValueError(
            f"A chunk is X, (X, y), (X, y, sample_weight){last}, got a tuple of {len(parts)}. For "
            "example yield X, y."
        )
    return parts + (None,) * (most - len(parts))


def some_without(name):
    """Text: some chunks carry weights or IDs, and others do not."""
    return (
        f"Either every chunk carries {name} or none does. Put {name}=None into all of them, or "
        "values into all."
    )


def as_objects(values):
    """Return values as an array of objects, each as it was given."""
    in_rows = isinstance(values, Iterable) and not isinstance(values, _WITHOUT_ORDER)
    if not in_rows and not hasattr(values, "__array__"):
        raise TypeError(
            "y and groups must have one value per row, got a value of type "
            f"{type(values).__name__}. For example groups=[1, 1, 2] for three rows."
        )
    refuse_masked(values, "y or groups")
    if len(column_names(values) or ()) == 1:
        values = column_values(values, 0)
    elif hasattr(values, "to_pylist") or not isinstance(getattr(values, "dtype", _PLAIN), np.dtype):
        values = exact_values(values)
    if hasattr(values, "__array__"):
        return np.asarray(values, dtype=object)
    return as_array_of_objects(list(values))


def column(values, name, n_rows):
    """Return a 1-d array of `n_rows` values."""
    refuse_masked(values, name)
    refuse_other_tensors(values, name)
    values = array_of(values, name)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise ValueError(
            f"{name} must have one value per row, got {values.ndim} dimensions. Pass one column, "
            f"for example {name}={name}[:, 0]."
        )
    if len(values) != n_rows:  # neither number is told: that of the rows may be private
        word = "more" if len(values) > n_rows else "fewer"
        raise ValueError(
            f"{name} must have one value per row, got {word} values than rows. Choose the same "
            f"rows of both, for example X[rows] and {name}[rows]."
        )
    return values


# Equal integers for equal ids: by a table, by hashing, or one value after another.

_TABLE = 4  # entries of a table of integers, for each row
_MANY = 1 << 16  # texts: importing what hashes them faster pays


def number_values(values):
    """Return equal integers, counted from 0, exactly for equal entries of a plain array."""
    if values.dtype.kind in "iu" and values.size:
        low, high = int(values.min()), int(values.max())
        if high - low < _TABLE * values.size:
            if values.dtype.kind == "i":
                values = values.astype(np.int64, copy=False)  # differences of shorter ones overflow
            offsets = (values - values.dtype.type(low)).astype(np.intp, copy=False)
            present = np.zeros(high - low + 1, dtype=bool)
            present[offsets] = True
            return (np.cumsum(present) - 1)[offsets]
    if values.dtype.kind == "U":
        found = _by_arrow(values)
        if found is not None:
            return found
    return np.unique(values, return_inverse=True)[1]


def number_objects(values):
    """Return equal integers, counted from 0, exactly for equal objects."""
    listed = values.tolist()
    if set(map(type, listed)) == {str}:
        found = _by_arrow(values)
        if found is not None:
            return found
    places = {}
    found = (places.setdefault(value, len(places)) for value in listed)
    return np.fromiter(found, np.int64, len(listed))


def _by_arrow(texts):
    """Return the places of texts in a dictionary; None where Arrow is not there or cannot say."""
    if "pyarrow" not in sys.modules and len(texts) < _MANY:
        return None
    try:
        import pyarrow
    except ImportError:
        return None
    try:
        column = pyarrow.array(texts, type=pyarrow.large_string())
    except (pyarrow.ArrowException, UnicodeError):  # halves of surrogates are no UTF-8
        return None
    return column.dictionary_encode().indices.to_numpy().astype(np.int64)


# Keys of persons that agree wherever they are computed: on every worker, in every chunk.

_HASHED = 1  # in second words of keys; integers that fit have 0 there


def person_keys(groups, n_rows):
    """Return two arrays of int64 that agree for equal person IDs, whichever worker computes them.

    Integers are their own keys. Strings, and integers beyond 64 bits, are hashed to 127 bits, so
    those of two people agree with a probability below ``n**2 / 2**127`` for n people.
    """
    values = plain_ids(groups, n_rows)
    low, high = np.zeros(n_rows, dtype=np.int64), np.zeros(n_rows, dtype=np.int64)
    if values.dtype.kind in "bi" or values.dtype in (np.uint8, np.uint16, np.uint32):
        low[:] = values
        return low, high
    places = number_objects(values.astype(object))
    rows = np.empty(int(places.max(initial=-1)) + 1, dtype=np.int64)  # one of each
    rows[places] = np.arange(n_rows)
    keys = np.array([_key(value) for value in values[rows].tolist()], dtype=np.int64).reshape(-1, 2)
    return keys[places, 0], keys[places, 1]


def _key(value):
    if isinstance(value, (Integral, np.bool_)):
        value = int(value)
        if -(1 << 63) <= value < 1 << 63:
            return value, 0
        text = f"integer {value}"
    else:
        text = "text " + value  # formatted, a member of an Enum is its name
    words = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    low, high = np.frombuffer(words, dtype="<i8").tolist()
    return low, high | _HASHED


def numbered(low, high):
    """Return equal integers, counted from 0, exactly for equal keys."""
    # below 2**31 rows, pairs of places are integers of 64 bits
    first, second = (np.unique(words, return_inverse=True)[1] for words in (low, high))
    return np.unique(first * (int(second.max(initial=0)) + 1) + second, return_inverse=True)[1]


# Rows that come in pieces too small to be worth a call.


def in_batches(items, least_rows):
    """Yield items in lists of at least so many rows together; the last list may have fewer."""
    held, n_rows = [], 0
    for item in items:
        held.append(item)
        n_rows += len(item)
        if n_rows >= least_rows:
            yield held
            held, n_rows = [], 0
    if held:
        yield held


# Rows of one partition divided into pieces in which every person is whole.

_MIXER = np.uint64(0x9E3779B97F4A7C15)  # odd, near 2**64 over the golden ratio
_BLOCK = 1 << 16  # ids at a time
_MOST = 1 << 16


def divided(ids, n_rows, n_pieces):
    """Yield the places of the rows of each piece; equal IDs are in one.

    Which piece a person is in changes no integer that is counted, only what is in memory at once.

    Parameters
    ----------
    ids : array-like of shape (n_rows,)
    n_rows : int
    n_pieces : int
    """
    if not (isinstance(getattr(ids, "dtype", None), np.dtype) and ids.dtype.kind in "biu"):
        ids = encode_persons(ids, n_rows)
    values, n_pieces = np.asarray(ids).reshape(-1), min(n_pieces, _MOST)
    piece = np.empty(n_rows, dtype=np.uint16)
    for start in range(0, n_rows, _BLOCK):
        words = values[start : start + _BLOCK].astype(np.uint64) * _MIXER
        piece[start : start + _BLOCK] = (words >> np.uint64(32)) % np.uint64(n_pieces)
    for place in range(n_pieces):
        rows = np.flatnonzero(piece == place)
        if rows.size:
            yield rows
