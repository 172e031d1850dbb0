"""
=================================
Private cluster centers of digits
=================================

The centers of clusters of handwritten digits are pictures themselves. With 64 pixels and few
writers, accurate private centers are difficult; this example shows what helps.
"""

# %%
# scikit-learn has 1797 digits. Each is repeated here with a little random variation, to simulate
# 30,000 writers. Pixels are divided by their public maximum.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits

from skdp_bary import PrivateKMeans
from skdp_bary.plotting import ClusterDisplay

rng = np.random.default_rng(0)
digits = load_digits().data / 16.0
X = digits[rng.integers(len(digits), size=30_000)]
X = np.clip(X + 0.05 * rng.standard_normal(X.shape), 0, 1)

# %%
# Before the fit, ``noise_level`` shows which kind of noise can work. With 64 features, Gaussian
# noise, which needs a small ``delta``, is far below Laplace noise.

print(PrivateKMeans(10, bounds=(0, 1), n_hint=30_000).noise_level(64))

kmeans = PrivateKMeans(10, epsilon=1.0, delta=1e-6, bounds=(0, 1), n_hint=30_000).fit(X)
ClusterDisplay.from_estimator(kmeans, image_shape=(8, 8))

# %%
# Compare the cost with that without privacy, and with that of a single mean of all pictures:

best = -KMeans(10, n_init=3, random_state=0).fit(X).score(X) / len(X)
single = ((X - X.mean(axis=0)) ** 2).sum(axis=1).mean()
print(f"private {-kmeans.score(X) / len(X):.3f}, exact {best:.3f}, one mean {single:.3f}")
plt.show()
