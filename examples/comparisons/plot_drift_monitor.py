"""
===================================
Monitor drift with a private sketch
===================================

A model was trained on private rows. Every week, new rows arrive that are not private, for example
from a test rig. Do they still look like the training rows? A weekly comparison with the private
rows would spend budget every week. A sketch spends budget only once.
"""

# %%
# The release
# -----------
# The sketch is charged to the budget of the training rows. After that, the rows are no longer
# needed.

import matplotlib.pyplot as plt
import numpy as np

from skdp_bary import BudgetAccountant, DPSlicedWasserstein

rng = np.random.default_rng(0)
training = rng.normal(size=(30_000, 4)) * [0.3, 0.2, 0.2, 0.1]
budget = BudgetAccountant(epsilon=1.0, delta=1e-6)
monitor = DPSlicedWasserstein(
    epsilon=0.5, delta=1e-6, bounds=(-1, 1), n_min=20_000, accountant=budget
).fit(training)
del training

# %%
# A year of weeks
# ---------------
# From week 30 on the third feature drifts. Comparing a release with public rows has no privacy
# cost.

weeks, distances, errors = np.arange(52), [], []
for week in weeks:
    drift = 0.01 * max(0, week - 30)
    rows = rng.normal(size=(2_000, 4)) * [0.3, 0.2, 0.2, 0.1] + [0.0, 0.0, drift, 0.0]
    distance, error = monitor.distance(rows, return_std=True)
    distances.append(distance)
    errors.append(error)
print(f"spent after {len(weeks)} comparisons: {budget.total()}")

# %%
# The bars show the error due to the noise. The noise was drawn once, so it shifts all weeks
# together. The first weeks show how much samples differ without drift.

quiet = np.array(distances[:20])
alarm = quiet.mean() + 5 * quiet.std()
first = next(week for week in weeks if distances[week] > alarm)
print(f"first alarm in week {first}")

plt.errorbar(weeks, distances, yerr=2 * np.array(errors), fmt="o", ms=3, label="distance")
plt.axhline(alarm, color="firebrick", ls="--", label="alarm")
plt.axvline(30, color="gray", lw=1, label="drift begins")
plt.xlabel("week")
plt.ylabel("sliced distance to the training rows")
plt.legend()
plt.show()
