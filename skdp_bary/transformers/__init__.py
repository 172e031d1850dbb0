"""Public transformers: nothing in them depends on the rows."""

from .linear import DomainScaler, JLTransformer
from .tables import RowByRow, SchemaTransformer

__all__ = ["DomainScaler", "JLTransformer", "RowByRow", "SchemaTransformer"]
