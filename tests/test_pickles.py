"""Pickles say which version wrote them."""

import copy
import pickle
import warnings

import pytest
from sklearn.base import clone

import skdp_bary
from skdp_bary import DomainScaler, JLTransformer, PrivateKMeans, RowByRow, SchemaTransformer
from skdp_bary.exceptions import VersionWarning
from tests.world import VersionedPickle, home, public_estimators


def test_every_estimator_writes_its_version():
    """Steps behind the front door too."""
    classes = [*public_estimators().values(), RowByRow, SchemaTransformer]
    assert [cls for cls in classes if not issubclass(cls, VersionedPickle)] == []
    assert len(classes) > 12


def test_the_version_is_in_the_pickle_and_nowhere_else():
    for estimator in (PrivateKMeans(3), JLTransformer(2), DomainScaler((0, 1))):
        assert estimator.__getstate__()["_skdp_bary_version"] == skdp_bary.__version__
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            read = pickle.loads(pickle.dumps(estimator))
            others = copy.copy(estimator), copy.deepcopy(estimator), clone(estimator), read
        assert all(vars(other).keys() == vars(estimator).keys() for other in others)


def test_another_version_is_said(monkeypatch):
    monkeypatch.setattr(home("VersionedPickle"), "__version__", "0.3.0")
    written = pickle.dumps(PrivateKMeans(3))
    monkeypatch.undo()
    words = (
        f"This PrivateKMeans was written by skdp_bary 0.3.0, and this is {skdp_bary.__version__}"
    )
    with pytest.warns(VersionWarning, match=words):
        assert pickle.loads(written).n_clusters == 3
