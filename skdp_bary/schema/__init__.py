"""What every column of a table can hold, declared in public before any row is read."""

from .kinds import Boolean, Category, Date, Integer, Number, Ordinal, Text
from .schema import Derived, InOrder, Key, Schema, Shares

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
