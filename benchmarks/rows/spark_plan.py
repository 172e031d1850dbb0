"""What a fit on Spark moves, on paper: bytes, messages and memory, for 10**9 and 10**12 rows.

The sizes are real: each estimator is fitted, with the public number of persons of the plan, on one
partition of a million rows, and of every question that it asks the answer is packed as it travels.
The rest is counting: a reading of P partitions has P tasks that count, P/16 and P/256 that add up,
and one that adds up what is left; each task is launched by one message and reports in another.
What a task reads is at most sixteen answers, of which none is larger than all integers of a sketch;
the last task reads them one after another. Nothing is measured about time.

    python -m benchmarks.rows.spark_plan
"""

import os
import warnings

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

from benchmarks.recording import Results  # noqa: E402
from benchmarks.rows.scaling import CHUNK, estimators, make_chunk  # noqa: E402
from skdp_bary.desk import desk  # noqa: E402
from skdp_bary.desk.counting import collect  # noqa: E402
from skdp_bary.exceptions import PrivacyWarning  # noqa: E402
from skdp_bary.rows.spark import FAN_IN, LEVELS  # noqa: E402

RESULTS = Results("spark_plan")
SIZES = (10**9, 10**12)


def answers_of(estimator, X, y):
    """Return of every question of a fit the bytes of the answer of one partition, and the most."""
    sizes = []

    def watched(query, rows):
        sketch = collect(query, rows)
        sizes.append((len(sketch.to_bytes()), 8 * sketch.size))
        return sketch

    desk.collect = watched
    try:
        estimator.fit(X, y)
    finally:
        desk.collect = collect
    return sizes


def n_tasks(n_parts):
    """Return the numbers of tasks of one reading, level by level."""
    levels = [n_parts]
    for _ in range(LEVELS):
        levels.append(-(-levels[-1] // FAN_IN))
    return [*levels, 1]


def plan(sizes, n_rows):
    """Return what a fit of so many rows moves."""
    tasks = n_tasks(n_rows // CHUNK)
    sent, most = max(small for small, _ in sizes), max(large for _, large in sizes)
    moved = sum(
        # an answer that was added up may be as large as its integers are
        small * tasks[0] + large * sum(tasks[1:-1])
        for small, large in sizes
    )
    return {
        "readings": len(sizes),
        "tasks_a_reading": sum(tasks),
        "messages_a_reading": 2 * sum(tasks),
        "bytes_a_task": sent,
        "most_bytes_a_task": most,
        "most_mb_in_a_task": round((FAN_IN + 2) * most / 1e6, 2),
        "gb_moved": round(moved / 1e9, 3),
        "gb_read_by_the_last_task": round(tasks[-2] * most / 1e9, 3),
        "driver_mb": round(3 * most / 1e6, 2),
    }


def main():
    """Fit all estimators for both sizes, and keep what it would take."""
    warnings.simplefilter("ignore", PrivacyWarning)
    X, y = make_chunk(0, CHUNK)
    kept = {}
    for n_rows in SIZES:
        for name, estimator in estimators().items():
            if "n_hint" in estimator.get_params() and name != "sliced":
                estimator.set_params(n_hint=n_rows)
            sizes = answers_of(estimator, X, y)
            kept.setdefault(name, {})[str(n_rows)] = plan(sizes, n_rows)
            print(name, n_rows, kept[name][str(n_rows)], flush=True)
    RESULTS.write(kept)


if __name__ == "__main__":
    main()
