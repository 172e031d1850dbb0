"""
=====================
Private map of a city
=====================

An operator knows where its users checked in. It wants to publish a map of the city for planners,
but must not reveal where any single user has been.

:class:`~skdp_bary.PrivateMeasure` releases a discrete measure: weighted points close to the
distribution of the users in Wasserstein distance. Plotting it, sampling from it and computing
with it has no further privacy cost.
"""

# %%
# The rows
# --------
# The city is simulated, with a person ID for every check-in. The bounds of the map are public:
# they are the bounds of the city, not of the data.

import matplotlib.pyplot as plt
import numpy as np

from skdp_bary import PrivateMeasure
from skdp_bary.datasets import CITY_BOUNDS, make_city_checkins
from skdp_bary.plotting import MeasureDisplay

X, people = make_city_checkins(n_people=20_000, random_state=0)
visits = np.bincount(people)
print(f"{len(X)} check-ins of {len(visits)} people; the busiest one has {visits.max()} of them")

# %%
# The release
# -----------
# With ``groups`` all check-ins of a person are protected together, and each person counts once.
# Without ``groups``, the guarantee covers single check-ins only.

measure = PrivateMeasure(epsilon=1.0, bounds=CITY_BOUNDS).fit(X, groups=people)
print(f"{len(measure.weights_)} points; about {measure.total_:.0f} people")

# %%
# The data owner may compare both maps. Do not publish the left one. It counts rows, whereas the
# release counts people, so the most active users have more weight on the left.

MeasureDisplay.from_comparison(measure, X)
plt.show()

# %%
# Synthetic rows
# --------------
# Samples come from the release, not from the data, so any number of samples has no privacy cost.

synthetic = measure.sample(5_000)
MeasureDisplay.from_estimator(measure)
plt.plot(*synthetic.T, ".", ms=1.5, color="white", alpha=0.5)
plt.show()

# %%
# The same statistic of the synthetic rows and of the people:

center = [9.5, 10.5]
weight = 1 / visits[people]
near_truth = np.average(np.linalg.norm(X - center, axis=1) < 2, weights=weight)
near_synthetic = np.mean(np.linalg.norm(synthetic - center, axis=1) < 2)
print(f"within 2 km of the center: {near_truth:.1%} of the people's time (not private)")
print(f"                           {near_synthetic:.1%} of the synthetic rows")
