"""The settings under which every public class is tested: the one list.

A class that is not named in a list is tested with its default parameters.
"""

from inspect import signature

import numpy as np
import sklearn
from sklearn.preprocessing import Normalizer
from sklearn.utils.fixes import parse_version

from skdp_bary import (
    DomainScaler,
    DPSlicedWasserstein,
    JLTransformer,
    PrivateDriftSketch,
    PrivateEMDHeatmap,
    PrivateGenerator,
    PrivateKMeans,
    PrivateMeasure,
    PrivatePCA,
    PrivateStandardScaler,
    PrivateTable,
    PrivateTwoSampleTest,
    PrivateWassersteinBarycenter,
    RowByRow,
    SchemaTransformer,
)
from skdp_bary.geometry import Ball, Box, Mask
from skdp_bary.papers import (
    CoresetBarycenter,
    LevelwiseEMDHeatmap,
    MaxCoverKMeans,
    NoisyRowsSlicedWasserstein,
    SubsampledBarycenter,
)
from skdp_bary.schema import Category, Number, Schema
from skdp_bary.schema import Integer as WholeNumber
from tests.discovery import private_estimators, public_estimators
from tests.public_source import AdapterOnPublicSource, jittered

_SQUARE = ([0.0, 0.0], [1.0, 1.0])
_CUBE = ([0.0] * 4, [1.0] * 4)
_WIDE = ([-1.0, -1.0], [2.0, 2.0])
_FAR = ([-4.0, -4.0], [4.0, 4.0])
_UPRIGHT = Box([-1.0, 0.0], [1.0, 4.0])
_DISK, _BALL = Ball([0.0, 1.0], 1.5), Ball([0.0, 1.0, 2.0], 1.5)
_ISLAND = Mask([[(0.0, 0.0), (4.0, 0.0), (4.0, 3.0), (0.0, 1.0)]])
_AB = ["a", "b"]
_FAST = {"n_init": 1, "n_hint": 100}
_SCALAR = {"method": "scalar", "delta": 0.0, "n_min": 60}
_THREE = {"n_components": 2, "max_iter": 2, "epsilon": 20.0}
_SMALL = {"class_spread": 0.2, "n_hint": 60, "epsilon": 100.0}
_SPECIAL = [WholeNumber(-1, 1, special=(-9, 0)), WholeNumber(-1, 1, special=(0, 9))]

# Under the contract of the package: small settings of what is slow by default.
_PRIVATE = {
    "CoresetBarycenter": [
        CoresetBarycenter(1, bounds=_SQUARE, n_rounds=1, **_FAST),
        CoresetBarycenter(1, bounds=_WIDE, method="projected", n_components=1, n_rounds=2, **_FAST),
    ],
    "SubsampledBarycenter": [SubsampledBarycenter(1, bounds=(0, 1), method="coreset", **_FAST)],
    "LevelwiseEMDHeatmap": [
        LevelwiseEMDHeatmap(bounds=(-2, 3), resolution=8, n_hint=60),
        LevelwiseEMDHeatmap(bounds=(0, 1), resolution=8, method="dense"),
        LevelwiseEMDHeatmap(bounds=(0, 1), resolution=8, method="laplace", n_hint=60),
        LevelwiseEMDHeatmap(bounds=_SQUARE, method="topk", resolution=8, top_share=0.25),
    ],
    "DPSlicedWasserstein": [
        DPSlicedWasserstein(bounds=(0, 1), n_min=60),
        DPSlicedWasserstein(5, epsilon=4e3, bounds=_UPRIGHT, n_quantiles=3),
        DPSlicedWasserstein(bounds=_BALL, classes=_AB, n_min=30, p=1),
        DPSlicedWasserstein(2, n_quantiles=5, n_min=40),
        DPSlicedWasserstein(4, bounds=_DISK, n_min=40, directions="iid"),
        DPSlicedWasserstein(
            directions=np.eye(2), reference=[[3.0, 3.0]], p=1, bounds=(1, 3), **_SCALAR
        ),
        DPSlicedWasserstein(reference=[[3.0]], bounds=Ball([2.0], 1.0), classes=[0, 1], **_SCALAR),
    ],
    "NoisyRowsSlicedWasserstein": [
        NoisyRowsSlicedWasserstein(2, neighbors="replace_one", bounds=_DISK)
    ],
    "PrivateDomainAdapter": [
        AdapterOnPublicSource(
            views=jittered, max_iter=1, hidden=4, epsilon=5.0, n_hint=60, bounds=(-4, 4)
        ),
        AdapterOnPublicSource(epsilon=2.0, hidden=4, bounds=_FAR),
        AdapterOnPublicSource(method="moments", hidden=4, bounds=_FAR),
    ],
    "PrivateDriftSketch": [PrivateDriftSketch(bounds=Ball([0.5], 0.5))],
    "PrivateEMDHeatmap": [
        PrivateEMDHeatmap(bounds=(0, 1), resolution=16),
        PrivateEMDHeatmap(bounds=(0, 1), resolution=16, method="one_shot"),
        PrivateEMDHeatmap(bounds=([-1.0, 0.0], [3.0, 2.0]), resolution=16, n_hint=3000),
        PrivateEMDHeatmap(bounds=_SQUARE, method="one_shot", resolution=16, n_hint=60),
    ],
    # small radii and little noise leave room for rows that hurt around the released means
    "PrivateGenerator": [
        PrivateGenerator(1, bounds=(0, 1), **_SMALL),
        PrivateGenerator(2, class_spread=0.2, bounds=_UPRIGHT, classes=_AB, epsilon=1e3),
        PrivateGenerator(bounds=_BALL, **_SMALL),
        PrivateGenerator(1, image_shape=(2, 2), class_spread=0.1, bounds=_CUBE, epsilon=300.0),
        PrivateGenerator(1, epsilon=300.0),
        PrivateGenerator(covariance_type="tied", classes=_AB, bounds=_BALL, **_SMALL),
    ],
    # with little noise the centers lie among the rows, where neighbors can hurt them
    "PrivateKMeans": [
        PrivateKMeans(2, bounds=_SQUARE, epsilon=40.0, **_FAST),
        PrivateKMeans(2, n_init=1, bounds=_BALL),
        PrivateKMeans(2, n_init=1, epsilon=100.0),
        PrivateKMeans(2, n_init=1, max_iter=3, bounds=_CUBE, n_hint=60, epsilon=100.0),
        PrivateKMeans(2, init=[[0.5, 0.5], [0.9, 0.5]], max_iter=2, bounds=(0, 1), n_hint=60),
    ],
    "MaxCoverKMeans": [MaxCoverKMeans(2, n_init=1, max_iter=1, bounds=_SQUARE, n_hint=60)],
    "PrivateMeasure": [
        PrivateMeasure(bounds=(0, 1), depth=4, n_hint=100),
        PrivateMeasure(depth=3),
        PrivateMeasure(bounds=_BALL, depth=5),
        PrivateMeasure(bounds=_UPRIGHT, depth=1),
        PrivateMeasure(bounds=_ISLAND, depth=4, n_hint=60),
    ],
    "PrivatePCA": [
        # as for generators: little noise and a small radius leave room for rows that hurt
        PrivatePCA(1, bounds=(0, 1), reach=0.2, epsilon=100.0),
        PrivatePCA(2, bounds=_BALL, reach=0.2, epsilon=100.0, n_hint=60),
        PrivatePCA(1, clip=2.0),
    ],
    "PrivateStandardScaler": [
        PrivateStandardScaler(bounds=(0, 1)),
        PrivateStandardScaler(bounds=_BALL, epsilon=40.0, n_hint=60),
        PrivateStandardScaler(bounds=Box([-1.0, 0.0], [1.0, 400.0]), clip=2.0, epsilon=100.0),
    ],
    "PrivateTable": [
        PrivateTable(Schema(_SPECIAL), **_THREE),
        PrivateTable(Schema([Category([-1, 0, 1])] * 3), label=0, **_THREE),
    ],
    "PrivateTwoSampleTest": [
        PrivateTwoSampleTest(_AB, bounds=Ball([0.5], 0.5), n_min=30, n_resamples=9),
        PrivateTwoSampleTest(
            reference=[[4.0], [4.0]], bounds=Ball([2.5], 1.5), n_min=60, n_resamples=9
        ),
    ],
    "PrivateWassersteinBarycenter": [
        PrivateWassersteinBarycenter(2, bounds=(0, 1), method="coreset", **_FAST),
        # one atom: more of them take a second to solve for on so noisy measures
        PrivateWassersteinBarycenter(1, bounds=_WIDE, classes=_AB, method="coreset", **_FAST),
        PrivateWassersteinBarycenter(1, bounds=(0, 1), classes=_AB, method="pyramid", **_FAST),
        PrivateWassersteinBarycenter(
            2, bounds=_CUBE, classes=_AB, method="clusters", epsilon=100.0, **_FAST
        ),
        PrivateWassersteinBarycenter(1, bounds=_SQUARE, method="subspace", delta=1e-5, **_FAST),
    ],
}

# Under an audit: few released numbers, so that a thousand runs come near the true loss, and short
# fits: each is repeated 2,000 times for every relation and kind of noise.
_AUDITED = {
    "CoresetBarycenter": [CoresetBarycenter(1, n_init=1, n_rounds=1, bounds=(0, 1), n_hint=60)],
    "DPSlicedWasserstein": [DPSlicedWasserstein(2, bounds=(0, 1), n_quantiles=3)],
    "PrivateDomainAdapter": [AdapterOnPublicSource(hidden=2, n_hint=60)],
    "LevelwiseEMDHeatmap": [LevelwiseEMDHeatmap(bounds=(0, 1), resolution=2, method="laplace")],
    "PrivateEMDHeatmap": [PrivateEMDHeatmap(bounds=(0, 1), resolution=2)],
    "SubsampledBarycenter": [SubsampledBarycenter(1, n_init=1, bounds=(0, 1), n_hint=60)],
    "PrivateKMeans": [PrivateKMeans(1, n_init=1, bounds=(0, 1), n_hint=60)],
    "PrivateMeasure": [
        PrivateMeasure(bounds=(0, 1), depth=1, n_hint=60),
        PrivateMeasure(epsilon=0.5, depth=1, n_hint=60),
        PrivateMeasure(bounds=(0, 1), depth=2, n_hint=60, method="pyramid"),
    ],
    "PrivateTable": [PrivateTable(Schema([WholeNumber(-1, 1)] * 2), n_components=2, max_iter=1)],
    "PrivateTwoSampleTest": [
        PrivateTwoSampleTest(["a", "b"], bounds=(0, 1), n_min=30, n_resamples=9)
    ],
    "PrivateWassersteinBarycenter": [
        PrivateWassersteinBarycenter(1, n_init=1, bounds=(0, 1), n_hint=60)
    ],
}


class AnyWidth:
    """A heatmap of the first two features: scikit-learn's checks bring any number of them."""

    def _shares(self, n_features):
        return super()._shares(min(n_features, 2))


class AnyWidthHeatmap(AnyWidth, PrivateEMDHeatmap):
    pass


class AnyWidthLevels(AnyWidth, LevelwiseEMDHeatmap):
    pass


# Under the contract of scikit-learn.
_SCIKIT_LEARN = {
    # fit(X_source, y_source, X_target) is not the fit(X, y) of scikit-learn's checks, and two
    # cohorts, or a reference of the width of the rows, are not what they bring
    "PrivateDomainAdapter": [],
    "PrivateTwoSampleTest": [],
    # noisy rows have smoothed distances alone, and none of what the checks transform and score
    "NoisyRowsSlicedWasserstein": [],
    "DomainScaler": [
        DomainScaler(),
        DomainScaler(target="ball"),
        DomainScaler((-10.0, 10.0), clip=False),
    ],
    "JLTransformer": [
        JLTransformer(1),
        JLTransformer(2, bounds=(-3, 3)),
        JLTransformer(n_hint=1000),
    ],
    "PrivateEMDHeatmap": [AnyWidthHeatmap(bounds=(-10.0, 10.0), resolution=16)],
    "LevelwiseEMDHeatmap": [AnyWidthLevels(bounds=(-10.0, 10.0), resolution=16, n_hint=50)],
    # the checks bring labels without naming their set, which only this relation allows
    "PrivateGenerator": [PrivateGenerator(bounds=(-10, 10), neighbors="replace_one")],
    "PrivateTable": [PrivateTable(Number(-10, 10), n_components=2, max_iter=2)],
    "PrivateWassersteinBarycenter": [
        PrivateWassersteinBarycenter(2, n_init=1, bounds=(-10, 10), neighbors="replace_one")
    ],
    "CoresetBarycenter": [
        CoresetBarycenter(2, n_init=1, n_rounds=1, bounds=(-10, 10), neighbors="replace_one")
    ],
    "SubsampledBarycenter": [
        SubsampledBarycenter(2, n_init=1, bounds=(-10, 10), neighbors="replace_one")
    ],
    "MaxCoverKMeans": [MaxCoverKMeans(2, n_init=1)],
    "RowByRow": [RowByRow(Normalizer())],
    "SchemaTransformer": [SchemaTransformer(Number(-10, 10))],
}

# Made quickly: parameters of classes that have them, and what a class has instead.
_QUICK = {
    "n_init": 1, "n_atoms": 2, "n_clusters": 2, "resolution": 8, "depth": 3, "n_rounds": 1,
    "n_projections": 4, "n_quantiles": 4, "bounds": (0, 1), "n_hint": 30, "n_min": 10,
    "max_iter": 1, "hidden": 2, "n_components": 1,
}  # fmt: skip
_QUICK_OF = {
    "JLTransformer": {"n_components": 1, "bounds": (0, 1)},
    "PrivateDomainAdapter": {"max_iter": 1, "hidden": 2, "n_hint": 30},
    "PrivateKMeans": {"n_clusters": 2, "n_init": 1, "bounds": (0, 1), "n_hint": 30},
    "RowByRow": {"step": Normalizer()},
}


def _listed(settings, classes):
    assert set(settings) <= set(classes)
    return [
        estimator
        for name, cls in classes.items()
        for estimator in (settings[name] if name in settings else [cls()])
    ]


PRIVATE = _listed(_PRIVATE, private_estimators())
AUDITED = _listed(_AUDITED, private_estimators())
SCIKIT_LEARN = _listed(_SCIKIT_LEARN, public_estimators())


def start(name):
    """Return a private estimator, all parameters at their defaults that have one."""
    if name == "PrivateDomainAdapter":
        return AdapterOnPublicSource()
    if name == "PrivateTable":
        return PrivateTable(Number(0, 1))
    if name == "PrivateTwoSampleTest":
        return PrivateTwoSampleTest(reference=[[0.2, 0.7], [0.4, 0.1]], n_resamples=9)
    if name == "NoisyRowsSlicedWasserstein":
        return NoisyRowsSlicedWasserstein(neighbors="replace_one")
    return private_estimators()[name]()


def quick(name):
    """Return a public class and parameters with which its fit takes a moment."""
    cls = public_estimators()[name]
    has = signature(cls).parameters
    base = _QUICK_OF.get(name) or {key: value for key, value in _QUICK.items() if key in has}
    base |= {"schema": Number(0, 1)} if "schema" in has else {}
    return AdapterOnPublicSource if name == "PrivateDomainAdapter" else cls, base


# What fails on purpose

_SIZES_ARE_BOUGHT = {
    "check_sensitivity_of_persons": "Of the 19 persons of this check 18 are bought. The noise is "
    "for one of 18, and who joins 18 is one of 19: a loss of 0.89 of what is paid.",
    "check_sensitivity_of_weights": "Where sizes are public without weights, none are bought, and "
    "fits with weights and without n_min are refused.",
}
_PICKS_ARE_DRAWN = {
    "check_drawn_noise_adds_up_to_the_charge": "What picks lose is no sum of noise: test_races.py "
    "compares their price with the law of all picks.",
    "check_sensitivity_of_persons": "A person has one row; person ids are refused.",
    "check_sensitivity_of_weights": "Weights are refused under the replace relations.",
}
_ROWS_COME_OUT = {
    "check_neighbors_field": "As many rows come out as go in, so the default relation is refused.",
    "check_sensitivity_of_rows": "The rows of a neighbor come in another order, which is compared; "
    "what is released is shuffled. test_sliced_rows.py compares rows in one order.",
    "check_sensitivity_of_persons": "A person is one row; person ids are refused.",
    "check_sensitivity_of_weights": "A row is released or not; weights are refused.",
    "check_same_integers_for_every_container": "A container that is read in another order gives "
    "the same rows in that order.",
    "check_no_rows_are_kept": "Rows with noise have the length of the data, which is public.",
}
_SCHEMAS_CLIP = {
    "check_bad_rows_are_refused_before_the_charge": "Infinity is clipped like all that is out of "
    "range, and what is in no list is another value. test_table refuses missing values."
}


def private_failures(estimator):
    """Checks of the contract of the package that an estimator fails on purpose, and why."""
    if isinstance(estimator, PrivateTable):
        return _SCHEMAS_CLIP
    if isinstance(estimator, NoisyRowsSlicedWasserstein):
        return _ROWS_COME_OUT
    if isinstance(estimator, MaxCoverKMeans):
        return _PICKS_ARE_DRAWN
    buys_sizes = isinstance(estimator, DPSlicedWasserstein) and estimator.n_min is None
    return _SIZES_ARE_BOUGHT if buys_sizes else {}


_WEIGHTS_ARE_PRIVATE = {
    "check_all_zero_sample_weights_error": "An error for weights that are all zero would tell "
    "neighbors apart in which one person has a weight; such data are fitted like any other."
}
_NUMBERS_OF_ROWS_ARE_PRIVATE = {
    "check_estimators_empty_data_messages": "An error for no rows would tell them from one, and "
    "the one wanted for no columns says how many rows there are."
}
_WEIGHTS_ARE_CAPPED = {
    "check_sample_weight_equivalence_on_dense_data": "A weight of 3 is not three persons: weights "
    "above 1 count as 1, or one row could count without bound."
}
_LABELS_ARE_PRIVATE = {
    "check_clustering": "labels_ of private rows would be an exact answer about every one of them; "
    "fit_predict returns them and stores nothing."
}
_SUBTRACTS_FROM_INTEGERS = (
    "Integers are made for estimators of categories, and a mean taken off in place."
)


def scikit_learn_failures(estimator):
    """Checks of scikit-learn that contradict the guarantee of an estimator, and why."""
    expected = dict(_NUMBERS_OF_ROWS_ARE_PRIVATE)
    expected |= _WEIGHTS_ARE_PRIVATE if hasattr(estimator, "privacy_plan") else {}
    capped = DPSlicedWasserstein, MaxCoverKMeans, PrivateEMDHeatmap, PrivateWassersteinBarycenter
    if isinstance(estimator, (*capped, PrivatePCA, PrivateStandardScaler)):
        expected |= _WEIGHTS_ARE_CAPPED
    if isinstance(estimator, PrivateKMeans):
        expected |= _LABELS_ARE_PRIVATE
    if isinstance(estimator, (PrivateTable, SchemaTransformer)):
        expected["check_estimators_nan_inf"] = "Infinity is clipped like all that is out of range."
        if parse_version(sklearn.__version__) < parse_version("1.8"):
            expected["check_positive_only_tag_during_fit"] = _SUBTRACTS_FROM_INTEGERS
    return expected
