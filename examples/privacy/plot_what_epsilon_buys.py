"""
===================
Accuracy by epsilon
===================

Epsilon limits what anyone can learn about one person from the release. A smaller epsilon needs
more noise, but among more people the same noise matters less. How accurate is the release?

This example uses simulated rows. The distances below are computed from exact rows, so they must
not be published for real data.
"""

# %%
# Three clusters in the unit square. The distance is the mean Wasserstein distance over projections.

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import wasserstein_distance
from sklearn.datasets import make_blobs

from skdp_bary import PrivateMeasure

DIRECTIONS = [(1, 0), (0, 1), (np.sqrt(0.5), np.sqrt(0.5)), (np.sqrt(0.5), -np.sqrt(0.5))]
CENTERS = [(0.25, 0.3), (0.7, 0.35), (0.5, 0.75)]


def distance(X, measure):
    """Mean distance between projections of rows and release."""
    return np.mean(
        [
            wasserstein_distance(X @ u, measure.support_ @ u, v_weights=measure.weights_)
            for u in DIRECTIONS
        ]
    )


sizes = [300, 1_000, 3_000, 10_000, 30_000]
epsilons = [0.1, 0.3, 1.0, 3.0]
errors = np.empty((len(epsilons), len(sizes)))
for j, n in enumerate(sizes):
    X, _ = make_blobs(n, centers=CENTERS, cluster_std=0.06, random_state=j)
    for i, epsilon in enumerate(epsilons):
        fits = [PrivateMeasure(epsilon, bounds=(0, 1), n_hint=n).fit(X) for _ in range(2)]
        errors[i, j] = np.mean([distance(X, measure) for measure in fits])

# %%
# Accuracy depends on the product of epsilon and the number of people: ten times the people allow a
# tenth of the epsilon at about the same accuracy.

fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4), sharey=True, layout="constrained")
for i, epsilon in enumerate(epsilons):
    left.loglog(sizes, errors[i], "o-", label=f"epsilon={epsilon}")
    right.loglog(epsilon * np.array(sizes), errors[i], "o", label=f"epsilon={epsilon}")
left.set(xlabel="number of people", ylabel="distance to the rows")
right.set(xlabel="epsilon times number of people")
left.legend()
plt.show()

# %%
# A curve cannot choose epsilon for you. A release changes the odds of any fact about a person by
# a factor of at most ``exp(epsilon)``.

for epsilon in epsilons:
    print(f"epsilon={epsilon}: odds change by a factor of at most {np.exp(epsilon):.2f}")
