"""
============================
Compare two hospital cohorts
============================

Two hospitals measured age and blood pressure. Neither may show its rows.
:class:`~skdp_bary.PrivateTwoSampleTest` tests whether the patients of both hospitals have the
same distribution. A :class:`~skdp_bary.PrivateDriftSketch` of each hospital shows where they
differ.
"""

# %%
# The rows
# --------
# Most patients are alike. The south also has a few hundred older patients with high blood pressure.
# The possible ages and pressures are public.

import matplotlib.pyplot as plt
import numpy as np

from skdp_bary import BudgetAccountant, PrivateDriftSketch, PrivateTwoSampleTest
from skdp_bary.geometry import Box
from skdp_bary.plotting import ContrastDisplay

BOUNDS = Box([18.0, 80.0], [100.0, 220.0])
rng = np.random.default_rng(0)
north = rng.normal([55.0, 130.0], [12.0, 15.0], size=(4000, 2))
south = rng.normal([55.0, 130.0], [12.0, 15.0], size=(4000, 2))
south[:400] = rng.normal([78.0, 175.0], [5.0, 8.0], size=(400, 2))

# %%
# One test, one charge
# --------------------
# The label of a row is its hospital. The number of patients of each hospital is public here.

budget = BudgetAccountant(epsilon=3.0, delta=1e-5, neighbors="replace_one")
X, hospital = np.vstack([north, south]), np.repeat(["north", "south"], 4000)
test = PrivateTwoSampleTest(epsilon=1.0, bounds=BOUNDS, accountant=budget).fit(X, hospital)
low, high = test.result_.interval
print(f"p = {test.pvalue_:.4f}; the distance of the laws is between {low:.3f} and {high:.3f}")

# %%
# The released distance is far from its simulated distribution for equal cohorts.

plt.figure(figsize=(6, 3), layout="constrained")
plt.hist(test.result_.null, bins=40, color="tab:gray", label="patients of one kind")
plt.axvline(test.statistic_, color="tab:red", label="released")
plt.xlabel("distance of the hospitals")
plt.legend()
plt.show()

# %%
# Location of the difference
# --------------------------
# Two sketches show where the cohorts differ, and can be compared with sketches of other hospitals
# later. The two sketches are of disjoint parts of the data, so together they cost as much as one.

sketches = [
    PrivateDriftSketch(epsilon=2.0, bounds=BOUNDS, accountant=budget.part(name)).fit(rows)
    for name, rows in (("north", north), ("south", south))
]
display = ContrastDisplay.from_estimator(*reversed(sketches))
display.axes_.set(xlabel="age", ylabel="blood pressure", title="more (red) and less in the south")
plt.show()

# %%
# Privacy cost
# ------------

print(budget)
