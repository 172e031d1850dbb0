"""All neighbors there are in a world of a few rows, against what a question states.

A *world* is a question, and a few places where rows may lie. Every person that can be made of these
places, of the public classes and of a few weights is made, and every pair of neighbors of such
persons is asked about, through the same readers and sketches as in a fit. What is realised is
compared with what is stated, norm by norm and for several noise scales of the blocks: it must never
be more, and it must be reached exactly, unless the world says why it is not.
"""

import importlib
import pkgutil
from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction
from inspect import isabstract
from itertools import combinations_with_replacement, product

import numpy as np

from .. import summaries
from ..inspection._race_replay import compare_picks
from ..inspection._replay import _changes
from ..privacy._neighbors import ADD_REMOVE, RELATIONS, REPLACE_ANY
from ..summaries.asking.query import Query
from ..summaries.rows.opening import open_source
from ..summaries.rows.persons import PERSON_UNITS, WEIGHT_UNITS

KINDS = ("rows", "weights", "persons")
_UNITS = {"rows": 1, "weights": WEIGHT_UNITS, "persons": PERSON_UNITS}
_WEIGHTS = (0.0, 0.5, 1.0)


@dataclass(frozen=True)
class Slack:
    """Why a bound is not reached, and how much of it is.

    Attributes
    ----------
    reason : str
        A sentence of the documentation.
    reached : float
        At least this share of the bound, for blocks weighed as their noise does.
    apart : float
        ... for blocks alone and for all alike, which decide about no noise.
    """

    reason: str
    reached: float
    apart: float


@dataclass(frozen=True)
class World:
    """A question and the rows it is asked about.

    Attributes
    ----------
    name : str
    make : callable
        ``make(units, relation, weighted)`` returns the question.
    places : ndarray of shape (n_places, n_features)
    n_classes : int
    kinds, relations : tuple of str
        What persons are, and the relations under which the question is asked.
    slacks : dict
        Slack by norm.
    linear : bool
        Whether what a person adds does not depend on the others.
    """

    name: str
    make: object
    places: np.ndarray
    n_classes: int = 1
    kinds: tuple = KINDS
    relations: tuple = RELATIONS
    slacks: dict = field(default_factory=dict)
    linear: bool = True


@dataclass(frozen=True)
class Finding:
    """What one world showed of one bound.

    Attributes
    ----------
    query, world, kind, relation : str
        Class of the question, the world, what persons are, the neighboring relation.
    norm : {"L1", "L2"}
        L2 is squared.
    noise : str
        How blocks are weighed against each other: "own", as the question asks, "all" alike, or the
        number of the only block.
    n_pairs : int
        Neighbors that were compared.
    realised, stated : Fraction
        Largest change, and what the sensitivity says.
    slack : Slack or None
    """

    query: str
    world: str
    kind: str
    relation: str
    norm: str
    noise: str
    n_pairs: int
    realised: Fraction
    stated: Fraction
    slack: Slack | None = None

    @property
    def ratio(self):
        """Realised over stated; 1 where neither is anything."""
        if not self.stated:
            return 1.0 if not self.realised else float("inf")
        return float(self.realised / self.stated)

    @property
    def violation(self):
        """What is wrong, in words; None when nothing is."""
        where = (
            f"{self.query}, {self.world}, {self.kind}, {self.relation}, {self.norm} {self.noise}"
        )
        if self.realised > self.stated:
            return f"{where}: {self.realised} moved, {self.stated} stated"
        if self.slack is None and self.realised != self.stated:
            return f"{where}: {self.stated} stated, only {self.ratio:.6f} of it reached"
        explained = self._explained()
        if self.ratio < explained:
            return f"{where}: {self.ratio:.6f} reached, explained down to {explained}"
        return None

    def _explained(self):
        if self.slack is None:
            return 1.0
        return self.slack.reached if self.noise == "own" else self.slack.apart


def query_classes():
    """Return every question of this package that can be asked."""
    for module in pkgutil.iter_modules(summaries.__path__, summaries.__name__ + "."):
        importlib.import_module(module.name)
    found, todo = set(), [Query]
    while todo:
        todo += (below := todo.pop().__subclasses__())
        found.update(below)
    own = [c for c in found if c.__module__.startswith(summaries.__name__) and not isabstract(c)]
    return sorted(own, key=lambda c: c.__name__)


def explore(world, *, n_rows=2, n_others=1):
    """Return what a world shows, for every kind of person and relation.

    Parameters
    ----------
    world : World
    n_rows : int, default=2
        Rows of a person with an id, at most.
    n_others : int, default=1
        Persons beside the one in whom neighbors differ, at most; for questions whose answers are
        not linear in the rows.

    Returns
    -------
    findings : list of Finding
    """
    found = []
    for kind, relation in product(world.kinds, world.relations):
        query = world.make(_UNITS[kind], relation, kind == "weights")
        people = _people(world, kind, n_rows)
        if hasattr(query, "race"):
            found += _raced(world, query, people, kind, relation, n_others)
        else:
            found += _compared(world, query, people, kind, relation, n_others)
    return found


def _people(world, kind, n_rows):
    """Return every person of a world: sorted tuples of rows (place, label, weight)."""
    spots = list(product(range(len(world.places)), range(world.n_classes)))
    if kind == "rows":
        return [((*spot, 1.0),) for spot in spots]
    if kind == "weights":
        return [((*spot, weight),) for spot in spots for weight in _WEIGHTS]
    rows = [(*spot, 1.0) for spot in spots]
    return [p for n in range(1, n_rows + 1) for p in combinations_with_replacement(rows, n)]


def _pairs(people, relation):
    """Yield two persons of whom one may stand for the other; None for nobody."""
    if relation == ADD_REMOVE:
        yield from ((None, person) for person in people)
        return
    for i, one in enumerate(people):
        for other in people[:i]:
            same = [sorted(row[1] for row in person) for person in (one, other)]
            if relation == REPLACE_ANY or same[0] == same[1]:
                yield one, other


class _Answers:
    """Exact answers about crowds of persons, each computed once."""

    def __init__(self, world, query, kind):
        self._world, self._query, self._kind = world, query, kind
        self._known = {}

    def __call__(self, *crowd):
        """Return the blocks, for persons of whom some may be None."""
        crowd = tuple(sorted(person for person in crowd if person is not None))
        if crowd not in self._known:
            self._known[crowd] = self._query.blocks(self.state(*crowd))
        return self._known[crowd]

    def state(self, *crowd):
        """Return what a fit on these persons would count."""
        rows = [row for person in crowd if person is not None for row in person]
        state = self._query.zeros()
        if not rows:
            return state
        places, labels, weights = (list(column) for column in zip(*rows, strict=True))
        groups = [i for i, p in enumerate(p for p in crowd if p is not None) for _ in p]
        source = open_source(
            self._world.places[places],
            np.array(labels),
            groups=groups if self._kind == "persons" else None,
            sample_weight=weights if self._kind == "weights" else None,
            classes=np.arange(self._world.n_classes),
        )
        (chunk,) = source.read(0)
        with np.errstate(all="ignore"):
            self._query.count(state, chunk.in_units(self._query.units))
        return state


def _compared(world, query, people, kind, relation, n_others):
    answers = _Answers(world, query, kind)
    others = [()] if world.linear else list(_crowds(people, n_others))
    moved = Counter()
    for one, other in _pairs(people, relation):
        for crowd in others:
            before, after = answers(*crowd, one), answers(*crowd, other)
            changes = [_changes(a, b) for a, b in zip(before, after, strict=True)]
            l1 = tuple(sum(map(abs, block)) for block in changes)
            moved[l1, tuple(sum(c * c for c in block) for block in changes)] += 1
    if world.linear:
        _check_linear(answers, people)
    return [
        Finding(
            *(type(query).__name__, world.name, kind, relation, norm, noise, moved.total()),
            realised=max((_weighed(both[power - 1], scale) for both in moved), default=Fraction(0)),
            stated=max(_weighed(case, scale) for case in cases),
            slack=world.slacks.get(norm),
        )
        for norm, power, noise, scale, cases in _bounds(query, relation)
    ]


def _crowds(people, most):
    for n in range(most + 1):
        yield from combinations_with_replacement(people, n)


def _check_linear(answers, people):
    """Raise unless a person adds the same to nobody and to a crowd of all."""
    nobody, crowd = answers(), answers(*people)
    for person in people[:: max(1, len(people) // 8)]:
        for a, b, c, d in zip(
            nobody, answers(person), crowd, answers(*people, person), strict=True
        ):
            if not np.array_equal(b - a, d - c):
                raise AssertionError("What a person adds depends on the others.")


def _bounds(query, relation):
    """Yield norm, power, noise, one factor a block and the cases, for all that is compared."""
    stated = query.sensitivity(relation)
    own = query.weights() or (1.0,) * stated.n_blocks
    for norm, power, cases in (("L1", 1, stated.l1), ("L2", 2, stated.l2_squared)):
        yield norm, power, "own", [1 / Fraction(w) ** power for w in own], cases
        if stated.n_blocks > 1:
            yield norm, power, "all", [1] * stated.n_blocks, cases
            for block in range(stated.n_blocks):
                single = [int(block == other) for other in range(stated.n_blocks)]
                yield norm, power, str(block), single, cases


def _weighed(numbers, scales):
    return sum((Fraction(n) * s for n, s in zip(numbers, scales, strict=True)), Fraction(0))


def _raced(world, query, people, kind, relation, n_others):
    """Compare what picks chose from, along every sequence of picks there is."""
    answers = _Answers(world, query, kind)
    places = [range(grid.n_places) for grid in query.grids for _ in range(query.n_picks)]
    shape = len(query.grids), query.n_picks
    most, n_pairs = 0, 0
    offered = {}

    def offers(crowd, picks):
        crowd = tuple(sorted(person for person in crowd if person is not None))
        if (crowd, picks) not in offered:
            seen = []
            recorded = np.array(picks, dtype=np.int64).reshape(shape)
            state = answers.state(*crowd)
            query.race(state, 1.0, None, recorded, lambda coverage: seen.append(coverage.offer()))
            offered[crowd, picks] = seen
        return offered[crowd, picks]

    for one, other in _pairs(people, relation):
        for crowd, picks in product(list(_crowds(people, n_others)), list(product(*places))):
            pair = (offers((*crowd, person), picks) for person in (one, other))
            moved, violations = compare_picks(*pair, picks, query.units, relation == ADD_REMOVE)
            if violations:
                raise AssertionError(f"{type(query).__name__}: {violations}")
            most, n_pairs = max(most, moved), n_pairs + 1
    (l1,) = query.sensitivity(relation).l1
    return [
        Finding(
            *(type(query).__name__, world.name, kind, relation, "L1", "own", n_pairs),
            realised=Fraction(most),
            stated=Fraction(l1[0]),
        )
    ]
