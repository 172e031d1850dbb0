"""Query and Sketch, exact integers; Release, where they meet noise."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING

import numpy as np

from ..privacy.neighbors import ADD_REMOVE
from ..privacy.noise import MAX_SCALE
from ..privacy.plans import RaceChoice
from .tape import active_tape

if TYPE_CHECKING:
    from ..privacy.mechanisms import Sensitivity
    from ..rows.persons import Chunk


# Queries: frozen public questions about rows, and the sketches that answer them exactly.


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


# States of sketches on their way between machines: as few bytes as their integers need.

_INDEX_BYTES = 4


@dataclass(frozen=True, eq=False)
class PackedIntegers:
    """An array of int64, exactly: in the shortest integers, without zeros where that is shorter.

    Parameters
    ----------
    shape : tuple of int
    values : ndarray
        All integers, or those at `places`.
    places : ndarray or None
        Flat places of the integers that are not zero; None when all are given.
    """

    shape: tuple
    values: np.ndarray
    places: np.ndarray | None

    @property
    def n_bytes(self):
        """Bytes of the arrays."""
        return self.values.nbytes + (0 if self.places is None else self.places.nbytes)

    def add_to(self, array):
        """Add the integers to an array of the same shape, in place."""
        flat = array.reshape(-1)
        if self.places is None:
            flat += self.values
        else:
            flat[self.places] += self.values  # places are different


def pack(state):
    """Return a state with its arrays packed; parts that are no arrays are sparse by themselves."""
    return tuple(_pack(part) if isinstance(part, np.ndarray) else part for part in state)


def unpack_into(state, packed):
    """Add a packed state to `state` in place; the packed one is not changed."""
    for mine, theirs in zip(state, packed, strict=True):
        if isinstance(theirs, PackedIntegers):
            theirs.add_to(mine)
        else:
            mine += theirs


def to_bytes(packed):
    """Return a packed state as bytes that hold arrays and nothing that could be run."""
    arrays = {}
    for i, part in enumerate(packed):
        if isinstance(part, PackedIntegers):
            arrays |= {f"{i}.shape": np.array(part.shape, dtype=np.int64), f"{i}.0": part.values}
            arrays |= {} if part.places is None else {f"{i}.1": part.places}
        else:
            arrays |= {f"{i}.{j}": array for j, array in enumerate(part.arrays())}
    stream = BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def from_bytes(data, zeros):
    """Return the packed state of which `data` was made.

    Parameters
    ----------
    data : bytes
    zeros : tuple
        The state of no rows: parts that are no arrays are added to it.
    """
    with np.load(BytesIO(data), allow_pickle=False) as arrays:
        return tuple(_part(arrays, i, part) for i, part in enumerate(zeros))


def _part(arrays, i, part):
    if isinstance(part, np.ndarray):
        shape = tuple(arrays[f"{i}.shape"].tolist())
        return PackedIntegers(shape, arrays[f"{i}.0"], arrays.get(f"{i}.1"))
    part.add_arrays(*(arrays[name] for name in arrays.files if name.startswith(f"{i}.")))
    return part


def _pack(array):
    flat = array.reshape(-1)
    low, high = (int(flat.min()), int(flat.max())) if flat.size else (0, 0)
    kind = np.result_type(np.min_scalar_type(low), np.min_scalar_type(high))
    if kind.itemsize == 8:  # int64 adds up with the arrays of sketches, uint64 does not
        kind = np.dtype(np.int64)
    places = np.flatnonzero(flat)
    if flat.size < 1 << 31 and len(places) * (kind.itemsize + _INDEX_BYTES) < flat.size * (
        kind.itemsize
    ):
        return PackedIntegers(array.shape, flat[places].astype(kind), places.astype(np.int32))
    return PackedIntegers(array.shape, flat.astype(kind), None)


# Releases: the one place where an exact answer meets noise.

_ROOM = 1 << 62  # of sums: what is left is for noise


@dataclass(frozen=True)
class Release:
    """A noisy integer answer: free to publish, and to compute with.

    Attributes
    ----------
    name : str
        Name of the plan step that paid for it.
    values : tuple of ndarray of int64
        The blocks of the query, with noise; the picks of a race.
    scales : tuple of float
        Noise scale of each block (0 for a block that is public under the relation); none for picks.
    mechanism : DiscreteLaplace, RoundedGaussian or RaceChoice
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
        return tuple(self.mechanism.standard_deviation(scale) for scale in self.scales)


def require_noise(query, step, relation, room=1.0):
    """Raise where the noise of `step` would be too large to draw: nothing is charged or read then.

    `room` is by how much the noise of another query of the step may be larger. Picks of a race have
    no noise of this kind.
    """
    if isinstance(step.mechanism, RaceChoice):
        return
    largest = max(step.mechanism.scales(query.sensitivity(relation), query.weights()), default=0.0)
    if largest * room > MAX_SCALE:
        raise ValueError(
            f"epsilon is too small for step {step.name!r}: its noise has scale {largest:.3g}, and "
            f"at most {MAX_SCALE / room:.3g} can be drawn."
        )


def release(sketch, step, relation, noise):
    """Add the noise of `step` to the answer of `sketch` and return the release.

    The number, shape and order of draws follow from the query alone.
    """
    if isinstance(step.mechanism, RaceChoice):
        return _release_picks(sketch, step, relation, noise)
    query = sketch.query
    sensitivity = query.sensitivity(relation)
    scales = step.mechanism.scales(sensitivity, query.weights())
    exact = sketch.exact_blocks()
    tape = active_tape()
    values = tape.recall(step.name) if tape is not None else None
    if values is None:
        values = tuple(
            block + step.mechanism.draw(scale, block.shape, noise) if scale > 0 else block
            for block, scale in zip(exact, scales, strict=True)
        )
    for block in values:
        block.setflags(write=False)
    released = Release(
        step.name, tuple(values), scales, step.mechanism, relation, noise.seeded, query
    )
    if tape is not None:
        tape.record(released, query, exact, sensitivity)
    _refuse_wrapped(released)
    return released


def _refuse_wrapped(released):
    """Raise where so much mass was released that sums beside it may have wrapped around.

    By released numbers alone: anybody who sees the release could tell.
    """
    query = released.query
    if query.mass_block is None:
        return
    places = query.mass_block if isinstance(query.mass_block, tuple) else (query.mass_block,)
    mass = sum(int(released.values[place].sum(dtype=object)) for place in places)
    cases = query.sensitivity(ADD_REMOVE).l2_squared
    reach = math.isqrt(max(max(case) for case in cases))  # of one person in one entry
    if mass * reach >= _ROOM * query.units:
        persons = mass // query.units
        raise ValueError(
            f"n_hint is far too small: step {released.name!r} counts about {persons:.3g} persons, "
            f"and sums over so many may have left 64-bit integers. Its budget is spent; give "
            f"n_hint={persons:.2g} the next time, or divide the data into public parts."
        )


def _release_picks(sketch, step, relation, noise):
    """Run the race of `step` over what `sketch` counted and return its picks.

    The audit sees what every pick chose from, along the recorded picks on a replay.
    """
    query = sketch.query
    sensitivity = query.sensitivity(relation)
    rate = step.mechanism.unit_rate(query.units)
    tape = active_tape()
    offers = []
    if tape is None:
        picks = sketch.race(rate, noise)
    else:
        recorded = tape.recall(step.name)
        recorded = None if recorded is None else recorded[0]
        picks = sketch.race(rate, noise, recorded, lambda coverage: offers.append(coverage.offer()))
    picks.setflags(write=False)
    released = Release(step.name, (picks,), (), step.mechanism, relation, noise.seeded, query)
    if tape is not None:
        tape.record(released, query, tuple(offers), sensitivity)
    return released
