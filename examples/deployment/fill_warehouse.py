"""Fill a warehouse with people who do not exist: python fill_warehouse.py WAREHOUSE 2026-05 ..."""

import sys
from pathlib import Path

import pyarrow
import pyarrow.parquet

from skdp_bary.datasets import make_city_checkins


def fill(warehouse, *months):
    """Write a Parquet file a month."""
    for number, month in enumerate(months):
        places, people = make_city_checkins(n_people=3000, random_state=number)
        columns = {
            "person": people,
            "lon": -98.0 + places[:, 0] / 40,
            "lat": 30.0 + places[:, 1] / 40,
        }
        pyarrow.parquet.write_table(pyarrow.table(columns), Path(warehouse, f"{month}.parquet"))


if __name__ == "__main__":
    fill(*sys.argv[1:])
