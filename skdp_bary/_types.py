"""Names of types that public signatures share."""

from typing import Any, Literal, TypeAlias

import numpy as np

Neighbors: TypeAlias = Literal["add_remove", "replace_one", "replace_any"]
RandomState: TypeAlias = int | np.integer[Any] | np.random.RandomState | np.random.Generator
# arrays, frames, Dask collections, chunks, paths: each source of rows says itself what it takes
Rows: TypeAlias = Any
