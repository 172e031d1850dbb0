"""Level of the private two-sample test where nothing differs and samples are small.

Share of runs with a p-value of at most 0.05 and 0.01, at 500 rows a cohort, epsilon .1 and 1 and
private sizes: normal rows, rows with heavy tails that bounds cut, discrete rows with rare values,
and rows that are zero but for one of a hundred.

``python -m benchmarks.two_sample.level [--runs 300]``
"""

import argparse
import warnings
import zlib
from itertools import product

import numpy as np

from benchmarks.recording import Results
from skdp_bary import PrivateTwoSampleTest
from skdp_bary.exceptions import PrivacyWarning

RESULTS = Results("two_sample_level")
N_ROWS, EPSILONS = 500, (0.1, 1.0)
LAWS = {
    "normal": lambda rng, size: 0.3 * rng.standard_normal(size),
    "heavy tails": lambda rng, size: 0.2 * rng.standard_t(2, size),
    "discrete": lambda rng, size: rng.choice(
        [-0.8, -0.2, 0.1, 0.9], size, p=[0.02, 0.48, 0.48, 0.02]
    ),
    "rare values": lambda rng, size: (rng.random((size[0], 1)) < 0.01) * np.full(size[1], 0.9),
}


def p_value(name, n_features, epsilon, run):
    """Return the p-value of one pair of cohorts of one law."""
    seed = zlib.crc32(f"{name}, {n_features}, {epsilon}, {run}".encode())
    rng = np.random.default_rng(seed)
    rows = np.clip(LAWS[name](rng, (2 * N_ROWS, n_features)), -1.0, 1.0)
    cohorts = np.repeat([0, 1], N_ROWS)
    test = PrivateTwoSampleTest(epsilon=epsilon, bounds=(-1, 1), classes=[0, 1], random_state=seed)
    return test.fit(rows, cohorts).pvalue_


def measure(name, n_features, epsilon, runs):
    """Return a line of results."""
    values = np.array([p_value(name, n_features, epsilon, run) for run in range(runs)])
    line = {"law": name, "d": n_features, "epsilon": epsilon, "runs": runs}
    return line | {str(level): round(float((values <= level).mean()), 4) for level in (0.05, 0.01)}


def main():
    """Measure all laws in 2, 10 and 50 features."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=300)
    runs = parser.parse_args().runs
    warnings.simplefilter("ignore", PrivacyWarning)
    for setting in product(LAWS, (2, 10, 50), EPSILONS):
        line = measure(*setting, runs)
        RESULTS.merge([line], ("law", "d", "epsilon"))
        print(line, flush=True)


if __name__ == "__main__":
    main()
