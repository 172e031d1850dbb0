"""Pickles say which version wrote them, and those of 0.1 are refused with words that help."""

import copy
import importlib.util
import pickle
import warnings
from pathlib import Path

import pytest
from sklearn.base import clone

import skdp_bary
from skdp_bary import DomainScaler, JLTransformer, PrivateKMeans, RowByRow, SchemaTransformer
from skdp_bary.exceptions import VersionWarning
from tests.world import _OLD_MODULES, VersionedPickle, home, public_estimators

OLD = sorted((Path(__file__).parent / "pickles_of_0_1").glob("*.pkl"))
OLD_NAMES = [f"skdp_bary.{folder}.{m}" for folder, ms in _OLD_MODULES.items() for m in ms.split()]


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


def test_pickles_of_the_first_version_are_refused_with_advice():
    assert len(OLD) == 2
    for path in OLD:
        with pytest.raises(ImportError, match=r"written by (skdp_bary )?0\.1.*Read it with 0\.1"):
            pickle.loads(path.read_bytes())


def test_modules_of_the_first_version_are_known_and_others_missing_as_ever():
    """A saved release asks for the module of its class."""
    assert len(OLD_NAMES) > 100
    for name in OLD_NAMES:
        with pytest.raises(ModuleNotFoundError, match=r"module of skdp_bary 0\.1"):
            pickle.loads(f"c{name}\nAnything\n.".encode())
    for name in ("skdp_bary.estimators._nothing", "skdp_bary.nothing"):
        assert importlib.util.find_spec(name) is None
        with pytest.raises(ModuleNotFoundError, match="No module named"):
            importlib.import_module(name)
