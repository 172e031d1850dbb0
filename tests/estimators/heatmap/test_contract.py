"""The heatmap under scikit-learn's contract and under the privacy suite, every method of it."""

from contextlib import nullcontext

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from skdp_bary import PrivateEMDHeatmap
from skdp_bary.estimators._heatmap.estimator import HEATMAP_METHODS
from skdp_bary.testing import check_empirical_loss, parametrize_with_privacy_checks
from tests.remembered import remembered_solutions

SQUARE = ([0.0, 0.0], [1.0, 1.0])
# beside the settings in test_privacy_common.py
PRIVATE = [
    PrivateEMDHeatmap(bounds=([-1.0, 0.0], [3.0, 2.0]), resolution=16, n_hint=3000),
    PrivateEMDHeatmap(bounds=SQUARE, method="one_shot", resolution=16, n_hint=60),
    PrivateEMDHeatmap(bounds=SQUARE, method="paper", resolution=8),
    PrivateEMDHeatmap(bounds=SQUARE, method="paper", resolution=8, reconstruction="posterior"),
    PrivateEMDHeatmap(bounds=SQUARE, method="laplace", resolution=8),
    PrivateEMDHeatmap(bounds=SQUARE, method="topk", resolution=8, top_share=0.25),
]


class AnyWidth(PrivateEMDHeatmap):
    """A heatmap of the first two features: scikit-learn's checks bring any number of them."""

    def _check_width(self, n_features):
        if n_features < 2:
            super()._check_width(n_features)


@parametrize_with_privacy_checks(PRIVATE)
def test_privacy(estimator, check):
    with remembered_solutions() if "sensitivity" in check.__name__ else nullcontext():
        check(estimator)


CONTRADICTS_THE_GUARANTEE = {
    "check_all_zero_sample_weights_error": "An error for weights that are all zero would tell "
    "neighbors apart in which one person has a weight; such data are fitted like any other.",
    "check_sample_weight_equivalence_on_dense_data": "A weight of 3 is not three persons: weights "
    "above 1 count as 1, or one row could count without bound.",
}


@pytest.mark.filterwarnings("ignore::skdp_bary.exceptions.PrivacyWarning")
@parametrize_with_checks(
    [
        AnyWidth(bounds=(-10.0, 10.0), resolution=16),
        AnyWidth(bounds=(-10.0, 10.0), resolution=16, method="paper", n_hint=50),
    ],
    expected_failed_checks=lambda estimator: CONTRADICTS_THE_GUARANTEE,
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.parametrize(
    "estimator",
    [
        PrivateEMDHeatmap(bounds=SQUARE, resolution=4, n_hint=60, method=method)
        for method in HEATMAP_METHODS
    ],
)
def test_no_audit_sees_more_than_epsilon(estimator):
    check_empirical_loss(estimator, n_runs=400)
