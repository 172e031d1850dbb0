"""Questions in three features: no person moves an answer further than stated, and some nearly so.

The small worlds show the same exactly, mostly on a line, where all norms of a row are one number.
"""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from skdp_bary.base import Axes, ClippedMeans, Frame, Gram, Moments
from skdp_bary.geometry import Box
from tests import world
from tests.world import answer

DOMAIN, CENTER = Box([-4.0] * 3, [4.0] * 3), np.array([0.1, 0.0, -0.2])
CENTERS = np.array([[-2.0, 0.0, 0.0], [2.0, 0.0, 0.0], [0.0, 3.0, 1.0]])
RADII = np.array([0.5, 1.0, 0.02])
SHARES = {
    ClippedMeans: (0.3, 1.0),
    world.ClusterMoments: (0.3, 1.0, 0.4),
    world.TotalSpread: (1.0,),
}
AXES = Axes(np.linalg.qr(np.random.default_rng(0).standard_normal((3, 3)))[0], np.ones(2))
ONE, TWO = np.zeros((1, 2)), np.zeros((2, 2))
ATOMS = CENTERS[:2]
BOTH = np.stack([ATOMS] * 2)  # of two classes
PLANE = ATOMS @ AXES.kept.T


def clusters(cls, pure):
    def make(units):
        frame = Frame(DOMAIN, CENTER, world.digits_of(units).rows)
        return cls(frame, CENTERS, RADII, SHARES[cls], pure, units)

    return make


def grams(units):
    frames = world.frames_of(DOMAIN, CENTERS[:2], world.digits_of(units).rows)
    cells = np.array([[-1.5, 0.0, 0.0], [1.5, 0.0, 0.0]])
    return world.ByClass(
        tuple(world.CellGrams(f, cells, np.full(2, 0.6), (1.0, 0.3), False, units) for f in frames)
    )


def moments(second, components=None):
    return lambda units: Moments(CENTERS[:2], 1.0, components, second, units=units)


# how much of what is stated is reached: (L1, L2)
QUESTIONS = {
    "means": (clusters(ClippedMeans, False), 0.0, 0.97),
    "means, pure": (clusters(ClippedMeans, True), 0.97, 0.0),
    "moments of clusters": (clusters(world.ClusterMoments, False), 0.0, 0.97),
    "moments of clusters, pure": (clusters(world.ClusterMoments, True), 0.97, 0.0),
    "spread": (clusters(world.TotalSpread, False), 0.97, 0.97),
    "matrices of cells": (grams, 0.0, 0.9),
    "outer products": (lambda u: Gram(Frame(DOMAIN, CENTER, 12), 0.7, u), 0.0, 0.97),
    "moments": (moments("none"), 0.9, 0.97),
    "moments and squares": (moments("classes"), 0.7, 0.8),
    "mapped moments": (moments("pooled", 0.5 * AXES.kept), 0.7, 0.8),
    "mapped cells": (
        lambda u: world.CellSpreads(PLANE, TWO, BOTH, 1.0, None, AXES.kept, units=u), 0.8, 0.9,
    ),
    "spreads of cells": (
        lambda u: world.CellSpreads(ATOMS, TWO, BOTH, 1.0, units=u), 0.8, 0.9,
    ),
    "of one cell": (
        lambda u: world.CellSpreads(ATOMS[:1], ONE[:, :1], ATOMS[None, :1], 1.0, units=u), 0.8, 0.8,
    ),
}  # fmt: skip


def n_classes(query):
    """Return how many classes a question tells apart."""
    if isinstance(query, Moments):
        return len(query.centers)
    return len(getattr(query, "potentials", getattr(query, "queries", "1")))


def hostile_rows():
    """Rows about every center: on spheres, inside, far out along axes and diagonals."""
    signs = np.array(list(product([-1.0, 1.0], repeat=3))) / 3**0.5
    around = np.vstack([np.eye(3), -np.eye(3), signs])
    lengths = (0.0, 0.0199, 0.25, 0.499, 0.999, 5.0, 100.0)
    middles = np.vstack([CENTERS, CENTERS + CENTER, np.zeros((1, 3))])
    return np.vstack([middle + length * around for middle in middles for length in lengths])


@pytest.mark.parametrize("units", [1, world.PERSON_UNITS])
@pytest.mark.parametrize("name", QUESTIONS)
def test_one_person_moves_no_more_than_stated_and_nearly_so(name, units):
    make, *reached = QUESTIONS[name]
    query, rows = make(units), np.unique(hostile_rows(), axis=0)
    codes = range(n_classes(query))
    mass = None if units == 1 else [units]
    weights = np.array(query.weights() or [1.0] * query.sensitivity("add_remove").n_blocks)
    nobody = [np.zeros_like(block) for block in answer(query)]
    people = [(code, answer(query, row, [code], mass)) for code in codes for row in rows]
    flat = [np.stack([p[b].ravel() for _, p in people]).astype(float) for b in range(len(nobody))]
    labels = np.array([code for code, _ in people])
    for power, least in zip((1, 2), reached, strict=True):

        def moved(others, power=power):
            changes = [np.abs(b - o) ** power for b, o in zip(flat, others, strict=True)]
            return sum(c.sum(axis=1) / w**power for c, w in zip(changes, weights, strict=True))

        pairs = np.stack([moved([block[i] for block in flat]) for i in range(len(people))])
        most = {
            "add_remove": moved([0.0] * len(flat)).max(),
            "replace_one": pairs[labels[:, None] == labels].max(),
            "replace_any": pairs.max(),
        }
        scales = [1 / Fraction(w) ** power for w in weights]
        for relation, found in most.items():
            stated = query.sensitivity(relation)
            cases = stated.l1 if power == 1 else stated.l2_squared
            allowed = max(sum(n * s for n, s in zip(c, scales, strict=True)) for c in cases)
            assert least * allowed <= found <= float(allowed) * (1 + 1e-9), (relation, power)
