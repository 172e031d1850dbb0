"""Trees of cells as flat arrays, and codes."""

import numpy as np
import pytest

from benchmarks.transport.trees import grow
from tests.cases import every
from tests.world import Tree, cell_codes, cell_positions


def small_tree():
    masks = ([True, False, True], [False, True, False, False], [True, False, True, False])
    return Tree(tuple(np.array(m) for m in masks), (2, 4))


def interleave_by_hand(row, column, bits):
    code = 0
    for bit in reversed(range(bits)):
        code = 4 * code + 2 * (row >> bit & 1) + (column >> bit & 1)
    return code


def test_codes_follow_the_chosen_cells():
    tree = small_tree()
    assert tree.depth == 2
    assert tree.sizes == (3, 4, 4)
    assert [c.tolist() for c in tree.codes] == [[0, 1, 2], [0, 1, 4, 5], [4, 5, 6, 7]]


def test_leaves_are_what_has_no_listed_children():
    values = np.arange(3.0), 10 + np.arange(4.0), 20 + np.arange(4.0)
    levels, codes, out = small_tree().leaves(values)
    assert levels.tolist() == [0, 1, 1, 1, 2, 2, 2, 2]
    assert codes.tolist() == [1, 0, 4, 5, 4, 5, 6, 7]
    assert out.tolist() == [1, 10, 12, 13, 20, 21, 22, 23]


def test_a_tree_cannot_be_changed():
    source = np.ones(1, dtype=bool)
    tree = Tree((source,), ())
    source[0] = False
    assert tree.chosen[0][0]
    with pytest.raises(ValueError, match="read-only"):
        tree.chosen[0][0] = False
    with pytest.raises(AttributeError):
        tree.top = 3


@every(
    "arguments, message",
    [
        (([[True]], (4,)), "one entry per step"),
        (([[True], [True] * 3], (4,)), "needs the 4 children"),
        (([[True], [True]], (1,)), "integers >= 2"),
        (([[[True]]], ()), "flat masks"),
    ],
)
def test_malformed_trees_are_refused(arguments, message):
    chosen = tuple(np.array(mask) for mask in arguments[0])
    with pytest.raises(ValueError, match=message):
        Tree(chosen, *arguments[1:])


def test_levels_of_the_wrong_length_are_refused():
    with pytest.raises(ValueError, match=r"`values` needs .* lengths \(3, 4, 4\)"):
        small_tree().check((np.ones(3), np.ones(4), np.ones(5)), "values")


def test_complete_tree_lists_every_cell():
    tree = Tree.complete(2, branching=3, top=1)
    assert tree.sizes == (3, 9, 27)
    assert all(np.array_equal(c, np.arange(len(c))) for c in tree.codes)
    assert all(mask.all() for mask in tree.chosen)


def test_codes_too_long_for_an_integer_are_refused():
    tree = Tree.complete(0)
    for _ in range(32):
        tree = grow(tree, np.arange(tree.sizes[-1]) == 0)
    with pytest.raises(ValueError, match="62 bits, got 64"):
        _ = tree.codes


def test_cell_codes_interleave_bits():
    rng = np.random.default_rng(1)
    for bits in (1, 8, 24, 31):
        rows, columns = rng.integers(2**bits, size=(2, 200))
        expected = [
            interleave_by_hand(int(r), int(c), bits) for r, c in zip(rows, columns, strict=True)
        ]
        codes = cell_codes(rows, columns)
        assert codes.tolist() == expected
        assert np.array_equal(cell_positions(codes), (rows, columns))
