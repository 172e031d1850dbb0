"""
=================
Place ten offices
=================

A company knows where its customers live and wants to place offices near them. The customers'
homes are private. The ten places may be published.
"""

# %%
# The homes are simulated in the unit square. The bounds and the approximate number of customers
# are public.

import matplotlib.pyplot as plt
import numpy as np

from skdp_bary import PrivateKMeans
from skdp_bary.model_selection import choose_n_clusters
from skdp_bary.plotting import ClusterDisplay

rng = np.random.default_rng(0)
towns = rng.uniform(0.1, 0.9, (10, 2))
X = towns[rng.choice(10, size=30_000, p=rng.dirichlet(np.full(10, 3.0)))]
X = np.clip(X + 0.03 * rng.standard_normal(X.shape), 0.0, 1.0)

kmeans = PrivateKMeans(n_clusters=10, epsilon=1.0, bounds=(0, 1), n_hint=30_000).fit(X)
print(kmeans.privacy_)

# %%
# The picture is drawn from the release only. Gray points are cells that are inhabited according
# to the release. Bars are two standard deviations of the noise.

ClusterDisplay.from_estimator(kmeans)

# %%
# How many offices are needed? The same release gives the cost for every number of offices, at no
# further privacy cost.

curve = choose_n_clusters(kmeans, range(1, 21))
fig, ax = plt.subplots(layout="constrained")
ax.errorbar(curve.n_clusters, curve.inertia, yerr=2 * curve.inertia_stderr, marker="o")
ax.set(xlabel="offices", ylabel="mean squared distance", title=f"elbow at {curve.elbow}")
plt.show()
