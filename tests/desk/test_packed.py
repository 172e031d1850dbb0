"""Sketches on their way between machines: the same integers, in few bytes."""

from types import SimpleNamespace

import numpy as np

from tests.cases import every
from tests.world import KeyTable, RowPile, Sketch

LARGEST = np.iinfo(np.int64)


def sketch(*state):
    return Sketch(SimpleNamespace(zeros=lambda: state))


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
    data, total = sketch(array).to_bytes(), np.zeros_like(array)
    sketch(total).add_bytes(data)
    np.testing.assert_array_equal(total, array)
    sketch(total).add_bytes(data).add_bytes(data)  # modulo 2**64, as sums of rows
    np.testing.assert_array_equal(total, array + 2 * array)


def test_parts_that_are_no_arrays_travel_as_arrays():
    table, pile = KeyTable(), RowPile(2)
    for keys, masses in (
        (np.array([5, 1 << 40]), np.array([2, 3])),
        (np.array([5]), np.array([1])),
    ):
        table.add(keys, masses)
        pile.add_arrays(np.stack([masses, -masses], axis=1).astype(np.int16))
    found, piled = KeyTable(), RowPile(2)
    sketch(found, piled).add_bytes(sketch(table, pile).to_bytes())
    assert [part.tolist() for part in found.sorted()] == [[5, 1 << 40], [3, 3]]
    assert piled.table().tolist() == [[2, -2], [3, -3], [1, -1]]
    empty = KeyTable(), RowPile(2)
    sketch(*empty).add_bytes(sketch(KeyTable(), RowPile(2)).to_bytes())
    assert [len(empty[0].sorted()[0]), empty[1].table().shape] == [0, (0, 2)]
