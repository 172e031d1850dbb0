"""
============================
Private KMeans in a pipeline
============================

This pipeline turns rows into distances to cluster centers and passes them to a classifier. The
centers come from private rows; the classifier is trained on public rows.
"""

# %%
# With scikit-learn's KMeans, the pipeline would be
#
# ``make_pipeline(KMeans(30), LogisticRegression())``.
#
# Scaling uses public bounds instead of the range of the rows. Everything after the centers is
# unchanged.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from skdp_bary import PrivateKMeans

private, _ = make_moons(20_000, noise=0.1, random_state=0)
X_train, y_train = make_moons(200, noise=0.1, random_state=1)
X_test, y_test = make_moons(2_000, noise=0.1, random_state=2)

kmeans = PrivateKMeans(30, bounds=([-1.5, -1.0], [2.5, 1.5]), n_hint=20_000).fit(private)

# %%
# ``FrozenEstimator`` keeps the pipeline from fitting the centers again, on the public rows.

try:
    from sklearn.frozen import FrozenEstimator
except ImportError:  # scikit-learn before 1.6
    X_features, test_features = kmeans.transform(X_train), kmeans.transform(X_test)
    classifier = LogisticRegression(max_iter=1000).fit(X_features, y_train)
    accuracy = classifier.score(test_features, y_test)
else:
    model = make_pipeline(FrozenEstimator(kmeans), LogisticRegression(max_iter=1000))
    accuracy = model.fit(X_train, y_train).score(X_test, y_test)
plain = LogisticRegression().fit(X_train, y_train).score(X_test, y_test)
print(f"distances to private centers: {accuracy:.3f}, coordinates alone: {plain:.3f}")

# %%
# The plot shows the cells of the centers.

grid = np.stack(np.meshgrid(np.linspace(-1.5, 2.5, 300), np.linspace(-1, 1.5, 200)), axis=-1)
labels = kmeans.predict(grid.reshape(-1, 2)).reshape(200, 300)
fig, ax = plt.subplots(layout="constrained")
ax.imshow(labels, origin="lower", extent=(-1.5, 2.5, -1, 1.5), cmap="tab20", alpha=0.5)
ax.scatter(*X_train.T, c=y_train, s=6, cmap="coolwarm")
ax.scatter(*kmeans.cluster_centers_.T, marker="x", color="black")
plt.show()
