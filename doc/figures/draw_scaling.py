"""Make the tables of scaling.rst from the results of the benchmarks.

``python doc/figures/draw_scaling.py``
"""

from evidence import read, write_table

WAYS = ("array_s", "chunks_s", "delayed_s", "persisted_s")


def tabulate_model(kept):
    """Write what a reading costs, for each estimator."""
    lines = [
        [
            name,
            found["passes"],
            found["bytes_per_row"],
            f"{found['ns_per_row']:.0f}",
            f"{found['ms_per_task']:.1f}",
            f"{found['ms_per_reading']:.0f}",
            f"{found['integers']:,}",
            f"{found['bytes_of_a_partition']:,}",
        ]
        for name, found in kept.items()
    ]
    header = ["estimator", "passes", "bytes a row", "ns a row", "ms a task", "ms a reading"]
    header += ["integers", "bytes"]
    write_table("scaling_model", header, lines)


def tabulate_runs(kept):
    """Write how far measured runs are from the model."""
    lines = [
        [
            name,
            f"{int(n_rows):,}",
            f"{run['predicted_cpu_s']:.2f}",
            f"{run['measured_cpu_s']:.2f}",
            f"{run['ratio']:.2f}",
            f"{run['client_peak_mb']:.0f}",
            found["load"],
        ]
        for name, found in kept.items()
        for n_rows, run in found["runs"].items()
    ]
    header = ["estimator", "rows", "predicted s", "measured s", "ratio", "client MB"]
    write_table("scaling_runs", [*header, "load"], lines)


def tabulate_plan(kept):
    """Write what the planned size costs."""
    lines = [
        [
            name,
            f"{found['planned']['cpu_hours']:.2f}",
            f"{found['planned']['busy_s_per_worker']:.1f}",
            f"{found['planned']['tasks']:,}",
            found["planned"]["messages_per_worker"],
            f"{found['planned']['mb_sent_per_worker']:.2f}",
        ]
        for name, found in kept.items()
    ]
    header = ["estimator", "core hours", "s a worker", "tasks", "messages a worker", "MB a worker"]
    write_table("scaling_plan", header, lines)


def tabulate_speed(kept):
    """Write seconds of the ways rows come, and the ratios."""
    lines = [
        [
            name,
            f"{kept['rows']:,}",
            *(f"{found[way]:.2f}" for way in WAYS),
            f"{found['speedup_making_rows']:.2f}",
            f"{found['speedup_holding_rows']:.2f}",
            found["load"],
        ]
        for name, found in kept["speed"].items()
    ]
    header = [
        "sketch",
        "rows",
        "array",
        "chunks",
        "workers make",
        "workers hold",
        "making",
        "holding",
    ]
    write_table("scaling_speed", [*header, "load"], lines)


def tabulate_streams(streams):
    """Write what persons in streams cost beside a pandas frame."""
    words = {
        "pandas_frame": "pandas frame in memory",
        "dataset_spilled": "pyarrow dataset, persons on disk",
        "lazy_spilled": "polars lazy frame, persons on disk",
        "duckdb_sorted": "DuckDB ``order by``, SortedPersons",
    }
    most = max(row["rows"] for row in streams)
    rows = {row["way"]: row for row in streams if row["rows"] == most}
    base = rows["pandas_frame"]
    lines = [
        [
            words[way],
            f"{row['seconds']:.1f}",
            f"{row['seconds'] / base['seconds']:.2f}",
            f"{row['bytes'] / 1e6:.0f}",
            f"{row['bytes'] / base['bytes']:.2f}",
        ]
        for way, row in rows.items()
    ]
    header = ["way", "seconds", "of its time", "peak MB", "of its memory"]
    write_table("scaling_streams", header, lines)


def tabulate_spark(kept):
    """Write what fits on Spark move."""
    lines = [
        [
            name,
            f"{int(n_rows):.0e}".replace("e+", "e"),
            plan["readings"],
            f"{plan['messages_a_reading']:,}",
            f"{plan['bytes_a_task']:,}",
            f"{plan['most_mb_in_a_task']:.1f}",
            f"{plan['gb_moved']:.2f}",
            f"{plan['gb_read_by_the_last_task']:.2f}",
            f"{plan['driver_mb']:.1f}",
        ]
        for name, found in kept.items()
        for n_rows, plan in found.items()
    ]
    header = ["estimator", "rows", "readings", "messages a reading", "bytes a task", "MB in a task"]
    header += ["GB of answers", "GB read last", "MB on the driver"]
    write_table("scaling_spark", header, lines)


def main():
    """Write all tables for which there are results."""
    if scaling := read("scaling"):
        tabulate_model(scaling)
        tabulate_runs(scaling)
        tabulate_plan(scaling)
    if spark := read("spark_plan"):
        tabulate_spark(spark)
    if speed := read("dask_speed"):
        tabulate_speed(speed)
    if streams := read("streams"):
        tabulate_streams(streams)


if __name__ == "__main__":
    main()
