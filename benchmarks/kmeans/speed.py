"""Time and memory of PrivateKMeans beside scikit-learn's KMeans (n_init=1) in one run.

k = 16 clusters of normal rows, one thread for both. Times are CPU seconds of the process, so that
other work on the machine does not count. Goals: at most 0.5 of scikit-learn's time with 2 features,
at most 1.0 with 10 and 100, for n = 10**6; peak memory, in processes of their own and without
imports, under 1.6 times the input (read from /proc, so on Linux). "growth" is what power of the
number of clusters the time grows with, for 100,000 rows.
``python -m benchmarks.kmeans.speed [--rows 1000000] [--parts rows growth]``
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
GROWTH = Results("kmeans_growth")
SPEED = Results("speed")
CLUSTERS = 16
MORE_CLUSTERS = (64, 256, 1024)
GROWTH_ROWS = 100_000
NOISES = {"laplace": 0.0, "gaussian": 1e-9}
GOALS = {2: 0.5, 10: 1.0, 100: 1.0}
MEMORY_GOAL = 1.6


def make_rows(n_rows, n_features, n_clusters=CLUSTERS):
    """Return normal clusters in the box from -1 to 1."""
    rng = np.random.default_rng(0)
    centers = rng.uniform(-1, 1, (n_clusters, n_features))
    X = np.empty((n_rows, n_features))
    for start in range(0, n_rows, 1 << 17):
        part = X[start : start + (1 << 17)]
        part[:] = centers[rng.integers(n_clusters, size=len(part))]
        part += 0.1 * rng.standard_normal(part.shape)
        np.clip(part, -1, 1, out=part)
    return X


def estimator(n_rows, delta, n_clusters=CLUSTERS):
    """Return the private estimator."""
    return PrivateKMeans(n_clusters, delta=delta, bounds=(-1, 1), n_hint=n_rows)


def cpu_time(fit, repeats):
    """Return the smallest CPU time of several calls."""
    times = []
    for _ in range(repeats):
        begin = time.process_time()
        fit()
        times.append(time.process_time() - begin)
    return min(times)


def measure(n_rows, n_features, repeats, n_clusters=CLUSTERS):
    """Return the times of both and their ratios, for both kinds of noise."""
    X = make_rows(n_rows, n_features, n_clusters)
    peer = cpu_time(lambda: KMeans(n_clusters, n_init=1, random_state=0).fit(X), repeats)
    found = {"rows": n_rows, "features": n_features, "sklearn": peer}
    for noise, delta in NOISES.items():
        own = cpu_time(lambda d=delta: estimator(n_rows, d, n_clusters).fit(X), repeats)
        found[noise] = own
        found[f"{noise}_ratio"] = own / peer
    return found


def growth(n_features, repeats):
    """Return the times for more and more clusters."""
    lines = []
    for k in MORE_CLUSTERS:
        lines.append({"clusters": k} | measure(GROWTH_ROWS, n_features, repeats, k))
        print(lines[-1], flush=True)
    return lines


def work(lines):
    """Yield lines for the table of work, peer, ratio and growth."""
    for noise in NOISES:
        power = np.polyfit(np.log(MORE_CLUSTERS), np.log([line[noise] for line in lines]), 1)[0]
        last = lines[-1]
        yield {
            "work": f"whole fit, k-means, {last['clusters']} clusters, {GROWTH_ROWS:,} rows, "
            f"{last['features']} features, {noise.capitalize()}",
            "peer": "KMeans(n_init=1) of scikit-learn",
            "ratio": 1.0 / last[f"{noise}_ratio"],
            "before": None,
            "growth": f"k^{power:.2f}",
            "from": "kmeans/speed",
        }


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


def measure_rows(n_rows, widths, repeats):
    """Measure and keep times and memory for many rows."""
    kept = []
    for d in widths:
        line = measure(n_rows, d, repeats)
        line["peak"] = memory(n_rows, d)
        kept.append(line)
        print(
            f"d={d:>3}: laplace {line['laplace_ratio']:.2f}, gaussian {line['gaussian_ratio']:.2f} "
            f"of scikit-learn's {line['sklearn']:.2f} s (goal {GOALS.get(d)}); "
            f"peak {line['peak']:.2f} of the input (goal {MEMORY_GOAL})",
            flush=True,
        )
    RESULTS.merge(kept, ("rows", "features"))


def main():
    """Measure and keep."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10**6)
    parser.add_argument("--features", type=int, default=None)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--parts", nargs="+", default=["rows", "growth"])
    parser.add_argument("--task", choices=["fit", "nothing"], help="used by the memory measurement")
    arguments = parser.parse_args()
    if arguments.task:
        run_task(arguments.task, arguments.rows, arguments.features)
        return
    widths = GOALS if arguments.features is None else (arguments.features,)
    if "rows" in arguments.parts:
        measure_rows(arguments.rows, widths, arguments.repeats)
    if "growth" in arguments.parts:
        for d in widths:
            lines = growth(d, arguments.repeats)
            GROWTH.merge(lines, ("features", "clusters"))
            SPEED.merge(list(work(lines)), ("work", "peer"))


if __name__ == "__main__":
    main()
