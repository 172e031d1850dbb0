"""PrivateDomainAdapter: what it learns, and what it refuses."""

import re
import warnings

import numpy as np
import pytest

from skdp_bary import BudgetAccountant, PrivateDomainAdapter
from tests.cases import every
from tests.public_source import AdapterOnPublicSource
from tests.public_source import jittered as slightly
from tests.world import record_fit

pytestmark = pytest.mark.filterwarnings("ignore::skdp_bary.exceptions.PrivacyWarning")

CENTERS = np.random.default_rng(3).normal(size=(3, 6)) * 2.0
SHIFT = 1.3 * np.sign(CENTERS[0])


def sample(n_rows, seed, *, shift=0.0, n_clouds=3):
    rng = np.random.default_rng(seed)
    labels = rng.integers(n_clouds, size=n_rows)
    rows = rng.normal(size=(n_rows, 6)) + CENTERS[labels] + shift
    return rows, np.array(["a", "b", "c"])[labels]


SOURCE = sample(1500, 0)
TARGET = sample(4000, 1, shift=SHIFT)[0]
UNSEEN, UNSEEN_TRUTH = sample(2000, 2, shift=SHIFT)


def jittered(rows, draws):
    return rows + 2.0 * (draws[:, :6] - 0.5)


def adapter(**parameters):
    given = {"epsilon": 3.0, "delta": 1e-5, "neighbors": "replace_one", "hidden": 30}
    given |= {"random_state": 0} | parameters
    return PrivateDomainAdapter(**given)


class TestAccuracy:
    @every(
        "parameters, gain",
        [
            ({"method": "moments"}, 0.02),
            ({"method": "self_training"}, 0.02),
            ({"views": jittered, "block_rows": 4000, "max_iter": 50}, 0.01),
            ({"method": "moments", "neighbors": "add_remove"}, 0.02),
            ({"method": "moments", "neighbors": "add_remove", "n_hint": 4000}, 0.02),
        ],
    )
    def test_a_shifted_target_is_classified_better_than_by_the_source(self, parameters, gain):
        fitted = adapter(**parameters).fit(*SOURCE, TARGET)
        before = np.mean(fitted.source_model_.predict(UNSEEN) == UNSEEN_TRUTH)
        assert fitted.score(UNSEEN, UNSEEN_TRUTH) >= before + gain
        assert fitted.source_score_ > 0.9

    @every("method", ["self_training", "moments"])
    def test_a_mean_that_other_class_shares_explain_is_doubted(self, method):
        """Where 17 of 20 rows are of a class that has every other row of the source."""
        rng = np.random.default_rng(0)
        centers, classes = 3.0 * np.eye(2, 5), rng.integers(2, size=2000)
        X, noise = centers[classes] + rng.normal(size=(2000, 5)), rng.normal(size=(4000, 5))
        even, uneven = (centers[(rng.random(4000) < share).astype(int)] for share in (0.5, 0.85))
        model = PrivateDomainAdapter(method=method, n_hint=4000, hidden=10, random_state=0)
        for target, doubted in (even, False), (even + [0, 0, 2, 0, 0], False), (uneven, True):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                model.fit(X, classes, target + noise)
            told = [re.search(r"as if (\d+)% of them", str(each.message)) for each in caught]
            shares = [float(found[1]) for found in told if found]
            assert shares == ([pytest.approx(35, abs=5)] if doubted else [])

    def test_frequencies_of_classes_are_released_by_self_training(self):
        fitted = adapter(views=jittered, block_rows=4000, max_iter=5).fit(*SOURCE, TARGET)
        first = fitted.source_model_.predict(TARGET)  # the only look is before the first step
        shares = np.unique(first, return_counts=True)[1] / len(TARGET)
        np.testing.assert_allclose(fitted.target_frequencies_, shares, atol=0.05)
        unaligned = adapter(views=jittered, block_rows=4000, max_iter=2, align=0)
        assert unaligned.fit(*SOURCE, TARGET).target_frequencies_ is None


class TestMaps:
    @every("name", ["row_map", "estimator", "views"])
    def test_maps_that_mix_rows_are_refused_on_the_source(self, name):
        def mixed(rows, draws=None):
            return rows - rows.mean(axis=0) if draws is None else rows + draws.mean()

        with pytest.raises(ValueError, match="must treat every row by itself"):
            adapter(**{name: mixed}).fit(*SOURCE, TARGET)

    @every(
        "views",
        [lambda rows: rows, lambda rows, draws, rng: rows, lambda rows, rng: rng.normal(rows)],
    )
    def test_views_of_another_signature_are_told_the_right_one(self, views):
        budget = BudgetAccountant(5.0, 1e-3, neighbors="replace_one")
        with pytest.raises(ValueError, match=r"views\(rows, draws\).*shape \(n_rows, 8\)"):
            adapter(views=views, accountant=budget).fit(*SOURCE, TARGET)
        assert budget.entries == ()


class TestGuard:
    def test_a_poor_source_model_warns(self):
        rng = np.random.default_rng(0)
        with pytest.warns(UserWarning, match="often makes it worse"):
            adapter().fit(rng.normal(size=(200, 2)), rng.integers(2, size=200), TARGET[:, :2])


class TestRefusals:
    def test_sources_that_do_not_suit_the_target_cost_nothing(self):
        pd = pytest.importorskip("pandas")
        source = pd.DataFrame(SOURCE[0], columns=list("uvwxyz"))
        turned = pd.DataFrame(TARGET, columns=list("vuwxyz"))
        for estimator, rows, y, target, told in (
            ("pca", *SOURCE, TARGET, "an estimator with transform"),
            (None, source, SOURCE[1], turned, "the same columns in the same order"),
            (None, *SOURCE, TARGET[:, :5], "X_target has 5 features, but X_source has 6"),
            (None, SOURCE[0], np.zeros(1500, dtype=int), TARGET, "at least two classes"),
        ):
            budget = BudgetAccountant(5.0, 1e-3, neighbors="replace_one")
            given = adapter(method="moments", estimator=estimator, accountant=budget)
            with pytest.raises((TypeError, ValueError), match=told):
                given.fit(rows, y, target)
            assert budget.entries == () and not hasattr(given, "_source")


@pytest.mark.filterwarnings("ignore:The source model is right on")
class TestPrivacy:
    def test_steps_and_shares(self):
        plan = adapter(views=jittered).privacy_plan(6)
        names = [step.name for step in plan.steps]
        looks = [name for name in names if name.startswith("classes_")]
        assert looks == [f"classes_{t}" for t in range(0, 150, 25)]
        assert len(names) == 156
        squares = {step.name: step.mechanism.mu**2 for step in plan.steps}
        assert sum(squares[name] for name in looks) == pytest.approx(0.05 * sum(squares.values()))

    def test_denominators_are_public_or_bought(self):
        """With the same releases, twice as many rows give the same model."""
        X = np.random.default_rng(0).normal(size=(60, 2))
        for given in ({}, {"n_hint": 60}):
            estimator = AdapterOnPublicSource(
                views=slightly, max_iter=2, hidden=4, random_state=0, **given
            )
            first = record_fit(estimator, {"X": X})
            second = record_fit(estimator, {"X": np.vstack([X, X])}, first.records)
            assert second.error is None
            ours, theirs = (run.fitted.model_.head.parts for run in (first, second))
            assert all(map(np.array_equal, ours, theirs))
