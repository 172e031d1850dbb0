"""
======================================
Train a classifier on synthetic digits
======================================

Thirty thousand people each wrote one digit. :class:`~skdp_bary.PrivateGenerator` makes one
differentially private release about the digits, and then samples any number of new ones. A
classifier is trained on synthetic digits only and tested on real ones.
"""

# %%
# The digits
# ----------
# Two thirds of scikit-learn's 1797 digits make a simulated population, by shifts, shears and
# changes of contrast. The last third is the test set.

import matplotlib.pyplot as plt
import numpy as np
from scipy.ndimage import affine_transform
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

from skdp_bary import PrivateGenerator

rng = np.random.default_rng(0)
images, labels = load_digits(return_X_y=True)
images = images.reshape(-1, 8, 8) / 16.0
n_train = 2 * len(images) // 3
drawn = rng.integers(n_train, size=30_000)


def written_again(image):
    slant, shift = 0.15 * rng.standard_normal(), 0.3 * rng.standard_normal(2)
    matrix = np.array([[1.0, 0.0], [slant, 1.0]])
    return affine_transform(image, matrix, shift - [0.0, 3.5 * slant], order=1)


X = np.stack([written_again(images[i]) for i in drawn]).reshape(-1, 64)
X *= rng.uniform(0.8, 1.0, size=(len(X), 1))
y = labels[drawn]
X_test, y_test = images[n_train:].reshape(-1, 64), labels[n_train:]

# %%
# One release, any number of samples
# ----------------------------------
# The range of pixels, the ten digits and the image size are public. Labels are private, as is the
# number of images of each digit.


def accuracy(rows, numerals):
    classifier = LogisticRegression(max_iter=200).fit(rows, numerals)
    return 100.0 * classifier.score(X_test, y_test)


samples = {"real": (X, y)}
for epsilon in (10.0, 1.0):
    generator = PrivateGenerator(
        epsilon=epsilon, delta=1e-6, bounds=(0, 1), image_shape=(8, 8), classes=range(10)
    ).fit(X, y)
    samples[f"epsilon = {epsilon:g}"] = generator.sample(10_000)
for name, sample in samples.items():
    print(f"{name:12s} accuracy on real digits {accuracy(*sample):.1f} %")

# %%
# Training on synthetic digits can be as accurate as training on the "real" ones, which are
# altered copies of 1200 digits. A linear classifier needs little more than means and covariances.
# One standard error is 1.2 points.

# %%
# Real and synthetic digits
# -------------------------

_, axes = plt.subplots(len(samples), 1, figsize=(10, 7))
for ax, (name, (rows, numerals)) in zip(axes, samples.items(), strict=True):
    few = [rows[numerals == numeral][:3] for numeral in range(10)]
    tiles = [
        np.hstack([np.pad(row.reshape(8, 8), 1) for row in line]) for line in zip(*few, strict=True)
    ]
    ax.imshow(np.vstack(tiles), cmap="gray_r", vmin=0, vmax=1)
    ax.set_title(name)
    ax.axis("off")
plt.tight_layout()
plt.show()
