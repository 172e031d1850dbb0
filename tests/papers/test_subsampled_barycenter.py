import numpy as np
import pytest

from skdp_bary import BudgetAccountant
from skdp_bary.exceptions import RelationError
from skdp_bary.inspection import replay_sensitivity
from skdp_bary.papers import SubsampledBarycenter
from tests.cases import every
from tests.remembered import remembered_solutions

pytestmark = pytest.mark.filterwarnings("ignore::skdp_bary.exceptions.PrivacyWarning")


def make(**settings):
    defaults = {"n_atoms": 1, "n_init": 1, "bounds": (0, 1), "n_hint": 60, "subsample": 0.4}
    return SubsampledBarycenter(**(defaults | settings))


def data(n=60, seed=0):
    rng = np.random.default_rng(seed)
    return rng.random((n, 2)), rng.integers(2, size=n)


@pytest.mark.parametrize("delta", [0.0, 1e-5])
@pytest.mark.parametrize("neighbors", ["add_remove", "replace_one"])
@remembered_solutions()
def test_one_person_costs_the_plan_when_in_the_batch_and_nothing_outside(neighbors, delta):
    """The last person has the same draw in both data sets, so both fits see one batch."""
    X, y = data()
    y[-1], X[-1] = 0, 0.01
    if neighbors == "add_remove":
        other, other_y = X[:-1], y[:-1]
    else:
        other, other_y = X.copy(), y
        other[-1] = 0.99
    ratios = []
    for seed in range(12):
        model = make(neighbors=neighbors, delta=delta, classes=[0, 1], random_state=seed)
        report = replay_sensitivity(model, {"X": X, "y": y}, {"X": other, "y": other_y})
        assert report.holds, report
        ratios.append(report.tightness)
    assert min(ratios) == 0.0
    assert max(ratios) > 0.9


@every(
    "settings, rows, error",
    [
        ({"neighbors": "replace_any"}, data()[0], RelationError),
        ({"subsample": 0.0}, data()[0], ValueError),
        ({"subsample": 1.5}, data()[0], ValueError),
        ({}, [data()[0], data()[0]], ValueError),
    ],
)
def test_what_is_not_proved_is_refused_before_any_charge(settings, rows, error):
    accountant = BudgetAccountant(1.0, neighbors=settings.get("neighbors", "add_remove"))
    with pytest.raises(error):
        make(accountant=accountant, **settings).fit(rows)
    assert not accountant.entries
