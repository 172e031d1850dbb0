"""Level of tests between two released drift sketches where nothing differs.

Share of pairs of sketches with a p-value of at most 0.05 and 0.01, at 1000 rows a sketch, for six
laws in 2, 10 and 50 features, three epsilons and both relations. In every setting the noise counts
otherwise: at the smallest epsilon it is nearly all of a difference, at the largest hardly any.

``python -m benchmarks.two_sample.drift_level [--runs 300]``
"""

import argparse
import warnings
import zlib
from itertools import product

import numpy as np

from benchmarks.recording import Results
from benchmarks.two_sample.level import LAWS
from skdp_bary import PrivateDriftSketch
from skdp_bary.exceptions import PrivacyWarning

RESULTS = Results("two_sample_drift_level")
N_ROWS = 1000
EPSILONS = (0.3, 1.0, 5.0)
RELATIONS = ("add_remove", "replace_one")
DRIFT_LAWS = LAWS | {
    "zeros and ones": lambda rng, size: (rng.random(size) < 0.3).astype(float),
    "counts": lambda rng, size: rng.poisson(1.0, size) / 5.0,
}


def p_value(law, n_features, epsilon, neighbors, run):
    """Return the p-value of two sketches of one law."""
    seed = zlib.crc32(f"{law}, {n_features}, {epsilon}, {neighbors}, {run}".encode())
    rng = np.random.default_rng(seed)
    before, after = (
        PrivateDriftSketch(
            epsilon=epsilon,
            bounds=(-1, 1),
            neighbors=neighbors,
            random_state=int(rng.integers(1 << 31)),
        ).fit(np.clip(DRIFT_LAWS[law](rng, (N_ROWS, n_features)), -1.0, 1.0))
        for _ in range(2)
    )
    return after.test(before, n_resamples=399, random_state=seed).pvalue


def measure(law, n_features, epsilon, neighbors, runs):
    """Return a line of results."""
    found = [p_value(law, n_features, epsilon, neighbors, run) for run in range(runs)]
    line = {"law": law, "d": n_features, "epsilon": epsilon, "neighbors": neighbors, "runs": runs}
    shares = {str(level): np.mean(np.array(found) <= level) for level in (0.05, 0.01)}
    return line | {level: round(float(share), 4) for level, share in shares.items()}


def main():
    """Measure all laws in 2, 10 and 50 features."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=300)
    runs = parser.parse_args().runs
    warnings.simplefilter("ignore", PrivacyWarning)
    for setting in product(DRIFT_LAWS, (2, 10, 50), EPSILONS, RELATIONS):
        line = measure(*setting, runs)
        RESULTS.merge([line], ("law", "d", "epsilon", "neighbors"))
        print(line, flush=True)


if __name__ == "__main__":
    main()
