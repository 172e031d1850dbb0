"""Draw the pictures of the user guide, on generated rows and from the results of the benchmarks.

``python doc/figures/draw_guides.py [NAME ...]``; noise is fresh, so no two runs
draw the same picture.
"""

import argparse
import warnings

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from evidence import DOC, read
from scipy.stats import norm

from skdp_bary import (
    BudgetAccountant,
    DPSlicedWasserstein,
    JLTransformer,
    PrivateEMDHeatmap,
    PrivateKMeans,
    PrivateMeasure,
)
from skdp_bary.datasets import CITY_BOUNDS, make_city_checkins
from skdp_bary.exceptions import PrivacyWarning
from skdp_bary.plotting import BudgetDisplay, ClusterDisplay, HeatmapDisplay, MeasureDisplay
from skdp_bary.privacy.mechanisms import gaussian_mu

WIDTH = 9.0
LEVEL, POWER = 0.05, 0.8
DELTA = 1e-6


def pair(height=3.6, **settings):
    """Return a figure with two panels."""
    return plt.subplots(1, 2, figsize=(WIDTH, height), layout="constrained", **settings)


def save(figure, name):
    """Write a picture and forget it."""
    figure.savefig(DOC / "images" / f"{name}.png", dpi=70)
    plt.close(figure)


def draw_choosing():
    """Draw what an attacker can do at an epsilon, and what the epsilon buys."""
    figure, (left, right) = pair()
    epsilons = np.geomspace(0.05, 10, 60)
    share = np.exp(epsilons) / (1 + np.exp(epsilons))
    gaussian = [norm.cdf(gaussian_mu(epsilon, DELTA) / 2) for epsilon in epsilons]
    left.plot(epsilons, share, color="firebrick", label="delta = 0: at most")
    left.plot(epsilons, gaussian, color="C0", label=f"one Gaussian release, delta = {DELTA:g}")
    left.axhline(0.5, color="black", linestyle=":", label="a coin")
    left.set(xscale="log", xlabel="epsilon", ylabel="how often a guess is right", ylim=(0.45, 1.25))
    left.legend(loc="upper left", fontsize=9)
    rows = read("heatmap_cities_epsilon")
    for name, color in (("adaptive", "C0"), ("laplace", "gray")):
        mean, half = np.array([row["metrics"][name]["similarity"] for row in rows]).T
        right.errorbar([row["epsilon"] for row in rows], mean, half, color=color, label=name)
    right.set(xscale="log", xlabel="epsilon", ylabel="similarity to the true map", ylim=(0, 1))
    right.set_title("heatmaps of 200 people")
    right.legend()
    save(figure, "choosing")


def draw_heatmap():
    """Draw a heatmap and its uncertainty."""
    X, people = make_city_checkins(n_people=2000, random_state=0)
    city = PrivateEMDHeatmap(epsilon=1.0, bounds=CITY_BOUNDS, n_hint=2000).fit(X, groups=people)
    figure, panels = pair(height=3.4)
    HeatmapDisplay.from_estimator(city, level=0.9, ax=panels)
    save(figure, "heatmap")


def draw_measure():
    """Draw two private measures of the same rows."""
    X, people = make_city_checkins(n_people=5000, random_state=0)
    figure, panels = pair(height=3.4)
    for axes, epsilon in zip(panels, (0.1, 1.0), strict=True):
        measure = PrivateMeasure(epsilon=epsilon, bounds=CITY_BOUNDS, n_hint=5000)
        MeasureDisplay.from_estimator(measure.fit(X, groups=people), ax=axes)
    save(figure, "measure")


def draw_kmeans():
    """Draw released centers and sizes at two budgets."""
    rng = np.random.default_rng(0)
    towns = rng.uniform(0.1, 0.9, (8, 2))
    X = np.clip(towns[rng.integers(8, size=5000)] + 0.04 * rng.standard_normal((5000, 2)), 0, 1)
    figure, panels = pair(height=3.8)
    for axes, epsilon in zip(panels, (0.1, 1.0), strict=True):
        model = PrivateKMeans(8, epsilon=epsilon, bounds=(0, 1), n_hint=5000).fit(X)
        ClusterDisplay.from_estimator(model, ax=axes)
        axes.plot(*towns.T, "+", color="black", ms=9, label="true centers")
        axes.legend()
    save(figure, "kmeans")


def detectable_shift(n, epsilon, d=5):
    """Return the shift of unit-box rows that the noise lets through with this level and power."""
    sliced = DPSlicedWasserstein(epsilon=epsilon, delta=DELTA, bounds=(0, 1), n_min=n)
    sliced.fit(np.full((1, d), 0.5))  # the rest is padding: the noise follows from n_min alone
    size, s = sliced.quantiles_.size, sliced.noise_std_
    limit = norm.isf(LEVEL) * np.sqrt(2 / size) * s**2
    grid = np.geomspace(1e-12, 1e2, 4000)
    least = limit + norm.ppf(POWER) * np.sqrt((4 * s**2 * grid + 2 * s**4) / size)
    return float(np.sqrt(d * grid[np.argmax(grid > least)]))


def draw_sliced():
    """Draw which shifts a sketch can tell from none."""
    figure, axes = plt.subplots(figsize=(5.5, 3.6), layout="constrained")
    sizes = np.geomspace(300, 300_000, 10).astype(int)
    for epsilon, color in zip((0.1, 1.0, 5.0), ("firebrick", "C0", "C2"), strict=True):
        shifts = [detectable_shift(n, epsilon) for n in sizes]
        axes.plot(sizes, shifts, color=color, label=f"noise at epsilon = {epsilon:g}")
    sampling = 0.2 * (norm.isf(LEVEL) + norm.ppf(POWER)) / np.sqrt(sizes)
    axes.plot(sizes, sampling, color="black", linestyle=":", label="sampling, one known direction")
    axes.set(xscale="log", yscale="log", xlabel="persons (n_min)", ylabel="smallest shift seen")
    axes.legend()
    save(figure, "sliced")


def draw_transformers():
    """Draw how well distances survive a public projection."""
    rng = np.random.default_rng(0)
    X = rng.random((400, 300))
    figure, axes = plt.subplots(figsize=(5.5, 3.4), layout="constrained")
    first, second = X[:200], X[200:]
    for n_components, color in ((3, "firebrick"), (10, "C0"), (50, "C2")):
        projection = JLTransformer(n_components, bounds=(0, 1), random_state=0).fit(X)
        moved = projection.transform(first) - projection.transform(second)
        ratio = np.linalg.norm(moved, axis=1) / np.linalg.norm(first - second, axis=1)
        ratio /= np.sqrt(np.mean(ratio**2))
        axes.hist(ratio, bins=30, range=(0, 2), histtype="step", color=color, label=n_components)
    axes.set(xlabel="projected distance / distance, up to one factor", ylabel="pairs of rows")
    axes.legend(title="components")
    save(figure, "transformers")


def draw_budget():
    """Draw a budget with five entries."""
    budget = BudgetAccountant(epsilon=2.0)
    X = np.random.default_rng(0).random((2000, 2))
    PrivateMeasure(0.5, bounds=(0, 1), n_hint=2000, accountant=budget).fit(X)
    PrivateKMeans(3, epsilon=0.4, bounds=(0, 1), n_hint=2000, accountant=budget).fit(X)
    for region in ("north", "south"):
        part = budget.part(region)
        PrivateEMDHeatmap(0.3, bounds=(0, 1), n_hint=1000, accountant=part).fit(X[:1000])
    BudgetDisplay.from_accountant(budget)
    save(plt.gcf(), "budget")


DRAWINGS = {
    "choosing": draw_choosing,
    "heatmap": draw_heatmap,
    "measure": draw_measure,
    "kmeans": draw_kmeans,
    "sliced": draw_sliced,
    "transformers": draw_transformers,
    "budget": draw_budget,
}


def main():
    """Parse the command line and draw."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(DRAWINGS)}")
    chosen = parser.parse_args().names or DRAWINGS
    warnings.simplefilter("ignore", PrivacyWarning)
    for name in chosen:
        DRAWINGS[name]()


if __name__ == "__main__":
    main()
