"""One object in several threads: it works, or says clearly that it does not."""

import copy
import pickle
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.base import clone

from skdp_bary import BudgetAccountant, PrivateKMeans, PrivateMeasure
from skdp_bary.model_selection import PrivateSearchCV
from tests.discovery import private_estimators
from tests.estimators import start
from tests.world import fitted_alone, home

_alone = home("fitted_alone")

pytestmark = [
    pytest.mark.filterwarnings("ignore::skdp_bary.exceptions.PrivacyWarning"),
    pytest.mark.filterwarnings("ignore:The source model is right on"),
]
THREADS = 8
SETTINGS = {
    "DPSlicedWasserstein": {"n_projections": 4, "n_min": 100},
    "PrivateDomainAdapter": {"method": "moments"},
    "PrivateEMDHeatmap": {"resolution": 16},
    "PrivateKMeans": {"n_clusters": 2},
    "PrivateTable": {"n_components": 2, "max_iter": 2},
    "PrivateTwoSampleTest": {"n_min": 100},
    "PrivateWassersteinBarycenter": {"n_atoms": 2, "n_init": 1},
}


def race(call):
    """Return what eight threads that start together got: values and errors."""
    start = threading.Barrier(THREADS)

    def run(_):
        start.wait()
        try:
            return call()
        except Exception as error:
            return error

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(run, range(THREADS)))


def estimators():
    for name in private_estimators():
        estimator = start(name).set_params(n_hint=200, **SETTINGS.get(name, {}))
        bounds = {} if "schema" in estimator.get_params() else {"bounds": (0, 1)}
        yield estimator.set_params(**bounds)
    yield PrivateSearchCV(PrivateKMeans(2, bounds=(0, 1), n_hint=200), {"n_init": [1, 2]})


@pytest.mark.parametrize("estimator", list(estimators()), ids=lambda e: type(e).__name__)
def test_one_object_in_eight_threads_is_charged_for_what_it_holds(estimator):
    relation = estimator.get_params().get("neighbors") or "add_remove"
    accountant = BudgetAccountant(100.0, 0.1, neighbors=relation)
    shared = clone(estimator).set_params(accountant=accountant)
    X = np.random.default_rng(0).random((200, 2))

    def slow():
        time.sleep(0.02)
        return iter([X])

    results = race(lambda: shared.fit(slow))
    refused = [r for r in results if isinstance(r, Exception)]
    assert all(isinstance(r, RuntimeError) and "another thread" in str(r) for r in refused), results
    assert len(accountant.entries) == THREADS - len(refused)
    assert 1 <= len(accountant.entries) < THREADS
    shared.fit(X)
    assert not _alone._FITS


def test_a_fit_that_fails_lets_the_next_one_in():
    model = PrivateMeasure(bounds=(0, 1), n_hint=200)
    with pytest.raises(ValueError, match="X"):
        model.fit(np.full((3, 2), np.nan))
    assert not _alone._FITS
    with fitted_alone(model), fitted_alone(model):  # the same thread: a fit of a parent class
        copies = [copy.deepcopy(model), pickle.loads(pickle.dumps(model)), clone(model)]
    for other in copies:
        other.fit(np.random.default_rng(0).random((200, 2)))
    assert not _alone._FITS
