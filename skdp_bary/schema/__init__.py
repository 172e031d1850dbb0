"""What every column of a table can hold, declared in public before any row is read."""

from ._kinds import Boolean, Category, Date, Integer, Number, Ordinal, Text
from ._rules import Derived, InOrder, Key, Shares
from ._schema import Schema

__all__ = [
    "Boolean",
    "Category",
    "Date",
    "Derived",
    "InOrder",
    "Integer",
    "Key",
    "Number",
    "Ordinal",
    "Schema",
    "Shares",
    "Text",
]
