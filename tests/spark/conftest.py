"""One small Spark for all tests of this folder; they are skipped where it is missing."""

import os
import sys

import pytest

OPTIONS = {
    "spark.master": "local[2,3]",  # a task may fail twice before the job does
    "spark.ui.enabled": "false",
    "spark.driver.memory": "512m",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.shuffle.partitions": "3",
}


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    """A session of two local threads, each with Python workers of its own."""
    session = pytest.importorskip("pyspark.sql").SparkSession
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = session.builder
    for name, value in OPTIONS.items():
        builder = builder.config(name, value)
    found = builder.config("spark.local.dir", str(tmp_path_factory.mktemp("spark"))).getOrCreate()
    found.sparkContext.setLogLevel("OFF")
    yield found
    found.stop()
