"""Fits on Dask collections: the same estimators, bit for bit, and as many readings as stated."""

import numpy as np
import pytest
from sklearn.base import clone

from skdp_bary import (
    BudgetAccountant,
    DPSlicedWasserstein,
    PrivateEMDHeatmap,
    PrivateKMeans,
    PrivateMeasure,
    PrivateWassersteinBarycenter,
)
from skdp_bary.papers import CoresetBarycenter, MaxCoverKMeans, NoisyRowsSlicedWasserstein
from tests.world import fingerprint

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")

pytestmark = pytest.mark.filterwarnings("ignore::skdp_bary.exceptions.PrivacyWarning")

N = 1501
rng = np.random.default_rng(5)
Y = rng.integers(2, size=N)
WIDE = np.clip(rng.normal(0.3 + 0.4 * Y[:, None], 0.1, size=(N, 5)), 0, 1)
X = WIDE[:, :2]
PEOPLE = Y * 1000 + rng.integers(90, size=N)  # everybody has rows of one class
SEEDED = {"bounds": (0, 1), "random_state": 4}

FITS = {
    "measure, bounds bought": (PrivateMeasure(random_state=4), X, {}),
    "barycenter by rounds": (CoresetBarycenter(3, classes=[0, 1], n_init=1, epsilon=20.0,
     delta=1e-6, **SEEDED), WIDE, {"y": Y}),
    "barycenter, labels found": (PrivateWassersteinBarycenter(3, neighbors="replace_one", n_init=1,
     **SEEDED), X, {"y": Y, "groups": PEOPLE}),
    "heatmap of persons": (PrivateEMDHeatmap(resolution=32, bounds=(0.1, 0.9), random_state=4), X,
     {"groups": PEOPLE}),
    "kmeans, cover": (MaxCoverKMeans(2, epsilon=5.0, delta=1e-6, n_init=1, **SEEDED), X, {}),
    "kmeans, weights": (PrivateKMeans(3, n_init=1, **SEEDED), X, {"sample_weight": rng.random(N)}),
    "sliced": (DPSlicedWasserstein(n_projections=6, delta=1e-6, n_min=200, **SEEDED), X, {}),
    "sliced, rows": (NoisyRowsSlicedWasserstein(2, delta=1e-6, neighbors="replace_one", **SEEDED),
     X, {}),
}  # fmt: skip


def fitted(name, *, chunks=None):
    """Fit on arrays in memory, or on Dask arrays with these chunks."""
    estimator, rows, beside = FITS[name]
    if chunks is not None:
        rows = da.from_array(rows, chunks=(chunks, -1))
        beside = {key: da.from_array(value, chunks=chunks) for key, value in beside.items()}
    return clone(estimator).fit(rows, **beside)


@pytest.fixture
def one_thread():
    with dask.config.set({"scheduler": "synchronous", "dataframe.shuffle.method": "tasks"}):
        yield


@pytest.mark.parametrize("name", FITS)
def test_rows_are_read_once_a_step(one_thread, name):
    """And once more for a size that is public, and to see whether persons have one class."""
    estimator, rows, beside = FITS[name]
    readings = []

    def make(rows, y, weights):
        readings.append(len(rows))
        return rows, y, weights

    cut = [600, 601]
    parts = [np.split(part, cut) for part in (rows, beside.get("y", np.zeros(N)))]
    weights = beside.get("sample_weight")
    weights = [None] * 3 if weights is None else np.split(weights, cut)
    chunks = [dask.delayed(make, pure=False)(*part) for part in zip(*parts, weights, strict=True)]
    groups = beside.get("groups")
    if groups is not None:
        groups = [dask.delayed(part) for part in np.split(groups, cut)]
    if "labels found" in name:
        estimator = clone(estimator).set_params(classes=[0, 1])  # chunks carry their labels
    model = clone(estimator).fit(chunks, groups=groups)
    size_read = model.privacy_.relation != "add_remove" and model.n_hint is None
    labels_read = model.privacy_.relation == "replace_one" and "y" in beside and groups is not None
    first_look = 1  # of one chunk, for its width
    assert len(readings) == first_look + 3 * (len(model.privacy_.steps) + size_read + labels_read)
    assert fingerprint(model) == fingerprint(fitted(name))


@pytest.mark.parametrize("name", ["heatmap of persons", "barycenter, labels found"])
def test_parquet_files(one_thread, tmp_path, name):
    pytest.importorskip("pyarrow")
    estimator, rows, beside = FITS[name]
    frame = pd.DataFrame(rows, columns=["lon", "lat"]).assign(**beside)
    dd.from_pandas(frame, npartitions=4).to_parquet(tmp_path / "rows")
    model = clone(estimator).fit(tmp_path / "rows", **{key: key for key in beside})
    assert model.feature_names_in_.tolist() == ["lon", "lat"]
    delattr(model, "feature_names_in_")
    assert fingerprint(model) == fingerprint(fitted(name))


@pytest.mark.parametrize("with_ids", [False, True])
def test_bounds_by_name(one_thread, tmp_path, with_ids):
    """Of a map, outside of which rows carry no mass."""
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"lat": X[:, 1], "who": PEOPLE, "lon": X[:, 0]})
    frame = frame if with_ids else frame.drop(columns="who")
    dd.from_pandas(frame, npartitions=4).to_parquet(tmp_path / "rows")
    frame.to_parquet(tmp_path / "rows.parquet")
    named = PrivateEMDHeatmap(
        bounds={"lon": (0.2, 0.8), "lat": (0.1, 0.9)}, resolution=32, n_hint=N, random_state=4
    )
    groups = "who" if with_ids else None
    wanted = fingerprint(clone(named).fit(frame, groups=groups))
    rows = tmp_path / "rows", tmp_path / "rows.parquet", dd.from_pandas(frame, npartitions=3)
    assert {fingerprint(clone(named).fit(each, groups=groups)) for each in rows} == {wanted}
    with pytest.raises(ValueError, match="bounds must name every column once"):
        named.set_params(bounds={"lon": (0, 1), "alt": (0, 1)}).fit(rows[0], groups=groups)


def test_a_worker_that_fails_charges_nothing_before_the_first_release(one_thread):
    """Nothing was drawn then; later the charge stays."""
    bad = X.copy()
    bad[1400] = np.nan
    budget = BudgetAccountant(1.0)
    measure = PrivateMeasure(bounds=(0, 1), n_hint=N, accountant=budget)
    with pytest.raises(ValueError, match="NaN"):
        measure.fit(da.from_array(bad, chunks=(100, 2)))
    assert budget.entries == () and not hasattr(measure, "privacy_")


def test_a_failure_in_a_later_step_stays_charged(one_thread):
    calls = []

    def make(rows):
        calls.append(1)
        if len(calls) > 6:
            raise OSError("the disk of a worker is gone")
        return rows

    chunks = [dask.delayed(make, pure=False)(part) for part in np.split(X, [500])]
    budget = BudgetAccountant(1.0)
    kmeans = PrivateKMeans(2, bounds=(0, 1), n_init=1, accountant=budget)
    with pytest.raises(ValueError, match="raised OSError"):
        kmeans.fit(chunks)
    assert len(budget.entries) == 1 and not hasattr(kmeans, "cluster_centers_")


@pytest.mark.slow
@pytest.mark.parametrize("n_workers", [1, 2, 4])
def test_processes_of_a_cluster(n_workers):
    distributed = pytest.importorskip("distributed")
    cluster = distributed.LocalCluster(
        n_workers=n_workers, threads_per_worker=1, processes=True, dashboard_address=None
    )
    with cluster, distributed.Client(cluster):
        found = {name: fingerprint(fitted(name, chunks=137)) for name in FITS}
    assert found == {name: fingerprint(fitted(name)) for name in FITS}
