"""Kinds of columns: what each declares."""

from __future__ import annotations

import datetime
import sys
from abc import ABC, abstractmethod
from dataclasses import MISSING, dataclass, fields
from decimal import Decimal
from numbers import Real
from typing import ClassVar

import numpy as np

from ..exceptions import check_option, is_integer, is_number, is_text, plain
from ..values import COMPLEX, as_array_of_objects
from .values import UNREADABLE, each, flag_of, integer_of, moment_of, number_of, text_of

_EXACT = 2**53
_UNITS = {"day": 86_400_000_000, "hour": 3_600_000_000, "minute": 60_000_000, "second": 1_000_000}
_READERS = {str: text_of, int: integer_of, float: number_of, bool: flag_of}
_NO_FLAG = "are neither true, yes, 1, false, no, 0 nor empty (missing)"
_MISSING = (
    "has missing values, and its schema allows none. Declare missing=True, or leave out such rows: "
    "frame.dropna()."
)
_DATES = "missing=True after pd.to_datetime(column, format='%d.%m.%Y', errors='coerce')"
_SPECIAL = " For example special=[0, 999]."
_VALUES = " For example values=['cook', 'nurse']."


@dataclass(frozen=True, kw_only=True)
class Kind(ABC):
    """What a column holds.

    Parameters
    ----------
    missing : bool, default=False
        Whether values may be missing; where not, a missing value is rejected.
    """

    missing: bool = False
    word: ClassVar[str]
    numeric: ClassVar[bool] = True  # read as float64; the others are objects

    def __post_init__(self):
        if not isinstance(self.missing, bool):
            raise TypeError(
                f"missing must be True or False, got {self.missing!r}. For example missing=True."
            )

    @abstractmethod
    def read(self, values: np.ndarray, what: str) -> np.ndarray:
        """Return a column in its declared form, or raise naming the column.

        Parameters
        ----------
        values : ndarray of shape (n_rows,)
            Of any type.
        what : str
            What the column is, for errors.
        """

    def to_dict(self) -> dict[str, object]:
        """Declaration, as plain values."""
        given = ((f.name, getattr(self, f.name), f.default) for f in fields(self))
        told = {name: value for name, value, default in given if value != default}
        lists = {name: list(value) for name, value in told.items() if type(value) is tuple}
        return {"kind": self.word} | told | lists

    def _read_each(self, values, reader, what, problem, other):
        """Return values read one by one; refuse what is missing and must not be, or unreadable."""
        found = each(values, reader)
        if not self.missing and None in found:
            raise ValueError(f"{what} {_MISSING}")
        if problem and any(value is UNREADABLE for value in found):
            raise ValueError(
                f"{what} has values that {problem}. Declare what it holds, for example {other}, or "
                "leave it out of the schema."
            )
        return found


def _is_otherwise_as_number(value):
    """Whether a value is text that would be another one if its column were read as numbers."""
    if not isinstance(value, str):
        return False
    flag = flag_of(value) if value.strip().lower() in ("true", "false") else None
    whole = integer_of(value)
    number = flag if flag is not None else number_of(value) if whole is UNREADABLE else whole
    return number not in (None, UNREADABLE) and text_of(number) != value


def _floats(found):
    return np.array([np.nan if value is None else value for value in found], dtype=np.float64)


class _Range(Kind):
    """Numbers of a range."""

    special: ClassVar[tuple] = ()

    @property
    def range(self) -> tuple[float, float]:
        """Lowest and highest number of the form the column is read into."""
        values = *self.line, *map(float, self.special)
        return min(values), max(values)

    @property
    def line(self) -> tuple[float, float]:
        """Lowest and highest number that is no special value."""
        return float(self.low), float(self.high)

    def read(self, values: np.ndarray, what: str) -> np.ndarray:
        """Return the column as float64 in the range, NaN where missing."""
        return self.in_range(self.numbers_of(values, what), what)

    def numbers_of(self, values: np.ndarray, what: str) -> np.ndarray:
        """Return the column as float64, in the range or not, NaN where missing."""
        if values.dtype.kind in "biuf":
            with np.errstate(over="ignore"):
                return values.astype(np.float64)
        if values.dtype.kind == "c":
            raise ValueError(f"{COMPLEX}: {what} must hold real numbers, for example values.real.")
        other = "missing=True after pd.to_numeric(column, errors='coerce'), or Category(['low'])"
        return _floats(self._read_each(values, number_of, what, "are not numbers", other))

    def in_range(self, numbers: np.ndarray, what: str) -> np.ndarray:
        """Return float64 numbers clipped to the range, or raise where that is declared."""
        if not self.missing and np.isnan(numbers).any():
            raise ValueError(f"{what} {_MISSING}")
        low, high = self.line
        # special values outside of the range are not clipped to it
        held = self.holds(numbers) | np.isnan(numbers)
        if self.outside == "refuse" and not held.all():
            special = f" and none of {list(self.special)}" if self.special else ""
            raise ValueError(
                f"{what} has values outside [{low:g}, {high:g}]{special}. Declare a wider range, "
                "or outside='clip'."
            )
        return np.where(held, numbers, np.clip(numbers, low, high)) + 0.0  # no -0.0

    def holds(self, numbers: np.ndarray) -> np.ndarray:
        """Whether numbers are in the range or special."""
        low, high = self.line
        return ((numbers >= low) & (numbers <= high)) | np.isin(numbers, self.special)

    def strays(self, numbers: np.ndarray) -> np.ndarray:
        """Whether numbers are clipped by more than rounding."""
        rounding = 0.5 if isinstance(self, Integer) else 1e-7 * max(map(abs, self.line))
        low, high = self.line
        with np.errstate(invalid="ignore"):  # NaN is missing
            far = (numbers < low - rounding) | (numbers > high + rounding)
        return far & ~self.holds(numbers)

    def _check_range(self, limit=None):
        largest = sys.float_info.max if limit is None else limit
        for name in ("low", "high"):
            value, example = plain(getattr(self, name)), f"For example {name}=0."
            object.__setattr__(self, name, value)
            if not is_number(value):
                raise TypeError(f"{name} must be a number, got {value!r}. {example}")
            if not abs(value) <= largest:  # nor NaN
                raise ValueError(f"{name} must be of moderate size, got {value!r}. {example}")
        if not self.low < self.high:
            raise ValueError(
                f"low must be below high, got {self.low!r} and {self.high!r}. For example low=0, "
                "high=120."
            )
        check_option(self.outside, "outside", ("clip", "refuse"))
        special = self.special
        if isinstance(special, str) or not hasattr(special, "__iter__"):
            raise TypeError(f"special must be a list of numbers, got {special!r}.{_SPECIAL}")
        special = plain(tuple(special))
        is_one, what = (is_number, "numbers") if limit is None else (is_integer, "integers")
        for value in special:
            if not is_one(value):
                raise TypeError(f"special must hold {what} only, got {value!r}.{_SPECIAL}")
            if not abs(value) <= largest:  # nor NaN
                raise ValueError(f"special must be of moderate size, got {value!r}.{_SPECIAL}")
        if len(set(special)) < len(special):
            raise ValueError(f"special must hold different numbers, got {special!r}.{_SPECIAL}")
        object.__setattr__(self, "special", tuple(sorted(special)))


@dataclass(frozen=True)
class Number(_Range):
    """Real numbers, read as float64.

    A special value or end of the range that is no whole number is read from its form in 32 bits
    too, whatever the type of the column: one row can change that type.

    Parameters
    ----------
    low, high : float
        Public range.
    resolution : float, default=None
        Width of the steps that matter, for tables; reading rounds nothing.
    log : bool, default=False
        Whether steps grow with the numbers, for tables; needs ``low > 0``. Amounts of money, sizes
        and times of waiting want it: in even steps most values share a few, and noise makes tails
        that no one has. Choose `low` near the smallest value that matters: half of the steps from 1
        to 1e6 are below 1000, and thin tails next to an empty part of the range are lost.
    outside : {"clip", "refuse"}, default="clip"
        What becomes of numbers outside of the range.
    special : sequence of float, default=()
        Public values that many rows may hold, in the range or not: zeros, detection limits, codes
        such as 999. Tables count and draw each of them exactly, as they do both ends of the range.
    missing : bool, default=False
        Whether values may be missing; they are read as NaN.
    """

    low: float
    high: float
    resolution: float | None = None
    log: bool = False
    outside: str = "clip"
    special: tuple = ()
    word: ClassVar[str] = "number"

    def __post_init__(self):
        super().__post_init__()
        self._check_range()
        object.__setattr__(self, "resolution", plain(self.resolution))
        if self.resolution is not None and not (is_number(self.resolution) and self.resolution > 0):
            raise ValueError(
                f"resolution must be above 0, got {self.resolution!r}. For example resolution=0.1."
            )
        if self.log and not self.low > 0:
            raise ValueError(f"log=True needs low above 0, got {self.low!r}. For example low=1.")
        if self.resolution is not None:
            for value in self.special:
                places = (value - self.low) / self.resolution
                if self.low <= value <= self.high and abs(places - np.rint(places)) > 1e-6:
                    raise ValueError(
                        "special must hold whole steps of resolution from low, or numbers outside "
                        f"the range, got {value!r}. For example special=[{self.low!r}]."
                    )

    def in_range(self, numbers: np.ndarray, what: str) -> np.ndarray:
        """Return numbers of the range, with special values and ends that 32 bits rounded."""
        declared = (*self.line, *self.special)
        # a column of 32 bits holds 0.1 as 0.10000000149, which is the declared 0.1
        with np.errstate(over="ignore"):
            rounded = [float(np.float32(value)) for value in declared]
        for value, short in zip(declared, rounded, strict=True):
            if short % 1 > 0 and short not in declared:  # whole ones are numbers in their own right
                numbers = np.where(numbers == short, value, numbers)
        return super().in_range(numbers, what)


@dataclass(frozen=True)
class Integer(_Range):
    """Whole numbers, read as float64; fractions are rounded.

    Parameters
    ----------
    low, high : int
        Public range, within 2**53.
    log : bool, default=False
        Whether steps grow with the distance from `low`, for tables.
    outside : {"clip", "refuse"}, default="clip"
        What becomes of numbers outside of the range.
    special : sequence of int, default=()
        As of :class:`Number`.
    missing : bool, default=False
        Whether values may be missing; they are read as NaN.
    """

    low: int
    high: int
    outside: str = "clip"
    log: bool = False
    special: tuple = ()
    word: ClassVar[str] = "integer"

    def __post_init__(self):
        super().__post_init__()
        self._check_range(_EXACT)
        if not (is_integer(self.low) and is_integer(self.high)):
            raise TypeError(
                f"low and high must be integers, got {self.low!r} and {self.high!r}. For example "
                "low=0, high=120; Number(low, high) holds fractions."
            )

    def in_range(self, numbers: np.ndarray, what: str) -> np.ndarray:
        """Return whole numbers of the range."""
        return super().in_range(np.rint(numbers), what)


@dataclass(frozen=True)
class Boolean(Kind):
    """Yes or no, read as 1.0 and 0.0, also from 0 and 1 and from words such as "true" and "no".

    Parameters
    ----------
    missing : bool, default=False
        Whether values may be missing; they are read as NaN.
    """

    word: ClassVar[str] = "boolean"
    range: ClassVar[tuple] = (0.0, 1.0)

    def read(self, values: np.ndarray, what: str) -> np.ndarray:
        """Return the column as float64, NaN where missing."""
        other = "Category(['yes', 'maybe'])"
        return _floats(self._read_each(values, flag_of, what, _NO_FLAG, other))


@dataclass(frozen=True)
class Category(Kind):
    """One of a list of values, read unchanged.

    A value is read as the type of the list, by itself: 3, 3.0 and "3" are one value, whatever the
    other rows made of their column.

    Parameters
    ----------
    values : sequence of str, int, float or bool
        Public; all of one type.
    outside : {"other", "refuse"}, default="other"
        What becomes of other values: the text "other" (None among numbers and flags), or an error.
    missing : bool, default=False
        Whether values may be missing; they are read as None.
    """

    values: tuple
    outside: str = "other"
    word: ClassVar[str] = "category"
    numeric: ClassVar[bool] = False

    def __post_init__(self):
        super().__post_init__()
        values = self.values
        if isinstance(values, str) or not hasattr(values, "__iter__"):
            raise TypeError(f"values must be a list, got {values!r}.{_VALUES}")
        values = tuple(v.item() if isinstance(v, np.generic) else v for v in values)
        object.__setattr__(self, "values", values)
        if len({type(v) for v in values}) != 1 or type(values[0]) not in _READERS:
            raise TypeError(
                "values must be one or more, all of one type, str, int, float or bool, got "
                f"{values!r}.{_VALUES}"
            )
        if len(set(values)) < len(values) or any(v != v for v in values):
            raise ValueError(
                f"values must be different and not missing, got {values!r}. Missing values are "
                "allowed by missing=True."
            )
        if not all(is_text(v) for v in values if isinstance(v, str)):
            raise ValueError(f"values must be text that UTF-8 can write, got {values!r}.{_VALUES}")
        check_option(self.outside, "outside", ("other", "refuse"))
        if self.outside == "other" and "other" in values:
            raise ValueError(
                'values must not hold "other", which represents all others. Declare '
                'outside="refuse" where no others can occur, or rename the value.'
            )

    @property
    def levels(self) -> list[str | int | float | bool | None]:
        """All that a column can hold after reading, for an encoder."""
        named = self.outside == "other" and isinstance(self.values[0], str)
        has_none = self.missing or (self.outside == "other" and not named)
        return [*self.values, *(["other"] if named else []), *([None] if has_none else [])]

    def codes(self, values: np.ndarray, what: str) -> np.ndarray:
        """Return the place of each value in the list, the number of values for others, -1 where
        missing."""
        reader = _READERS[type(self.values[0])]
        others = [value for value in self.values if _is_otherwise_as_number(value)]
        numbers = (v for v in values.tolist() if isinstance(v, (Real, np.bool_, Decimal)))
        if others and any(v == v for v in numbers):  # nor NaN
            raise ValueError(
                f"{what} must hold text, as its schema lists {others[0]!r}, got numbers or flags, "
                "which a reader has made of text. Read it as text, for example "
                "pandas.read_csv(path, dtype=str)."
            )
        places = {value: place for place, value in enumerate(self.values)} | {None: -1}
        found = self._read_each(values, reader, what, "", "")  # others are a value too
        codes = np.array([places.get(value, len(self.values)) for value in found], dtype=np.int64)
        if self.outside == "refuse" and (codes == len(self.values)).any():
            raise ValueError(
                f"{what} has values that are not in its schema. Add them to its values, or declare "
                "outside='other'."
            )
        return codes

    def read(self, values: np.ndarray, what: str) -> np.ndarray:
        """Return the column as objects: declared values, "other", None where missing.

        Among numbers and flags other values are None too: encoders take no text next to them.
        """
        other = "other" if isinstance(self.values[0], str) else None
        return as_array_of_objects([*self.values, other, None])[self.codes(values, what)]


@dataclass(frozen=True)
class Ordinal(Category):
    """One of a list of values that are in order, read as :class:`Category` is.

    Parameters
    ----------
    values : sequence of str, int, float or bool
        Public, from the lowest to the highest; all of one type.
    outside : {"other", "refuse"}, default="other"
        What becomes of other values: the text "other", or an error.
    missing : bool, default=False
        Whether values may be missing; they are read as None.
    """

    word: ClassVar[str] = "ordinal"


@dataclass(frozen=True)
class Date(_Range):
    """Dates and times, read as float64: whole units of the resolution since `low`.

    Parameters
    ----------
    low, high : str or date
        Public range, as ISO text or dates. Times with a zone are read in UTC, here and in columns,
        and what is drawn has no zone: a day that begins in Paris is the day before.
    resolution : {"day", "hour", "minute", "second"}, default="day"
        Times are cut off to it.
    outside : {"clip", "refuse"}, default="clip"
        What becomes of dates outside of the range.
    missing : bool, default=False
        Whether values may be missing; they are read as NaN.
    """

    low: str
    high: str
    resolution: str = "day"
    outside: str = "clip"
    word: ClassVar[str] = "date"

    def __post_init__(self):
        super().__post_init__()
        for name in ("low", "high"):
            value = getattr(self, name)
            value = value.isoformat() if isinstance(value, datetime.date) else value
            if not isinstance(value, str) or not isinstance(moment_of(value), int):
                raise ValueError(
                    f"{name} must be a date, got {value!r}. For example {name}='2020-01-31'."
                )
            object.__setattr__(self, name, value)
        check_option(self.resolution, "resolution", tuple(_UNITS))
        if not self.range[1] > 0:
            raise ValueError(
                f"low must be below high, got {self.low!r} and {self.high!r}. For example "
                "low='2020-01-01', high='2029-12-31'."
            )
        check_option(self.outside, "outside", ("clip", "refuse"))

    @property
    def line(self) -> tuple[float, float]:
        """Lowest and highest number of units."""
        return 0.0, float((moment_of(self.high) - moment_of(self.low)) // _UNITS[self.resolution])

    def in_words(self, number: float) -> str:
        """Return a number of units since `low` as ISO text."""
        moment = moment_of(self.low) + int(number) * _UNITS[self.resolution]
        unit = {"day": "D", "hour": "m"}.get(self.resolution, self.resolution[0])
        return str(np.datetime64(moment, "us").astype(f"datetime64[{unit}]"))

    def numbers_of(self, values: np.ndarray, what: str) -> np.ndarray:
        """Return the column as whole units since `low`, NaN where missing."""
        if values.dtype.kind == "M":
            values = values.astype("datetime64[us]").astype(object)
        found = self._read_each(values, moment_of, what, "are not dates", _DATES)
        start, unit = moment_of(self.low), _UNITS[self.resolution]
        return _floats([v if v is None else (v - start) // unit for v in found])


@dataclass(frozen=True)
class Text(Kind):
    """Free text, for steps that hash words; never counted value by value.

    Parameters
    ----------
    missing : bool, default=False
        Whether values may be missing; they are read as empty text.
    """

    word: ClassVar[str] = "text"
    numeric: ClassVar[bool] = False

    def read(self, values: np.ndarray, what: str) -> np.ndarray:
        """Return the column as text."""
        other = "Date('2020-01-01', '2029-12-31')"
        found = self._read_each(values, text_of, what, "are not text", other)
        # hashing raises on half a surrogate pair, as a cut emoji of JSON is
        texts = ["" if v is None else v.encode(errors="replace").decode() for v in found]
        return as_array_of_objects(texts)


KINDS = {kind.word: kind for kind in (Boolean, Category, Date, Integer, Number, Ordinal, Text)}
_OTHER_WORDS = {
    "categorical": "category", "enum": "category", "string": "category or text",
    "str": "category or text", "float": "number", "numeric": "number", "int": "integer",
    "bool": "boolean", "flag": "boolean", "datetime": "date", "timestamp": "date",
    "ordered": "ordinal",
}  # fmt: skip
_LINES = {  # of YAML and JSON
    "boolean": "{kind: boolean}",
    "category": "{kind: category, values: [cook, nurse]}",
    "date": "{kind: date, low: '2020-01-01', high: '2029-12-31'}",
    "integer": "{kind: integer, low: 0, high: 120}",
    "number": "{kind: number, low: 0, high: 1.5}",
    "ordinal": "{kind: ordinal, values: [low, high]}",
    "text": "{kind: text}",
}


def kind_from_dict(given, what):
    """Return the kind that a dictionary declares, or raise naming the column."""
    if not isinstance(given, dict) or str(given.get("kind")) not in KINDS:
        raise ValueError(f"{what} {_kind_fault(given)}")
    kind = KINDS[given["kind"]]
    given = {name: value for name, value in given.items() if name != "kind" and value is not None}
    unknown = sorted(given.keys() - {field.name for field in fields(kind)})
    if unknown:
        raise ValueError(
            f"{what}: a column of kind {kind.word} has no {unknown}. Write for example "
            f"{_LINES[kind.word]}."
        )
    lacking = [f.name for f in fields(kind) if f.default is MISSING and f.name not in given]
    if lacking:
        raise ValueError(
            f"{what}: a column of kind {kind.word} needs {' and '.join(lacking)}. Write for "
            f"example {_LINES[kind.word]}."
        )
    try:
        return kind(**given)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{what}: {error}") from None


def _kind_fault(given):
    """Text about an invalid kind of a column."""
    allowed = f"one of {sorted(KINDS)}"
    word = given.get("kind") if isinstance(given, dict) else None
    if word is None:
        return (
            f"needs a kind, {allowed}, for example {_LINES['integer']}. Take columns that are not "
            "needed, such as ids, out of the schema."
        )
    known = _OTHER_WORDS.get(str(word).lower())
    hint = f"It is called {known} here." if known else f"For example {_LINES['integer']}."
    return f"must have a kind that is {allowed}, got {word!r}. {hint}"
