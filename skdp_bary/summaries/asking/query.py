"""Queries: frozen public questions about rows, and the sketches that answer them exactly."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from .packed import pack, unpack_into

if TYPE_CHECKING:
    from ...privacy.noise.mechanisms import Sensitivity
    from ...summaries.rows.persons import Chunk


class Query(ABC):
    """A public question whose exact answer is a list of integer arrays, called blocks.

    A query is built from public facts and earlier releases, never from rows. Its answer is a linear
    function of a state of integers that adds up over rows, so chunks can be counted anywhere, in
    order, and give the same integers.

    A state of integers may wrap around 64 bits. Where blocks are sums of rows, so may they: the
    noise is added modulo ``2**64`` too, so what comes out is a function of the exact sum plus
    noise. See :doc:`/explanation/guarantees` for the proof.

    Attributes
    ----------
    units : int or None
        Largest mass of one person; rows are counted in these units. None: no masses are asked for.
    mass_block : int, tuple of int or None
        Block, or blocks, whose entries add up to the mass of all rows that were counted.
    in_threads : bool
        Whether `count` may run in several threads at a time, each with a state of its own.
    """

    units = None
    mass_block = None
    in_threads = True

    @abstractmethod
    def zeros(self) -> tuple[np.ndarray, ...]:
        """Return the state of no rows: a tuple of int64 arrays."""

    @abstractmethod
    def count(self, state: tuple[np.ndarray, ...], chunk: Chunk) -> None:
        """Add a :class:`~skdp_bary.summaries.rows.persons.Chunk` of rows to `state` in place."""

    @abstractmethod
    def blocks(self, state: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
        """Return the blocks of the answer, a tuple of int64 arrays, computed from `state`."""

    @abstractmethod
    def sensitivity(self, relation: str) -> Sensitivity:
        """Return the :class:`~skdp_bary.privacy.noise.mechanisms.Sensitivity` under `relation`."""

    def weights(self) -> tuple[float, ...] | None:
        """Return the relative noise scale of each block, or None for equal scales."""
        return None

    def row_effort(self, n_features: int) -> int:
        """Return about how many numbers one row is turned into: threads are worth it for many."""
        return n_features


class Sketch:
    """The exact, mergeable answer to one query. Its integers leave only through ``release``."""

    def __init__(self, query):
        self.query = query
        self._state = query.zeros()

    def update(self, chunk):
        """Count the rows of one chunk, whatever numpy settings the user has made."""
        with np.errstate(all="ignore"):
            for part in chunk.in_units(self.query.units).parts():
                self.query.count(self._state, part)
        return self

    def update_all(self, chunks):
        """Count the rows of several chunks."""
        for chunk in chunks:
            self.update(chunk)
        return self

    @property
    def size(self):
        """Number of integers that are added up."""
        return sum(part.size for part in self._state)

    def merge(self, other):
        """Add the integers of a sketch of the same query over other rows."""
        for mine, theirs in zip(self._state, other._state, strict=True):
            mine += theirs
        return self

    def packed(self):
        """Return the integers in few bytes, for a journey to another machine."""
        return pack(self._state)

    def add_packed(self, packed):
        """Add the packed integers of a sketch of the same query; they stay as they are."""
        unpack_into(self._state, packed)
        return self

    def exact_blocks(self):
        """Return the answer before noise."""
        return self.query.blocks(self._state)

    def race(self, rate, noise, recorded=None, audit=None):
        """Return the picks of a query that makes them, whatever the numpy settings of the user."""
        with np.errstate(all="ignore"):
            return self.query.race(self._state, rate, noise, recorded, audit)
