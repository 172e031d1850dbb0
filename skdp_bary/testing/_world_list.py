"""A small world for every question, and the reasons why some bounds are not reached in it."""

import math
from dataclasses import replace
from functools import partial

import numpy as np

from ..geometry._cell_tree import CellTree
from ..geometry._domains import Box
from ..geometry._nested_cells import NestedCells
from ..geometry._slices import SliceLattice
from ..geometry._unit_slices import unit_planes, unit_slices
from ..papers.sliced_rows import ProjectedRows
from ..privacy._neighbors import ADD_REMOVE, REPLACE_ANY, REPLACE_ONE
from ..summaries.asking.by_class import Apart, ByClass
from ..summaries.asking.mapped import InWidths, Mapped
from ..summaries.asking.row_mapped import RowMapped
from ..summaries.clusters.cell_grams import CellGrams
from ..summaries.clusters.cell_spreads import CellSpreads
from ..summaries.clusters.cell_sums import CellSums
from ..summaries.clusters.cluster_sums import ClippedMeans, ClusterMoments, TotalSpread, digits_of
from ..summaries.clusters.cover import ClusterCounts, CoverQuery
from ..summaries.clusters.losses import NearestLoss
from ..summaries.moments.bounds import ClippedSum, Count, DistanceHistogram
from ..summaries.moments.frame_counts import FrameDistances, Gram, Histogram
from ..summaries.moments.frames import Frame
from ..summaries.moments.moments import Moments
from ..summaries.networks.head_gradients import (
    ClippedGradients,
    HeadFrame,
    HeadPoint,
    PredictedClasses,
)
from ..summaries.networks.hits import HitCount, LinearClassifier
from ..summaries.networks.row_features import FeaturesOf, RowFeatures
from ..summaries.slices.collisions import PairSpreads
from ..summaries.slices.cost import ProjectedCost
from ..summaries.slices.histogram import ClassSizes
from ..summaries.slices.planes import CohortGap, PairLaw
from ..summaries.slices.quantiles import ProjectedQuantiles
from ..summaries.slices.waves import WavesOf
from ..summaries.tables.columns import ColumnHistograms
from ..summaries.tables.pairs import PairDistances, PairTables, TableMisfit
from ..summaries.trees.disjoint_counts import DisjointCounts
from ..summaries.trees.divisions import GridDivision, NestedDivision, RunDivision
from ..summaries.trees.hierarchy import CellCounts, HaarDifferences
from ..summaries.trees.level_counts import LevelCounts
from ..summaries.trees.partition import Partition, QuadGrid
from ._small_worlds import Slack, World

_LINE = Box([-1.0], [1.0])
_SQUARE = Box([0.0, 0.0], [1.0, 1.0])
_FAR = 1e9
_LATTICE = (
    "The longest integer row is a unit short of the radius, as a float division is rounded down."
)
_ONE_CASE = "The one L1 case takes each block at its worst; Gaussian noise does not depend on it."
_EXTREMES = (
    "One row cannot have all its square on the diagonal and all of it off; the cases of a "
    "replacement are two points of a curve."
)
_PARTIAL = (
    "Only a row infinitely far from its center has no factor at all, and a replacement within a "
    "cluster pays for one."
)
_CHORD = "Rounding of two squares is given a unit, and all other rows lie below the chords."
_QUARTERS = "For blocks weighed alike the quarters of the shorter row leave room."
_LEVELS = (
    "Rounding is given a level a direction and a unit a number; who joins n others has an n-th "
    "less than who replaces one of them."
)
_ROUNDED = "Rounding of two rows is given a level a direction."
_MEETINGS = (
    "Of few persons one is in a large part of all pairs, which is stated as if all could meet "
    "anew; a root of two is rounded up."
)
_LAW = "How far one person moves a covariance is stated as if all of it made the norm larger."
_WAVES = (
    "Waves of few frequencies turn only so far; amplitudes are kept a millionth of a millionth "
    "below one."
)
_NETWORK = (
    "Gradients are kept a unit below the clipping norm, a row that rounding made too long shrinks "
    "by a 512th, and a network has no two rows with opposite gradients."
)
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


def _public(n_classes):
    """Return whether no neighbor changes the mass of a class, as a fit decides it."""

    def decide(relation, weighted):
        one_class = relation == REPLACE_ANY and n_classes == 1
        return (relation == REPLACE_ONE or one_class) and not weighted

    return decide


def _one_public(relation, weighted):
    return relation != ADD_REMOVE and not weighted


def _column(*values):
    return np.array(values, dtype=float)[:, None]


def _bounds_worlds():
    ends = _column(-_FAR, -1.0, 0.0, 0.5, 1.0, 3.0)
    yield World("line", lambda u, r, w: Count(u, _one_public(r, w)), ends[:3])
    yield World("line", lambda u, r, w: DistanceHistogram((0.0,), (1.0, 2.0, 4.0), u), ends)
    yield World("line", lambda u, r, w: ClippedSum(1.0, 1, u, _one_public(r, w)), ends)
    yield World("line", lambda u, r, w: NearestLoss(_column(0.0, 4.0), 1.0, u), ends)


def _tree_worlds():
    places = np.array([[0.1, 0.1], [0.9, 0.1], [0.1, 0.9], [0.9, 0.9], [0.3, 0.1]])
    for n_classes in (1, 2):
        public = _public(n_classes)

        def tree(cls, n_classes=n_classes, public=public, **more):
            return lambda u, r, w: cls(CellTree(_SQUARE, 3), n_classes, u, public(r, w), **more)

        name = f"square, {n_classes} classes"
        yield World(name, tree(CellCounts), places, n_classes)
        yield World(name, tree(HaarDifferences), places, n_classes)
        for levels in ((0, 2, 3), (1, 3)):
            make = tree(LevelCounts, levels=levels)
            yield World(f"{name}, levels {levels}", make, places, n_classes)


def _frame(units):
    return Frame(_LINE, np.zeros(1), digits_of(units).rows)


def _cluster(cls, centers, radii, shares, pure=False, least=math.inf):
    def make(u, r, w):
        kind = shares, pure, u, _one_public(r, w), least
        return cls(_frame(u), _column(*centers), np.array(radii), *kind)

    return make


def _cluster_worlds():
    one, two = ((0.0,), (0.125,)), ((-0.5, 0.5), (0.125, 0.125))
    line = _column(-1.0, -0.625, -0.5, -0.375, -0.125, 0.0, 0.125, 0.375, 1.0)
    for name, clusters in (("one cluster", one), ("two clusters", two)):
        for cls, shares in (
            (ClippedMeans, (0.3, 1.0)),
            (ClusterMoments, (0.3, 1.0, 0.4)),
            (TotalSpread, (1.0,)),
            (ClusterCounts, (1.0,)),
        ):
            if cls is ClusterCounts and name == "one cluster":
                continue  # nobody asks how many rows one cluster has
            yield World(name, _cluster(cls, *clusters, shares), line)
            if cls in (ClippedMeans, ClusterMoments):
                yield World(f"{name}, pure", _cluster(cls, *clusters, shares, pure=True), line)
                small = _cluster(cls, *clusters, shares, least=1e-9)
                yield World(f"{name}, few digits", small, line)


def _gram_worlds():
    """Two rows at the cosine at which one replaces another in its cell at the full price."""
    square = Box([-1.0, -1.0], [1.0, 1.0])
    share = 0.3
    around = 0.125 * np.array([[1.0, 0.0], [-share, (1.0 - share**2) ** 0.5], [0.0, 0.0]])
    for name, cells in (("one", [[0.0, 0.0]]), ("two", [[-0.5, 0.0], [0.5, 0.0]])):
        cells = np.array(cells)

        def make(u, r, w, cells=cells):
            frame = Frame(square, np.zeros(2), digits_of(u).rows)
            radii = np.full(len(cells), 0.125)
            return CellGrams(frame, cells, radii, (1.0, share), False, u)

        places = np.concatenate([cell + around for cell in cells])
        yield World(f"plane, cells: {name}", make, places)


def _frame_worlds():
    line = _column(-_FAR, -1.0, -0.5, 0.0, 0.5, 1.0)
    yield World("line", lambda u, r, w: Histogram(_frame(u), np.ones(1), (2,), u), line)

    def apart(u, r, w):
        return FrameDistances(_frame(u), np.full(1, 0.25), (0.25, 0.5, 1.0), u)

    yield World("line", apart, line)
    flat = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [-1.0, 1.0]])
    square = Box([-1.0, -1.0], [1.0, 1.0])
    frame = {u: Frame(square, np.zeros(2), digits_of(u).rows) for u in (1, 1 << 16, 1 << 20)}
    yield World("plane", lambda u, r, w: Gram(frame[u], 1.0, u), flat)


def _moment_worlds():
    line = _column(-_FAR, -1.0, -0.5, 0.0, 0.5, 1.0)
    plane = np.array([[0.0, 0.0], [1.0, 0.0], [-1.0, 0.0], [-0.125, 63**0.5 / 8], [1.0, 1.0]])
    for n_classes in (1, 2):
        public = _public(n_classes)
        for second in ("none", "pooled", "classes")[: n_classes + 1]:
            places = line if second == "none" else plane

            def make(u, r, w, places=places, n_classes=n_classes, second=second, public=public):
                centers = np.zeros((n_classes, places.shape[1]))
                return Moments(centers, 1.0, second=second, units=u, total_public=public(r, w))

            yield World(f"{second}, {n_classes} classes", make, places, n_classes)
    # what stands beside the plane cancels out exactly, and in sums of floats but nearly
    roots = np.arange(2.0, 18.0) ** 0.5
    wide = np.column_stack([np.eye(2), np.repeat(roots.reshape(2, 8), 2, axis=1)])
    beside = np.outer(roots[: len(plane)], np.repeat(roots[:8], 2) * np.tile([1.0, -1.0], 8))

    def mapped(u, r, w):
        public = _public(1)(r, w)
        return Moments(np.zeros((1, 18)), 1.0, wide, "pooled", units=u, total_public=public)

    yield World("mapped", mapped, np.column_stack([plane, beside]))


def _cell_worlds():
    line = _column(-1.0, -0.75, -0.5, 0.0, 1.0)
    atoms = _column(-0.5, 0.5)
    for n_classes, factors in ((1, None), (2, np.array([[1.0, 1.0], [1.0, 0.25]]))):
        public = _public(n_classes)
        potentials = np.zeros((n_classes, 2))
        origins = np.broadcast_to(atoms, (n_classes, 2, 1)).copy()
        name = f"line, {n_classes} classes"

        def sums(u, r, w, potentials=potentials, factors=factors, public=public):
            return CellSums(
                *(atoms, potentials, atoms, 0.5, factors), units=u, total_public=public(r, w)
            )

        def spreads(pooled, potentials=potentials, origins=origins, factors=factors, public=public):
            return lambda u, r, w: CellSpreads(
                *(atoms, potentials, origins, 0.5, factors if pooled else None),
                units=u,
                total_public=public(r, w),
                pooled=pooled,
            )

        yield World(name, sums, line, n_classes)
        yield World(f"{name}, apart", spreads(False), line, n_classes)
        yield World(f"{name}, pooled", spreads(True), line, n_classes)


def _sliced_worlds():
    line = _column(-1.0, 1.0)
    lattice = SliceLattice(_LINE, np.ones((1, 1)))
    reference = np.zeros((1, lattice.n_levels), dtype=np.int64)
    reference[0, 0] = 1
    for n_classes in (1, 2):
        public = _public(n_classes)

        def padded(r, w, n_classes=n_classes, public=public):
            return None if public(r, w) else (_PERSONS,) * n_classes

        def quantiles(u, r, w, padded=padded, n_classes=n_classes):
            return ProjectedQuantiles(lattice, padded(r, w), n_classes, u, 2)

        name = f"line, {n_classes} classes"

        def sizes(u, r, w, n_classes=n_classes):
            return ClassSizes(n_classes, u)

        relations = (ADD_REMOVE, REPLACE_ANY)[:n_classes]  # those under which sizes are private
        yield World(name, sizes, line, n_classes, relations=relations)
        yield World(name, quantiles, line, n_classes, linear=False)
        for p in (1, 2):

            def cost(u, r, w, padded=padded, n_classes=n_classes, p=p):
                return ProjectedCost(lattice, padded(r, w), n_classes, u, reference, p)

            yield World(f"{name}, p={p}", cost, line, n_classes, linear=False)

        def rows(u, r, w, n_classes=n_classes):
            return ProjectedRows(lattice, n_classes)

        alone = {"kinds": ("rows",), "relations": (REPLACE_ONE,), "linear": False}
        yield World(name, rows, line, n_classes, **alone)


def _meeting_worlds():
    """Rows at two ends that never meet; one class is compared with the second end."""
    line = _column(-1.0, 1.0)
    slices = unit_slices(_LINE, np.ones((1, 1)))
    planes = unit_planes(slices, 0.25)
    reference = np.zeros((1, planes.n_levels), dtype=np.int64)
    reference[0, np.concatenate([block[0] for *_, block in planes.levels(line[1:])])] = 1
    widths = {"widths": (slices.center_level // 4, slices.center_level // 2)}
    for n_classes in (1, 2):
        public = _public(n_classes)

        def question(cls, lattice=planes, n_classes=n_classes, public=public, **more):
            return lambda u, r, w: cls(
                *(lattice, None if public(r, w) else (_PERSONS,) * n_classes, n_classes, u), **more
            )

        name = f"line, {n_classes} classes"
        spreads = question(PairSpreads, slices, **widths)
        yield World(name, spreads, line, n_classes, linear=False)
        yield World(name, question(PairLaw), line, n_classes, linear=False)
        against = {"reference": reference} if n_classes == 1 else {}
        yield World(name, question(CohortGap, **against), line, n_classes, linear=False)


def _wave_worlds():
    line = _column(-1.0, -0.5, 0.25, 1.0)
    slices = unit_slices(_LINE, np.ones((1, 1)))

    def make(u, r, w):
        moments = Moments(
            np.zeros((1, 2)), 1.0, second="pooled", units=u, total_public=_public(1)(r, w)
        )
        return WavesOf(slices, (2.0,), moments)

    yield World("line", make, line)


def _plane_worlds():
    grid = QuadGrid(_SQUARE, 2)
    cells = tuple(Partition.complete(2, level) for level in (1, 2))
    places = np.array([[0.1, 0.1], [0.9, 0.1], [0.1, 0.9], [0.3, 0.1], [5.0, 0.0]])
    counted = GridDivision(grid, cells)
    yield World("square", lambda u, r, w: DisjointCounts(counted, u), places)
    nested = NestedDivision(NestedCells.grid(_SQUARE, 2, 1))
    inside = places[:-1]
    yield World("nested cells", lambda u, r, w: DisjointCounts(nested, u), inside)
    for n_classes in (1, 2):
        ways = tuple((np.array(edges),) * n_classes for edges in ([0, 8], [0, 2, 4, 8]))
        runs, public = RunDivision(CellTree(_SQUARE, 3), ways), _public(n_classes)

        def make(u, r, w, runs=runs, public=public):
            return DisjointCounts(runs, u, public(r, w))

        yield World(f"runs, {n_classes} classes", make, inside, n_classes)


def _cover_worlds():
    frame = Frame(_LINE, np.zeros(1), 16)

    def make(u, r, w):
        return CoverQuery(frame, np.ones(1), (0.5, 1.0), 1, u)

    line = _column(-1.0, 0.0, 1.0)
    yield World("line", make, line, kinds=("rows",))
    yield World("line, weights", make, line, kinds=("weights",), relations=(ADD_REMOVE,))


def _apart(pure, u, r, w):
    """Two classes that are asked about otherwise, and with other sensitivities."""
    distances = DistanceHistogram((0.0,), (1.0, 2.0, 4.0), u)
    return Apart((distances, NearestLoss(_column(0.2, 4.2), 1.0, u)), pure)


def _mapped_worlds():
    line = _column(-3.0, 0.2, 1.5)
    apart = DistanceHistogram((0.0,), (1.0, 2.0, 4.0))

    def of(u):
        return DistanceHistogram(apart.center, apart.edges, u)

    maps = RowFeatures(None, None, None, None, np.zeros(1), np.ones(1), 4.0, 1)
    yield World("line", lambda u, r, w: Mapped(_column(1.5), of(u)), line)

    def in_widths(u, r, w):
        near = DistanceHistogram(apart.center, (0.25, 0.5, 1.0), u)
        return InWidths(Box(-np.ones(1), 3.0 * np.ones(1)), near)

    yield World("line", in_widths, line)
    yield World("line", lambda u, r, w: RowMapped(np.sinh, of(u)), line)
    yield World("line", lambda u, r, w: FeaturesOf(maps, _column(1.0), of(u)), line)

    def by_class(u, r, w):
        return ByClass((of(u), of(u)))

    yield World("line, 2 classes", by_class, line, 2)
    for pure in (True, False):
        name = f"line, 2 classes{', pure' if pure else ''}"
        yield World(name, partial(_apart, pure), line, 2)


def _head_worlds():
    rng = np.random.default_rng(1)
    maps = RowFeatures(None, None, _same, None, np.zeros(2), np.ones(2), 4.0, 1)
    frame = HeadFrame(
        *(maps, 1, rng.normal(size=(3, 2)), rng.normal(size=3), np.eye(2), np.eye(3)),
        hidden_center=np.zeros(3),
        hidden_reach=20.0,
    )
    point = HeadPoint(0.1 * rng.normal(size=(3, 3)), rng.normal(size=(2, 4)))
    places = 4.0 * rng.normal(size=(6, 2))
    yield World("plane", lambda u, r, w: PredictedClasses(frame, point, u), places)
    line = LinearClassifier(_SQUARE, np.array([[-1.0, 0.0], [1.0, 0.0]]), np.array([1.0, 0.0]))
    yield World("plane", lambda u, r, w: HitCount(line, u), places, n_classes=2)
    clip = 1e-3
    yield World(
        "plane", lambda u, r, w: ClippedGradients(frame, point, np.zeros(2), clip, u), places
    )


def _table_worlds():
    places = np.array([[0, 0, 0], [1, 0, 2], [0, 1, 1], [1, 1, 0]], dtype=float)
    sizes, bins = (2, 2, 3), (np.arange(2), np.arange(2), np.array([0, 0, 1]))
    pairs = ((0, 1), (0, 2), (1, 2))

    def columns(label):
        return lambda u, r, w: ColumnHistograms(sizes, label, u, _one_public(r, w))

    yield World("cells", columns(None), places)
    yield World("cells by class", columns(0), places)
    yield World("cells", lambda u, r, w: PairTables(bins, pairs, None, 1, u), places)
    of_class = (None, *bins[1:]), ((1, 2),), 0, 2
    yield World("cells by class", lambda u, r, w: PairTables(*of_class, u), places)
    expected = np.array([1, 0, 2, 0, 1, 0, 0, 1])

    def far(u, r, w):
        return PairDistances(*of_class, u, expected * u // 2)

    yield World("cells by class", far, places, linear=False)

    def misfit(u, r, w):
        return TableMisfit(bins, pairs, None, 1, u, np.tile([0, 0, 0, 4 * u], 3))

    yield World("cells", misfit, np.array([[0.0, 0.0, 0.0], [1.0, 1.0, 2.0]]), linear=False)


def _same(rows, draws):
    return rows


def world_size(world, large=False):
    """Return how many rows and others persons of a world have, for `explore`."""
    alone = world.n_classes == 1
    return {"n_rows": (3 if alone else 2) if large else 2 if alone else 1, "n_others": 1 + large}


def small_worlds():
    """Return all worlds, each with what explains why bounds are not reached in it."""
    makers = (
        *(_bounds_worlds, _tree_worlds, _cluster_worlds, _gram_worlds, _frame_worlds),
        *(_moment_worlds, _cell_worlds, _sliced_worlds, _meeting_worlds, _plane_worlds),
        *(_wave_worlds, _cover_worlds, _mapped_worlds, _head_worlds, _table_worlds),
    )
    worlds = [world for maker in makers for world in maker()]
    return [replace(world, slacks=SLACKS.get(asked_in(world), {})) for world in worlds]


def asked_in(world):
    """Return the class of the question of a world."""
    return type(world.make(1, world.relations[0], False))
