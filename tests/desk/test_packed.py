"""Packed states: the same integers, in few bytes, and never changed by a merge."""

import pickle

import numpy as np

from tests.cases import every
from tests.world import KeyTable, RowPile, from_bytes, pack, to_bytes, unpack_into

LARGEST = np.iinfo(np.int64)


@every(
    "values",
    [
        [0, 0, 0, 0],
        [1, 2, 3],
        [-1, 1 << 40, 0],
        [LARGEST.max, LARGEST.min],
        [LARGEST.max, -1],
        [1 << 40, 0, 0, 0, 0],
        [0] * 1000 + [-70_000],
        [],
        np.arange(12).reshape(3, 4),
        np.eye(50, dtype=int) * 300,
    ],
)
def test_the_integers_come_back(values):
    array = np.array(values, dtype=np.int64)
    zeros = (np.zeros_like(array),)
    for packed in (
        pickle.loads(pickle.dumps(pack((array,)))),
        from_bytes(to_bytes(pack((array,))), zeros),
    ):
        for _ in range(2):  # a merge that runs twice finds them as they were
            total = np.zeros_like(array)
            unpack_into((total,), packed)
            np.testing.assert_array_equal(total, array)


def test_parts_that_are_no_arrays_travel_as_arrays():
    table, pile = KeyTable(), RowPile(2)
    for keys, masses in (
        (np.array([5, 1 << 40]), np.array([2, 3])),
        (np.array([5]), np.array([1])),
    ):
        table.add(keys, masses)
        pile.add_arrays(np.stack([masses, -masses], axis=1).astype(np.int16))
    for _ in range(2):
        found, piled = from_bytes(to_bytes(pack((table, pile))), (KeyTable(), RowPile(2)))
        assert [part.tolist() for part in found.sorted()] == [[5, 1 << 40], [3, 3]]
        assert piled.table().tolist() == [[2, -2], [3, -3], [1, -1]]
    empty = from_bytes(to_bytes(pack((KeyTable(), RowPile(2)))), (KeyTable(), RowPile(2)))
    assert [len(empty[0].sorted()[0]), empty[1].table().shape] == [0, (0, 2)]


def test_what_is_sparse_is_small():
    array = np.zeros(1 << 16, dtype=np.int64)
    array[::1024] = 7
    (packed,) = pack((array,))
    assert packed.n_bytes == 64 * (1 + 4)
    (dense,) = pack((array + 1,))
    assert dense.n_bytes == 1 << 16  # one byte each
