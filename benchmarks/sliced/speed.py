"""Time and memory of a private sketch of slices, beside POT's sliced distance in one run.

Rows and directions are the same for all. Goals: a fit at most 1/20 of the time of POT's
``sliced_wasserstein_distance``, a fit and ``distance(Y)`` at most 1/10, and a fit of 10**6 rows of
50 features on 500 directions, in chunks, in less than 1 GB above what is imported. POT gets the
directions in parts of at most 10**7 numbers, since it holds several arrays of the projections.
``python -m benchmarks.sliced.speed``; needs POT.
"""

import sys
import time

import numpy as np

from benchmarks.recording import Results, peak_bytes
from skdp_bary import DPSlicedWasserstein
from skdp_bary.geometry import Ball
from skdp_bary.geometry.linear_maps import tight_frame

RESULTS = Results("sliced_speed")
SETTINGS = ((10**5, 50, 100), (10**6, 10, 50))  # rows, features, directions
LARGE = (10**6, 50, 500)
CHUNK = 10**5
GOALS = {"fit": 20.0, "fit_and_distance": 10.0, "peak_bytes": 10**9}
_PART = 10**7


def make_chunks(n, d):
    """Return a function that draws the same chunks again and again."""

    def chunks():
        rng = np.random.default_rng(0)
        for start in range(0, n, CHUNK):
            yield rng.standard_normal((min(CHUNK, n - start), d))

    return chunks


def make_estimator(n, d, directions):
    """Return an estimator for standard normal rows."""
    bounds = Ball(np.zeros(d), 2.0 * d**0.5)
    return DPSlicedWasserstein(bounds=bounds, n_min=n // 2, directions=directions)


def peer(X, Y, directions):
    """Return POT's distance on all directions."""
    import ot

    k = directions.shape[1]
    size = max(1, _PART // len(X))
    squares = [
        part.shape[1] * ot.sliced_wasserstein_distance(X, Y, projections=part) ** 2
        for part in np.array_split(directions, -(-k // size), axis=1)
    ]
    return (sum(squares) / k) ** 0.5


def timed(function, repeats):
    """Return the smallest time of several calls."""
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        function()
        times.append(time.perf_counter() - begin)
    return min(times)


def compare(n, d, k):
    """Measure one setting."""
    rng = np.random.default_rng(1)
    directions = tight_frame(d, k, rng)
    X = np.concatenate(list(make_chunks(n, d)()))
    Y = rng.standard_normal((n, d)) + 0.2
    estimator = make_estimator(n, d, directions)
    seconds = {
        "peer": timed(lambda: peer(X, Y, directions), 1),
        "fit": timed(lambda: estimator.fit(X), 3),
        "fit_and_distance": timed(lambda: estimator.fit(X).distance(Y), 3),
    }
    ratios = {name: seconds["peer"] / seconds[name] for name in ("fit", "fit_and_distance")}
    distances = {
        "peer": peer(X[: n // 10], Y[: n // 10], directions),
        "ours": estimator.distance(Y),
    }
    print(f"n={n:.0e} d={d} k={k}:", *(f"{name} {value:.1f}x" for name, value in ratios.items()))
    return {
        "rows": n,
        "features": d,
        "directions": k,
        "seconds": seconds,
        "times_faster": ratios,
        "distances": distances,
    }


def large():
    """Fit the large setting in chunks; return its time and its peak memory."""
    n, d, k = LARGE
    directions = tight_frame(d, k, np.random.default_rng(1))
    make_estimator(10, d, directions).fit(np.zeros((10, d)))
    before = peak_bytes()
    begin = time.perf_counter()
    make_estimator(n, d, directions).fit(make_chunks(n, d))
    result = {"seconds": time.perf_counter() - begin, "peak_bytes": peak_bytes() - before}
    print(f"n={n:.0e} d={d} k={k} in chunks:", result)
    return dict(zip(("rows", "features", "directions"), LARGE, strict=True)) | result


def main():
    result = {"goals": GOALS, "large": large()}  # first: the peak of a process never goes down
    result["settings"] = [compare(*setting) for setting in SETTINGS]
    RESULTS.write(result)


if __name__ == "__main__":
    sys.exit(main())
