"""The contract of every question, over its small worlds: one integer answer, however rows come.

That stated sensitivities hold and are reached, and that a unit less is found, is shown over every
neighbor in ``tests/testing/test_small_worlds.py``; what a question counts, against a plain
reference, in the file that is named after it. A question without a small world fails there.
"""

import numpy as np
import pytest

from tests.cases import every
from tests.small_worlds import asked_in, query_classes, small_worlds
from tests.world import RaceChoice, chunk, home, same, sketch

WORLDS = small_worlds()
PERSON_UNITS = home("PERSON_UNITS").PERSON_UNITS
N = 129
EXTREMES = [0.0, -0.0, -5e-324, 1e-310, 1e-9, 3.7, -1e30, 1e155, 1.79e308, -1.79e308]


def crowd(world, units):
    """Return rows at the places of a world and between them, very far and tiny, with masses."""
    rng = np.random.default_rng(0)
    X = world.places[rng.integers(len(world.places), size=N)]
    if not world.name.startswith("cells"):  # rows of tables are numbers of cells
        X[::2] += 0.3 * rng.standard_normal(X[::2].shape)
        X[1 : 1 + len(EXTREMES)] = np.array(EXTREMES)[:, None]
    codes = rng.integers(world.n_classes, size=N)
    masses = None if units == 1 else np.r_[units, 0, rng.integers(units + 1, size=N - 2)]
    return X, codes, masses


def part_of(rows, some, order="C"):
    X, codes, masses = rows
    X = np.array(X[some], order=order)
    starts = None if masses is None else np.zeros(len(X), dtype=np.int64)
    units = 1 if masses is None else PERSON_UNITS
    masses = None if masses is None else masses[some]
    return chunk(X, codes[some], masses, starts=starts, units=units)


def answer_of(counted):
    """Return the blocks; of a race its picks and what they chose from; of rows sorted ones."""
    query = counted.query
    if query.picks:
        offers, noise = [], home("noise_generator").noise_generator(2)
        picks = counted.picked(RaceChoice(min(0.3 * query.units, 30.0)), noise, None, offers.append)
        return [picks, *(part for offer in offers for part in (offer.places, offer.masses))]
    blocks = counted.exact_blocks()
    if type(query).__name__ == "ProjectedRows":
        return [block[np.lexsort(block.T)] for block in blocks]
    return blocks


def counted(query, *chunks):
    with np.errstate(all="ignore"):
        return sketch(query).update_all(chunks)


def differing(query, rows):
    """Yield how rows were cut, ordered or laid out where the answer was another one."""
    kept, order = part_of(rows, slice(None)), np.random.default_rng(1).permutation(N)
    whole = answer_of(counted(query, kept))

    def alone():
        for i in range(N):
            yield counted(query, part_of(rows, slice(i, i + 1)))

    def parts():
        for some in np.array_split(order, 7):
            yield counted(query, part_of(rows, some))

    def added(sketches, add):
        total = sketch(query)
        for each in sketches:
            add(total, each)
        return total

    ways = {
        "in another layout": lambda: counted(query, part_of(rows, order, "F")),
        "in pieces": lambda: counted(query, *kept.pieces(5)),
        "read again": lambda: [counted(query, kept) for _ in range(3)][-1],
        "beside nobody": lambda: counted(query, kept, part_of(rows, slice(0, 0))),
        "packed": lambda: added(parts(), lambda total, each: total.add_bytes(each.to_bytes())),
        "one by one": lambda: added(alone(), lambda total, each: total.merge(each)),
    }
    for name, count in ways.items():
        if not same(whole, answer_of(count())):
            yield name


def asked(world, units):
    return world.ask(units, world.relations[0])


@every("world", WORLDS)
def test_rows_in_any_pieces_and_order_have_one_answer(world):
    for units in (1, PERSON_UNITS)[: 1 + ("persons" in world.kinds)]:
        assert list(differing(asked(world, units), crowd(world, units))) == []


@every("world", WORLDS)
def test_the_shape_of_an_answer_is_public(world):
    """It is that of nobody's rows: empty cells are answered, too."""
    query, everybody = asked(world, 1), part_of(crowd(world, 1), slice(None))
    if type(query).__name__ in ("ProjectedRows", "CoverQuery"):
        return  # one line a row under replace_one alone; picks, of which there is one number
    nobody, somebody = (answer_of(counted(query, *chunks)) for chunks in ((), (everybody,)))
    assert [block.shape for block in nobody] == [block.shape for block in somebody]
    assert {block.dtype for block in (*nobody, *somebody)} == {np.dtype(np.int64)}
    assert query.sensitivity(world.relations[0]).n_blocks == len(nobody)


def first_row_twice(count, query, state, rows):
    count(query, state, rows)
    count(query, state, next(rows.parts(1)))


def by_their_number(count, query, state, rows):
    count(query, state, rows)
    if len(rows.X) % 2:
        count(query, state, next(rows.parts(1)))


def by_their_place(count, query, state, rows):
    for place, row in enumerate(rows.parts(1)):
        if place % 50 != 49:
            count(query, state, row)


@pytest.mark.parametrize("fault", [first_row_twice, by_their_number, by_their_place])
def test_a_row_that_does_not_count_once_is_found(fault, monkeypatch):
    """Planted in every question: of each, some small world shows it."""
    missed = {asked_in(world) for world in WORLDS}
    assert missed == set(query_classes())
    for world in WORLDS:
        with monkeypatch.context() as patch:
            cls, query = asked_in(world), asked(world, 1)
            count = cls.count
            patch.setattr(cls, "count", lambda *given, count=count: fault(count, *given))
            if cls in missed and next(differing(query, crowd(world, 1)), None):
                missed.remove(cls)
    assert not missed
