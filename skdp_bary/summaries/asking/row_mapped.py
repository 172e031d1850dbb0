"""A query about what a public function makes of every row."""

from dataclasses import dataclass, replace

import numpy as np

from .mapped import MappedRows
from .query import Query


@dataclass(frozen=True, eq=False)
class RowMapped(MappedRows):
    """Asks a query about the images of the rows under a function of one row.

    The function is given one row at a time, so the image of a row cannot depend on the rows around
    it.

    Parameters
    ----------
    row_map : callable
        Takes an array of shape (1, n_features) and returns one of shape (1, n_outputs), finite, the
        same whenever it is given the same. Made from public facts and earlier releases.
    query : Query
        About rows with `n_outputs` features.
    """

    row_map: object
    query: Query

    in_threads = False  # a function of somebody else

    def image(self, chunk):
        """Return the chunk with the images of its rows."""
        if not len(chunk.X):
            return chunk
        images = [self.row_map(chunk.X[i : i + 1]) for i in range(len(chunk.X))]
        return replace(chunk, X=np.concatenate(images), memo={})
