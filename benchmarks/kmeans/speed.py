"""Time and memory of PrivateKMeans beside scikit-learn's KMeans (n_init=1) in one run.

k = 16 clusters of normal rows, one thread for both. Times are CPU seconds of the process, so that
other work on the machine does not count. Goals: at most 0.5 of scikit-learn's time with 2 features,
at most 1.0 with 10 and 100, for n = 10**6; peak memory, in processes of their own and without
imports, under 1.6 times the input (read from /proc, so on Linux).
``python -m benchmarks.kmeans.speed [--rows 1000000]``
"""

import argparse
import os
import time

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import numpy as np  # noqa: E402
from sklearn.cluster import KMeans  # noqa: E402

from benchmarks.recording import Results, peak_bytes, run_alone  # noqa: E402
from skdp_bary import PrivateKMeans  # noqa: E402

RESULTS = Results("kmeans_speed")
CLUSTERS = 16
GOALS = {2: 0.5, 10: 1.0, 100: 1.0}
MEMORY_GOAL = 1.6


def make_rows(n_rows, n_features):
    """Return normal clusters in the box from -1 to 1."""
    rng = np.random.default_rng(0)
    centers = rng.uniform(-1, 1, (CLUSTERS, n_features))
    X = np.empty((n_rows, n_features))
    for start in range(0, n_rows, 1 << 17):
        part = X[start : start + (1 << 17)]
        part[:] = centers[rng.integers(CLUSTERS, size=len(part))]
        part += 0.1 * rng.standard_normal(part.shape)
        np.clip(part, -1, 1, out=part)
    return X


def estimator(n_rows, delta):
    """Return the private estimator."""
    return PrivateKMeans(CLUSTERS, delta=delta, bounds=(-1, 1), n_hint=n_rows)


def cpu_time(fit, repeats):
    """Return the smallest CPU time of several calls."""
    times = []
    for _ in range(repeats):
        begin = time.process_time()
        fit()
        times.append(time.process_time() - begin)
    return min(times)


def measure(n_rows, n_features, repeats):
    """Return the times of both and their ratios, for both kinds of noise."""
    X = make_rows(n_rows, n_features)
    peer = cpu_time(lambda: KMeans(CLUSTERS, n_init=1, random_state=0).fit(X), repeats)
    found = {"rows": n_rows, "features": n_features, "sklearn": peer}
    for noise, delta in (("laplace", 0.0), ("gaussian", 1e-9)):
        own = cpu_time(lambda d=delta: estimator(n_rows, d).fit(X), repeats)
        found[noise] = own
        found[f"{noise}_ratio"] = own / peer
    return found


def peak(task, n_rows, n_features):
    """Return the peak memory of a process, in bytes."""
    sizes = "--rows", n_rows, "--features", n_features
    return int(run_alone(__spec__.name, "--task", task, *sizes).split()[-1])


def run_task(task, n_rows, n_features):
    """Do one task and print the peak memory of this process."""
    import warnings

    warnings.simplefilter("ignore")
    # a small fit loads what is imported late
    estimator(1000, 1e-9).fit(make_rows(1000, n_features))
    if task == "fit":
        estimator(n_rows, 1e-9).fit(make_rows(n_rows, n_features))
    print(peak_bytes())


def memory(n_rows, n_features):
    """Return peak memory, rows included, above that of a tiny fit, per byte of input."""
    above = peak("fit", n_rows, n_features) - peak("nothing", n_rows, n_features)
    return above / (8.0 * n_rows * n_features)


def main():
    """Measure and keep."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10**6)
    parser.add_argument("--features", type=int, default=None)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--task", choices=["fit", "nothing"], help="used by the memory measurement")
    arguments = parser.parse_args()
    if arguments.task:
        run_task(arguments.task, arguments.rows, arguments.features)
        return
    kept = []
    for d in GOALS if arguments.features is None else (arguments.features,):
        line = measure(arguments.rows, d, arguments.repeats)
        line["peak"] = memory(arguments.rows, d)
        kept.append(line)
        print(
            f"d={d:>3}: laplace {line['laplace_ratio']:.2f}, gaussian {line['gaussian_ratio']:.2f} "
            f"of scikit-learn's {line['sklearn']:.2f} s (goal {GOALS.get(d)}); "
            f"peak {line['peak']:.2f} of the input (goal {MEMORY_GOAL})",
            flush=True,
        )
    if arguments.features is None:
        RESULTS.write(kept)


if __name__ == "__main__":
    main()
