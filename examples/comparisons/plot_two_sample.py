"""
===============================
Compare private and public data
===============================

A hospital measured its patients and may not show them. A public survey measured other people. Do
both come from one population? :class:`~skdp_bary.DPSlicedWasserstein` releases noisy quantiles of
projections once, and any number of distances follow from that release. The p-value comes from a
:class:`~skdp_bary.PrivateDriftSketch`, which is made for tests.
"""

# %%
# The rows
# --------
# Three measurements a person, scaled to [-1, 1] by ranges that are known to medicine, not taken
# from these data. The second survey has people who are a little different in one of them.

import matplotlib.pyplot as plt
import numpy as np

from skdp_bary import DPSlicedWasserstein, PrivateDriftSketch
from skdp_bary.plotting import SlicesDisplay

rng = np.random.default_rng(0)
shape = np.array([[0.2, 0.1, 0.0], [0.0, 0.2, 0.05], [0.0, 0.0, 0.15]])
patients = rng.normal(size=(20_000, 3)) @ shape
same = rng.normal(size=(5_000, 3)) @ shape
shifted = rng.normal(size=(5_000, 3)) @ shape + [0.05, 0.0, 0.0]

# %%
# The release
# -----------
# Each fit spends a budget. ``n_min`` is a public lower bound: the hospital has said that
# it sees more than 15 000 patients.

sliced = DPSlicedWasserstein(epsilon=1.0, bounds=(-1, 1), n_min=15_000).fit(patients)
sketch = PrivateDriftSketch(epsilon=1.0, bounds=(-1, 1)).fit(patients)
print(f"{sliced.quantiles_.size} quantiles, noise {sliced.noise_std_[0]:.4f} on each")

# %%
# Distances come with the error that the noise gives them, and tests with a p-value that knows both
# the noise and that rows are samples. All of this is free.

for name, rows in (("same", same), ("shifted", shifted)):
    distance, error = sliced.distance(rows, return_std=True)
    result = sketch.test(public_rows=rows, random_state=0)
    print(f"{name:8} distance {distance:.4f} +- {error:.4f}, p = {result.pvalue:.2f}")

# %%
# Where do they differ? The slice whose mean is furthest from that of the public rows (dashed), with
# the band of the noise. A single slice says little; the distance is a mean over all of them.

SlicesDisplay.from_estimator(sliced, shifted, n_slices=1)
plt.show()
