"""The estimators inside scikit-learn's own tools, and frames of every library going in and out."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import Normalizer

from skdp_bary import (
    BudgetAccountant,
    DomainScaler,
    DPSlicedWasserstein,
    JLTransformer,
    PrivateEMDHeatmap,
    PrivateKMeans,
    PrivatePCA,
    PrivateStandardScaler,
    PrivateWassersteinBarycenter,
    RowByRow,
    check_private,
)
from skdp_bary.exceptions import BudgetError
from skdp_bary.geometry import Ball
from skdp_bary.model_selection import PrivateSearchCV
from skdp_bary.privacy import SpendingPolicy
from tests.cases import every

pytestmark = pytest.mark.filterwarnings("ignore::skdp_bary.exceptions.PrivacyWarning")

N = 600
SPOTS = np.array([[0.2, 0.2], [0.8, 0.3], [0.5, 0.8]])
RNG = np.random.default_rng(0)
X = SPOTS[RNG.integers(3, size=N)] + RNG.normal(scale=0.02, size=(N, 2))
PEOPLE = np.arange(N) // 10

TRANSFORMERS = [
    DomainScaler((0, 1)),
    JLTransformer(1, bounds=(0, 1)),
    PrivateKMeans(3, n_init=1, bounds=(0, 1), n_hint=N),
    PrivateWassersteinBarycenter(3, n_init=1, bounds=(0, 1), n_hint=N),
    PrivateEMDHeatmap(bounds=(0, 1), resolution=8, n_hint=N),
    DPSlicedWasserstein(4, bounds=(0, 1), n_min=100),
]
CLASSES = {"ids": lambda estimator: type(estimator).__name__}


def kmeans(**settings):
    return PrivateKMeans(3, n_init=1, bounds=(0, 1), n_hint=N, **settings)


def frame(kind, values=X):
    """Rows as a frame of one library, with names."""
    if kind == "numpy":
        return values
    library = pytest.importorskip(kind)
    return library.DataFrame({"lon": values[:, 0], "lat": values[:, 1]})


def library_of(table):
    return type(table).__module__.split(".")[0]


@pytest.mark.parametrize("given", ["numpy", "pandas", "polars"])
@pytest.mark.parametrize("estimator", TRANSFORMERS, **CLASSES)
def test_frames_go_in_and_out(estimator, given):
    rows = frame(given)
    estimator = clone(estimator).fit(rows)
    plain = estimator.transform(rows)
    names = list(estimator.get_feature_names_out())
    for output in ("pandas", "polars"):
        pytest.importorskip(output)
        table = estimator.set_output(transform=output).transform(rows)
        assert library_of(plain) == "numpy" and library_of(table) == output
        assert list(table.columns) == names and table.shape == plain.shape
        np.testing.assert_array_equal(table.to_numpy(), plain)
    one_to_one = isinstance(estimator, DomainScaler)
    if given != "numpy":
        assert estimator.feature_names_in_.tolist() == ["lon", "lat"]
        assert not one_to_one or names == ["lon", "lat"]
    assert one_to_one or names == [
        f"{type(estimator).__name__.lower()}{i}" for i in range(len(names))
    ]


def chain(accountant):
    """A pipeline in which each step is told what the one before hands on."""
    return make_pipeline(
        DomainScaler((0, 100), target="ball"),
        JLTransformer(3, bounds=Ball(np.zeros(8), 1.0)),
        PrivateKMeans(3, bounds=Ball(np.zeros(3), 1.0), n_hint=N, accountant=accountant),
    )


def test_a_union_of_private_features_shares_a_budget():
    accountant = BudgetAccountant(epsilon=2.0)
    union = FeatureUnion(
        [("near", kmeans(accountant=accountant)),
         ("scaled", DomainScaler((0, 1))),
         ("ranks", clone(TRANSFORMERS[3]).set_params(accountant=accountant))]
    )  # fmt: skip
    assert check_private(union, strict=True).ok
    assert union.fit(X).transform(X).shape == (N, 3 + 2 + 3)
    assert accountant.total() == (2.0, 0.0)
    assert len(union.get_feature_names_out()) == 8
    with pytest.raises(ValueError, match="Nothing was charged for this step; budget.entries lists"):
        union.fit(X)
    columns = ColumnTransformer([(name, step, [0, 1]) for name, step in union.transformer_list])
    with pytest.raises(ValueError, match="Nothing was charged for this step; budget.entries lists"):
        columns.fit(X)
    alone = union.transformer_list[0][1]
    with pytest.raises(ValueError, match="Nothing was charged[.]"):
        alone.fit(X)


def three_steps(budget, *between):
    settings = {"clip": 5, "accountant": budget}
    return make_pipeline(
        PrivateStandardScaler(0.25, bounds=(0, 1), **settings),
        *between,
        PrivatePCA(2, epsilon=0.15, bounds=(-5, 5), **settings),
        PrivateKMeans(3, epsilon=0.6, bounds=Ball([0, 0], 5), accountant=budget),
    )


@pytest.mark.parametrize("composition", ["sum", "renyi"])
def test_steps_that_do_not_fit_together_are_refused_before_the_first_charge(composition):
    budget = BudgetAccountant(0.9, 1e-6, composition=composition)
    told = r"This pipeline, from PrivateStandardScaler on, asks for epsilon=1\.0.*quote\(pipeline"
    with pytest.raises(BudgetError, match=told):
        three_steps(budget).fit(X)
    assert budget.entries == ()
    other = three_steps(budget).set_params(privatekmeans__accountant=BudgetAccountant(0.6))
    assert len(other.fit(X)[0].accountant.entries) == 2  # of two budgets each pays for its steps


def test_frozen_steps_are_not_charged_again():
    budget = BudgetAccountant(1.85, 2e-6)
    fitted = three_steps(budget).fit(X)  # 1.0
    frozen = make_pipeline(*fitted[:2], FrozenEstimator(fitted[2]))
    assert budget.quote(frozen, 2).epsilon == 0.4
    frozen.set_params(privatepca__epsilon=0.6).fit(X)
    assert budget.total()[0] == 1.85
    with pytest.raises(BudgetError, match="Nothing was charged[.]"):
        make_pipeline(FrozenEstimator(fitted[0]), kmeans(accountant=budget)).fit(X)


def test_a_refused_step_says_what_the_pipeline_has_paid():
    budget = BudgetAccountant(1.5, 1e-6, composition="renyi")  # whose prices need the columns
    told = (
        r"from PrivatePCA on.* Nothing was charged for this step; earlier steps of the pipeline "
        r"have paid epsilon=0\.25, delta=0\. budget\.quote\(pipeline, n_features\) prices all"
    )
    steps = three_steps(budget, Normalizer()).set_params(privatepca__epsilon=0.9)
    with pytest.raises(BudgetError, match=told):
        steps.fit(X)
    assert [entry.epsilon for entry in budget.entries] == [0.25]
    search = PrivateSearchCV(kmeans(), {"n_init": [1, 2]}, epsilon=9.0, accountant=budget)
    with pytest.raises(BudgetError, match=r"steps of the pipeline have paid epsilon=0\.25"):
        make_pipeline(steps[0], Normalizer(), search).fit(X)


def private(epsilon, budget, cls=PrivateKMeans, bounds=(-5, 5), **settings):
    settings |= {"n_clusters": 2, "n_init": 1} if cls is PrivateKMeans else {}
    return cls(epsilon=epsilon, bounds=bounds, accountant=budget, **settings)


def one(budget):
    return private(0.7, budget)


def two(budget):
    return private(0.6, budget)


def scaled(budget):
    return private(0.7, budget, PrivateStandardScaler)


def grid(budget):
    return GridSearchCV(private(0.2, budget), {"n_init": [1]}, cv=2, error_score="raise")


TOGETHER = {
    "rows": lambda b: make_pipeline(RowByRow(one(b)), two(b)),
    "union": lambda b: FeatureUnion([("a", one(b)), ("b", make_pipeline(Normalizer(), two(b)))]),
    "columns": lambda b: make_pipeline(
        DomainScaler((0, 1)), ColumnTransformer([("a", one(b), [0]), ("b", two(b), [False, True])])
    ),
    "rest": lambda b: ColumnTransformer([("a", one(b), [-1])], remainder=RowByRow(two(b))),
    "nested": lambda b: make_pipeline(make_pipeline(scaled(b)), two(b)),
    "part": lambda b: make_pipeline(scaled(b.part("a")), two(b.part("a"))),
    "policy": lambda b: make_pipeline(scaled(b.under(YEARLY)), two(b.under(YEARLY))),
    "grid": lambda b: make_pipeline(scaled(b), grid(b)),
    "search": lambda b: make_pipeline(
        scaled(b),
        PrivateSearchCV(private(1.0, None), {"n_init": [1, 2]}, epsilon=0.6, accountant=b),
    ),
    "beside a search": lambda b: FeatureUnion(
        [("b", RowByRow(one(b))), ("a", FeatureUnion([("c", Normalizer()), ("d", two(b))]))]
    ),
}
YEARLY = SpendingPolicy(1.2, 0.0, period="year")


@every("kind", TOGETHER)
def test_private_steps_of_any_composition_are_added_up_before_the_first(kind):
    """Of a ColumnTransformer the quote left out the remainder; only flat pipelines were refused."""
    budget, ample = BudgetAccountant(9.0 if kind == "policy" else 1.2), BudgetAccountant(1.3)
    if kind != "rows":  # the columns behind it are not known
        quote = budget.quote(TOGETHER[kind](budget), 2)
        assert quote.epsilon == 1.3 and quote.fits == (kind == "policy")
        assert not BudgetAccountant(9.0).under(YEARLY).quote(TOGETHER[kind](budget), 2).fits
    with pytest.raises(BudgetError, match="This pipeline, from"):
        TOGETHER[kind](budget).fit(X)
    assert budget.entries == ()
    if kind != "policy":
        TOGETHER[kind](ample).fit(X)
        assert ample.total()[0] == 1.3


def routed(estimator):
    """The estimator asking for groups, as far as routing of metadata goes."""
    return estimator.set_fit_request(groups=True)


def persons_of(fitted):
    return fitted.cluster_weights_.sum()


def test_groups_are_routed_through_pipelines_searches_and_columns():
    """One array of person ids: folds keep persons together, and noise protects persons."""
    with config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(DomainScaler((0, 1)), routed(kmeans(epsilon=50.0)))
        assert persons_of(pipeline.fit(X, groups=PEOPLE)[-1]) == pytest.approx(60, abs=12)
        results = cross_validate(
            pipeline,
            X,
            params={"groups": PEOPLE},
            cv=GroupKFold(3),
            return_estimator=True,
            error_score="raise",
        )
        for fitted in results["estimator"]:
            assert persons_of(fitted[-1]) == pytest.approx(40, abs=12)
        grid = {"privatekmeans__n_clusters": [1, 2]}
        search = GridSearchCV(pipeline, grid, cv=GroupKFold(2), error_score="raise")
        best = search.fit(X, groups=PEOPLE).best_estimator_
        assert persons_of(best[-1]) == pytest.approx(60, abs=12)
        union = FeatureUnion([("k", routed(kmeans(epsilon=50.0))), ("s", DomainScaler((0, 1)))])
        union.fit(X, groups=PEOPLE)
        assert persons_of(union["k"]) == pytest.approx(60, abs=12)
        alone = make_pipeline(RowByRow(routed(kmeans(epsilon=50.0))), DomainScaler((0, 1)))
        alone.fit(X, groups=PEOPLE)  # it was fitted without ids: every row was a person
        assert persons_of(alone[0].step_) == pytest.approx(60, abs=12)
        with pytest.raises(UnsetMetadataPassedError, match="groups"):
            RowByRow(kmeans()).fit(X, groups=PEOPLE)
        columns = ColumnTransformer([("k", routed(kmeans(epsilon=50.0)), [0, 1])])
        columns.fit(X, groups=PEOPLE)
        assert persons_of(columns.named_transformers_["k"]) == pytest.approx(60, abs=12)
