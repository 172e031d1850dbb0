"""
===========================================
Person-level privacy with uneven row counts
===========================================

On most platforms, a few people have most of the rows. This example shows the effect on a map, and
on the guarantee, with and without person IDs.
"""

# %%
# Check-ins
# ---------
# Most people of this simulated city check in a few times, some very often.

import matplotlib.pyplot as plt
import numpy as np

from skdp_bary import PrivateEMDHeatmap
from skdp_bary.datasets import CITY_BOUNDS, make_city_checkins
from skdp_bary.inspection import replay_sensitivity
from skdp_bary.metrics import similarity
from skdp_bary.plotting import HeatmapDisplay

X, people = make_city_checkins(n_people=400, random_state=0)
# a courier who reports a place every few minutes, in one corner of the city
rng = np.random.default_rng(0)
courier = np.clip([17.5, 3.0] + 0.4 * rng.standard_normal((4000, 2)), *CITY_BOUNDS)
X, people = np.vstack([X, courier]), np.r_[people, np.full(len(courier), people.max() + 1)]

visits = np.bincount(people)
busiest = np.sort(visits)[::-1]
print(f"the busiest tenth has {busiest[: len(busiest) // 10].sum() / len(X):.0%} of the check-ins")

# %%
# Two maps
# --------
# Without ``groups``, each row counts as a person, and a single courier looks like a crowd. With
# ``groups``, each person has a mass of one, divided among their rows.

by_rows = PrivateEMDHeatmap(1.0, bounds=CITY_BOUNDS, n_hint=8000).fit(X)
by_people = PrivateEMDHeatmap(1.0, bounds=CITY_BOUNDS, n_hint=400).fit(X, groups=people)
_, axes = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
for ax, model, title in zip(axes, (by_rows, by_people), ("rows", "people"), strict=True):
    HeatmapDisplay.from_estimator(model, ax=ax).axes_[0].set_title(
        f"every one of the {title} counts"
    )
plt.show()
print(f"similarity of the two maps: {similarity(by_rows.heatmap_, by_people.heatmap_):.2f}")

# %%
# Two guarantees
# --------------
# A replay of the fit without the courier shows how much one person changes the release. With
# ``groups``, the noise covers this change. Without ``groups``, the noise covers one row, not the
# thousands of rows of the courier.

others = people < people.max()
small = {"bounds": CITY_BOUNDS, "resolution": 64, "n_hint": 400}
heatmap = PrivateEMDHeatmap(1.0, **small)
protected = replay_sensitivity(
    heatmap, {"X": X[others], "groups": people[others]}, {"X": X, "groups": people}
)
print(f"with groups: at most {max(s.ratio for s in protected.steps):.2f} of the stated sensitivity")
exposed = replay_sensitivity(heatmap, X[others], X)
print(f"without: {max(s.ratio for s in exposed.steps):.0f} times the stated sensitivity")
