"""PrivateSearchCV: what it charges, what it shows, and that its choice is sensible."""

import copy
import pickle
import traceback
import warnings
from itertools import permutations
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer

from skdp_bary import (
    BudgetAccountant,
    DomainScaler,
    JLTransformer,
    PrivateDomainAdapter,
    PrivateEMDHeatmap,
    PrivateGenerator,
    PrivateMeasure,
    PrivateWassersteinBarycenter,
)
from skdp_bary.exceptions import BudgetError, PrivacyWarning, RelationError
from skdp_bary.model_selection import PrivateSearchCV
from tests.cases import every
from tests.world import (
    Candidates,
    LogarithmicTrials,
    TransportScore,
    best_of,
    exact,
    gaussian_mu,
    make_trial,
    race_plan,
    selection_mu,
)

pytestmark = pytest.mark.filterwarnings("ignore:param_grid varies")
# The number of atoms shows at once whether the better candidate was chosen.
GRID = {"n_atoms": [1, 4]}


def corners(n=4000):
    rng = np.random.default_rng(0)
    centers = np.array([[0.2, 0.2], [0.2, 0.8], [0.8, 0.2], [0.8, 0.8]])
    return centers[rng.integers(4, size=n)] + rng.normal(scale=0.03, size=(n, 2))


def barycenter(**settings):
    return PrivateWassersteinBarycenter(
        method="coreset", bounds=(0, 1), n_hint=4000, n_init=2, **settings
    )


@every("delta", [0.0, 1e-6])
def test_the_better_candidate_is_chosen(delta):
    X = corners()
    for seed in range(4):
        search = PrivateSearchCV(
            barycenter(), GRID, mean_trials=8, epsilon=4.0, delta=delta, random_state=seed,
        )  # fmt: skip
        with pytest.warns(PrivacyWarning, match="seeded"):
            search.fit(X)
        if search.best_params_["n_atoms"] == 4:
            break
    assert search.best_params_ == {"n_atoms": 4}
    loss = ((X[:, None] - search.best_estimator_.support_) ** 2).sum(axis=2).min(axis=1).sum()
    assert -search.best_score_ == pytest.approx(loss, abs=4 * search.best_score_stderr_)
    assert search.predict(X[:5]).shape == (5,)
    assert search.transform(X[:5]).shape == (5, 4)


def test_nothing_tells_how_many_trials_were_made():
    search = PrivateSearchCV(barycenter(), GRID, mean_trials=4).fit(corners(300))
    fitted = {name for name in vars(search) if name.endswith("_")}
    assert fitted == {
        "best_estimator_", "best_params_", "best_score_", "best_score_stderr_", "n_features_in_",
        "privacy_",
    }  # fmt: skip
    assert set(vars(search)) - fitted - set(search.get_params(deep=False)) == {"_seeded"}


@every("delta", [0.0, 1e-6])
def test_a_search_is_charged_as_quoted_and_its_best_estimator_states_that(delta):
    X, (estimator, grid) = corners(300), pipeline()
    for inner, candidates in ((barycenter(), {"n_init": [1, 2]}), (estimator, grid)):
        accountant = BudgetAccountant(epsilon=1.2, delta=1e-6)
        search = PrivateSearchCV(
            inner, candidates, mean_trials=3, delta=delta, accountant=accountant
        )
        quote = accountant.quote(search, n_features=2)
        assert (quote.epsilon, quote.delta, quote.fits) == (1.0, delta, True)
        best = search.fit(X).best_estimator_
        assert [(e.epsilon, e.delta) for e in accountant.entries] == [(1.0, delta)]
        assert quote.plan == search.privacy_ and not accountant.quote(search, n_features=2).fits
        assert f"deviation {search.best_score_stderr_:.3g}." in quote.advice
        for shown in (best, copy.deepcopy(best), pickle.loads(pickle.dumps(best))):
            last = shown[-1] if isinstance(shown, Pipeline) else shown
            assert last.privacy_ == search.privacy_
            assert (last.privacy_.epsilon, last.privacy_.delta) == (1.0, delta)
            assert last.privacy_.scope == "best of a random number of trials"
        for again in (search, best):  # it pays when it is fitted again
            with pytest.raises(BudgetError):
                again.fit(X)
        assert len(accountant.entries) == 1 and inner.get_params().get("accountant") is None


def test_a_part_under_replace_any_pays_for_no_search():
    accountant = BudgetAccountant(1.0, neighbors="replace_any")
    search = PrivateSearchCV(barycenter(), GRID, accountant=accountant.part("north"))
    with pytest.raises(RelationError, match="size of part"):
        search.fit(corners(100))
    assert accountant.entries == ()


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_the_noise_of_scores_is_what_is_published(delta, seen):
    search = PrivateSearchCV(barycenter(), {"n_init": [1]}, mean_trials=2, delta=delta)
    search.fit(corners(300), groups=np.arange(300) // 3)
    for released in (each for each in seen if each.name == "score"):
        sd = released.noise_sd[0] * released.query.unit
        assert sd == pytest.approx(search.best_score_stderr_)
    if delta == 0.0:  # the formula of the documentation
        radius, share = np.sqrt(0.5), search.score_share * search.epsilon / 2
        assert search.best_score_stderr_ == pytest.approx(np.sqrt(2) * 4 * radius**2 / share, 1e-3)


@every("delta", [0.0, 1e-6])
def test_fit_and_score_stay_within_one_trial(delta):
    trials = LogarithmicTrials.of_mean(6)
    trial = make_trial(trials, 1.0, delta, 0.2)
    if delta == 0.0:
        spent = exact(trial.fit_epsilon) + exact(trial.score_mechanism.epsilon)
        assert 0.999 < float(2 * spent) <= 1.0
    else:
        assert gaussian_mu(trial.fit_epsilon, delta) <= trial.fit_mu
        spent = np.hypot(trial.fit_mu, trial.score_mechanism.mu)
        assert 0.999 < spent / selection_mu(trials, 1.0, delta) <= 1.0


@every("estimator, settings, error, match", [
    (barycenter(accountant=BudgetAccountant(1.0)), {}, ValueError, "Give the accountant"),
    (PrivateWassersteinBarycenter(), {}, ValueError, "public bounds"),
    (PrivateDomainAdapter(bounds=(0, 1)), {}, TypeError, "transform"),
    ("kmeans", {}, TypeError, "estimator of this package"),
    (barycenter(), {"param_grid": {"epsilon": [1, 2]}}, ValueError,
     "epsilon=1, and one trial has 0.45 for its fit"),
    (PrivateMeasure(bounds=(0, 1)), {"param_grid": {"delta": [0.0]}}, ValueError, "must not"),
    (make_pipeline(PCA(1), barycenter()), {}, ValueError, "not known of 'pca'"),
    (make_pipeline(FunctionTransformer(np.sqrt), barycenter()), {}, ValueError, "nothing from"),
    (make_pipeline(DomainScaler((0, 1))), {}, TypeError, "one of this package"),
    (make_pipeline(barycenter(accountant=BudgetAccountant(1.0))), {}, ValueError, "Give the"),
    (Pipeline([("scale", DomainScaler((0, 1))), ("end", barycenter())]),
     {"param_grid": {"scale__target": ["box"]}}, ValueError, "could not be compared"),
    (Pipeline([("end", barycenter())]), {"param_grid": {"end": [barycenter()]}}, ValueError,
     "could not be compared"),
    (Pipeline([("end", barycenter())]), {"param_grid": {"end__bounds": [(0, 2)]}}, ValueError,
     "must not vary"),
    (barycenter(), {"score_share": 1.0}, ValueError, "score_share"),
    (barycenter(neighbors="replace_one"), {"accountant": BudgetAccountant(9.0)}, ValueError,
     "neighbors"),
])  # fmt: skip
def test_what_cannot_be_searched_is_refused_before_a_charge(estimator, settings, error, match):
    search = PrivateSearchCV(estimator, **({"param_grid": GRID} | settings))
    with pytest.raises(error, match=match):
        search.fit(corners(100))
    if search.accountant is not None:
        assert search.accountant.entries == ()


def test_nothing_is_heard_of_trials_that_lost(monkeypatch):
    """Warnings would count the trials, and an error would tell about a release nobody paid for."""

    def noisy(self, X, y=None, *, groups=None, sample_weight=None):
        warnings.warn(f"the cost of {id(self)}", RuntimeWarning, stacklevel=1)
        raise ValueError("the release of this trial is 42")

    monkeypatch.setattr(PrivateWassersteinBarycenter, "fit", noisy)
    search = PrivateSearchCV(barycenter(), {"n_init": [1, 2]}, mean_trials=4)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        with pytest.raises(RuntimeError, match="A trial of the search failed") as caught:
            search.fit(corners(50))
    assert heard == []
    assert "42" not in "".join(traceback.format_exception(caught.value))
    assert caught.value.__context__ is None and caught.value.__cause__ is None
    names = {frame.name for frame in traceback.extract_tb(caught.value.__traceback__)}
    assert names <= {"test_nothing_is_heard_of_trials_that_lost", "fit"}


def test_an_interrupt_tells_no_trial(monkeypatch):
    def interrupt(*given, **named):
        raise KeyboardInterrupt("in the trial of 42")

    monkeypatch.setattr(PrivateWassersteinBarycenter, "fit", interrupt)
    search = PrivateSearchCV(barycenter(), {"n_init": [1, 2]}, mean_trials=4)
    with pytest.raises(KeyboardInterrupt, match="The search was charged") as stopped:
        search.fit(corners(50))
    assert "42" not in "".join(traceback.format_exception(stopped.value))
    assert stopped.value.__context__ is None


def test_scores_are_in_one_order_also_where_some_are_no_numbers():
    """What a choice costs is known for a total order; one that came first was the best of all."""
    law = SimpleNamespace(draw=lambda noise: 3)
    for scores in permutations([np.nan, 1.0, 2.0]):
        trials = iter(scores)
        assert best_of(law, lambda trials=trials: (next(trials),), None) == (2.0,)


def test_an_iterator_of_chunks_is_refused():
    search = PrivateSearchCV(barycenter(), GRID)
    with pytest.raises(ValueError, match="several|every trial"):
        search.fit(iter([corners(100)]))


def test_plans_with_a_race_are_refused():
    """The price of a search is known for Gaussian trials; a race beside them is not in their mu."""
    trial = make_trial(LogarithmicTrials.of_mean(4), 1.0, 1e-6, 0.2)
    plan = race_plan("add_remove", 0.5 * trial.fit_epsilon, 1e-7, {"cover": 1.0, "a": 1.0}, "cover")
    assert plan.mu <= trial.fit_mu
    with pytest.raises(ValueError, match="mixes kinds of noise"):
        trial.check(plan, {})


def pipeline():
    """A pipeline on rows ten times as large, and its grid."""
    steps = [("scale", DomainScaler((0, 10))), ("turn", JLTransformer(2, bounds=(0, 1)))]
    last = barycenter().set_params(bounds=([-0.8, -0.8], [0.8, 0.8]))
    return Pipeline([*steps, ("end", last)]), {"end__n_atoms": [1, 4]}


def test_a_pipeline_is_searched_behind_its_public_steps():
    accountant = BudgetAccountant(epsilon=8.0)
    estimator, grid = pipeline()
    search = PrivateSearchCV(estimator, grid, mean_trials=8, epsilon=8.0, accountant=accountant)
    rows = 10.0 * corners()
    search.fit(rows, groups=np.arange(len(rows)) // 2)
    assert [entry.epsilon for entry in accountant.entries] == [8.0]
    best = search.best_estimator_
    assert [name for name, _ in best.steps] == ["scale", "turn", "end"]
    assert search.n_features_in_ == 2
    n_atoms = search.best_params_["end__n_atoms"]
    assert search.transform(rows[:5]).shape == (5, n_atoms)
    behind = best[:-1].transform(rows)
    loss = ((behind[:, None] - best[-1].support_) ** 2).sum(axis=2).min(axis=1).sum() / 2
    assert -search.best_score_ == pytest.approx(loss, abs=0.02 * len(rows))
    assert set(vars(estimator[0])) == {"bounds", "target", "clip"}  # the search fits clones


@every("estimator, grid, delta, better", [
    (PrivateMeasure(bounds=(0, 1), n_hint=4000), {"depth": [1, 5]}, 0.0, {"depth": 5}),
    (PrivateEMDHeatmap(bounds=(0, 1), n_hint=4000, resolution=16), {"epsilon": [1e-3, 0.9]}, 0.0,
     {"epsilon": 0.9}),
    (PrivateGenerator(bounds=(0, 1), n_hint=4000), {"epsilon": [0.05, 2.0]}, 1e-6,
     {"epsilon": 2.0}),
])  # fmt: skip
def test_distributions_are_scored_by_a_distance_to_a_noisy_measure(estimator, grid, delta, better):
    for _ in range(6):  # a search may hold one trial, and that of the worse candidate
        budget = BudgetAccountant(8.0, delta)
        search = PrivateSearchCV(
            estimator, grid, epsilon=8.0, delta=delta, mean_trials=8, accountant=budget,
        )  # fmt: skip
        search.fit(corners(1000))
        if search.best_params_ == better:
            break
    assert "sliced Wasserstein distance" in budget.quote(search, 2).advice
    assert search.best_params_ == better
    assert search.best_score_ < 0 and search.best_score_stderr_ is None
    assert [entry.epsilon for entry in budget.entries] == [8.0]


@pytest.mark.parametrize(("delta", "relation"), [(0.0, "replace_any"), (1e-6, "add_remove")])
def test_a_fit_and_its_judge_cost_what_a_trial_may_spend(delta, relation, monkeypatch):
    """The plans of what a trial really fits, taken together."""
    made = []

    def fit(self, X, y=None, **beside):
        made.append(self.privacy_plan(2))
        raise ValueError

    monkeypatch.setattr(PrivateMeasure, "fit", fit)
    measure = PrivateMeasure(bounds=(0, 1), neighbors=relation)
    search = PrivateSearchCV(measure, {"depth": [3]}, delta=delta, mean_trials=2)
    with pytest.raises(RuntimeError, match="failed"):
        search.fit(corners(50))
    trial = Candidates(search).trial
    judge = TransportScore()._judge(measure.set_params(delta=delta), trial, None).privacy_plan(2)
    law = trial.law
    assert {plan.relation for plan in (*made, judge)} == {relation}
    if delta == 0.0:
        assert 2 * (made[0].pure_epsilon + judge.pure_epsilon) <= 1
        assert made[0].mu == judge.mu == 0.0
    else:
        assert made[0].pure_epsilon == judge.pure_epsilon == 0
        assert np.hypot(made[0].mu, judge.mu) <= selection_mu(law, 1.0, delta)
        assert np.hypot(made[0].mu, judge.mu) > 0.99 * selection_mu(law, 1.0, delta)
    trial.check_score(judge)
    with pytest.raises(ValueError, match="scores trials costs more"):
        trial.check_score(made[0])
