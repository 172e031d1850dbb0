"""The privacy-utility curve says what noise costs, and that it is not private."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from skdp_bary import BudgetAccountant, PrivateGenerator, PrivateWassersteinBarycenter
from skdp_bary.exceptions import PrivacyWarning
from skdp_bary.model_selection import privacy_utility_curve
from tests.cases import every


class Points(BaseEstimator):
    """Points of someone else, which tell labels and distances but no score."""

    def __init__(self, epsilon=1.0, accountant=None):
        self.epsilon = epsilon
        self.accountant = accountant

    def fit(self, X, y=None):
        return self

    def predict(self, X):
        return np.argmin(self.transform(X), axis=1)

    def transform(self, X):
        return np.abs(np.asarray(X)[:, :1] - [0.2, 0.8])


@pytest.mark.filterwarnings("ignore:About 300 people")
def test_scores_rise_with_epsilon_and_nothing_is_charged():
    X = np.random.default_rng(0).normal(0.5, 0.02, size=(300, 2))
    accountant = BudgetAccountant(epsilon=1.0)
    estimator = PrivateWassersteinBarycenter(
        n_atoms=2, bounds=(0, 1), n_hint=300, accountant=accountant
    )
    done = []
    with pytest.warns(PrivacyWarning, match="not private"):
        curve = privacy_utility_curve(
            estimator, X, epsilons=[0.01, 50.0], n_repeats=3,
            callback=lambda *step: done.append(step),
        )  # fmt: skip
    assert curve.scores.shape == (2, 3)
    assert curve.scores[0].mean() < curve.scores[1].mean()
    assert done[-1] == (6, 6)
    assert accountant.entries == ()
    assert not curve.is_private
    assert "Not private" in str(curve)


@every("settings", [{"epsilons": []}, {"epsilons": [1.0], "n_repeats": 0}])
def test_empty_curves_are_refused(settings):
    with pytest.raises(ValueError):
        privacy_utility_curve(PrivateWassersteinBarycenter(), [[0.0]], **settings)


@pytest.mark.filterwarnings("ignore:A privacy-utility curve")
def test_generators_are_scored_by_what_they_draw():
    X = np.random.default_rng(0).normal(0.3, 0.02, size=(400, 2))
    generator = PrivateGenerator(bounds=(0, 1), n_hint=400)
    curve = privacy_utility_curve(generator, X, epsilons=[0.01, 50.0], n_repeats=2)
    assert curve.scores[0].mean() < curve.scores[1].mean() < 0


@pytest.mark.filterwarnings("ignore:A privacy-utility curve")
def test_generators_are_scored_by_what_they_teach():
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=500)
    X = np.clip(rng.normal(0.3, 0.05, size=(500, 2)) + 0.3 * y[:, None], 0, 1)
    generator = PrivateGenerator(bounds=(0, 1), n_hint=500, classes=[0, 1])
    curve = privacy_utility_curve(
        generator, X, y, epsilons=[1e-3, 50.0], n_repeats=2, scorer="accuracy"
    )
    assert curve.scores.min() >= 0 and curve.scores[1].min() > 0.95
    assert curve.scores[0].mean() < curve.scores[1].mean()


@pytest.mark.filterwarnings("ignore:A privacy-utility curve")
def test_an_estimator_without_a_score_is_told_to_bring_one():
    X = np.linspace(0.0, 1.0, 11)[:, None]
    with pytest.raises(TypeError, match="scorer must be given for Points") as refused:
        privacy_utility_curve(Points(), X, epsilons=[1.0])
    typed = str(refused.value).rsplit("scorer=", 1)[1].removesuffix(".")
    told = {"scorer": eval(typed), "n_repeats": 1}
    assert privacy_utility_curve(Points(), X, epsilons=[1.0], **told).scores.max() < 0
