"""Matrices of cells and questions by class: sensitivities that hold and are reached, exactness."""

from dataclasses import dataclass
from fractions import Fraction
from math import sqrt

import numpy as np
import pytest

from skdp_bary.geometry import Ball, Box
from skdp_bary.privacy.noise.mechanisms import Sensitivity
from skdp_bary.summaries.asking.by_class import ByClass, frames_of
from skdp_bary.summaries.asking.query import Sketch
from skdp_bary.summaries.clusters.cell_grams import CellGrams
from skdp_bary.summaries.clusters.cluster_sums import ClippedMeans, ClusterMoments, digits_of
from skdp_bary.summaries.rows.persons import PERSON_UNITS, Chunk

RELATIONS = ("add_remove", "replace_one", "replace_any")
DOMAIN = Box([-4.0] * 3, [4.0] * 3)
CLASS_CENTERS = np.array([[0.1, 0.0, -0.2], [-1.5, 0.5, 0.0]])
CELLS = np.array([[-1.5, 0.0, 0.0], [1.5, 0.0, 0.0]])
SHARES = {CellGrams: (1.0, 0.3), ClusterMoments: (1.0, 1.0, 1.0), ClippedMeans: (0.3, 1.0)}


def ask(cls=CellGrams, *, cells=CELLS, radius=0.6, units=1, n_classes=2, **settings):
    frames = frames_of(DOMAIN, CLASS_CENTERS[:n_classes], digits_of(units).rows)
    radii = np.full(len(cells), radius)
    arguments = (cells, radii, SHARES[cls], False, units)
    return ByClass(tuple(cls(frame, *arguments, **settings) for frame in frames))


def blocks_of(query, X, codes=None, masses=None):
    X = np.atleast_2d(X)
    codes = np.zeros(len(X), dtype=np.int64) if codes is None else np.asarray(codes)
    return Sketch(query).update(Chunk(X, codes, masses)).exact_blocks()


def weighted(numbers, query, power=1):
    return sum(n / Fraction(w) ** power for n, w in zip(numbers, query.weights(), strict=True))


def worst(query, relation, stated=None):
    """Largest loss over all pairs of hostile rows and classes, relative to what is stated."""
    directions = np.vstack([np.eye(3), -np.eye(3), [[-0.3, sqrt(0.91), 0.0]], np.ones((1, 3))])
    answers = []
    for code, center in enumerate(CLASS_CENTERS[: len(query.queries)]):
        for cell in query.queries[code].used_centers:
            for length in (0.0, 0.59, 0.61, 50.0):
                rows = center + cell + length * directions
                mass = None if query.queries[0].units == 1 else np.array([PERSON_UNITS])
                answers += [(code, blocks_of(query, row, [code], mass)) for row in rows]
    nothing = (None, query.blocks(query.zeros()))
    others = [nothing] if relation == "add_remove" else answers
    stated = query if stated is None else stated
    allowed = max(weighted(case, query, 2) for case in stated.sensitivity(relation).l2_squared)
    return max(
        float(weighted([int(((a - b).astype(object) ** 2).sum()) for a, b in pairs], query, 2))
        for code, one in answers
        for other_code, other in others
        if relation != "replace_one" or code == other_code
        for pairs in [list(zip(one, other, strict=True))]
    ) / float(allowed)


@pytest.mark.parametrize("units", [1, PERSON_UNITS])
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("cells", [CELLS, CELLS[:1]])
def test_matrices_move_as_far_as_stated_and_no_further(cells, relation, units):
    assert 0.97 < worst(ask(cells=cells, units=units), relation) <= 1.0


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("cls", [ClusterMoments, ClippedMeans])
def test_questions_by_class_move_as_far_as_stated(cls, relation):
    query = ask(cls, total_public=relation == "replace_one")
    assert 0.9 < worst(query, relation) <= 1.0


@dataclass(frozen=True, eq=False)
class CountedOnce(CellGrams):
    """A row that changes the cell is counted in one of the two matrices."""

    def sensitivity(self, relation):
        return super().sensitivity("add_remove")


@dataclass(frozen=True, eq=False)
class OneClass(ByClass):
    """A row that changes the class is counted in one of the two classes."""

    def sensitivity(self, relation):
        return self.queries[0].sensitivity("replace_one")


@dataclass(frozen=True, eq=False)
class NoConstant(CellGrams):
    """The constant is forgotten."""

    def sensitivity(self, relation):
        stated = super().sensitivity(relation)
        part = Fraction(4**self._bits, 4**self._bits + self.constant**2) ** 2
        return Sensitivity(
            stated.l1, tuple(tuple(int(n * part) for n in case) for case in stated.l2_squared)
        )


def test_wrong_sensitivities_are_found():
    for query_class in (CountedOnce, NoConstant):
        wrong = ByClass(tuple(query_class(**vars_of(q)) for q in ask().queries))
        assert worst(ask(), "replace_one", wrong) > 1.2
    moments = ask(ClusterMoments, cells=CELLS[:1], total_public=True)
    assert worst(moments, "replace_any", OneClass(moments.queries)) > 1.2


def vars_of(query):
    return {name: getattr(query, name) for name in query.__dataclass_fields__}


def test_matrices_are_mass_sum_and_scatter():
    rng = np.random.default_rng(0)
    codes = rng.integers(2, size=3000)
    cell = rng.integers(2, size=3000)
    X = CLASS_CENTERS[codes] + CELLS[cell] + 0.1 * rng.standard_normal((3000, 3))
    query = ask()
    blocks = blocks_of(query, X, codes)
    for code in (0, 1):
        part = query.queries[code]
        exact = FakeRelease(tuple(block[code] for block in blocks))
        read = part.read(exact)
        for k in (0, 1):
            rows = X[(codes == code) & (cell == k)] - CLASS_CENTERS[code] - part.used_centers[k]
            assert read.mass[k] == pytest.approx(len(rows), rel=1e-3)
            np.testing.assert_allclose(read.sums[k], rows.sum(axis=0), atol=0.1)
            np.testing.assert_allclose(read.scatters[k], rows.T @ rows, atol=0.05)


@dataclass(frozen=True)
class FakeRelease:
    values: tuple
    noise_sd: tuple = (0.0, 0.0)


def test_answers_do_not_depend_on_blocks_or_order():
    rng = np.random.default_rng(1)
    X, codes = 3.0 * rng.standard_normal((500, 3)), rng.integers(2, size=500)
    X[::7] = CLASS_CENTERS[codes[::7]]  # just between the cells: the first one takes them
    query = ask()
    whole = blocks_of(query, X, codes)
    sketch = Sketch(query)
    for part in np.array_split(rng.permutation(500), 60):
        sketch.update(Chunk(X[part], codes[part], None))
    for one, other in zip(whole, sketch.exact_blocks(), strict=True):
        np.testing.assert_array_equal(one, other)
    tied = blocks_of(ask(), CLASS_CENTERS[:1], [0])[0]
    assert tied[0, 0, -1] > 0 and tied[0, 1, -1] == 0


def test_masses_multiply_matrices():
    row = CLASS_CENTERS[0] + [0.2, 0.3, 0.1]
    query = ask(units=PERSON_UNITS)
    one, five = (blocks_of(query, row, [0], np.array([m])) for m in (1 << 8, 5 << 8))
    for a, b in zip(one, five, strict=True):
        np.testing.assert_array_equal(5 * a, b)


def test_masses_of_a_person_add_up_to_one_at_most():
    row = np.tile(CLASS_CENTERS[0], (3, 1))
    masses = np.array(
        [PERSON_UNITS // 3, PERSON_UNITS // 3, PERSON_UNITS - 2 * (PERSON_UNITS // 3)]
    )
    query = ask(units=PERSON_UNITS)
    diagonals = blocks_of(query, row, [0, 0, 0], masses)[0]
    part = query.queries[0]
    whole = part.mass_units * part.constant**2
    assert 0.999 * whole < diagonals[0, 0, -1] <= whole


def test_frames_of_classes_share_one_unit():
    centers = np.array([[0.0, 0.0], [0.9, 0.0], [0.0, -0.3]])
    frames = frames_of(Ball([0.0, 0.0], 1.0), centers, 16)
    assert len({frame.step for frame in frames}) == 1
    rows = Ball([0.0, 0.0], 1.0).sample(200, np.random.default_rng(0))
    for frame in frames:
        assert (frame.integer_rows(rows) ** 2).sum(axis=1).max() <= 2.0**33


def test_different_questions_by_class_are_refused():
    one, other = ask(radius=0.6).queries[0], ask(radius=0.6, n_classes=1).queries[0]
    assert ByClass((one, other)).weights() == one.weights()
    wider = ask(ClippedMeans, radius=1.2).queries[0]
    with pytest.raises(ValueError, match="one sensitivity"):
        ByClass((ask(ClippedMeans).queries[0], wider))
