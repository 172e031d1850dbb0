"""Whether moving the numbers of drawn rows to noisy slices of the real ones brings them closer.

The numbers of real rows, in units of their public ranges, are projected on twelve public lines, and
their histograms on 512 cells a line are released with Gaussian noise for a fifth of ``mu**2``; a
row is in one cell a line, so joining moves them by the root of 12. A PrivateTable has the rest of
the budget. Its draws are moved by sliced transport, eight rounds, to the denoised histograms.
Beside it stand the draws of the whole budget, and these moved to exact histograms, which bounds
what any noisy ones can do. Rows with a missing number stay. Noise is floating-point: a measurement
and no release.

``python -m benchmarks.table.slices --data DIR [--tables insurance ...] [--epsilons 1 10]``.
"""

import argparse
import warnings
from itertools import product
from pathlib import Path

import numpy as np
from scipy.optimize import brentq

from benchmarks.recording import Results
from benchmarks.table.compare import DELTA, ours
from benchmarks.table.quality import Yardstick
from benchmarks.table.tables import load
from skdp_bary.estimators.table_queries import Thresholds, clean_line
from skdp_bary.exceptions import PrivacyWarning
from skdp_bary.privacy.mechanisms import gaussian_mu

RESULTS = Results("table_slices")
KEYS = ("table", "epsilon", "rows")
N_LINES, N_CELLS, SHARE, ROUNDS = 12, 512, 0.2, 8
MEASURED = ("tvd1", "tvd2", "w1", "sw1")


class Numbers:
    """The numbers of a table in units of their public ranges.

    Parameters
    ----------
    table : Table
    """

    def __init__(self, table):
        self.kinds = {n: k for n, k in table.schema.columns if k.word in ("number", "integer")}
        self.low = np.array([kind.low for kind in self.kinds.values()], dtype=float)
        self.width = np.array([kind.high for kind in self.kinds.values()], dtype=float) - self.low
        lines = np.random.default_rng(0).standard_normal((len(self.kinds), N_LINES))
        self.lines = lines / np.linalg.norm(lines, axis=0)
        reach = np.sqrt(len(self.kinds))
        self.edges = np.linspace(-reach, reach, N_CELLS + 1)

    def units(self, rows):
        """Return the numbers of the rows, and which rows have all of them."""
        values = (rows[list(self.kinds)].to_numpy(dtype=float) - self.low) / self.width
        return values, ~np.isnan(values).any(axis=1)

    def replaced(self, rows, units):
        """Return rows with other numbers."""
        rows, values = rows.copy(), self.low + np.clip(units, 0.0, 1.0) * self.width
        for place, (name, kind) in enumerate(self.kinds.items()):
            whole = kind.word == "integer"
            rows[name] = np.rint(values[:, place]) if whole else values[:, place]
        return rows

    def histograms(self, units, sd, rng):
        """Return cumulated histograms of the lines, exact or with noise and denoised."""
        counts = [np.histogram(units @ line, self.edges)[0] for line in self.lines.T]
        if sd:
            noisy = [found + sd * rng.standard_normal(N_CELLS) for found in counts]
            known = np.zeros(N_CELLS, dtype=bool), sd, len(units), 1, Thresholds.of(False)
            counts = [clean_line(found, *known) for found in noisy]
        return [np.r_[0.0, np.cumsum(found)] / found.sum() for found in counts]

    def moved(self, units, wanted):
        """Return units moved to histograms, one share of the sliced transport a round."""
        levels, units = (np.arange(len(units)) + 0.5) / len(units), units.copy()
        for _ in range(ROUNDS):
            moves = np.zeros_like(units)
            for line, target in zip(self.lines.T, wanted, strict=True):
                order = np.argsort(units @ line, kind="stable")
                own = np.r_[0, np.cumsum(np.histogram(units @ line, self.edges)[0])] / len(units)
                gaps = [np.interp(levels, found, self.edges) for found in (target, own)]
                moves[order] += np.outer(gaps[0] - gaps[1], line)
            units = np.clip(units + 0.5 * moves * units.shape[1] / N_LINES, 0.0, 1.0)
        return units


def rest_of(epsilon):
    """Return the epsilon of a PrivateTable beside the slices, and the noise of a cell of these."""
    mu = gaussian_mu(epsilon, DELTA)
    left = mu * np.sqrt(1.0 - SHARE)
    return (
        brentq(lambda e: gaussian_mu(e, DELTA) - left, 0.5 * epsilon, epsilon),
        np.sqrt(N_LINES) / (mu * np.sqrt(SHARE)),
    )


def main():
    """Measure what is not yet there."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--tables", nargs="+", default=["insurance", "diamonds"])
    parser.add_argument("--epsilons", nargs="+", type=float, default=[1.0, 10.0])
    given = parser.parse_args()
    warnings.simplefilter("ignore", PrivacyWarning)
    for name, epsilon in product(given.tables, given.epsilons):
        table = load(name, given.data)
        yardstick, numbers = Yardstick(table), Numbers(table)
        real, whole = numbers.units(table.train)
        less, sd = rest_of(epsilon)
        for kind, spent, noise in (("exact slices", epsilon, 0.0), ("noisy slices", less, sd)):
            wanted = numbers.histograms(real[whole], noise, np.random.default_rng(0))
            drawn = ours(table, spent, 0)[0]
            units, movable = numbers.units(drawn)
            units[movable] = numbers.moved(units[movable], wanted)
            before = "draws" if spent == epsilon else "draws of four fifths"
            for label, rows in ((before, drawn), (kind, numbers.replaced(drawn, units))):
                found = yardstick.distances(rows)
                row = dict(zip(KEYS, (name, epsilon, label), strict=True))
                row |= {measure: round(float(found[measure]), 4) for measure in MEASURED}
                RESULTS.merge([row], KEYS)
                print(row, flush=True)


if __name__ == "__main__":
    main()
