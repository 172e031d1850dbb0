"""Pickles say which version wrote them, and damaged ones are refused."""

import copy
import io
import pickle
import tempfile
import warnings
from pickle import UnpicklingError

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

import skdp_bary
from skdp_bary import (
    BudgetAccountant,
    DomainScaler,
    JLTransformer,
    PrivateKMeans,
    PrivateMeasure,
    RowByRow,
    SchemaTransformer,
)
from skdp_bary.exceptions import VersionWarning
from skdp_bary.model_selection import PrivateSearchCV
from skdp_bary.schema import Number
from tests.discovery import private_estimators
from tests.estimators import start
from tests.world import checksum, home

cloudpickle = pytest.importorskip("cloudpickle")


def test_the_version_is_in_the_pickle_and_nowhere_else():
    for estimator in (PrivateKMeans(3), JLTransformer(2), DomainScaler((0, 1))):
        assert estimator.__getstate__()["_skdp_bary_version"] == skdp_bary.__version__
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            read = pickle.loads(pickle.dumps(estimator))
            others = copy.copy(estimator), copy.deepcopy(estimator), clone(estimator), read
        assert all(vars(other).keys() == vars(estimator).keys() for other in others)


def other_forms(made):
    """Ways in which a fitted object goes elsewhere and comes back."""
    with io.BytesIO() as file:
        joblib.dump(made, file)
        file.seek(0)
        yield joblib.load(file)
    with tempfile.TemporaryDirectory() as folder:
        joblib.dump(made, f"{folder}/made")
        yield joblib.load(f"{folder}/made", mmap_mode="r")
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        yield pickle.loads(pickle.dumps(made, protocol))
    yield pickle.loads(cloudpickle.dumps(made))
    yield copy.copy(made)
    yield copy.deepcopy(made)


def released():
    """Fitted objects of many kinds, and pipelines and searches with some in them."""
    X = np.random.default_rng(0).random((60, 2))
    budget = {"accountant": BudgetAccountant(99.0, 0.1), "bounds": (0, 1)}
    for name in private_estimators():
        made = start(name)
        known = made.get_params()
        made.set_params(**{key: budget[key] for key in budget if key in known})
        if name in ("DPSlicedWasserstein", "PrivateDriftSketch", "PrivateGenerator"):
            made.set_params(delta=1e-6)
        if name == "PrivateDomainAdapter":
            made.set_params(delta=1e-6, bounds=None)
        if name == "NoisyRowsSlicedWasserstein":
            made.set_params(accountant=BudgetAccountant(99.0, 0.1, neighbors="replace_one"))
        yield made.fit(X)
    yield make_pipeline(RowByRow(Normalizer()), PrivateKMeans(2, **budget)).fit(X)
    yield PrivateSearchCV(PrivateKMeans(2, bounds=(0, 1)), {"n_init": [1, 2]}).fit(X)
    yield JLTransformer(1, bounds=(-1, 1), random_state=0).fit(X)
    yield SchemaTransformer(Number(0, 1)).fit(X)


@pytest.mark.filterwarnings("ignore::skdp_bary.exceptions.PrivacyWarning", "ignore::UserWarning")
def test_every_release_comes_back_from_every_form():
    for made in released():
        told = checksum(vars(made))
        for other in other_forms(made):
            assert vars(other).keys() == vars(made).keys() and checksum(vars(other)) == told
            assert other.set_params(**other.get_params()) is other
            clone(other)


def test_functions_go_along():
    made = PrivateMeasure(bounds=(0, 1))
    made.noted_ = {"function": np.mean, "class": Number, "bound": made.fit, "own": start}
    assert checksum(vars(pickle.loads(pickle.dumps(made)))) == checksum(vars(made))


@pytest.mark.filterwarnings("ignore::skdp_bary.exceptions.PrivacyWarning")
@pytest.mark.filterwarnings("ignore::skdp_bary.exceptions.VersionWarning")
@pytest.mark.parametrize(
    "estimator",
    [PrivateKMeans(2, bounds=(0, 1)), PrivateMeasure(bounds=(0, 1), depth=3)],
    ids=["k-means", "measure"],
)
def test_no_flipped_bit_loads_as_another_release(estimator):
    rng = np.random.default_rng(0)
    made = estimator.fit(rng.random((60, 2)))
    written, told = pickle.dumps(made), checksum(vars(made))
    refused = 0
    for bit in rng.choice(8 * len(written), 600, replace=False):
        flipped = bytearray(written)
        flipped[bit // 8] ^= 1 << (bit % 8)
        try:
            read = pickle.loads(bytes(flipped))
        except Exception:
            refused += 1
        else:
            assert type(read) is not type(made) or checksum(vars(read)) == told
    assert refused > 500


def test_a_damaged_release_is_refused_in_words():
    state = PrivateKMeans(3).__getstate__()
    for wrong in (
        state | {"n_clusters": 4},
        {name: value for name, value in state.items() if name != "_skdp_bary_checksum"},
        {name: value for name, value in state.items() if name != "_skdp_bary_version"}
        | {"epsilon": 2.0},
    ):
        with pytest.raises(UnpicklingError, match="This pickle of a PrivateKMeans is damaged"):
            PrivateKMeans(3).__setstate__(dict(wrong))


def test_another_version_is_said(monkeypatch):
    monkeypatch.setattr(home("VersionedPickle"), "__version__", "0.3.0")
    written = pickle.dumps(PrivateKMeans(3))
    monkeypatch.undo()
    words = (
        f"This PrivateKMeans was written by skdp_bary 0.3.0, and this is {skdp_bary.__version__}"
    )
    with pytest.warns(VersionWarning, match=words):
        assert pickle.loads(written).n_clusters == 3
