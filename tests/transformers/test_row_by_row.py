"""Steps wrapped so that every row passes alone."""

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.kernel_approximation import AdditiveChi2Sampler, RBFSampler
from sklearn.preprocessing import (
    FunctionTransformer,
    Normalizer,
    OneHotEncoder,
    PowerTransformer,
    SplineTransformer,
    StandardScaler,
)

from skdp_bary import BudgetAccountant, PrivateKMeans, PrivateMeasure, RowByRow, check_private
from tests.cases import every

X = np.random.default_rng(0).standard_normal((50, 7))


def test_the_step_learns_from_public_rows_alone():
    example = np.random.default_rng(1).standard_normal((20, 7))
    for step in (StandardScaler(), PCA(2)):
        first, second = (RowByRow(step, example).fit(rows).transform(X[:5]) for rows in (X, X[:9]))
        assert first.tobytes() == second.tobytes()
        np.testing.assert_allclose(
            first, type(step)(**step.get_params()).fit(example).transform(X[:5])
        )
    assert (RowByRow(StandardScaler()).fit_transform(X) == X).all()


def test_a_row_gives_the_same_bits_beside_any_other_rows():
    step = RowByRow(PCA(3), X[::-1].copy()).fit(X)
    whole = step.transform(X)
    for i in range(len(X)):
        for alone in (X[i : i + 1], np.asfortranarray(X)[i : i + 1], X[:, ::-1][i : i + 1, ::-1]):
            assert step.transform(alone).tobytes() == whole[i : i + 1].tobytes()


@pytest.mark.filterwarnings("ignore::skdp_bary.exceptions.PrivacyWarning")
def test_a_private_step_is_fitted_once_on_the_rows_and_charged():
    budget = BudgetAccountant(epsilon=1.0)
    kmeans = PrivateKMeans(3, bounds=(-4, 4), n_hint=50, epsilon=1.0, accountant=budget)
    step = RowByRow(kmeans)
    together = step.fit_transform(X)
    assert budget.total() == (1.0, 0.0) and len(budget.entries) == 1
    assert np.isfinite(step.step_.cluster_centers_).all() and not hasattr(kmeans, "n_features_in_")
    assert step.transform(X[3:5]).tobytes() == together[3:5].tobytes()
    budget = BudgetAccountant(epsilon=1.0)
    step.set_params(step__accountant=budget).fit(X, groups=np.arange(50) // 5, note="ids")
    assert [(e.unit, e.note) for e in budget.entries] == [("persons by groups", "ids")]
    with pytest.raises(TypeError, match=r"\['groups'\] must go to a private step"):
        RowByRow(Normalizer()).fit(X, groups=np.arange(50))


def test_random_steps_are_refused():
    noisy = FunctionTransformer(lambda row: row + np.random.default_rng().random())
    with pytest.raises(ValueError, match="must return the same output"):
        RowByRow(noisy).fit(X)


def shout(row):
    if row[0, 0] > 4000:
        raise ValueError(f"found {row[0, 0]}")
    return np.full((1, 7 if row[0, 0] < 3000 else 2), row[0, 0])


@every(
    "step, bad",
    [
        (FunctionTransformer(shout), 4711.0),
        (FunctionTransformer(shout), 3500.0),
        (FunctionTransformer(np.log), -1.0),
        (AdditiveChi2Sampler(), -1e-9),
        (RBFSampler(random_state=0), 1e308),
        (PowerTransformer(method="box-cox"), -1.0),
        (OneHotEncoder(categories=[[0.5, 1.0]] * 7), 0.7),
        (SplineTransformer(extrapolation="error"), 7.0),
    ],
)
def test_a_row_on_which_a_step_fails_becomes_zeros(step, bad):
    """An error was an answer about one row, before anything was charged."""
    example = np.array([[1.0] * 7, [0.5] * 7])
    alone = RowByRow(step, example).fit(example)
    images = alone.transform(np.vstack([example, [bad] * 7, example]))
    assert (images[2] == 0).all() and np.isfinite(images).all()
    assert images[3:].tobytes() == alone.transform(example).tobytes()
    told = check_private(alone).steps[0]
    assert told.verdict != "public" or "fails becomes zeros" in told.reason


def test_where_memory_is_short_nothing_becomes_zeros():
    def short(row):
        if row[0, 0]:
            raise MemoryError
        return row

    with pytest.raises(MemoryError):
        RowByRow(FunctionTransformer(short)).fit(X).transform(np.ones((1, 7)))


@every(
    "step, error, message",
    [
        (RowByRow(Normalizer(), np.zeros((1, 3))), ValueError, "example must have shape"),
        (RowByRow(PrivateMeasure(bounds=(0, 1))), TypeError, "step must be"),
        (RowByRow(PrivateKMeans(2, bounds=(0, 1)), X), ValueError, "example must be None"),
        (RowByRow(FunctionTransformer(lambda row: row[0])), ValueError, "one row for one row"),
        (RowByRow(FunctionTransformer(lambda row: row.astype(str))), ValueError, "real numbers"),
    ],
)
def test_what_cannot_be_wrapped_is_refused(step, error, message):
    with pytest.raises(error, match=message):
        step.fit(X)
