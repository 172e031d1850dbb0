"""The contract suite of the package on the estimators that need torch."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from sklearn.base import clone  # noqa: E402

from skdp_bary.geometry import Ball  # noqa: E402
from skdp_bary.papers import SlicedNetworkGenerator  # noqa: E402
from skdp_bary.testing import parametrize_with_privacy_checks  # noqa: E402
from tests.world import make_arguments, record_fit  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::skdp_bary.exceptions.PrivacyWarning")


def small(**parameters):
    """A generator that is trained for one step."""
    return SlicedNetworkGenerator(1, steps_per_epoch=1, batch_size=4, code_size=2, **parameters)


ESTIMATORS = [
    small(bounds=(0, 1), n_min=60, n_projections=20),
    small(bounds=Ball([0.0, 1.0], 1.5), classes=["a", "b"], n_min=30, n_projections=6),
    small(n_projections=4, n_quantiles=5),
]
SIZES_ARE_BOUGHT = {
    "check_sensitivity_of_persons": "Of the 19 persons of this check 18 are bought. The noise is "
    "for one of 18, and who joins 18 is one of 19: a loss of 0.89 of what is paid.",
    "check_sensitivity_of_weights": "Where sizes are public without weights, none are bought, and "
    "fits with weights and without n_min are refused.",
}


def expected_failures(estimator):
    """Checks that an estimator fails on purpose, and why."""
    return SIZES_ARE_BOUGHT if estimator.n_min is None else {}


@parametrize_with_privacy_checks(ESTIMATORS, expected_failed_checks=expected_failures)
def test_privacy(estimator, check):
    check(estimator)


@pytest.mark.parametrize("neighbors", ["add_remove", "replace_one"])
def test_networks_are_functions_of_the_release(neighbors):
    """The suite looks at arrays and numbers; weights and samples are tensors and calls."""
    estimator = clone(ESTIMATORS[1]).set_params(neighbors=neighbors, random_state=0, n_min=30)
    first = record_fit(estimator, make_arguments(estimator, 60, seed=0))
    # labels and sizes are private under add_remove, and public under replace_one
    seed = 1 if neighbors == "add_remove" else 0
    arguments = make_arguments(estimator, 60 + 11 * seed, seed=seed)
    arguments["X"] = arguments["X"] * 0.5
    second = record_fit(estimator, arguments, script=first.records)
    assert first.error is None and second.error is None
    ours, theirs = (r.fitted.network_.state_dict() for r in (first, second))
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)
    samples = [r.fitted.sample(20, random_state=1) for r in (first, second)]
    np.testing.assert_array_equal(samples[0][0], samples[1][0])
    np.testing.assert_array_equal(samples[0][1], samples[1][1])
