"""
=========================
Private domain adaptation
=========================

A classifier is trained on public rows with labels and used on private rows without labels. The
private rows come from sensors of another make, with different offsets and gains.
:class:`~skdp_bary.PrivateDomainAdapter` trains on the public rows, makes a few noisy queries on
the private rows, and adapts. The accuracy of the source model alone is printed for comparison,
because adaptation has to exceed it. The true labels are known here because the rows are
simulated; they are used for evaluation only.
"""

# %%
# There are ten sensors and four classes. Each private sensor reads higher, by a different amount.

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
# Views alter what a class does not depend on, here an offset common to all sensors, and noise.
# The random numbers of a row depend on its own values only, so that its views do not depend on
# other rows.


def views(rows, draws):
    """Return rows with another common offset and some noise."""
    noise = draws[:, np.arange(10) % 8] - 0.5
    return rows + 2.0 * (draws[:, :1] - 0.25) + 1.5 * noise


# %%
# Compare the methods at two budgets. ``block_rows`` passes many rows at a time to the views,
# which is fast. By setting it, you promise that the views treat each row separately.

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
# Here, public and private rows differ in location and scale, which two moments describe. If only
# views describe what does not matter for the class, self-training is better.

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
