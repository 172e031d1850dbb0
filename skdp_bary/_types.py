"""Names of types that public signatures share."""

from typing import Any, Literal, Protocol, TypeAlias

import numpy as np

Neighbors: TypeAlias = Literal["add_remove", "replace_one", "replace_any"]
RandomState: TypeAlias = int | np.integer[Any] | np.random.RandomState | np.random.Generator
# arrays, frames, Dask collections, chunks, paths: each source of rows says itself what it takes
Rows: TypeAlias = Any
# of public draws; both have the methods that are used
Draws: TypeAlias = np.random.Generator | np.random.RandomState


class Estimator(Protocol):
    """What can be cloned and given parameters: an estimator of this package or another one."""

    def get_params(self, deep: bool = True) -> dict: ...

    def set_params(self, **params: object) -> object: ...
