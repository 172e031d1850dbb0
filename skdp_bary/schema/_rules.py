"""Rules of a table that are public: columns that follow from others, order, keys, fixed shares."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .._plain import is_text

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


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
            raise TypeError(f"function must be a callable, got {self.function!r}.")


@dataclass(frozen=True)
class Key:
    """A column of different values, made anew and neither measured nor declared.

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
    """Shares of the values of a column that are known in public, such as those of a census.

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
            raise ValueError(f"shares must be numbers of at least 0 by value, got {self.shares!r}.")
        if not 0 < sum(given) < float("inf"):
            raise ValueError(f"shares must have a positive sum, got {self.shares!r}.")


def _check_names(*names):
    for name in names:
        if not isinstance(name, str) or not name:
            raise TypeError(f"Columns are named by text, got {name!r}.")
        if not is_text(name):
            raise ValueError(f"Names must be text that UTF-8 can write, got {name!r}.")
