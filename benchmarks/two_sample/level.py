"""Level of the private two-sample test where nothing differs and samples are small.

Share of runs with a p-value of at most 0.05 and 0.01, at 500 rows a cohort, epsilon 1 and private
sizes: normal rows, rows with heavy tails that bounds cut, and discrete rows with rare values.

``python -m benchmarks.two_sample.level [--runs 200]``
"""

import argparse
import warnings

import numpy as np

from benchmarks.recording import Results
from skdp_bary import PrivateTwoSampleTest
from skdp_bary.exceptions import PrivacyWarning

RESULTS = Results("two_sample_level")
N_ROWS, EPSILON = 500, 1.0
LAWS = {
    "normal": lambda rng, size: 0.3 * rng.standard_normal(size),
    "heavy tails": lambda rng, size: 0.2 * rng.standard_t(2, size),
    "discrete": lambda rng, size: rng.choice(
        [-0.8, -0.2, 0.1, 0.9], size, p=[0.02, 0.48, 0.48, 0.02]
    ),
}


def p_value(name, n_features, run):
    """Return the p-value of one pair of cohorts of one law."""
    rng = np.random.default_rng([run, n_features])
    rows = np.clip(LAWS[name](rng, (2 * N_ROWS, n_features)), -1.0, 1.0)
    cohorts = np.repeat([0, 1], N_ROWS)
    test = PrivateTwoSampleTest(epsilon=EPSILON, bounds=(-1, 1), classes=[0, 1], random_state=run)
    return test.fit(rows, cohorts).pvalue_


def main():
    """Measure all laws in 2 and 10 features."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=200)
    runs = parser.parse_args().runs
    warnings.simplefilter("ignore", PrivacyWarning)
    for n_features in (2, 10):
        for name in LAWS:
            values = np.array([p_value(name, n_features, run) for run in range(runs)])
            row = {"law": name, "d": n_features, "runs": runs}
            row |= {str(level): float((values <= level).mean()) for level in (0.05, 0.01)}
            RESULTS.merge([row], ("law", "d"))
            print(row, flush=True)


if __name__ == "__main__":
    main()
