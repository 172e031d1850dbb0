"""Time importing the package, beside the imports of scikit-learn and scipy it cannot do without.

Goal: ``import skdp_bary`` in at most 1.2 times the time of ``import sklearn.base, scipy.special``.
What importing one estimator takes is reported beside it. Every import is in a fresh interpreter;
the kinds take turns and the smallest time of each counts.

``python -m benchmarks.package.import_time``
"""

import subprocess
import sys

from benchmarks.recording import Results

RESULTS = Results("import_time")
STATEMENTS = {
    "reference": "import sklearn.base, scipy.special",
    "package": "import skdp_bary",
    "estimator": "from skdp_bary import PrivateMeasure",
}
REPEATS = 7
GOAL = 1.2
_TIMED = "import time; t = time.perf_counter(); {}; print(time.perf_counter() - t)"


def import_time(statement):
    """Return the seconds of one import in a fresh interpreter."""
    code = _TIMED.format(statement)
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(out.stdout)


def main():
    times = {name: [] for name in STATEMENTS}
    for _ in range(REPEATS):
        for name, statement in STATEMENTS.items():
            times[name].append(import_time(statement))
    seconds = {name: min(values) for name, values in times.items()}
    ratios = {name: value / seconds["reference"] for name, value in seconds.items()}
    for name, statement in STATEMENTS.items():
        print(f"{statement:40} {seconds[name]:7.3f} s {ratios[name]:6.2f}x")
    result = {"goal": GOAL, "seconds": seconds, "ratios": ratios}
    RESULTS.write(result)


if __name__ == "__main__":
    main()
