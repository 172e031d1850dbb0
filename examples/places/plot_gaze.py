"""
============
Gaze heatmap
============

Eye trackers record where people look, which can reveal a lot about a person. A private heatmap of
the fixations of a group shows designers where the group looks, and hides every person.
"""

# %%
# Fixations
# ---------
# The image and the fixations are simulated. A row is a fixation in pixels from the upper left
# corner, and a person has many. The bounds are the public size of the image.

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
# Three values of epsilon
# -----------------------
# The map on the left is exact and for the data owner only. With ``groups``, all fixations of a
# person are protected together.

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
# Comparison at the same epsilon
# ------------------------------
# The plot compares with the method of the paper, and with noise on every pixel. For a hundred
# people, noise on every pixel dominates the fixations.

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
