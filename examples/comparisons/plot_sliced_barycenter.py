"""
==================================
Sliced barycenter of three clinics
==================================

Three clinics have different patients. Which distribution is halfway between theirs? The sliced
Wasserstein barycenter averages quantiles on every slice, so it can be computed from the released
quantiles of the groups, without reading the rows again.
"""

# %%
# The groups
# ----------
# A patient belongs to one clinic, so the three releases together cost as much as one of them.
# Under the default relation the clinic of a patient is private too, so pass the public *names* of
# the clinics.

import matplotlib.pyplot as plt
import numpy as np

from skdp_bary import DPSlicedWasserstein

rng = np.random.default_rng(0)
clinics = ["north", "south", "west"]
y = rng.choice(clinics, size=30_000)
angle = rng.uniform(0, 2 * np.pi, size=len(y))
circle = 0.25 * np.column_stack([np.cos(angle), np.sin(angle)])
middle = {"north": [0.0, 0.5], "south": [-0.5, -0.3], "west": [0.5, -0.3]}
squeeze = {"north": [1.0, 0.4], "south": [0.4, 1.0], "west": [1.0, 1.0]}
X = np.array([middle[c] for c in y]) + circle * np.array([squeeze[c] for c in y])
X += 0.02 * rng.normal(size=X.shape)

# %%
# The release
# -----------

sliced = DPSlicedWasserstein(
    epsilon=1.0, bounds=(-1, 1), classes=clinics, n_min=8_000, n_quantiles=32
).fit(X, y)
for other in clinics[1:]:
    distance, error = sliced.distance_between(
        sliced, label="north", other_label=other, return_std=True
    )
    print(f"north to {other}: {distance:.3f} +- {error:.3f}")

# %%
# Barycenters with any weights
# ----------------------------
# The barycenters, and points with the same slices, are computed from the release.

panels = {"equal": None, "mostly south": [0.2, 0.6, 0.2]}
_, axes = plt.subplots(1, 2, figsize=(10, 5), sharex=True, sharey=True)
for ax, (title, weights) in zip(axes, panels.items(), strict=True):
    for clinic in clinics:
        points = sliced.sample(400, label=clinic, random_state=0)
        ax.plot(*points.T, ".", ms=2, label=clinic)
    points = sliced.barycenter(weights).sample(400, random_state=0)
    ax.plot(*points.T, ".", ms=4, color="black", label="barycenter")
    ax.set_title(title)
    ax.set_aspect("equal")
axes[0].legend()
plt.show()
