"""
=======================================
City heatmap at three values of epsilon
=======================================

Where do the users of a service go? :class:`~skdp_bary.PrivateEMDHeatmap` releases a heatmap in
which every user counts once and is protected.
"""

# %%
# Three values of epsilon
# -----------------------
# There are a few hundred people, most with a few check-ins and some with very many. The bounds of
# the city and an estimate of the number of people are public.

import matplotlib.pyplot as plt
import numpy as np

from skdp_bary import PrivateEMDHeatmap
from skdp_bary.datasets import CITY_BOUNDS, make_city_checkins
from skdp_bary.metrics import earth_mover_distance, similarity
from skdp_bary.papers import LevelwiseEMDHeatmap
from skdp_bary.plotting import HeatmapDisplay

X, people = make_city_checkins(n_people=400, random_state=0)


def heatmap_without_noise(X, people):
    """What the owner of the rows sees; not private."""
    noiseless = LevelwiseEMDHeatmap(1e5, bounds=CITY_BOUNDS, method="laplace")
    return noiseless.fit(X, groups=people).heatmap_


truth = heatmap_without_noise(X, people)
extent = (0, 20, 0, 20)
figure, axes = plt.subplots(1, 4, figsize=(17, 4), layout="constrained")
HeatmapDisplay(truth, extent=extent, title="without noise (not private)").plot(ax=axes[0])
for ax, epsilon in zip(axes[1:], (0.5, 1.0, 5.0), strict=True):
    city = PrivateEMDHeatmap(epsilon, bounds=CITY_BOUNDS, n_hint=400).fit(X, groups=people)
    HeatmapDisplay.from_estimator(city, ax=ax)
    print(
        f"epsilon={epsilon}: similarity {similarity(city.heatmap_, truth):.2f}, earth mover's "
        f"distance {earth_mover_distance(city.heatmap_, truth):.3f} of the side of the city"
    )
plt.show()

# %%
# Uncertainty
# -----------
# The right-hand map shows the length of the 90% interval for the number of people in each cell.
# Public lines, here the river, can be drawn over both.

east = np.linspace(0, 20, 200)
river = np.column_stack([east, 9.0 + 1.5 * np.sin(east / 4.0)])
HeatmapDisplay.from_estimator(city, level=0.9, basemap=[river])
plt.show()

# %%
# Bus stops
# ---------
# The cells of the release can stand for the people in any problem that depends on distances, such
# as placing five stops near most people.

stops, cost = city.k_median(5, random_state=0)
print(f"about {cost / city.total_:.1f} km to the nearest stop, along the streets")
display = HeatmapDisplay.from_estimator(city, basemap=[river])
display.axes_[0].plot(*stops.T, "c*", markersize=12)
plt.show()
