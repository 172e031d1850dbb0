"""Class by class: any question for every class, histograms and pairs of columns of a table."""

import math
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, product

import numpy as np

from ..privacy.mechanisms import ADD_REMOVE, REPLACE_ANY, Sensitivity
from ..rows.persons import Chunk
from .frames import Frame, octave_about
from .sizes import Forwarding, Sums, in_units, masses_at, zeros_of

# One question for every class, each about the rows of that class alone.


@dataclass(frozen=True, eq=False)
class ByClass(Forwarding):
    """The answers to one query per class, in blocks with a leading axis of classes.

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
            relations = (ADD_REMOVE, REPLACE_ANY)
            same = all(query.sensitivity(r) == first.sensitivity(r) for r in relations)
            if not same or query.weights() != first.weights():
                raise ValueError("The queries of all classes must have one sensitivity and noise.")

    @property
    def query(self):
        """The first of the queries, which are alike in what a row costs and in noise."""
        return self.queries[0]

    def zeros(self):
        """Return the states of all classes, stacked."""
        parts = self.query.zeros()
        return tuple(np.zeros((len(self.queries), *p.shape), dtype=p.dtype) for p in parts)

    def count(self, state, chunk):
        """Let every query count the rows of its class."""
        for code, (query, own) in enumerate(self._with_own(state)):
            query.count(own, _of_class(chunk, code))

    def blocks(self, state):
        """Return the blocks of all classes, stacked."""
        answers = [query.blocks(own) for query, own in self._with_own(state)]
        return tuple(np.stack(blocks) for blocks in zip(*answers, strict=True))

    def _with_own(self, parts):
        """Return pairs of the query of each class and its parts of a state or answer."""
        return zip(self.queries, zip(*parts, strict=True), strict=True)

    def sensitivity(self, relation):
        """A person is in one class; who changes it leaves one answer and joins another.

        A person with rows in several classes has a share of the mass in each, and the change is a
        mean, with these shares, of changes that the cases bound.
        """
        within = self.query.sensitivity(relation)
        if relation != REPLACE_ANY or len(self.queries) == 1:
            return within
        joins = self.query.sensitivity(ADD_REMOVE)
        return Sensitivity(
            (*within.l1, *_sums_of_two(joins.l1)),
            (*within.l2_squared, *_sums_of_two(joins.l2_squared)),
        )

    def read(self, released):
        """Parts of the release that the queries of the classes read."""
        parts = self._with_own(released.values)
        return [query.read(replace(released, values=own, query=query)) for query, own in parts]


@dataclass(frozen=True, eq=False)
class Apart(ByClass):
    """The answers to one query per class, the blocks of one class after those of another.

    The queries may be as sensitive as they like: each class gets the noise that it would get alone.

    Parameters
    ----------
    queries : tuple of Query
        One a class, with as many blocks each.
    pure : bool
        Whether noise is Laplace, so that sensitivity is measured in L1.
    """

    pure: bool = False

    def __post_init__(self):
        if len({query.sensitivity(ADD_REMOVE).n_blocks for query in self.queries}) != 1:
            raise ValueError("The queries of all classes must have as many blocks.")

    @property
    def mass_block(self):
        """Those of the queries."""
        block, n_blocks = self.query.mass_block, self.query.sensitivity(ADD_REMOVE).n_blocks
        # the same one of each class, whose blocks come in a row
        all_blocks = range(len(self.queries) * n_blocks)
        return None if block is None else tuple(all_blocks[block::n_blocks])

    def zeros(self):
        """Return the states of all classes, one after the other."""
        return tuple(part for query in self.queries for part in query.zeros())

    def count(self, state, chunk):
        """Let every query count the rows of its class."""
        parts = _shared_out(state, len(self.queries))
        for code, (query, own) in enumerate(zip(self.queries, parts, strict=True)):
            query.count(own, _of_class(chunk, code))

    def blocks(self, state):
        """Return the blocks of all classes, one after the other."""
        parts = _shared_out(state, len(self.queries))
        answers = (query.blocks(own) for query, own in zip(self.queries, parts, strict=True))
        return tuple(block for answer in answers for block in answer)

    def weights(self):
        """Return the relative noise that each query would get alone, for who joins or leaves."""
        found = []
        for query in self.queries:
            sensitivity = query.sensitivity(ADD_REMOVE)
            own = query.weights() or (1.0,) * sensitivity.n_blocks
            cases, power = (sensitivity.l1, 1) if self.pure else (sensitivity.l2_squared, 2)
            loss = max(sum(n / w**power for n, w in zip(c, own, strict=True)) for c in cases)
            loss = loss if self.pure else math.sqrt(loss)
            found += [w * loss for w in own]
        return tuple(found)

    def sensitivity(self, relation):
        """A person changes the answer of one class; who changes the class, those of two.

        With rows in several classes, a person changes each by a share of that; the shares add up
        to one, so noise that covers every case covers their mean.
        """
        within = [query.sensitivity(relation) for query in self.queries]
        movers = self.queries if relation == REPLACE_ANY else ()
        joins = [query.sensitivity(ADD_REMOVE) for query in movers]
        return Sensitivity(
            _apart([one.l1 for one in within], [one.l1 for one in joins]),
            _apart([one.l2_squared for one in within], [one.l2_squared for one in joins]),
        )

    def read(self, released):
        """Return the release of every class."""
        values = _shared_out(released.values, len(self.queries))
        scales = _shared_out(released.scales, len(self.queries))
        parts = zip(self.queries, values, scales, strict=True)
        return [replace(released, values=v, scales=s, query=query) for query, v, s in parts]


def side_by_side(conversations, pure):
    """Hold one conversation a class at once, all of which take the same steps.

    Parameters
    ----------
    conversations : list of generator
        Yield pairs (name, query) about the rows of their class alone, and return something.
    pure : bool
        Whether noise is Laplace.

    Returns
    -------
    results : list
        What the conversations return.
    """
    if len(conversations) == 1:
        return [(yield from conversations[0])]
    results, answers = [], [None] * len(conversations)
    while not results:
        asked = []
        for conversation, answer in zip(conversations, answers, strict=True):
            try:
                asked.append(conversation.send(answer))
            except StopIteration as done:
                results.append(done.value)
        if asked:
            (name,) = {name for name, _ in asked}
            together = Apart(tuple(query for _, query in asked), pure)
            answers = together.read((yield name, together))
    return results


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
    memo = chunk.memo.setdefault((ByClass, code), {})  # of these rows, for later questions
    return Chunk(chunk.X[own], None, chunk.masses_of(own), memo)


def _shared_out(parts, n_classes):
    """Return as many of the parts for every class, in order."""
    size = len(parts) // n_classes
    return [tuple(parts[start : start + size]) for start in range(0, len(parts), size)]


def _apart(within, joins):
    """Return the cases of blocks of classes in a row: of one class, and of each two of `joins`."""
    n_blocks = len(within[0][0])

    def placed(changes):
        cases = (changes.get(code, (0,) * n_blocks) for code in range(len(within)))
        return tuple(n for case in cases for n in case)

    found = [placed({code: case}) for code, cases in enumerate(within) for case in cases]
    for first, second in combinations(range(len(joins)), 2):
        for one, other in product(joins[first], joins[second]):
            found.append(placed({first: one, second: other}))
    return tuple(found)


def _sums_of_two(cases):
    """Return the changes of two classes together: those of different classes never cancel."""
    return tuple(
        tuple(a + b for a, b in zip(case, other, strict=True))
        for i, case in enumerate(cases)
        for other in cases[i:]
    )


# Histograms of the columns of a table, class by class.


@dataclass(frozen=True)
class ColumnHistograms(Sums):
    """Masses of the classes, and of the cells of every column in every class.

    Rows are numbers of cells. The class of a row is its cell in one of the columns, which is as
    private as the others.

    Parameters
    ----------
    sizes : tuple of int
        Number of cells of every column.
    label : int or None
        Column that tells the class; None: there is one class.
    units : int
        Largest mass of one person.
    mass_public : bool
        Whether no neighbor can change the mass of all rows together.
    """

    sizes: tuple
    label: int | None = None
    units: int = 1
    mass_public: bool = False

    mass_block = 0

    @property
    def columns(self):
        """Places of the columns that have histograms."""
        return [place for place in range(len(self.sizes)) if place != self.label]

    @property
    def n_classes(self):
        """Number of classes."""
        return 1 if self.label is None else self.sizes[self.label]

    def zeros(self):
        """Return one zero a class, and one per class and cell."""
        n_cells = sum(self.sizes[place] for place in self.columns)
        return zeros_of(self.n_classes, (self.n_classes, n_cells))

    def count(self, state, chunk):
        """Add the masses of rows to their classes and cells."""
        classes, n_classes = classes_of(chunk, self.label), self.n_classes
        state[0][:] += masses_at(classes, chunk.masses, n_classes)
        start = 0
        for place in self.columns:
            size = self.sizes[place]
            cells = classes * size + cells_of(chunk, place)
            found = masses_at(cells, chunk.masses, n_classes * size)
            state[1][:, start : start + size] += found.reshape(n_classes, size)
            start += size

    def sensitivity(self, relation):
        """A person has a mass of at most one in the classes, and in the cells of each column."""
        n = len(self.columns)
        if relation == ADD_REMOVE:
            cases = [(1, n)]
        elif self.n_classes > 1:
            cases = [(2, 2 * n)]
        else:  # who moves within the one class changes no class, who loses weight moves less
            cases = [(0, 2 * n)] if self.mass_public else [(0, 2 * n), (1, n)]
        return in_units(self.units, cases, cases)


def cells_of(chunk, place):
    """Return the cells of rows in one column."""
    return chunk.X[:, place].astype(np.int64)


def classes_of(chunk, label):
    """Return the classes of rows."""
    return np.zeros(len(chunk.X), dtype=np.int64) if label is None else cells_of(chunk, label)


# Tables of pairs of columns, class by class, and how far they are from expected ones.


@dataclass(frozen=True, eq=False)
class PairTables(Sums):
    """Masses of the pairs of bins of two columns, in every class, for chosen pairs of columns.

    Rows are numbers of cells. One row is in one entry of every table, so all of them together are
    as sensitive as there are pairs.

    Parameters
    ----------
    bins : tuple of ndarray of int
        For every column the bin of every cell: public, or from earlier releases. None for the
        column that tells the class.
    pairs : tuple of (int, int)
        Places of the columns of every table.
    label : int or None
        Column that tells the class; None: there is one class.
    n_classes : int
    units : int
        Largest mass of one person.
    """

    bins: tuple
    pairs: tuple
    label: int | None = None
    n_classes: int = 1
    units: int = 1

    @cached_property
    def n_bins(self):
        """Number of bins of every column."""
        return tuple(0 if bins is None else int(bins.max()) + 1 for bins in self.bins)

    @cached_property
    def starts(self):
        """Where the table of every pair begins in the block, and the length of the block."""
        sizes = [self.n_classes * self.n_bins[i] * self.n_bins[j] for i, j in self.pairs]
        return np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])

    def zeros(self):
        """Return one zero a class and pair of bins."""
        return zeros_of(self.starts[-1])

    def count(self, state, chunk):
        """Add the masses of rows to their entry of every table."""
        classes = classes_of(chunk, self.label)
        used = {place for pair in self.pairs for place in pair}
        cells = {place: self.bins[place][cells_of(chunk, place)] for place in used}
        rows = {place: classes * self.n_bins[place] + cells[place] for place in used}
        for number, (i, j) in enumerate(self.pairs):
            start, stop = self.starts[number : number + 2]
            index = rows[i] * self.n_bins[j]
            index += cells[j]
            state[0][start:stop] += masses_at(index, chunk.masses, stop - start)

    def sensitivity(self, relation):
        """A person has a mass of at most one in every table."""
        moved = len(self.pairs) * (1 if relation == ADD_REMOVE else 2)
        return Sensitivity.single(moved * self.units, moved * self.units**2)

    def tables(self, values):
        """Return the table of every pair, of shape (n_classes, n_bins, n_bins)."""
        parts = zip(self.pairs, np.split(values, self.starts[1:-1]), strict=True)
        return [p.reshape(self.n_classes, self.n_bins[i], self.n_bins[j]) for (i, j), p in parts]


@dataclass(frozen=True, eq=False)
class PairDistances(PairTables):
    """How far the tables of pairs are from expected ones: sums of absolute differences, in units.

    Parameters
    ----------
    expected : ndarray of int64
        All expected tables, one after the other, in units; from earlier releases.
    """

    expected: np.ndarray = None

    def blocks(self, state):
        """Return one distance a pair."""
        return (np.add.reduceat(np.abs(state[0] - self.expected), self.starts[:-1]),)

    def sensitivity(self, relation):
        """A person moves one entry of every table by at most their mass, and so its distance."""
        each = self.units * (1 if relation == ADD_REMOVE else 2)
        return Sensitivity.single(len(self.pairs) * each, len(self.pairs) * each**2)
