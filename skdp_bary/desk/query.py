"""The two words of a conversation: a Query and its Release."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from ..privacy.mechanisms import Sensitivity
from ..rows.persons import Chunk


class Query(ABC):
    """A public question whose exact answer is a list of integer arrays, called blocks.

    A query is built from public facts and earlier releases, never from rows. Its answer is a linear
    function of a state of integers that adds up over rows, so chunks can be counted anywhere, in
    order, and give the same integers.

    A state of integers may wrap around 64 bits. If blocks are sums of rows, so may they: the
    noise is added modulo ``2**64`` too, so what comes out is a function of the exact sum plus
    noise. See :doc:`/explanation/guarantees` for the proof.

    Attributes
    ----------
    units : int or None
        Largest mass of one person; rows are counted in these units. None: no masses are asked for.
    mass_block : int, tuple of int or None
        Block, or blocks, whose entries add up to the mass of all rows that were counted.
    in_threads : bool
        Whether `count` may run in several threads at a time, each with its own state.
    picks : bool
        Whether what is released are picks that its mechanism draws, and no numbers with noise.
    """

    units = None
    mass_block = None
    in_threads = True
    picks = False

    @abstractmethod
    def zeros(self) -> tuple[np.ndarray, ...]:
        """Return the state of no rows: a tuple of int64 arrays."""

    @abstractmethod
    def count(self, state: tuple[np.ndarray, ...], chunk: Chunk) -> None:
        """Add a :class:`~skdp_bary.rows.persons.Chunk` of rows to `state` in place."""

    @abstractmethod
    def blocks(self, state: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
        """Return the blocks of the answer, a tuple of int64 arrays, computed from `state`."""

    @abstractmethod
    def sensitivity(self, relation: str) -> Sensitivity:
        """Return the :class:`~skdp_bary.privacy.mechanisms.Sensitivity` under `relation`."""

    def weights(self) -> tuple[float, ...] | None:
        """Return the relative noise scale of each block, or None for equal scales."""
        return None

    def row_effort(self, n_features: int) -> int:
        """Return about how many numbers one row is turned into: threads are worth it for many."""
        return n_features


@dataclass(frozen=True)
class Release:
    """A noisy integer answer, which may be published and used in computations.

    Attributes
    ----------
    name : str
        Name of the plan step that it is charged to.
    values : tuple of ndarray of int64
        The blocks of the query, with noise; or its picks.
    scales : tuple of float
        Noise scale of each block (0 for a block that is public under the relation); none for picks.
    mechanism : DiscreteLaplace, RoundedGaussian, or what draws picks
    relation : str
    seeded : bool
        True when the noise can be reproduced: such a release is not private.
    query : Query
        The question that was asked; it is public.
    """

    name: str
    values: tuple
    scales: tuple
    mechanism: object
    relation: str
    seeded: bool
    query: object

    @property
    def noise_sd(self) -> tuple[float, ...]:
        """Standard deviation of the noise on each block."""
        return tuple(map(self.mechanism.standard_deviation, self.scales))
