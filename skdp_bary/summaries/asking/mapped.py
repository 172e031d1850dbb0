"""Queries about images of the rows."""

from abc import abstractmethod
from dataclasses import dataclass, replace

import numpy as np

from ...geometry._domains import Box
from ...geometry._linear_maps import MatrixMap
from .query import Query


class MappedRows(Query):
    """Asks a query, the attribute ``query``, about the images of the rows.

    The image of a row depends on that row alone, bit for bit, so neighboring rows have neighboring
    images, and the sensitivity is that of the query.
    """

    @property
    def units(self):
        """Largest mass of one person."""
        return self.query.units

    @property
    def mass_block(self):
        """That of the query."""
        return self.query.mass_block

    @property
    def in_threads(self):
        """That of the query; not where images come from a function of somebody else."""
        return self.query.in_threads

    @abstractmethod
    def image(self, chunk):
        """Return the chunk with the images of its rows."""

    def zeros(self):
        """Return the state of the query for no rows."""
        return self.query.zeros()

    def count(self, state, chunk):
        """Add the images of the rows of a chunk."""
        self.query.count(state, self.image(chunk))

    def blocks(self, state):
        """Return the blocks of the query."""
        return self.query.blocks(state)

    def sensitivity(self, relation):
        """Return that of the query."""
        return self.query.sensitivity(relation)

    def weights(self):
        """Return those of the query."""
        return self.query.weights()

    def row_effort(self, n_features):
        """Return that of the image and of the query."""
        return n_features + self.query.row_effort(n_features)


@dataclass(frozen=True, eq=False)
class Mapped(MappedRows):
    """Asks a query about the images of the rows under a released linear map.

    Parameters
    ----------
    components : ndarray of shape (n_components, n_features)
        Public or released.
    query : Query
        About rows with `n_components` features.
    """

    components: np.ndarray
    query: Query

    def image(self, chunk):
        """Return the chunk with the products of its rows."""
        return replace(chunk, X=MatrixMap(self.components).apply(chunk.X))


@dataclass(frozen=True, eq=False)
class InWidths(MappedRows):
    """Asks a query about rows whose features are counted in the widths of a box.

    Parameters
    ----------
    box : Box
        Public; it becomes the unit box, and rows outside are clipped.
    query : Query
        About rows of the unit box.
    """

    box: Box
    query: Query

    def image(self, chunk):
        """Return the chunk with scaled rows; every number of them depends on itself alone."""
        X = self.box.clip(chunk.X)
        X -= self.box.low
        X /= self.box.high - self.box.low
        return replace(chunk, X=X)


def in_widths(box, questions):
    """Hold a conversation about rows in the widths of a box, and return what it returns."""
    released = None
    while True:
        try:
            name, query = questions.send(released)
        except StopIteration as done:
            return done.value
        released = yield name, InWidths(box, query)
