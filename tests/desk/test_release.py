"""Where exact answers meet noise, and the tapes on which the audit sees both."""

import dataclasses

import numpy as np
import pytest

from skdp_bary.base import CellTree, Chunk
from skdp_bary.geometry import Box
from tests.cases import every
from tests.world import (
    ADD_REMOVE,
    REPLACE_ONE,
    DiscreteLaplace,
    HaarDifferences,
    LevelCounts,
    RoundedGaussian,
    Sketch,
    Step,
    Tape,
    active_tape,
    noise_generator,
    release_of,
    use_tape,
)

MECHANISMS = [DiscreteLaplace(0.8), RoundedGaussian(0.8)]
TREE = CellTree(Box([0.0, 0.0], [1.0, 1.0]), 4)


def sketch_of(query, n=100, seed=0):
    X = np.random.default_rng(seed).random((n, 2))
    return Sketch(query).update(Chunk(X, None, None))


class CountingNoise:
    """Counts draws and adds nothing."""

    seeded = True

    def __init__(self):
        self.drawn = []

    def discrete_laplace(self, scale, shape):
        self.drawn.append((scale, shape))
        return np.zeros(shape, dtype=np.int64)

    rounded_gaussian = discrete_laplace


@every("mechanism", MECHANISMS)
@every("kind", [LevelCounts, HaarDifferences])
@every("relation", [ADD_REMOVE, REPLACE_ONE])
def test_every_number_gets_noise_of_the_scale_that_costs_the_amount(relation, kind, mechanism):
    query = kind(TREE, 1, 1, relation == REPLACE_ONE, (4.0, 1.0, 2.0, 0.5, 1.0))
    noise = CountingNoise()
    sketch = sketch_of(query)
    exact = sketch.exact_blocks()
    released = release_of(sketch, Step("tree", mechanism), relation, noise)
    noisy = [i for i in range(5) if relation == ADD_REMOVE or i > 0]
    assert [shape for _, shape in noise.drawn] == [exact[i].shape for i in noisy]
    assert [scale for scale, _ in noise.drawn] == [released.scales[i] for i in noisy]
    loss = mechanism.loss(query.sensitivity(relation), released.scales)
    amount = 0.8 if mechanism is MECHANISMS[0] else 0.64
    assert amount * (1 - 1e-12) < float(loss) <= amount * (1 + 1e-15)
    assert np.allclose(np.divide(released.scales[1:], query.weights()[1:]), released.scales[2] / 2)
    assert released.noise_sd == tuple(map(mechanism.standard_deviation, released.scales))


def test_releases_are_integers_that_cannot_be_changed():
    sketch = sketch_of(HaarDifferences(TREE, 1, 1, True))
    released = release_of(sketch, Step("t", MECHANISMS[1]), REPLACE_ONE, noise_generator(0))
    assert released.seeded
    assert released.values[0].tolist() == [[100]]
    for block in released.values:
        assert block.dtype == np.int64
        with pytest.raises(ValueError, match="read-only"):
            block[0, 0] = 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        released.name = "other"
    assert not release_of(sketch, Step("t", MECHANISMS[0]), ADD_REMOVE, noise_generator()).seeded


# Tapes


def test_a_tape_records_and_hands_back():
    sketch = sketch_of(LevelCounts(TREE))
    assert active_tape() is None
    with use_tape(Tape()) as tape:
        first = release_of(sketch, Step("t", MECHANISMS[0]), ADD_REMOVE, noise_generator(0))
    assert active_tape() is None
    (record,) = tape.records
    assert record.released is first
    assert record.query == sketch.query
    assert all((a == b).all() for a, b in zip(record.exact, sketch.exact_blocks(), strict=True))
    other = sketch_of(LevelCounts(TREE), 101, 1)
    noise = CountingNoise()
    with use_tape(Tape(tape.records)) as replay:
        again = release_of(other, Step("t", MECHANISMS[0]), ADD_REMOVE, noise)
    assert noise.drawn == []
    assert all((a == b).all() for a, b in zip(again.values, first.values, strict=True))
    assert replay.records[0].exact[0].tolist() == [[101]]
