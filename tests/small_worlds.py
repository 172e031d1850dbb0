"""All neighbors there are in a world of a few rows, against what a question states."""

import importlib
import math
import pkgutil
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache, partial
from inspect import isabstract
from itertools import combinations_with_replacement, product

import numpy as np

from skdp_bary import papers, queries
from skdp_bary.desk.query import Query
from skdp_bary.geometry.cells import CellTree, NestedCells
from skdp_bary.geometry.domains import Box
from skdp_bary.geometry.lattices import SliceLattice, unit_planes, unit_slices
from skdp_bary.inspection.replay import _changes
from skdp_bary.papers.covers import ClusterCounts, CoverQuery
from skdp_bary.papers.races import RaceChoice, compare_picks
from skdp_bary.papers.sliced_rows import ProjectedRows
from skdp_bary.privacy.mechanisms import ADD_REMOVE, RELATIONS, REPLACE_ANY, REPLACE_ONE
from skdp_bary.queries.cells import (
    DisjointCounts,
    GridDivision,
    HaarDifferences,
    LevelCounts,
    NestedDivision,
    Partition,
    QuadGrid,
    RunDivision,
)
from skdp_bary.queries.classes import Apart, ByClass, ColumnHistograms, PairDistances, PairTables
from skdp_bary.queries.clusters import ClippedMeans, ClusterMoments, TotalSpread, digits_of
from skdp_bary.queries.frames import Frame, FrameDistances, Gram, Histogram
from skdp_bary.queries.maps import (
    Clipped,
    FeaturesOf,
    InCells,
    InWidths,
    Mapped,
    RowFeatures,
    RowMapped,
)
from skdp_bary.queries.meetings import CohortGap, PairLaw, PairSpreads
from skdp_bary.queries.networks import ClippedGradients, HeadFrame, HeadPoint, PredictedClasses
from skdp_bary.queries.power_cells import CellGrams, CellSpreads, NearestLoss
from skdp_bary.queries.sizes import ClippedSum, Count, DistanceHistogram, Moments
from skdp_bary.queries.slices import ClassSizes, ProjectedCost, ProjectedQuantiles, WavesOf
from skdp_bary.rows.opening import open_source
from skdp_bary.rows.persons import PERSON_UNITS, WEIGHT_UNITS

# All neighbors there are in a world of a few rows, against what a question states.

KINDS = ("rows", "weights", "persons")
_UNITS = {"rows": 1, "weights": WEIGHT_UNITS, "persons": PERSON_UNITS}
_WEIGHTS = (0.0, 0.5, 1.0)


@dataclass(frozen=True)
class Slack:
    """Why a bound is not reached, in a sentence of the documentation, and which share of it is."""

    reason: str
    reached: float  # for blocks weighed as their noise does
    apart: float  # for blocks alone and for all alike, which decide about no noise


@dataclass(frozen=True)
class World:
    """A question and the rows it is asked about.

    ``make(units, public)`` returns it: whether no neighbor changes the mass of a class is decided
    as a fit does it.
    """

    name: str
    make: object
    places: np.ndarray
    n_classes: int = 1
    kinds: tuple = KINDS  # what persons are
    relations: tuple = RELATIONS  # under which the question is asked
    slacks: dict = field(default_factory=dict)  # Slack by norm
    linear: bool = True  # whether what a person adds does not depend on the others

    def ask(self, units, relation, weighted=False):
        one_class = relation == REPLACE_ANY and self.n_classes == 1
        return self.make(units, (relation == REPLACE_ONE or one_class) and not weighted)


@dataclass(frozen=True)
class Finding:
    """What one world showed of one bound: the largest change, and what the sensitivity says."""

    query: str
    world: str
    kind: str
    relation: str
    norm: str  # "L1" or "L2", which is squared
    noise: str  # how blocks are weighed: "own", as is asked, "all" alike, or the only block
    n_pairs: int
    realized: Fraction
    stated: Fraction
    slack: Slack | None = None

    @property
    def ratio(self):
        """Realized over stated; 1 where neither is anything."""
        if not self.stated:
            return 1.0 if not self.realized else float("inf")
        return float(self.realized / self.stated)

    @property
    def violation(self):
        """What is wrong, in words; None when nothing is."""
        where = (
            f"{self.query}, {self.world}, {self.kind}, {self.relation}, {self.norm} {self.noise}"
        )
        if self.realized > self.stated:
            return f"{where}: {self.realized} moved, {self.stated} stated"
        if self.slack is None and self.realized != self.stated:
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
    """Return every question of this package that can be asked without torch."""
    for room in (queries, papers):
        for module in pkgutil.iter_modules(room.__path__, room.__name__ + "."):
            with suppress(ImportError):
                importlib.import_module(module.name)
    found, todo = set(), [Query]
    while todo:
        todo += (below := todo.pop().__subclasses__())
        found.update(below)
    own = [c for c in found if c.__module__.startswith("skdp_bary.") and not isabstract(c)]
    return sorted(own, key=lambda c: c.__name__)


def explore(world, *, n_rows=2, n_others=1):
    """Return what a world shows, for every kind of person and relation.

    Persons with ids have up to `n_rows` rows; where answers are not linear in the rows, up to
    `n_others` persons stand beside the one in whom neighbors differ.
    """
    found = []
    for kind, relation in product(world.kinds, world.relations):
        query = world.ask(_UNITS[kind], relation, kind == "weights")
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
            realized=max((_weighed(both[power - 1], scale) for both in moved), default=Fraction(0)),
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
            query.picked(state, RaceChoice(1.0), None, recorded, seen.append)
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
            realized=Fraction(most),
            stated=Fraction(l1[0]),
        )
    ]


# A small world for every question, and the reasons why some bounds are not reached in it.

_LINE = Box([-1.0], [1.0])
_SQUARE = Box([0.0, 0.0], [1.0, 1.0])
_FAR = 1e9
_LATTICE = "The longest integer row is a unit short of the radius."
_ONE_CASE = "The bound takes each block at its worst. Gaussian noise does not depend on it."
_EXTREMES = "One row cannot have its whole square both on and off the diagonal."
_PARTIAL = "The bound assumes a row with factor 0, which only an infinitely far row has."
_CHORD = "The bound allows a unit for rounding two squares, and other rows lie below the chords."
_QUARTERS = "This exception is for equally weighted blocks only."
_LEVELS = (
    "The bound allows a level per direction and a unit per number for rounding. A person who joins "
    "n others moves an n-th less than one who replaces another."
)
_ROUNDED = "The bound allows a level per direction for rounding two rows."
_MEETINGS = (
    "Among few people, one person is in a large part of all pairs, and the bound assumes the worst "
    "for each. A root of two is rounded up."
)
_LAW = "The bound assumes that the whole change of a covariance makes the norm larger."
_WAVES = "Waves of few frequencies turn by a limited angle, and amplitudes stay 1e-12 below one."
_NETWORK = "No two rows have opposite gradients, and gradients stay a unit below the clipping norm."
SLACKS = {
    CellGrams: {"L1": Slack(_ONE_CASE, 0.63, 0.58), "L2": Slack(_LATTICE, 0.995, 0.44)},
    Gram: {"L1": Slack(_ONE_CASE, 0.58, 0.66), "L2": Slack(_LATTICE, 0.999, 0.49)},
    Moments: {"L1": Slack(_ONE_CASE, 0.68, 0.62), "L2": Slack(_EXTREMES, 0.80, 0.38)},
    ClippedMeans: {"L1": Slack(_PARTIAL, 0.98, 0.87), "L2": Slack(_PARTIAL, 0.99, 0.76)},
    ClusterMoments: {"L1": Slack(_CHORD, 1 - 1e-6, 0.94), "L2": Slack(_CHORD, 1 - 1e-6, 0.99)},
    CellSpreads: {"L2": Slack(_QUARTERS, 1.0, 0.95)},
    ProjectedQuantiles: {"L1": Slack(_LEVELS, 0.49, 0.998), "L2": Slack(_LEVELS, 0.24, 0.998)},
    ProjectedCost: {"L1": Slack(_LEVELS, 0.49, 0.998), "L2": Slack(_LEVELS, 0.24, 0.998)},
    ProjectedRows: {"L1": Slack(_ROUNDED, 0.999, 0.999), "L2": Slack(_ROUNDED, 0.999, 0.999)},
    PairSpreads: {"L1": Slack(_MEETINGS, 0.12, 0.12), "L2": Slack(_MEETINGS, 0.015, 0.015)},
    PairLaw: {"L1": Slack(_LAW, 0.07, 0.04), "L2": Slack(_LAW, 0.005, 0.0015)},
    CohortGap: {"L1": Slack(_MEETINGS, 0.49, 0.49), "L2": Slack(_MEETINGS, 0.24, 0.24)},
    WavesOf: {"L1": Slack(_WAVES, 0.64, 0.59), "L2": Slack(_WAVES, 0.80, 0.35)},
    ClippedGradients: {"L1": Slack(_NETWORK, 0.68, 0.68), "L2": Slack(_NETWORK, 0.68, 0.68)},
}
_PERSONS = 2  # that classes are padded to
_CLASSES = (1, 2)


def _padded(public, n_classes):
    return None if public else (_PERSONS,) * n_classes


def _column(*values):
    return np.array(values, dtype=float)[:, None]


def _bounds_worlds():
    ends = _column(-_FAR, -1.0, 0.0, 0.5, 1.0, 3.0)
    yield World("line", Count, ends[:3])
    yield World("line", lambda u, p: DistanceHistogram((0.0,), (1.0, 2.0, 4.0), u), ends)
    yield World("line", lambda u, p: ClippedSum(1.0, 1, u, p), ends)
    yield World("line", lambda u, p: NearestLoss(_column(0.0, 4.0), 1.0, u), ends)


def _tree_worlds(n_classes):
    def asked(name, cls, **more):
        def make(u, p):
            return cls(CellTree(_SQUARE, 3), n_classes, u, p, **more)

        return World(f"square, {n_classes} classes{name}", make, places, n_classes)

    places = np.array([[0.1, 0.1], [0.9, 0.1], [0.1, 0.9], [0.9, 0.9], [0.3, 0.1]])
    yield asked("", LevelCounts)
    yield asked("", HaarDifferences)
    for levels in ((0, 2, 3), (1, 3)):
        yield asked(f", levels {levels}", LevelCounts, levels=levels)


def _frame(units):
    return Frame(_LINE, np.zeros(1), digits_of(units).rows)


def _cluster_worlds():
    line = _column(-1.0, -0.625, -0.5, -0.375, -0.125, 0.0, 0.125, 0.375, 1.0)

    def asked(name, cls, centers, shares, pure=False, least=math.inf):
        def make(u, p):
            radii = np.full(len(centers), 0.125)
            return cls(_frame(u), _column(*centers), radii, shares, pure, u, p, least)

        return World(name, make, line)

    for name, centers in (("one cluster", (0.0,)), ("two clusters", (-0.5, 0.5))):
        yield asked(name, TotalSpread, centers, (1.0,))
        for cls, shares in ((ClippedMeans, (0.3, 1.0)), (ClusterMoments, (0.3, 1.0, 0.4))):
            yield asked(name, cls, centers, shares)
            yield asked(f"{name}, pure", cls, centers, shares, pure=True)
            yield asked(f"{name}, few digits", cls, centers, shares, least=1e-9)
    yield asked(name, ClusterCounts, centers, (1.0,))  # nobody asks how many rows one cluster has


def _gram_worlds():
    """Two rows at the cosine at which one replaces another in its cell at the full price."""
    share = 0.3
    around = 0.125 * np.array([[1.0, 0.0], [-share, (1.0 - share**2) ** 0.5], [0.0, 0.0]])

    def asked(name, cells):
        def make(u, p):
            radii = np.full(len(cells), 0.125)
            return CellGrams(_plane_frame(u), cells, radii, (1.0, share), False, u)

        return World(f"plane, cells: {name}", make, np.vstack([cell + around for cell in cells]))

    yield asked("one", np.zeros((1, 2)))
    yield asked("two", np.array([[-0.5, 0.0], [0.5, 0.0]]))


@cache
def _plane_frame(units):
    return Frame(Box([-1.0, -1.0], [1.0, 1.0]), np.zeros(2), digits_of(units).rows)


def _frame_worlds():
    line = _column(-_FAR, -1.0, -0.5, 0.0, 0.5, 1.0)
    edges = np.full(1, 0.25), (0.25, 0.5, 1.0)
    flat = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [-1.0, 1.0]])
    yield World("line", lambda u, p: Histogram(_frame(u), np.ones(1), (2,), u), line)
    yield World("line", lambda u, p: FrameDistances(_frame(u), *edges, u), line)
    yield World("plane", lambda u, p: Gram(_plane_frame(u), 1.0, u), flat)


def _moment_worlds():
    line = _column(-_FAR, -1.0, -0.5, 0.0, 0.5, 1.0)
    plane = np.array([[0.0, 0.0], [1.0, 0.0], [-1.0, 0.0], [-0.125, 63**0.5 / 8], [1.0, 1.0]])

    def asked(name, places, second, n_classes=1, components=None):
        def make(u, p):
            centers = np.zeros((n_classes, places.shape[1]))
            return Moments(centers, 1.0, components, second, units=u, total_public=p)

        return World(name, make, places, n_classes)

    for n_classes in _CLASSES:
        for second in ("none", "pooled", "classes")[: n_classes + 1]:
            places = line if second == "none" else plane
            yield asked(f"{second}, {n_classes} classes", places, second, n_classes)
    # what stands beside the plane cancels out exactly, and in sums of floats but nearly
    roots = np.arange(2.0, 18.0) ** 0.5
    wide = np.column_stack([np.eye(2), np.repeat(roots.reshape(2, 8), 2, axis=1)])
    beside = np.outer(roots[: len(plane)], np.repeat(roots[:8], 2) * np.tile([1.0, -1.0], 8))
    yield asked("mapped", np.column_stack([plane, beside]), "pooled", components=wide)


def _cell_worlds(n_classes):
    atoms, potentials = _column(-0.5, 0.5), np.zeros((n_classes, 2))
    origins = np.broadcast_to(atoms, (n_classes, 2, 1)).copy()
    weighed = None if n_classes == 1 else np.array([[1.0, 1.0], [1.0, 0.25]])

    def asked(name, pooled, factors):
        def make(u, p):
            more = {"units": u, "total_public": p, "pooled": pooled}
            return CellSpreads(atoms, potentials, origins, 0.5, factors, **more)

        line = _column(-1.0, -0.75, -0.5, 0.0, 1.0)
        return World(f"line, {n_classes} classes, {name}", make, line, n_classes)

    yield asked("apart", False, None)
    yield asked("pooled", True, weighed)


def _sliced_worlds(n_classes):
    lattice = SliceLattice(_LINE, np.ones((1, 1)))
    reference = np.zeros((1, lattice.n_levels), dtype=np.int64)
    reference[0, 0] = 1

    def asked(cls, *more, name="", **about):
        def make(u, p):
            return cls(lattice, _padded(p, n_classes), n_classes, u, *more)

        given = {"linear": False} | about
        return World(f"line, {n_classes} classes{name}", make, line, n_classes, **given)

    line, name = _column(-1.0, 1.0), f"line, {n_classes} classes"
    relations = (ADD_REMOVE, REPLACE_ANY)[:n_classes]  # those under which sizes are private
    sizes = partial(ClassSizes, n_classes)
    yield World(name, lambda u, p: sizes(u), line, n_classes, relations=relations)
    yield asked(ProjectedQuantiles, 2)
    for p in (1, 2):
        yield asked(ProjectedCost, reference, p, name=f", p={p}")
    alone = {"kinds": ("rows",), "relations": (REPLACE_ONE,), "linear": False}
    yield World(name, lambda u, p: ProjectedRows(lattice, n_classes), line, n_classes, **alone)


def _meeting_worlds(n_classes):
    """Rows at two ends that never meet; one class is compared with the second end."""
    line = _column(-1.0, 1.0)
    slices = unit_slices(_LINE, np.ones((1, 1)))
    planes = unit_planes(slices, 0.25)
    reference = np.zeros((1, planes.n_levels), dtype=np.int64)
    reference[0, np.concatenate([block[0] for *_, block in planes.levels(line[1:])])] = 1

    def asked(cls, lattice=planes, **more):
        def make(u, p):
            return cls(lattice, _padded(p, n_classes), n_classes, u, **more)

        return World(f"line, {n_classes} classes", make, line, n_classes, linear=False)

    yield asked(PairSpreads, slices, widths=(slices.center_level // 4, slices.center_level // 2))
    yield asked(PairLaw)
    yield asked(CohortGap, **({"reference": reference} if n_classes == 1 else {}))


def _wave_worlds():
    slices = unit_slices(_LINE, np.ones((1, 1)))

    def make(u, p):
        moments = Moments(np.zeros((1, 2)), 1.0, second="pooled", units=u, total_public=p)
        return WavesOf(slices, (2.0,), moments)

    yield World("line", make, _column(-1.0, -0.5, 0.25, 1.0))


def _plane_worlds():
    cells = tuple(Partition.complete(2, level) for level in (1, 2))
    places = np.array([[0.1, 0.1], [0.9, 0.1], [0.1, 0.9], [0.3, 0.1], [5.0, 0.0]])
    counted = GridDivision(QuadGrid(_SQUARE, 2), cells)
    yield World("square", lambda u, p: DisjointCounts(counted, u), places)
    nested = NestedDivision(NestedCells.grid(_SQUARE, 2, 1))
    yield World("nested cells", lambda u, p: DisjointCounts(nested, u), places[:-1])
    for n_classes in _CLASSES:
        ways = tuple((np.array(edges),) * n_classes for edges in ([0, 8], [0, 2, 4, 8]))
        make = partial(DisjointCounts, RunDivision(CellTree(_SQUARE, 3), ways))
        yield World(f"runs, {n_classes} classes", make, places[:-1], n_classes)


def _cover_worlds():
    frame, line = Frame(_LINE, np.zeros(1), 16), _column(-1.0, 0.0, 1.0)

    def make(u, p):
        return CoverQuery(frame, np.ones(1), (0.5, 1.0), 1, u)

    yield World("line", make, line, kinds=("rows",))
    yield World("line, weights", make, line, kinds=("weights",), relations=(ADD_REMOVE,))


def _mapped_worlds():
    line = _column(-3.0, 0.2, 1.5)
    maps = RowFeatures(None, None, None, None, np.zeros(1), np.ones(1), 4.0, 1)
    box, edges = Box(-np.ones(1), 3.0 * np.ones(1)), np.array([[-1.0, 1.0]])

    def of(u, edges=(1.0, 2.0, 4.0)):
        return DistanceHistogram((0.0,), edges, u)

    def apart(pure, u, p):
        """Two classes that are asked about otherwise, and with other sensitivities."""
        return Apart((of(u), NearestLoss(_column(0.2, 4.2), 1.0, u)), pure)

    yield World("line", lambda u, p: Mapped(_column(1.5), of(u)), line)
    yield World("line", lambda u, p: InWidths(box, of(u, (0.25, 0.5, 1.0))), line)
    yield World("line", lambda u, p: Clipped(box, of(u)), line)
    yield World("line", lambda u, p: InCells(edges, ColumnHistograms((3,), None, u, p)), line)
    yield World("line", lambda u, p: RowMapped(np.sinh, of(u)), line)
    yield World("line", lambda u, p: FeaturesOf(maps, _column(1.0), of(u)), line)
    yield World("line, 2 classes", lambda u, p: ByClass((of(u), of(u))), line, 2)
    yield World("line, 2 classes, pure", partial(apart, True), line, 2)
    yield World("line, 2 classes", partial(apart, False), line, 2)


def _head_worlds():
    rng = np.random.default_rng(1)
    maps = RowFeatures(None, None, lambda X, draws: X, None, np.zeros(2), np.ones(2), 4.0, 1)
    frame = HeadFrame(
        *(maps, 1, rng.normal(size=(3, 2)), rng.normal(size=3), np.eye(2), np.eye(3)),
        hidden_center=np.zeros(3),
        hidden_reach=20.0,
    )
    point = HeadPoint(0.1 * rng.normal(size=(3, 3)), rng.normal(size=(2, 4)))
    places, none = 4.0 * rng.normal(size=(6, 2)), np.zeros(2)
    yield World("plane", lambda u, p: PredictedClasses(frame, point, u), places)
    yield World("plane", lambda u, p: ClippedGradients(frame, point, none, 1e-3, u), places)


def _table_worlds():
    places = np.array([[0, 0, 0], [1, 0, 2], [0, 1, 1], [1, 1, 0]], dtype=float)
    sizes, bins = (2, 2, 3), (np.arange(2), np.arange(2), np.array([0, 0, 1]))
    one = bins, ((0, 1), (0, 2), (1, 2)), None, 1
    two = (None, *bins[1:]), ((1, 2),), 0, 2
    far = np.array([1, 0, 2, 0, 1, 0, 0, 1])
    yield World("cells", lambda u, p: ColumnHistograms(sizes, None, u, p), places)
    yield World("cells by class", lambda u, p: ColumnHistograms(sizes, 0, u, p), places)
    yield World("cells", lambda u, p: PairTables(*one, u), places)
    yield World("cells by class", lambda u, p: PairTables(*two, u), places)
    distances = World("cells by class", lambda u, p: PairDistances(*two, u, far * u // 2), places)
    yield replace(distances, linear=False)


def world_size(world, large=False):
    """Return how many rows and others persons of a world have, for `explore`."""
    alone = world.n_classes == 1
    return {"n_rows": (3 if alone else 2) if large else 2 if alone else 1, "n_others": 1 + large}


def small_worlds():
    """Return all worlds, each with what explains why bounds are not reached in it."""
    makers = (
        *(_bounds_worlds, _cluster_worlds, _gram_worlds, _frame_worlds, _moment_worlds),
        *(_plane_worlds, _wave_worlds, _cover_worlds, _mapped_worlds, _head_worlds, _table_worlds),
    )
    by_class = _tree_worlds, _cell_worlds, _sliced_worlds, _meeting_worlds
    worlds = [world for maker in makers for world in maker()]
    worlds += [world for maker, n in product(by_class, _CLASSES) for world in maker(n)]
    return [replace(world, slacks=SLACKS.get(asked_in(world), {})) for world in worlds]


def asked_in(world):
    """Return the class of the question of a world."""
    return type(world.ask(1, world.relations[0]))
