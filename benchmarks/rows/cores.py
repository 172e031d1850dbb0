"""A model of 16 cores from what one core takes: k-means beside scikit-learn's, whole fits.

No machine of 16 cores is measured. Of our fit, counting rows is shared by the cores, and every core
beyond the first adds its integers to the others'; all else is one core's. Of scikit-learn's fit the
iterations are shared, and what comes before them, checks and the start, is one core's. Nothing is
taken off for memory, which cores share, of either.
"""

import time

import joblib
import numpy as np

from skdp_bary.desk.counting import Sketch, one_blas_thread

CORES, TURNS = 16, 3
FEATURES, CLUSTERS = 10, 16


def seconds(work):
    """Return the least processor time of several turns."""
    times = []
    for _ in range(TURNS):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def shared(parts, cores=CORES):
    """Return what a fit takes on so many cores, by Amdahl's law."""
    return parts["alone"] + parts["shared"] / cores + parts["each"] * (cores - 1)


def own_parts(X):
    """Return the parts of our fit: counting is shared, adding up is each core's, all else alone."""
    from skdp_bary import PrivateKMeans

    counting, merging, update_all = [], [], Sketch.update_all

    def timed(sketch, chunks):
        start = time.process_time()
        found = update_all(sketch, chunks)
        counting.append(time.process_time() - start)
        start = time.process_time()
        Sketch(sketch.query).merge(found)
        merging.append(time.process_time() - start)
        return found

    def fit():
        PrivateKMeans(CLUSTERS, bounds=(-1, 1), n_hint=len(X)).fit(X)

    Sketch.update_all = timed
    try:
        with joblib.parallel_config("threading", n_jobs=1), one_blas_thread():
            fit()
            counting.clear()
            merging.clear()
            start = time.process_time()
            fit()
            whole = time.process_time() - start
    finally:
        Sketch.update_all = update_all
    count, merge = sum(counting), sum(merging)
    return {"shared": count, "each": merge, "alone": whole - count - merge}


def peer_parts(X):
    """Return the parts of scikit-learn's fit: its iterations are shared."""
    from sklearn.cluster import KMeans
    from threadpoolctl import threadpool_limits

    def fit(max_iter, tol=0.0):
        return KMeans(CLUSTERS, n_init=1, max_iter=max_iter, tol=tol, random_state=0).fit(X)

    with threadpool_limits(1):
        fit(1)
        step = (seconds(lambda: fit(11)) - seconds(lambda: fit(1))) / 10
        usual = fit(300, 1e-4).n_iter_
        whole = seconds(lambda: fit(300, 1e-4))
    return {"shared": step * usual, "each": 0.0, "alone": max(whole - step * usual, 0.0)}


def sixteen_cores(n_rows):
    """Return the line of the model."""
    rng = np.random.default_rng(0)
    centers = rng.uniform(-0.8, 0.8, (CLUSTERS, FEATURES))
    X = centers[rng.integers(CLUSTERS, size=n_rows)]
    X = np.clip(X + 0.4 * rng.standard_normal(X.shape), -1, 1)
    own, peer = own_parts(X), peer_parts(X)
    return {
        "family": f"model of {CORES} cores, whole fit of k-means",
        "rows": n_rows,
        "features": FEATURES,
        "own": own,
        "peer": peer,
        "times_as_fast_on_one": round(shared(peer, 1) / shared(own, 1), 2),
        "times_as_fast": round(shared(peer) / shared(own), 2),
        "own_gain": round(shared(own, 1) / shared(own), 1),
        "peer_gain": round(shared(peer, 1) / shared(peer), 1),
    }


def row_of_model(model):
    """Return the line of the table of speed."""
    return {
        "work": f"{model['family']}, {model['rows']:,} rows, {FEATURES} features (no measurement)",
        "peer": "KMeans(n_init=1) of scikit-learn, modeled alike",
        "ratio": model["times_as_fast"],
        "before": None,
        "growth": None,
        "from": "rows/cores",
    }


def main():
    """Print the model and keep it."""
    from benchmarks.recording import Results

    model = sixteen_cores(10**6)
    print(model)
    Results("threads").merge([model], ("family", "rows"))
    Results("speed").merge([row_of_model(model)], ("work",))


if __name__ == "__main__":
    main()
