"""Rows with noise: the question and the release, their order, their relation and their worth."""

import numpy as np
import pytest

from skdp_bary import BudgetAccountant
from skdp_bary.exceptions import RelationError
from skdp_bary.geometry import Ball
from skdp_bary.papers import NoisyRowsSlicedWasserstein, calibrate_sigma
from tests.cases import every
from tests.world import ProjectedRows, SliceLattice, answer, haar_frame, random_order, tight_frame

pytestmark = pytest.mark.filterwarnings("ignore::skdp_bary.exceptions.PrivacyWarning")
SHAPES = [(1, None), (3, 8), (6, 2), (4, 4)]


def sliced(d, k=None, **changes):
    settings = {
        "neighbors": "replace_one",
        "bounds": Ball(np.arange(d, dtype=float), 2.0),
        "epsilon": 1.0,
        "delta": 1e-5,
        "random_state": 0,
    }
    return NoisyRowsSlicedWasserstein(k, **(settings | changes))


def rows(n, d, seed=0):
    return np.arange(d) + 0.5 * np.random.default_rng(seed).standard_normal((n, d))


@every("d, k", SHAPES)
def test_one_noisy_row_a_person_with_the_noise_of_the_diameter(d, k):
    X = rows(200, d)
    fitted = sliced(d, k).fit(X)
    (release,) = fitted.releases_
    width = k if k is not None and k <= d else d
    assert release.rows.shape == (200, width)
    assert fitted.quantiles_ is None
    assert fitted.directions_.shape[0] == d
    assert np.abs(np.linalg.norm(fitted.directions_, axis=0) - 1).max() < 1e-5
    assert release.directions is fitted.directions_
    # Also with more directions than features, whose projections would need more.
    fitted = sliced(d, k).fit(rows(50, d))
    diameter = 4.0
    frame = calibrate_sigma(1.0, 1e-5, n_features=d, n_projections=min(k or 1, d))
    assert fitted.noise_std_[0] == pytest.approx(diameter * frame, rel=2e-3)
    assert fitted.noise_std_[0] >= diameter * frame * (1 - 1e-4)


@every(
    "changes, message",
    [
        ({"neighbors": "add_remove"}, "show how many rows"),
        ({"neighbors": "replace_any"}, "show how many rows"),
        ({"neighbors": None}, "show how many rows"),
        ({"delta": 0.0}, "delta must be above zero"),
    ],
)
def test_what_would_not_be_private_is_refused_before_it_is_charged(changes, message):
    accountant = BudgetAccountant(5.0, 1e-3, neighbors=changes.get("neighbors") or "add_remove")
    estimator = sliced(3, 2, **changes).set_params(accountant=accountant)
    with pytest.raises(ValueError, match=message):
        estimator.fit(rows(20, 3))
    assert accountant.total() == (0.0, 0.0)


@every("given", [{"groups": np.arange(20) // 2}, {"sample_weight": np.full(20, 0.5)}])
def test_persons_of_several_rows_or_less_than_one_are_refused(given):
    accountant = BudgetAccountant(5.0, 1e-3, neighbors="replace_one")
    with pytest.raises(ValueError, match="one row per person"):
        sliced(3, 2, bounds=None, accountant=accountant).fit(rows(20, 3), **given)
    assert accountant.total() == (0.0, 0.0)


def test_no_place_belongs_to_a_person():
    """With hardly any noise one row stands out: it is in every place alike."""
    X = np.zeros((4, 1))
    X[2] = 2.0
    estimator = sliced(1, epsilon=1e6, random_state=None, bounds=Ball([0.0], 2.0))
    places = [int(estimator.fit(X).releases_[0].rows[:, 0].argmax()) for _ in range(240)]
    counts = np.bincount(places, minlength=4)
    assert counts.sum() == 240 and ((counts - 60) ** 2 / 60).sum() < 21.1  # p-value 1e-4


def test_smoothed_distances_compare_smoothed_laws():
    """The same law on both sides costs what sampling costs; noise on one side alone, much more."""
    d, k, n = 2, 6, 20_000
    fitted = sliced(d, k, epsilon=8.0).fit(rows(n, d))
    noise = fitted.noise_std_[0]
    same = fitted.smoothed_distance(rows(4000, d, seed=1)) ** 2
    assert same < 0.01 * noise**2
    moved = fitted.smoothed_distance(rows(4000, d, seed=1) + [0.5, 0.0]) ** 2
    assert moved == pytest.approx(0.25 / d, rel=0.3)
    # nothing is drawn for the public side
    assert fitted.smoothed_distance(rows(50, d)) == fitted.smoothed_distance(rows(50, d))


# The question


def independent(d, k, rng):
    U = rng.standard_normal((d, k))
    return U / np.linalg.norm(U, axis=0)


FRAMES = [(haar_frame, 5, 2), (haar_frame, 3, 3), (tight_frame, 3, 8), (independent, 4, 6)]


def make_query(frame, d, k, n_classes=1, seed=0):
    rng = np.random.default_rng(seed)
    domain = Ball(rng.standard_normal(d), 2.0)
    return ProjectedRows(SliceLattice(domain, frame(d, k, rng)), n_classes)


@every("frame, d, k", FRAMES)
def test_a_replaced_row_moves_its_own_numbers_by_at_most_what_is_stated(frame, d, k):
    query = make_query(frame, d, k)
    stated = query.sensitivity("replace_one")
    center, rng = query.lattice.domain.center, np.random.default_rng(2)
    along = np.linalg.svd(query.lattice.directions)[0][:, 0]
    worst = 0.0
    for trial in range(300):
        z = along if trial % 3 == 0 else rng.standard_normal(d)
        first, second = center + 9 * z, center - 9 * z
        if trial % 3 == 2:
            second = center + rng.standard_normal(d)
        X = center + rng.standard_normal((6, d))
        X[2] = first
        before = answer(query, X)[0]
        X[2] = second
        moved = (answer(query, X)[0] - before).astype(object)
        assert not moved[[0, 1, 3, 4, 5]].any()
        assert (abs(moved)).sum() <= stated.l1[0][0]
        assert (moved**2).sum() <= stated.l2_squared[0][0]
        worst = max(worst, (moved**2).sum() / stated.l2_squared[0][0])
    assert worst > 0.99


@every("relation", ["add_remove", "replace_any"])
def test_relations_that_hide_the_number_of_rows_are_refused(relation):
    with pytest.raises(RelationError, match="shows their number"):
        make_query(tight_frame, 2, 5).sensitivity(relation)


def test_equal_keys_are_drawn_again():
    class Repeating:
        calls = 0

        def words(self, count):
            self.calls += 1
            return np.zeros(count, np.uint64) if self.calls < 3 else np.arange(count)[::-1]

    source = Repeating()
    assert random_order(5, source).tolist() == [4, 3, 2, 1, 0] and source.calls == 3
