"""
==========================
Clustering cost by epsilon
==========================

This example plots the cost by epsilon, for both kinds of noise, with few and with many features.
It uses simulated rows, because exact costs on private rows must not be published.
"""

# %%
# Clusters are well separated, so a wrong center is expensive. The cost is relative to that of
# scikit-learn's KMeans.

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans

from skdp_bary import PrivateKMeans
from skdp_bary.exceptions import PrivacyWarning

# some of the settings below are meant to be too noisy
warnings.simplefilter("ignore", PrivacyWarning)

N, K = 20_000, 8
EPSILONS = [0.1, 0.2, 0.5, 1.0, 2.0]


def make_rows(n_features):
    """Return clusters in the box from -1 to 1."""
    rng = np.random.default_rng(0)
    centers = rng.uniform(-0.9, 0.9, (K, n_features))
    rows = centers[rng.integers(K, size=N)]
    return np.clip(rows + 0.05 * rng.standard_normal(rows.shape), -1, 1)


fig, axes = plt.subplots(1, 2, figsize=(9, 3.5), layout="constrained", sharey=True)
for ax, n_features in zip(axes, (2, 30), strict=True):
    X = make_rows(n_features)
    best = KMeans(K, n_init=3, random_state=0).fit(X).score(X)
    for delta in (0.0, 1e-6):
        ratios = []
        for epsilon in EPSILONS:
            kmeans = PrivateKMeans(K, epsilon=epsilon, delta=delta, bounds=(-1, 1), n_hint=N)
            ratios.append(np.median([kmeans.fit(X).score(X) / best for _ in range(3)]))
        ax.loglog(EPSILONS, ratios, marker="o", label=f"delta={delta:g}")
    ax.set(title=f"{n_features} features", xlabel="epsilon")
axes[0].set_ylabel("cost relative to KMeans")
axes[0].legend()
plt.show()
