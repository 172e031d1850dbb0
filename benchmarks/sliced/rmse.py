"""Error of the squared sliced distance between private and public rows, four ways, six settings.

The columns are root mean squared errors over runs that draw rows and noise anew, beside the exact
distance of the rows on the same directions:

- "paper": noise on the projections of both sides before sorting (Rakotomamonjy and Ralaivola,
  2021), with the noise of the paper's Bernstein bound;
- "paper, exact": the same with the smallest noise that has the guarantee;
- "sketch" and "scalar": two methods of ``DPSlicedWasserstein``.

All have epsilon = 1 for replacing one row of a ball of radius 1, delta = 1e-5 ("scalar": 0), and
tight frames. ``python -m benchmarks.sliced.rmse [--runs 20]``
"""

import argparse
import math
import warnings
from dataclasses import dataclass

import numpy as np

from benchmarks.recording import Results
from skdp_bary import DPSlicedWasserstein
from skdp_bary.exceptions import PrivacyWarning
from skdp_bary.geometry import Ball
from skdp_bary.geometry.linear_maps import tight_frame
from skdp_bary.papers import bernstein_bound, calibrate_sigma
from skdp_bary.privacy.mechanisms import gaussian_mu

RESULTS = Results("sliced_rmse")
EPSILON, DELTA = 1.0, 1e-5
GOALS = {  # measured once for "sketch" and "scalar" on data of this kind
    "500,10,50 shift": (5.5e-3, 1.9e-3),
    "5000,2,20 shift": (2.5e-3, 6.7e-4),
    "5000,10,50 bimodal": (4.8e-4, 1.5e-4),
    "5000,50,100 scale": (1.3e-4, 4.4e-5),
    "50000,10,50 shift": (5.1e-5, 3.7e-5),
    "50000,10,50 same": (1.3e-5, 3.7e-5),
}


@dataclass(frozen=True)
class Setting:
    """Sizes and the kind of difference between the two sides."""

    n: int
    d: int
    k: int
    kind: str

    @classmethod
    def parse(cls, name):
        """Read a name such as "500,10,50 shift"."""
        sizes, kind = name.split()
        return cls(*map(int, sizes.split(",")), kind)

    def draw(self, rng):
        """Return private and public rows."""
        scale = 0.5 / math.sqrt(self.d)
        X, Y = (scale * rng.standard_normal((self.n, self.d)) for _ in range(2))
        first = np.eye(self.d)[0]
        if self.kind == "shift":
            X += 0.3 * first
        elif self.kind == "bimodal":
            X += 0.5 * rng.choice([-1.0, 1.0], size=(self.n, 1)) * first
        elif self.kind == "scale":
            X *= 1.0 + 0.04 / scale
        ball = Ball(np.zeros(self.d), 1.0)
        return ball.clip(X), ball.clip(Y)


def sorted_cost(X, Y, directions, sigma=0.0, rng=None):
    """Return the mean squared difference of sorted projections, with noise on both sides."""
    sides = [rows @ directions for rows in (X, Y)]
    if sigma:
        sides = [side + sigma * rng.standard_normal(side.shape) for side in sides]
    X, Y = (np.sort(np.ascontiguousarray(side.T), axis=1) for side in sides)
    return float(np.mean((X - Y) ** 2))


def noise_scales(setting):
    """Return the noise of the two recipes for rows, of diameter 2."""
    d, k = setting.d, setting.k
    bound = bernstein_bound(d, k, DELTA / 2)
    paper = 2.0 * math.sqrt(bound) / gaussian_mu(EPSILON, DELTA / 2)
    exact = calibrate_sigma(EPSILON, DELTA, n_features=d, n_projections=k, diameter=2.0)
    return {"paper": paper, "paper, exact": exact}


def estimates(setting, X, Y, directions, seed):
    """Return every estimate of one run."""
    rng = np.random.default_rng([seed, 1])
    found = {
        name: sorted_cost(X, Y, directions, sigma, rng)
        for name, sigma in noise_scales(setting).items()
    }
    common = {
        "bounds": Ball(np.zeros(setting.d), 1.0),
        "directions": directions,
        "neighbors": "replace_one",
        "epsilon": EPSILON,
        "random_state": seed,
    }
    found["sketch"] = DPSlicedWasserstein(delta=DELTA, **common).fit(X).cost(Y)
    scalar = DPSlicedWasserstein(method="scalar", delta=0.0, reference=Y, **common)
    found["scalar"] = scalar.fit(X).cost()
    return found


def measure(name, runs):
    """Return the errors of one setting."""
    setting = Setting.parse(name)
    errors, truths = [], []
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        directions = tight_frame(setting.d, setting.k, rng)
        X, Y = setting.draw(rng)
        truth = sorted_cost(X, Y, directions)
        truths.append(truth)
        found = estimates(setting, X, Y, directions, seed)
        errors.append({way: value - truth for way, value in found.items()})
    rmse = {way: math.sqrt(np.mean([e[way] ** 2 for e in errors])) for way in errors[0]}
    return {"true": float(np.mean(truths)), "rmse": rmse, "goals": GOALS[name]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=20)
    runs = parser.parse_args().runs
    warnings.simplefilter("ignore", PrivacyWarning)
    results = {}
    for name in GOALS:
        results[name] = measure(name, runs)
        rmse = " ".join(f"{way} {value:.2g}" for way, value in results[name]["rmse"].items())
        print(f"{name:20} true {results[name]['true']:.2g}: {rmse}  goals {GOALS[name]}")
    RESULTS.write({"runs": runs, "settings": results})


if __name__ == "__main__":
    main()
