"""
============================
Compare two hospital cohorts
============================

Two hospitals measured age and blood pressure. Neither may show its rows. One call of
:class:`~skdp_bary.PrivateTwoSampleTest` says whether both have patients of one kind; a
:class:`~skdp_bary.PrivateDriftSketch` of each says where they differ.
"""

# %%
# The rows
# --------
# Most patients are alike. The south has, beside them, a few hundred who are older and have a high
# blood pressure. Which ages and pressures are possible is known to medicine.

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
# The label of a row says which hospital it is of. How many patients a hospital has is no secret
# here, so nothing is spent on it.

budget = BudgetAccountant(epsilon=3.0, delta=1e-5, neighbors="replace_one")
X, hospital = np.vstack([north, south]), np.repeat(["north", "south"], 4000)
test = PrivateTwoSampleTest(epsilon=1.0, bounds=BOUNDS, accountant=budget).fit(X, hospital)
low, high = test.result_.interval
print(f"p = {test.pvalue_:.4f}; the distance of the laws is between {low:.3f} and {high:.3f}")

# %%
# The number that was released lies far from where it would lie for patients of one kind, by
# simulation with the noise.

plt.figure(figsize=(6, 3), layout="constrained")
plt.hist(test.result_.null, bins=40, color="tab:gray", label="patients of one kind")
plt.axvline(test.statistic_, color="tab:red", label="released")
plt.xlabel("distance of the hospitals")
plt.legend()
plt.show()

# %%
# Where do they differ?
# ---------------------
# One number cannot say where. Two sketches can, and each may be compared with any other hospital
# later. A patient is in one hospital, so the sketches are about different people, which the budget
# knows from the names of its parts: both together cost what one costs.

sketches = [
    PrivateDriftSketch(epsilon=2.0, bounds=BOUNDS, accountant=budget.part(name)).fit(rows)
    for name, rows in (("north", north), ("south", south))
]
display = ContrastDisplay.from_sketches(*reversed(sketches))
display.axes_.set(xlabel="age", ylabel="blood pressure", title="more (red) and less in the south")
plt.show()

# %%
# What all of it cost
# -------------------

print(budget)
