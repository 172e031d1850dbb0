"""Releases: the one place where an exact answer meets noise."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ...privacy._neighbors import ADD_REMOVE
from ...privacy.accounting.races import RaceChoice
from ...privacy.noise.sampler import MAX_SCALE
from .tape import active_tape

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
