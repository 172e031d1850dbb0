"""Schema: the public form of a table, its rules, and its YAML file."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from os import PathLike
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse

from ..exceptions import PrivacyWarning, Rows, import_optional, is_text
from ..values import (
    NO_COLUMNS,
    array_of,
    canonical_csr,
    column_names,
    column_values,
    names_somebody,
    select_columns,
    some_columns,
)
from .kinds import KINDS, Category, Kind, kind_from_dict

# Schema: the public form of a table, and how rows are brought into it.


@dataclass(frozen=True)
class Schema:
    """Public declaration of the columns of a table and their possible values.

    Ranges, lists of values and which columns may have missing values come from public knowledge
    about the table, never from its rows. A schema reads rows value by value, so that no row changes
    how another one is read.

    Parameters
    ----------
    columns : dict of kinds by name, list of kinds, or one kind
        Kinds are those of :mod:`skdp_bary.schema`. A list is by position. A single kind
        holds for all columns, however many there are. A Schema is copied.

    Examples
    --------
    >>> from skdp_bary.schema import Category, Integer, Schema
    >>> schema = Schema({"age": Integer(0, 120), "job": Category(["cook", "nurse"])})
    >>> print(schema.describe())
    age: integer, low 0, high 120
    job: category, values ['cook', 'nurse']
    >>> schema.read([["58", "nurse"], [250.0, "spy"]])
    [array([ 58., 120.]), array(['nurse', 'other'], dtype=object)]
    """

    columns: object

    def __post_init__(self):
        given = self.columns.columns if isinstance(self.columns, Schema) else self.columns
        object.__setattr__(self, "columns", _checked_columns(given))

    @staticmethod
    def template(frame: Rows) -> str:
        """Return a schema with blanks for the columns of a table, as text for a YAML file.

        Only names are read. Fill in the blanks from what is known in public: ranges and values that
        are read from private rows are not public.

        Parameters
        ----------
        frame : dataframe, Arrow table or anything else with named columns

        Returns
        -------
        text : str
            What :meth:`from_yaml` reads once it is filled in.

        Examples
        --------
        >>> import pandas
        >>> from skdp_bary.schema import Schema
        >>> print(*Schema.template(pandas.DataFrame({"age": [31]})).splitlines()[-6:], sep="\\n")
          "age":
            kind:
            low:
            high:
            values:
            missing:
        """
        names = column_names(frame)
        if names is None or not all(isinstance(name, str) for name in names):
            raise TypeError(
                f"frame must be a table whose columns have names, got {type(frame).__name__}. For "
                "example pandas.DataFrame(rows, columns=['age', 'job'])."
            )
        return template_of(names)

    @classmethod
    def from_dict(cls, given: dict) -> Self:
        """Return the schema that a dictionary declares.

        Parameters
        ----------
        given : dict
            ``{"columns": {"age": {"kind": "integer", "low": 0, "high": 120}, ...}}``, as returned
            by :meth:`to_dict`.
        """
        if isinstance(given, dict) and "rules" in given:
            raise ValueError(
                "A schema has no rules: they are given to PrivateTable(schema, rules=...)."
            )
        if not isinstance(given, dict) or not given.get("columns") or len(given) > 1:
            got = sorted(map(str, given)) if isinstance(given, dict) else type(given).__name__
            raise ValueError(
                f"A schema is a mapping with the key 'columns', which must hold some, got {got}. "
                f"For example {_EXAMPLE}."
            )
        columns = given["columns"]
        if isinstance(columns, dict) and isinstance(columns.get("kind"), str):
            return cls(kind_from_dict(columns, "All columns"))
        if isinstance(columns, dict):
            columns = {n: kind_from_dict(kind, f"Column {n!r}") for n, kind in columns.items()}
        else:
            columns = [kind_from_dict(kind, f"Column {i}") for i, kind in enumerate(columns)]
        return cls(columns)

    @classmethod
    def from_yaml(cls, path: str | PathLike[str]) -> Self:
        """Return the schema declared by a YAML or JSON file; YAML needs the extra ``cli``.

        Parameters
        ----------
        path : str or Path
            What is in it is as in :meth:`from_dict`. Quote values that YAML takes for numbers or
            dates, such as ``"01"``; yes, no, on and off in a list of values are text.
        """
        text = Path(path).read_text(encoding="utf-8")
        if str(path).endswith(".json"):
            return cls.from_dict(json.loads(text))
        return cls.from_dict(read_yaml(text))

    def to_dict(self) -> dict[str, object]:
        """Return the schema as plain values, for a file."""
        columns = self.columns
        if isinstance(columns, Kind):
            columns = columns.to_dict()
        elif self.names is None:
            columns = [kind.to_dict() for kind in columns]
        else:
            columns = {name: kind.to_dict() for name, kind in columns}
        return {"columns": columns}

    def describe(self) -> str:
        """Return one line per column."""
        if isinstance(self.columns, Kind):
            return _line("all columns", self.columns)
        names = self.names or [f"column {place}" for place in range(len(self.columns))]
        return "\n".join(_line(*pair) for pair in zip(names, self.kinds(len(names)), strict=True))

    @property
    def names(self) -> tuple | None:
        """Names of the columns, or None where they are told by position."""
        if isinstance(self.columns, Kind) or isinstance(self.columns[0], Kind):
            return None
        return tuple(name for name, _ in self.columns)

    @property
    def n_columns(self) -> int | None:
        """Number of columns, or None where any number will do."""
        return None if isinstance(self.columns, Kind) else len(self.columns)

    @property
    def numeric(self) -> bool:
        """Whether rows are read as numbers, without a column of objects."""
        return all(kind.numeric for kind in self.kinds(1))

    def kinds(self, n_columns: int) -> list[Kind]:
        """Return the kind of every column."""
        if isinstance(self.columns, Kind):
            return [self.columns] * n_columns
        return [c if isinstance(c, Kind) else c[1] for c in self.columns]

    def levels(self, *names: str) -> list[list]:
        """Return all that columns of categories can hold after reading, for an encoder.

        Parameters
        ----------
        *names : str
            Columns; without any, all categories in order.
        """
        kinds = dict(self.columns) if self.names else dict(enumerate(self.kinds(0)))
        for name in names:
            if name not in kinds:
                raise ValueError(
                    f"The schema has no column {name!r}; it has {list(kinds)}. For example "
                    f"levels({next(iter(kinds))!r})."
                )
            if not isinstance(kinds[name], Category):
                raise ValueError(
                    f"Column {name!r} is declared as {kinds[name].word}: only categories and "
                    "ordinals have levels, for example Category(['cook', 'nurse'])."
                )
        wanted = names or [name for name in kinds if isinstance(kinds[name], Category)]
        return [kinds[name].levels for name in wanted]

    def ranges(self, n_columns: int) -> tuple[np.ndarray, np.ndarray] | None:
        """Return arrays of lowest and highest numbers.

        None where a column holds no numbers or may be missing.
        """
        kinds = self.kinds(n_columns)
        if not all(kind.numeric and not kind.missing for kind in kinds):
            return None
        low, high = np.array([kind.range for kind in kinds]).T
        return low, high

    def read(self, X: Rows) -> list[np.ndarray]:
        """Return the rows of a table, column by column, each value as it was declared.

        Parameters
        ----------
        X : array-like, dataframe, Arrow table or sparse matrix
            Columns of frames are matched by name where the schema has names.

        Returns
        -------
        columns : list of ndarray of shape (n_rows,)
            float64 for numbers, dates and flags, objects for categories and text.
        """
        if issparse(X):
            X = canonical_csr(X).toarray()
        X = self.matched(X)
        kinds, names = self.kinds(_width(X)), self.names or column_names(X)
        columns = enumerate(zip(kinds, names or range(len(kinds)), strict=True))
        return [kind.read(column_values(X, i), f"Column {name!r}") for i, (kind, name) in columns]

    def width_of(self, X: Rows) -> int:
        """Return the number of columns of a table, or raise where it is no table of this schema."""
        return X.shape[1] if issparse(X) else _width(self.matched(X))

    def unnamed(self, names: Iterable[str]) -> list[str]:
        """Return those of the names of columns that this schema does not name."""
        return [] if self.names is None else [name for name in names if name not in self.names]

    def matched(self, X: Rows) -> Rows:
        """Return a table with the columns of this schema in order, or raise; others are dropped."""
        own = column_names(X)
        if own is not None and self.names is not None:
            if self.unnamed(own) and set(self.names) <= set(own):
                X = some_columns(X, [name for name in own if name in self.names])
            return select_columns(X, self.names, "X")
        if column_names(X) is None and not isinstance(X, np.ndarray):
            X = _table_of_objects(X, self.n_columns)
        if self.n_columns not in (None, _width(X)):
            # rows taken for columns would show how many rows there are
            raise ValueError(
                f"X must have {self.n_columns} columns, those of its schema. Leave out others, for "
                "example X[:, columns]."
            )
        return X


def warn_of_unnamed(schema, names):
    """Warn where a table has columns that its schema does not name, and say whether it has.

    Parameters
    ----------
    schema : Schema
    names : list of str or None
        Of the columns of the table; None where they have none.
    """
    left = schema.unnamed(names or ())
    if left:
        ids = [name for name in left if names_somebody(name)]
        advice = f" Pass groups={ids[0]!r} where that is a person id." if ids else ""
        warnings.warn(
            f"Columns that the schema does not name are not read: {left}.{advice} Drop them, or "
            "declare them in Schema(...).",
            PrivacyWarning,
            stacklevel=3,
        )
    return bool(left)


_EXAMPLE = "{'columns': {'age': {'kind': 'integer', 'low': 0, 'high': 120}}}"
_IN_ROWS = "for example [[1, 2], [3, 4]]"


def _checked_columns(columns):
    if isinstance(columns, Kind):
        return columns
    columns = tuple(columns.items() if hasattr(columns, "items") else columns)
    pairs = [c for c in columns if isinstance(c, tuple) and len(c) == 2]
    kinds = [kind for _, kind in pairs] if len(pairs) == len(columns) else columns
    if not columns or not all(isinstance(kind, Kind) for kind in kinds):
        raise TypeError(
            "columns must be a dict of kinds by name, a list of kinds, or one kind. For example "
            "Schema({'age': Integer(0, 120)})."
        )
    names = [name for name, _ in pairs]
    if len(set(names)) < len(names) or not all(isinstance(name, str) for name in names):
        raise ValueError(
            "Names of columns must be different strings, for example {'age': ..., 'age_2': ...}."
        )
    if not all(map(is_text, names)):
        raise ValueError(f"Names of columns must be text that UTF-8 can write, got {names!r}.")
    return columns


def _line(name, kind):
    told = {n: v for n, v in kind.to_dict().items() if n != "kind"}
    flags = [n if v is True else f"{n} {v}" for n, v in told.items()]
    return ", ".join([f"{name}: {kind.word}", *flags])


def _width(X):
    """Return the number of columns of a table that has rows and columns, or raise."""
    names = column_names(X)
    shape = X.shape if names is None else (len(X), len(names))
    if len(shape) != 2:
        raise ValueError(
            f"X must have two dimensions, got {len(shape)}. Reshape your data: X.reshape(-1, 1) if "
            "it is one feature, X.reshape(1, -1) if it is one row."
        )
    if not shape[1]:
        raise ValueError(NO_COLUMNS)
    return shape[1]


def _table_of_objects(X, n_columns):
    """Return rows given as lists as a table in which every value is as it was given."""
    if hasattr(X, "__array__"):
        return array_of(X, "X")
    if not hasattr(X, "__iter__"):
        raise TypeError(f"X must be a table of rows, got {type(X).__name__}, {_IN_ROWS}.")
    if not all(hasattr(row, "__iter__") and not isinstance(row, str) for row in X):
        raise ValueError(
            f"X must have two dimensions: a list of rows, {_IN_ROWS}. Reshape your data."
        )
    rows = [list(row) for row in X]
    table = np.empty((len(rows), len(rows[0]) if rows else n_columns or 0), dtype=object)
    for place, row in enumerate(rows):
        if len(row) != table.shape[1]:
            raise ValueError(
                f"X must have the same number of values in every row, {_IN_ROWS}. Fill the short "
                "rows."
            )
        table[place] = row
    return table


# Rules of a table that are public: columns that follow from others, order, keys, fixed shares.


@dataclass(frozen=True)
class Derived:
    """A column that is computed from the others, and neither measured nor declared.

    Parameters
    ----------
    column : str
    function : callable
        Public: takes a frame of drawn rows and returns the values of the column.

    Examples
    --------
    >>> from skdp_bary.schema import Derived
    >>> rule = Derived("total", lambda rows: rows["net"] + rows["tax"])
    """

    column: str
    function: Callable[..., ArrayLike]

    def __post_init__(self):
        _check_names(self.column)
        if not callable(self.function):
            raise TypeError(
                f"function must be a callable, got {self.function!r}. For example Derived('total', "
                "lambda rows: rows['net'] + rows['tax'])."
            )


@dataclass(frozen=True)
class Key:
    """A column of unique values, generated anew and neither measured nor declared.

    Parameters
    ----------
    column : str
    prefix : str, default=""
        What texts begin with; "" makes integers, from 1 on.
    """

    column: str
    prefix: str = ""

    def __post_init__(self):
        _check_names(self.column, self.prefix or "none")


@dataclass(frozen=True)
class InOrder:
    """Numbers or dates of one column that are never above those of another one.

    Parameters
    ----------
    first, second : str
        Columns of the schema. Rows in which one of them is missing are in order.
    """

    first: str
    second: str

    def __post_init__(self):
        _check_names(self.first, self.second)


@dataclass(frozen=True)
class Shares:
    """Publicly known shares of the values of a column, for example from a census.

    Parameters
    ----------
    column : str
        A category, an ordinal or a flag of the schema.
    shares : dict
        By value; they are divided by their sum. Values that are not named do not come.
    """

    column: str
    shares: Mapping

    def __post_init__(self):
        _check_names(self.column)
        given = list(self.shares.values()) if isinstance(self.shares, Mapping) else []
        if not given or not all(isinstance(s, (int, float)) and s >= 0 for s in given):
            raise ValueError(
                f"shares must be numbers of at least 0 by value, got {self.shares!r}.{_SHARES}"
            )
        if not 0 < sum(given) < float("inf"):
            raise ValueError(f"shares must have a positive sum, got {self.shares!r}.{_SHARES}")


_SHARES = " For example shares={'yes': 0.3, 'no': 0.7}."


def _check_names(*names):
    for name in names:
        if not isinstance(name, str) or not name:
            raise TypeError(f"Columns are named by text, got {name!r}. For example Key('id').")
        if not is_text(name):
            raise ValueError(f"Names must be text that UTF-8 can write, got {name!r}.")


# YAML files of schemas: what stands in a list of values is the text that stands there.

_FLAG, _TEXT = "tag:yaml.org,2002:bool", "tag:yaml.org,2002:str"
_NUMBERS = "tag:yaml.org,2002:int", "tag:yaml.org,2002:float"
_DECIMAL = re.compile(r"(?i)[-+]?(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+|\.inf|\.nan)(?:e[-+]?\d+)?")


def read_yaml(text: str) -> Any:
    """Schema that a YAML text declares.

    YAML takes yes, no, on and off for flags, 01234 for an octal number and 12:30 for 750. In a list
    of ``values`` they are text, as in the rows, and so are the numbers next to them.
    """
    yaml = import_optional("yaml", "cli", "Schema.from_yaml")
    loader = yaml.SafeLoader(text)
    try:
        root = loader.get_single_node()
        if root is None:
            return None
        for values in _lists_of_values(yaml, root):
            for item in values:
                if item.tag == _FLAG and item.value.lower() not in ("true", "false"):
                    item.tag = _TEXT
            numbers = [item for item in values if item.tag in _NUMBERS]
            if not all(_DECIMAL.fullmatch(item.value) for item in numbers):
                for item in numbers:
                    item.tag = _TEXT
        return loader.construct_document(root)
    except (yaml.YAMLError, RecursionError) as error:
        found = " ".join(str(error).split()) or "lists within lists without an end"
    finally:
        loader.dispose()
    raise ValueError(
        f"The schema must be plain YAML without program tags such as !!python, got: {found}. "
        "Quote values with signs, such as '>50K'. Schema.template(frame) writes one to fill in."
    )


def _lists_of_values(yaml, root):
    """Yield the nodes of every list that stands under the key ``values``."""
    left, known = [root], set()
    while left:
        node = left.pop()
        if id(node) in known or isinstance(node, yaml.ScalarNode):  # an alias may lead in a circle
            continue
        known.add(id(node))
        is_mapping = isinstance(node, yaml.MappingNode)
        for key, value in node.value if is_mapping else [(None, each) for each in node.value]:
            if key is not None and key.value == "values" and isinstance(value, yaml.SequenceNode):
                yield value.value
            left.append(value)


# The skeleton of a schema, for a person to fill in.


def template_of(names):
    """Return a YAML text that names columns and leaves blank what they can hold."""
    text = files(__package__).joinpath("template.txt").read_text(encoding="utf-8")
    head, columns, blanks = text.partition("columns:\n")
    # names in quotes: YAML reads some of them as something else
    filled = [blanks.format(name=json.dumps(name, ensure_ascii=False)) for name in names]
    return head.format(kinds=", ".join(sorted(KINDS))) + columns + "".join(filled)
