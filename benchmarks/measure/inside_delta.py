"""Pure noise inside an (epsilon, delta) budget: a PrivateMeasure beside those with Gaussian noise.

A pure fit is valid inside a budget with a delta, and one count alone has three times less noise
with Laplace noise at epsilon than with Gaussian noise at (epsilon, 1e-6). The noise of Gaussian
blocks grows with the root of their number only, so it pays from nine on: a pyramid has four, "haar"
one for each level. Printed are geometric means and the largest of ratios to "haar" with Gaussian
noise, on the sets of ``benchmarks/measure/regimes.py``: 1000 rows, one seed.

``python -m benchmarks.measure.inside_delta``
"""

import time
import warnings

import numpy as np

from benchmarks.measure.regimes import ASIDE, SEEN, make_rows, metrics, released_cells
from benchmarks.recording import Results
from skdp_bary import PrivateMeasure
from skdp_bary.exceptions import PrivacyWarning

RESULTS = Results("measure_inside_delta")
N, DELTA = 1000, 1e-6
METHODS = {
    "haar, Gaussian": ("haar", DELTA),
    "pyramid, Laplace": ("pyramid", 0.0),
    "pyramid, Gaussian": ("pyramid", DELTA),
}


def errors(name, d, epsilon):
    """Return sliced W_1 and range error of every method on one set."""
    X = make_rows(name, N, d, np.random.default_rng((d, N, 0)))
    found = {}
    for label, (method, delta) in METHODS.items():
        model = PrivateMeasure(
            epsilon, delta, bounds=(0, 1), n_hint=N, method=method, random_state=0
        ).fit(X)
        found[label] = metrics(X, released_cells(model), np.random.default_rng(0))
    return found


def report(half, rows):
    """Print geometric means and largest ratios to the first method."""
    first, *others = METHODS
    for label in others:
        ratios = np.array([np.divide(row["errors"][label], row["errors"][first]) for row in rows])
        mean, largest = np.exp(np.log(ratios).mean(axis=0)), ratios.max(axis=0)
        print(f"{half:6s} {label:18s} W1 {mean[0]:.2f} (at most {largest[0]:.2f})", end="")
        print(f"  range {mean[1]:.2f} (at most {largest[1]:.2f})", flush=True)


def main():
    warnings.simplefilter("ignore", PrivacyWarning)
    rows, begin = [], time.process_time()
    for half, sets in (("seen", SEEN), ("aside", ASIDE)):
        for d in (1, 2, 3, 4):
            for name in sets:
                for epsilon in (0.1, 1.0):
                    setting = {"half": half, "set": name, "d": d, "epsilon": epsilon}
                    rows.append(setting | {"errors": errors(name, d, epsilon)})
            report(f"{half} {d}", [r for r in rows if (r["half"], r["d"]) == (half, d)])
        report(half, [row for row in rows if row["half"] == half])
    seconds = round(time.process_time() - begin, 1)
    RESULTS.write({"rows": N, "delta": DELTA, "seconds": seconds, "settings": rows})


if __name__ == "__main__":
    main()
