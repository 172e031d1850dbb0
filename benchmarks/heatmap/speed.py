"""Time of private heatmaps, as ratios of two processor times taken in one run.

- A default fit at resolution 256 with 200 people, over the linear program that the paper's
  reconstruction is (a variable a pixel, a deviation a cell, solved by HiGHS): goal 0.15.
- A fit at resolution 2**20 over one at 2**8: goal 5.
- Counting a million check-ins of 100,000 people in the cells of a partition at resolution 2**16,
  grouping by person included, over what pandas needs to count them in the same cells, each person
  by shares: goal 1.5.

``python -m benchmarks.heatmap.speed``; needs pandas.
"""

import warnings

import numpy as np
import pandas as pd

from benchmarks.recording import Results
from benchmarks.transport.trees import naive_program, paper_selection, seconds, solve
from skdp_bary import PrivateEMDHeatmap
from skdp_bary.datasets import CITY_BOUNDS, make_city_checkins
from skdp_bary.desk.counting import collect
from skdp_bary.exceptions import PrivacyWarning
from skdp_bary.geometry import Box
from skdp_bary.queries.cells import DisjointCounts, GridDivision, Partition, QuadGrid
from skdp_bary.rows.opening import Rows, open_source

RESULTS = Results("heatmap_speed")
SQUARE = Box([0.0, 0.0], [1.0, 1.0])


def fit(X, people, resolution):
    """Fit a default heatmap."""
    model = PrivateEMDHeatmap(bounds=CITY_BOUNDS, resolution=resolution, n_hint=200, random_state=0)
    return model.fit(X, groups=people)


def paper_program(X):
    """Time of the paper's program by its definition: all pixels, all deviations."""
    codes = QuadGrid(Box(*CITY_BOUNDS), 8).codes(X)
    tree, values = paper_selection(np.random.default_rng(0), codes, 8, 20)
    program = naive_program(tree, values)
    return seconds(lambda: solve(program), 3)[0]


def count_million():
    """Return our time and that of pandas for counting in the same cells."""
    rng = np.random.default_rng(0)
    people = np.repeat(np.arange(100_000), 10)
    homes = rng.random((100_000, 2))
    X = np.clip(homes[people] + 0.02 * rng.standard_normal((1_000_000, 2)), 0, 1)
    order = rng.permutation(1_000_000)
    X, people = X[order], people[order]
    grid = QuadGrid(SQUARE, 16)
    partition = Partition.complete(16, 6)
    query = DisjointCounts(GridDivision(grid, (partition,)), 1 << 20)

    def ours():
        rows = Rows(open_source(X, groups=people, mass_bounds=SQUARE))
        return collect(query, rows)

    def by_pandas():
        places = (X * 64).astype(np.int64).clip(0, 63)
        frame = pd.DataFrame({"person": people, "row": places[:, 1], "column": places[:, 0]})
        weight = 1.0 / frame.groupby("person")["row"].transform("size")
        return weight.groupby([frame["row"], frame["column"]]).sum()

    return seconds(ours, 3)[0], seconds(by_pandas, 3)[0]


def main():
    warnings.simplefilter("ignore", PrivacyWarning)
    X, people = make_city_checkins(200, mean_visits=9, random_state=0)
    default, _ = seconds(lambda: fit(X, people, 256), 11)
    naive = paper_program(X)
    fine, _ = seconds(lambda: fit(X, people, 2**20), 11)
    ours, pandas = count_million()
    results = {
        "default_fit_seconds": default,
        "naive_program_seconds": naive,
        "fit_over_naive_program": default / naive,
        "fit_at_2**20_over_2**8": fine / default,
        "million_rows_seconds": ours,
        "million_rows_over_pandas": ours / pandas,
    }
    for name, value in results.items():
        print(f"{name:>28} {value:.4f}")
    RESULTS.write(results)


if __name__ == "__main__":
    main()
