"""One question for every class, each about the rows of that class alone."""

from dataclasses import dataclass, replace

import numpy as np

from ...privacy._neighbors import ADD_REMOVE, REPLACE_ANY
from ...privacy.noise.mechanisms import Sensitivity
from ..moments.frames import Frame, octave_about
from ..rows.persons import Chunk
from .query import Query


@dataclass(frozen=True, eq=False)
class ByClass(Query):
    """The answers to one query a class, in blocks with a leading axis of classes.

    Parameters
    ----------
    queries : tuple of Query
        One a class, all of one family; they must have answers of one shape, the same sensitivity
        and the same relative noise, so that a block has one scale.
    """

    queries: tuple

    def __post_init__(self):
        first = self.queries[0]
        for query in self.queries[1:]:
            same = all(
                query.sensitivity(relation) == first.sensitivity(relation)
                for relation in (ADD_REMOVE, REPLACE_ANY)
            )
            if not same or query.weights() != first.weights():
                raise ValueError("The queries of all classes must have one sensitivity and noise.")

    @property
    def units(self):
        """Largest mass of one person."""
        return self.queries[0].units

    @property
    def mass_block(self):
        """That of the queries."""
        return self.queries[0].mass_block

    @property
    def in_threads(self):
        """That of the queries."""
        return self.queries[0].in_threads

    def zeros(self):
        """Return the states of all classes, stacked."""
        parts = self.queries[0].zeros()
        return tuple(np.zeros((len(self.queries), *p.shape), dtype=p.dtype) for p in parts)

    def count(self, state, chunk):
        """Let every query count the rows of its class."""
        for code, query in enumerate(self.queries):
            query.count(tuple(part[code] for part in state), _of_class(chunk, code))

    def blocks(self, state):
        """Return the blocks of all classes, stacked."""
        answers = [
            query.blocks(tuple(part[code] for part in state))
            for code, query in enumerate(self.queries)
        ]
        return tuple(np.stack(blocks) for blocks in zip(*answers, strict=True))

    def weights(self):
        """Return the relative noise that all queries ask for."""
        return self.queries[0].weights()

    def row_effort(self, n_features):
        """Return that of a query: a row has one class."""
        return self.queries[0].row_effort(n_features)

    def sensitivity(self, relation):
        """A person is in one class; who changes it leaves one answer and joins another.

        A person with rows in several classes has a share of the mass in each, and the change is a
        mean, with these shares, of changes that the cases bound.
        """
        query = self.queries[0]
        within = query.sensitivity(relation)
        if relation != REPLACE_ANY or len(self.queries) == 1:
            return within
        joins = query.sensitivity(ADD_REMOVE)
        return Sensitivity(
            (*within.l1, *_sums_of_two(joins.l1)),
            (*within.l2_squared, *_sums_of_two(joins.l2_squared)),
        )

    def read(self, released):
        """Return what the query of every class reads in its part of the release."""
        parts = enumerate(self.queries)
        values = ((query, tuple(block[code] for block in released.values)) for code, query in parts)
        return [query.read(replace(released, values=own, query=query)) for query, own in values]


def frames_of(domain, centers, bits, axes=None):
    """Return a frame around the center of every class, all with lattice units of one width.

    Integer rows have norm at most about ``2**bits`` in the widest frame, and less in the others.
    """
    octaves = [octave_about(domain, center) for center in centers]
    return tuple(
        Frame(domain, center, bits - (max(octaves) - octave), axes, kept=axes is not None)
        for center, octave in zip(centers, octaves, strict=True)
    )


def _of_class(chunk, code):
    if chunk.codes is None:
        return chunk
    own = chunk.codes == code
    masses = None if chunk.masses is None else chunk.masses[own]
    memo = chunk.memo.setdefault((ByClass, code), {})  # of these rows, for later questions
    return Chunk(chunk.X[own], None, masses, memo)


def _sums_of_two(cases):
    """Return the changes of two classes together: those of different classes never cancel."""
    return tuple(
        tuple(a + b for a, b in zip(case, other, strict=True))
        for i, case in enumerate(cases)
        for other in cases[i:]
    )
