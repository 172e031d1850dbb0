"""Public transformers: nothing in them depends on the rows."""

from ._jl import JLTransformer
from ._row_by_row import RowByRow
from ._scaler import DomainScaler
from ._schema import SchemaTransformer

__all__ = ["DomainScaler", "JLTransformer", "RowByRow", "SchemaTransformer"]
