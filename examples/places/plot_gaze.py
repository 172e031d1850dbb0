"""
============
Gaze heatmap
============

Eye trackers record where people look, and how somebody looks at pictures says a lot about them. A
private heatmap of the looks of a group keeps what designers want to know and hides every person.
"""

# %%
# Looks at a picture
# ------------------
# Picture and looks are generated. A look is a row, in pixels to the right of and below the upper
# left corner; a person has many of them. The bounds are the public size of the picture.

import matplotlib.pyplot as plt

from skdp_bary import PrivateEMDHeatmap
from skdp_bary.datasets import GAZE_BOUNDS, make_gaze
from skdp_bary.metrics import pearson_correlation
from skdp_bary.papers import LevelwiseEMDHeatmap

N_PEOPLE = 100
image, X, people = make_gaze(N_PEOPLE, random_state=0)
print(f"{len(X)} looks of {N_PEOPLE} people")


def overlay(ax, heatmap, title):
    """Draw a heatmap over the picture: both have their first row at the top."""
    height, width = image.shape[:2]
    ax.imshow(image)
    ax.imshow(heatmap, cmap="inferno", alpha=0.6, extent=(0, width, height, 0))
    ax.set(title=title, xticks=[], yticks=[])


# %%
# Three levels of protection
# --------------------------
# The picture on the left is what the owner of the rows sees. With ``groups`` all looks of a person
# are protected together, and everybody counts the same.

noiseless = LevelwiseEMDHeatmap(1e5, bounds=GAZE_BOUNDS, method="laplace")
truth = noiseless.fit(X, groups=people).heatmap_
_, axes = plt.subplots(1, 4, figsize=(17, 3.6), layout="constrained")
overlay(axes[0], truth, "without noise (not private)")
for ax, epsilon in zip(axes[1:], (0.5, 1.0, 5.0), strict=True):
    gaze = PrivateEMDHeatmap(epsilon, bounds=GAZE_BOUNDS, n_hint=N_PEOPLE)
    gaze.fit(X, groups=people)
    correlation = pearson_correlation(gaze.heatmap_, truth)
    overlay(ax, gaze.heatmap_, f"epsilon={epsilon:g}, correlation {correlation:.2f}")
plt.show()

# %%
# The method of the paper and plain noise, at the same epsilon
# ------------------------------------------------------------
# Both are there to compare with. Plain noise on every pixel drowns the looks of a hundred people.

_, axes = plt.subplots(1, 3, figsize=(13, 3.6), layout="constrained")
models = {
    "adaptive": PrivateEMDHeatmap(2.0, bounds=GAZE_BOUNDS, n_hint=N_PEOPLE),
    "paper": LevelwiseEMDHeatmap(2.0, bounds=GAZE_BOUNDS),
    "laplace": LevelwiseEMDHeatmap(2.0, bounds=GAZE_BOUNDS, method="laplace"),
}
for ax, (name, model) in zip(axes, models.items(), strict=True):
    heatmap = model.fit(X, groups=people).heatmap_
    overlay(ax, heatmap, f"{name}, correlation {pearson_correlation(heatmap, truth):.2f}")
plt.show()
