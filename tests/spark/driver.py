"""Fits on a cluster at the address given, whose tasks are killed or slow; run by test_two_hosts."""

import os
import signal
import sys
import time
import warnings

import joblib
import numpy as np
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import SparkSession

from skdp_bary import PrivateEMDHeatmap, PrivateMeasure

SLOW_SECONDS = 100
OPTIONS = {
    "spark.ui.enabled": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "512m",
    "spark.executor.memory": "512m",
    "spark.executor.cores": "2",
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.shuffle.partitions": "2",
    "spark.speculation": "true",
    "spark.speculation.interval": "100ms",
    "spark.speculation.quantile": "0.5",
    "spark.speculation.multiplier": "1.1",
}
N = 400
rng = np.random.default_rng(0)
X, WHO = rng.random((N, 2)), rng.integers(50, size=N)


def rows_of(act, folder):
    """Return what a user's frame calls: after all rows of partition 1, a fault."""

    def rows(batches):
        yield from batches
        task = TaskContext.get()
        if task.partitionId() == 1:
            runs = os.listdir(folder)
            open(f"{folder}/{len(runs)}-{task.taskAttemptId()}", "w").close()
            if not runs:
                act()

    return rows


def kill_executor():
    """End the Java process whose daemon started this worker."""
    with open(f"/proc/{os.getppid()}/stat") as stat:
        os.kill(int(stat.read().rpartition(")")[2].split()[1]), signal.SIGKILL)


def be_slow():
    """Take much longer than the other partitions."""
    time.sleep(SLOW_SECONDS)


def released(model):
    """Return a hash of everything a fit has set."""
    vars(model).pop("feature_names_in_", None)
    return joblib.hash({k: value for k, value in vars(model).items() if k.endswith("_")})


def check(frame, estimator, act, folder, **beside):
    """Fit with a fault, and compare with a fit in memory."""
    os.mkdir(folder)
    broken = frame.mapInArrow(rows_of(act, folder), frame.schema)
    begin = time.monotonic()
    found = released(estimator.fit(broken, **dict.fromkeys(beside, "who")))
    seconds = time.monotonic() - begin
    assert len(os.listdir(folder)) > 1, "the partition ran once"
    assert found == released(estimator.fit(X, **beside)), "other integers than in memory"
    return seconds


def main(master, folder):
    """Run both faults, the second with persons."""
    warnings.simplefilter("ignore")
    builder = SparkSession.builder.master(master)
    for name, value in OPTIONS.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    frame = spark.createDataFrame(pa.table({"u": X[:, 0], "v": X[:, 1], "who": WHO}))
    frame = frame.repartition(4)
    measure = PrivateMeasure(bounds=(0, 1), n_hint=N, depth=5, random_state=1)
    check(frame.select("u", "v"), measure, kill_executor, f"{folder}/killed")
    heatmap = PrivateEMDHeatmap(bounds=(0, 1), resolution=8, method="one_shot", random_state=1)
    heatmap.set_params(n_hint=N)
    taken = check(frame, heatmap, be_slow, f"{folder}/slow", groups=WHO)
    assert taken < SLOW_SECONDS, "no copy was started"
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
