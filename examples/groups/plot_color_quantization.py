"""
==================
Color quantization
==================

Vector quantization reduces a picture to a few colors. Here each picture belongs to one person,
each pixel is a row, and all pictures share one palette. Compared with scikit-learn's KMeans, the
import, the bounds and ``groups`` are new.
"""

# %%
# There are three hundred small pictures of sky, grass and roofs, one per person. ``groups``
# states that all pixels of a picture belong to one person.

import matplotlib.pyplot as plt
import numpy as np

from skdp_bary import PrivateKMeans

SIDE = 16
rng = np.random.default_rng(0)


def picture():
    """Return one generated picture with values in [0, 1]."""
    rows = np.linspace(0, 1, SIDE)[:, None, None]
    sky = np.array([0.45, 0.65, 0.95]) - 0.3 * rows
    grass = np.array([0.2, 0.6, 0.2]) + 0.1 * rng.standard_normal((SIDE, SIDE, 3))
    image = np.where(rows < rng.uniform(0.3, 0.7), sky, grass)
    left, width = rng.integers(2, 8), rng.integers(3, 7)
    image[6:12, left : left + width] = [0.75, 0.3, 0.2]
    return np.clip(image, 0, 1)


pictures = np.stack([picture() for _ in range(300)])
pixels = pictures.reshape(-1, 3)
people = np.repeat(np.arange(300), SIDE * SIDE)

kmeans = PrivateKMeans(n_clusters=6, epsilon=2.0, bounds=(0, 1), n_hint=300)
kmeans.fit(pixels, groups=people)

# %%
# The palette is released. People recolor their own pictures on their own machines.

mine = picture()
painted = kmeans.cluster_centers_[kmeans.predict(mine.reshape(-1, 3))].reshape(mine.shape)
fig, axes = plt.subplots(1, 3, figsize=(9, 3), layout="constrained")
axes[0].imshow(mine)
axes[0].set_title("a new picture")
axes[1].imshow(painted)
axes[1].set_title("in six private colors")
axes[2].imshow(np.clip(kmeans.cluster_centers_, 0, 1)[None], aspect="auto")
axes[2].set_title("the palette")
for ax in axes:
    ax.set_axis_off()
plt.show()
