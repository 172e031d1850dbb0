"""What every column of a table can hold, declared in public before any row is read."""

from ._kinds import Boolean, Category, Date, Integer, Number, Ordinal, Text
from ._schema import Schema

__all__ = ["Boolean", "Category", "Date", "Integer", "Number", "Ordinal", "Schema", "Text"]
