"""
=========================
Private domain adaptation
=========================

A classifier is trained on public rows with labels and used on private rows without labels, from
another place: here sensors of another make, with an offset and a gain of their own.
:class:`~skdp_bary.PrivateDomainAdapter` trains on the public rows, asks the private rows a few
questions with noise, and adapts. What the source model alone would do is printed beside every way
to adapt, because that is what adapting has to beat. The true labels are known here since the rows
are generated; nothing is chosen by them.
"""

# %%
# Ten sensors, four classes. The private sensors read higher, each by another amount.

import warnings

import matplotlib.pyplot as plt
import numpy as np

from skdp_bary import PrivateDomainAdapter
from skdp_bary.exceptions import PrivacyWarning

warnings.simplefilter("ignore", PrivacyWarning)  # seeded noise, so that the page can be repeated

rng = np.random.default_rng(0)
centers = 1.5 * rng.normal(size=(4, 10))
offsets, gains = rng.uniform(0.5, 2.5, size=10), rng.uniform(0.7, 1.4, size=10)


def sample(n_rows):
    """Return rows around the centers, and their classes."""
    labels = rng.integers(4, size=n_rows)
    return centers[labels] + rng.normal(size=(n_rows, 10)), labels


X_source, y_source = sample(1500)
X_target, y_target = sample(5000)
X_target = gains * X_target + offsets

# %%
# Views say what a class does not depend on. Here: an offset common to all sensors, and noise. A row
# gets its random numbers from its own values, so that it has the same views whoever else is there.


def views(rows, draws):
    """Return rows with another common offset and some noise."""
    noise = draws[:, np.arange(10) % 8] - 0.5
    return rows + 2.0 * (draws[:, :1] - 0.25) + 1.5 * noise


# %%
# Every method at two budgets. ``block_rows`` hands the views many rows at a time, which is fast and
# a promise that they treat each row by itself.

METHODS = ("self_training", "moments")
accuracy = {}
print(f"{'method':<15} {'epsilon':>7}  adapted  source only")
for method in METHODS:
    for epsilon in (1.0, 10.0):
        adapter = PrivateDomainAdapter(
            views=views,
            method=method,
            hidden=30,
            max_iter=50 if method == "self_training" else None,
            block_rows=1000,
            epsilon=epsilon,
            delta=1e-5,
            n_hint=5000,
            random_state=0,
        )
        adapter.fit(X_source, y_source, X_target)
        before = np.mean(adapter.source_model_.predict(X_target) == y_target)
        accuracy[method, epsilon] = adapter.score(X_target, y_target)
        print(f"{method:<15} {epsilon:>7}  {accuracy[method, epsilon]:7.3f}  {before:11.3f}")
print(f"guard: the source model is right on {adapter.source_score_:.3f} of views of source rows")

# %%
# Here the difference between the two kinds of rows is one of location and scale, which two moments
# describe. Where only the views know what does not matter, self-training is better.

figure, axes = plt.subplots(figsize=(7, 3.5))
places = np.arange(len(METHODS))
for shift, epsilon in ((-0.2, 1.0), (0.2, 10.0)):
    heights = [accuracy[method, epsilon] for method in METHODS]
    axes.bar(places + shift, heights, width=0.38, label=f"adapted, epsilon={epsilon:g}")
axes.axhline(before, color="black", linestyle="--", label="source only")
axes.set_xticks(places, METHODS)
axes.set_ylim(0.5, 1.0)
axes.set_ylabel("accuracy on the private rows")
axes.legend(loc="lower right", fontsize="small")
figure.tight_layout()
plt.show()
