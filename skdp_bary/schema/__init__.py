"""Declarations of the columns of a table, made publicly before any row is read."""

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
