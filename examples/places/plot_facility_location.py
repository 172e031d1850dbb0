"""
==================================
Facility location with barycenters
==================================

A company sells three products to different customers in different places. Every distribution
center should stock the same mix of products. The best places for the centers are the atoms of the
*Wasserstein barycenter* of the three distributions of customers: each center serves an equal
share of the demand for every product, and goods travel as little as possible on average.

The homes of customers are private. The list of products is public.
"""

# %%
# Customers
# ---------
# A simulated country, with the product as label. Its borders are public.

import matplotlib.pyplot as plt
import numpy as np

from skdp_bary import BudgetAccountant, PrivateWassersteinBarycenter
from skdp_bary.datasets import COUNTRY_BOUNDS, make_population
from skdp_bary.plotting import BarycenterDisplay
from skdp_bary.transport import DiscreteMeasure, free_support_barycenter

N_CUSTOMERS, N_CENTERS = 30_000, 12
X, product = make_population(N_CUSTOMERS, n_classes=3, random_state=0)
print("customers of each product:", np.bincount(product).tolist())

# %%
# The centers
# -----------
# ``classes`` is the public set of products. The demand for a product does not depend on its number
# of customers. ``class_weights`` would change that.

budget = BudgetAccountant(epsilon=1.0)
centers = PrivateWassersteinBarycenter(
    N_CENTERS, classes=[0, 1, 2], bounds=COUNTRY_BOUNDS, n_hint=N_CUSTOMERS, accountant=budget
).fit(X, product)
print(budget)

BarycenterDisplay.from_estimator(centers)
plt.show()

# %%
# The same plot with the customers, for the data owner only:

BarycenterDisplay.from_comparison(centers, X, product)
plt.show()

# %%
# Accuracy
# --------
# ``score`` is minus the mean cost of serving the given customers, in squared degrees. It uses the
# exact rows, so it is for the data owner only.

clouds = [DiscreteMeasure(X[product == label]) for label in range(3)]
best = free_support_barycenter(clouds, N_CENTERS, n_init=10, random_state=0).cost
epsilons = [0.03, 0.1, 0.3, 1.0]
excess = []
for epsilon in epsilons:
    ratios = []
    for _ in range(3):
        model = PrivateWassersteinBarycenter(
            N_CENTERS, classes=[0, 1, 2], bounds=COUNTRY_BOUNDS, n_hint=N_CUSTOMERS, epsilon=epsilon
        ).fit(X, product)
        ratios.append(-model.score(X, product) / best)
    excess.append(np.mean(ratios) - 1)
    print(f"epsilon={epsilon}: private centers cost {np.mean(ratios):.4f} times the best")

figure, axes = plt.subplots(figsize=(6, 3.5), layout="constrained")
axes.semilogx(epsilons, 100 * np.array(excess), "o-")
axes.set(xlabel="epsilon", ylabel="extra cost in percent")
plt.show()

# %%
# Centers of new customers
# ------------------------
# ``map`` computes the center for any row, including new customers, from the release and that row.

newcomers = np.array([[10.0, 10.0], [30.0, 5.0], [50.0, 20.0]])
for place, center in zip(newcomers, centers.map(newcomers, label=0), strict=True):
    print(f"a customer at {place} is served from {center.round(1)}")
