"""PrivateTable against AIM and MST of dpmm, on test rows of real tables.

``python -m benchmarks.table.compare --peer PYTHON --data DIR [--tables Adult ...]
[--epsilons 1] [--seeds 1] [--methods ours aim mst]``. PYTHON has dpmm, see ``peer.py``. delta is
1e-6 and neighbors add or remove one row. Peers get columns cut into at most 32 public cells of
equal width, and their rows are spread evenly in them. Results that are there already are not
computed again.
"""

import argparse
import subprocess
import tempfile
import time
import warnings
from itertools import product
from pathlib import Path

import numpy as np

from benchmarks.recording import Results
from benchmarks.table.quality import Yardstick
from benchmarks.table.tables import TABLES, load
from skdp_bary import PrivateTable
from skdp_bary.exceptions import PrivacyWarning
from skdp_bary.schema.cells import LineCells, TableCells, frame_of

RESULTS = Results("table_quality")
KEYS = ("table", "method", "epsilon", "seed")
DELTA = 1e-6
_CELLS = 32


def coarse(table, frame):
    """Return the rows in cells of which every column has at most 32, and the numbers of cells."""
    codes = TableCells(table.schema)(frame).astype(np.int64)
    for place, cells in enumerate(_columns(table)):
        codes[:, place] = codes[:, place] // _factor(cells)
    sizes = [-(-cells.n_cells // _factor(cells)) for cells in _columns(table)]
    return codes, np.array(sizes)


def fine(table, codes, rng):
    """Return a frame of rows whose values are spread evenly in coarse cells."""
    columns, units = _columns(table), []
    for place, cells in enumerate(columns):
        inside = codes[:, place] * _factor(cells) + rng.integers(_factor(cells), size=len(codes))
        units.append(cells.draw(np.minimum(inside, cells.n_cells - 1), rng))
    return frame_of(units, columns, table.schema.names, "pandas")


def _columns(table):
    return TableCells(table.schema).columns(table.schema.n_columns)


def _factor(cells):
    return -(-cells.n_cells // _CELLS) if isinstance(cells, LineCells) else 1


def ours(table, epsilon, seed, pure=False):
    """Return rows of PrivateTable, and what the fit took."""
    began = time.process_time()
    model = PrivateTable(
        table.schema, table.label, epsilon=epsilon, delta=0.0 if pure else DELTA, random_state=seed
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        model.fit(table.train)
    seconds = time.process_time() - began
    return model.sample(len(table.train), random_state=seed), {"seconds": seconds}


def peers(table, method, epsilon, seed, python):
    """Return rows of a peer, and what the fit took."""
    codes, sizes = coarse(table, table.train)
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "codes.npz", Path(folder) / "drawn.npz"
        np.savez(source, codes=codes, sizes=sizes)
        script = Path(__file__).parent / "peer.py"
        command = [python, script, source, method, epsilon, DELTA, seed, target]
        subprocess.run([*map(str, command)], check=True, env={"OMP_NUM_THREADS": "1"})
        found = np.load(target)
        rows = fine(table, found["codes"], np.random.default_rng(seed))
        return rows, {"seconds": float(found["seconds"]), "peak": int(found["peak"])}


def cell(table, yardstick, method, epsilon, seed, python):
    """Return one row of results."""
    if method == "real":
        rows, took = table.train, {}
    elif method.startswith("ours"):
        rows, took = ours(table, epsilon, seed, pure=method == "ours_pure")
    else:
        rows, took = peers(table, method, epsilon, seed, python)
    key = dict(zip(KEYS, (table.name, method, epsilon, seed), strict=True))
    measured = {name: round(float(value), 5) for name, value in yardstick.measures(rows).items()}
    return key | {"tuned": table.tuned} | measured | {n: round(v, 2) for n, v in took.items()}


def main():
    """Measure what is not yet there."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--peer", default="python")
    parser.add_argument("--data", type=Path, help="folder with the tables")
    parser.add_argument("--tables", nargs="+", default=list(TABLES))
    parser.add_argument("--epsilons", nargs="+", type=float, default=[0.3, 1.0, 3.0])
    parser.add_argument("--methods", nargs="+", default=["real", "ours", "ours_pure", "aim", "mst"])
    parser.add_argument("--seeds", type=int, default=1)
    given = parser.parse_args()
    if given.data is None:
        print("No tables in --data: nothing to measure.")
        return
    known = {tuple(row[key] for key in KEYS) for row in RESULTS.read([])}
    for name in given.tables:
        table = load(name, given.data)
        yardstick = Yardstick(table)
        for epsilon, method, seed in product(given.epsilons, given.methods, range(given.seeds)):
            if method == "real":
                epsilon, seed = 0.0, 0
            if (table.name, method, epsilon, seed) in known:
                continue
            row = cell(table, yardstick, method, epsilon, seed, given.peer)
            known.add((table.name, method, epsilon, seed))
            RESULTS.merge([row], KEYS)
            print(row, flush=True)


if __name__ == "__main__":
    main()
