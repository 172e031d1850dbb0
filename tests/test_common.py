"""scikit-learn's own contract, over every public estimator."""

import pytest
import sklearn
from sklearn.preprocessing import Normalizer
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.fixes import parse_version

from skdp_bary import (
    DPSlicedWasserstein,
    JLTransformer,
    PrivateEMDHeatmap,
    PrivateGenerator,
    PrivateKMeans,
    PrivateTable,
    PrivateWassersteinBarycenter,
    RowByRow,
    SchemaTransformer,
)
from skdp_bary.schema import Number
from skdp_bary.testing._discovery import public_estimators

# What is checked where the defaults need something that depends on the data at hand.
SETTINGS = {
    # fit(X_source, y_source, X_target) is not the fit(X, y) of scikit-learn's checks; its own
    # contract is checked through testing._public_source, in test_privacy_common.py
    "PrivateDomainAdapter": [],
    "PrivateEMDHeatmap": [PrivateEMDHeatmap(bounds=(-10, 10), resolution=16)],
    "JLTransformer": [
        JLTransformer(n_hint=1000),
        JLTransformer(n_components=1, method="sparse", bounds=(-1, 1)),
        JLTransformer(n_components=1, method="hadamard"),
    ],
    "RowByRow": [RowByRow(Normalizer())],
    "SchemaTransformer": [SchemaTransformer(Number(-10, 10))],
    # two cohorts, or a reference of the width of the rows, are not what these checks bring
    "PrivateTwoSampleTest": [],
    # the checks bring labels without naming their set, which only this relation allows
    "PrivateGenerator": [PrivateGenerator(bounds=(-10, 10), neighbors="replace_one")],
    "PrivateTable": [PrivateTable(Number(-10, 10), n_components=2, max_iter=2)],
    "PrivateWassersteinBarycenter": [
        PrivateWassersteinBarycenter(2, n_init=1, bounds=(-10, 10), neighbors="replace_one")
    ],
}
ESTIMATORS = [
    estimator
    for name, cls in public_estimators().items()
    for estimator in (SETTINGS[name] if name in SETTINGS else [cls()])
]
WEIGHTS_ARE_PRIVATE = {
    "check_all_zero_sample_weights_error": "An error for weights that are all zero would tell "
    "neighbors apart in which one person has a weight; such data are fitted like any other."
}
WEIGHTS_ARE_CAPPED = {
    "check_sample_weight_equivalence_on_dense_data": "A weight of 3 is not three persons: weights "
    "above 1 count as 1, or one row could count without bound."
}

LABELS_ARE_PRIVATE = dict.fromkeys(
    ("check_clustering", "check_clustering(readonly_memmap=True)"),
    "labels_ of private rows would be an exact answer about every one of them; fit_predict returns "
    "them and stores nothing.",
)

SUBTRACTS_FROM_INTEGERS = (
    "Integers are made for estimators of categories, and a mean taken off in place."
)

PLANE = "A heatmap is drawn in the plane, and the rows of this check have more than two features."
NOT_IN_THE_PLANE = (
    "check_dict_unchanged",
    "check_dont_overwrite_parameters",
    "check_dtype_object",
    "check_estimators_dtypes",
    "check_estimators_nan_inf",
    "check_estimators_pickle",
    "check_f_contiguous_array_estimator",
    "check_fit2d_1sample",
    "check_fit2d_predict1d",
    "check_fit_score_takes_y",
    "check_methods_sample_order_invariance",
    "check_methods_subset_invariance",
    "check_n_features_in_after_fitting",
    "check_pipeline_consistency",
    "check_positive_only_tag_during_fit",
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weights_list",
    "check_transformer_data_not_an_array",
    "check_transformer_general",
    "check_transformer_preserve_dtypes",
)


def expected_failures(estimator):
    """Checks that contradict the guarantee or the purpose of an estimator, and why."""
    expected = dict(WEIGHTS_ARE_PRIVATE) if hasattr(estimator, "privacy_plan") else {}
    if isinstance(estimator, (DPSlicedWasserstein, PrivateWassersteinBarycenter)):
        expected |= WEIGHTS_ARE_CAPPED
    if isinstance(estimator, PrivateKMeans):
        expected |= WEIGHTS_ARE_CAPPED | LABELS_ARE_PRIVATE
    if isinstance(estimator, (PrivateTable, SchemaTransformer)):
        expected["check_estimators_nan_inf"] = "Infinity is clipped like all that is out of range."
        if parse_version(sklearn.__version__) < parse_version("1.8"):
            expected["check_positive_only_tag_during_fit"] = SUBTRACTS_FROM_INTEGERS
    if isinstance(estimator, PrivateEMDHeatmap):
        expected |= dict.fromkeys(NOT_IN_THE_PLANE, PLANE)
    return expected


pytestmark = pytest.mark.filterwarnings("ignore::skdp_bary.exceptions.PrivacyWarning")


@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failures)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def test_transformers_are_among_them():
    assert {"DomainScaler", "JLTransformer", "PrivateMeasure"} <= set(public_estimators())
