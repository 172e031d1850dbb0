"""One private distance with Laplace noise."""

import numpy as np
import pytest

from skdp_bary import BudgetAccountant, DPSlicedWasserstein
from skdp_bary.geometry import Ball
from skdp_bary.transport import DiscreteMeasure
from tests.cases import every
from tests.world import univariate_cost

pytestmark = pytest.mark.filterwarnings("ignore::skdp_bary.exceptions.PrivacyWarning")

BALL = Ball([0.0, 0.0], 1.0)
RNG = np.random.default_rng(0)
PRIVATE = BALL.clip(0.2 * RNG.normal(size=(300, 2)))
PUBLIC = BALL.clip(0.2 * RNG.normal(size=(171, 2)) + [0.3, 0.0])


def scalar(**parameters):
    settings = {"bounds": BALL, "n_min": 300, "delta": 0.0, "reference": PUBLIC}
    return DPSlicedWasserstein(4, method="scalar", **(settings | parameters))


def true_cost(directions, p):
    slices = [[DiscreteMeasure(X @ u[:, None]) for X in (PRIVATE, PUBLIC)] for u in directions.T]
    return np.mean([univariate_cost(*sides, p=p) for sides in slices])


@every("p", [1, 2])
def test_costs_are_unbiased_and_their_error_is_right(p):
    fits = [scalar(p=p, random_state=seed).fit(PRIVATE) for seed in range(100)]
    costs, stds = np.array([s.cost(return_std=True) for s in fits]).T
    assert abs(costs.mean() - true_cost(fits[0].directions_, p)) < 4 * stds[0] / 100**0.5
    assert costs.std() == pytest.approx(stds[0], rel=0.25)
    assert fits[0].noise_std_[0] == stds[0]


def test_what_it_cannot_answer_is_refused():
    fitted = scalar(random_state=0).fit(PRIVATE)
    assert fitted.quantiles_ is None
    with pytest.raises(ValueError, match="Y must be None"):
        fitted.distance(PUBLIC)
    with pytest.raises(ValueError, match="method='sketch'"):
        fitted.sample(3)
    with pytest.raises(ValueError, match="cannot be compared"):
        fitted.distance_between(scalar(random_state=1).fit(PRIVATE))


COLUMNS = np.tile([[1.0], [0.0]], 2048)


@every("n_min", [2**30, [2**30]])
def test_costs_that_may_overflow_are_refused_whatever_the_rows(n_min):
    """2**26 persons times 2048 directions times 2**24 are 2**61; far rows alone would reach it."""
    accountant = BudgetAccountant(5.0, 0.0)
    settings = {"directions": COLUMNS, "bounds": BALL, "reference": [[1.0, 0.0]], "n_min": n_min}
    wide = DPSlicedWasserstein(method="scalar", delta=0.0, accountant=accountant, **settings)
    for row in ([0.0, 0.0], [1.0, 0.0], [-1.0, 0.0]):
        with pytest.raises(ValueError, match=f"n_min must be at most {2**26 - 1} "):
            wide.fit([row, row])
    assert accountant.total() == (0.0, 0.0)


def test_bought_sizes_are_cut_where_costs_would_overflow(monkeypatch):
    monkeypatch.setattr("skdp_bary.estimators.sliced_methods.most_persons", lambda k, p: 50)
    cut, known = (scalar(n_min=n, random_state=0, epsilon=50.0).fit(PRIVATE) for n in (None, 50))
    assert cut.privacy_.steps[0].name == "sizes"
    assert cut.noise_std_[0] == pytest.approx(known.noise_std_[0], rel=0.1)


def test_public_sizes_that_may_overflow_are_refused(monkeypatch):
    monkeypatch.setattr("skdp_bary.estimators.sliced_methods.most_persons", lambda k, p: 50)
    with pytest.raises(ValueError, match="number of persons must be at most 50"):
        scalar(n_min=None, neighbors="replace_one").fit(PRIVATE)
    monkeypatch.setattr("skdp_bary.queries.slices.most_persons", lambda k, p: 50)
    with pytest.raises(ValueError, match="too many"):
        scalar(n_min=None, neighbors="replace_one", n_hint=20).fit(PRIVATE)
