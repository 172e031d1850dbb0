"""Draw the picture of the README: the true map of a simulated city next to its private release."""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from scipy.ndimage import gaussian_filter

from skdp_bary import PrivateEMDHeatmap
from skdp_bary.datasets import CITY_BOUNDS, make_city_checkins

SIDE, BLUR = 256, 0.015

X, people = make_city_checkins(n_people=20_000, random_state=0)
city = PrivateEMDHeatmap(epsilon=1.0, bounds=CITY_BOUNDS).fit(X, groups=people)
_, person, rows = np.unique(people, return_inverse=True, return_counts=True)
sides = [city.domain_.low, city.domain_.high]
true, _, _ = np.histogram2d(*X.T, bins=SIDE, range=np.transpose(sides), weights=1 / rows[person])
true = gaussian_filter(true.T / rows.size, BLUR * SIDE)
maps = {"True map (not private)": true, "Private map, epsilon = 1": city.render(SIDE, BLUR)}

figure, axes = plt.subplots(1, 2, figsize=(8, 4.3), layout="constrained")
for ax, (title, image) in zip(axes, maps.items(), strict=True):
    ax.imshow(np.sqrt(image), cmap="magma", origin="lower", vmin=0, vmax=np.sqrt(true.max()))
    ax.set_title(title, color="#8a919c", fontsize=15)
    ax.set_axis_off()
figure.savefig(Path(__file__).parents[1] / "images" / "city.png", dpi=90, transparent=True)
