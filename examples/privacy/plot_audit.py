"""
=========================
Audit a privacy guarantee
=========================

A guarantee is a claim about two neighboring data sets. Two tools try to refute it. A *replay*
compares the exact answers on both datasets, before noise, with the change that the noise is
calibrated for. An *empirical bound* runs the mechanism many times on both datasets and looks for
an event that is much more likely on one of them than the guarantee allows. Neither tool can prove
a guarantee; both find the usual mistakes.
"""

# %%
# Replay
# ------
# One person far outside the bounds joins a small dataset. The table compares the charged loss with
# the loss between these two datasets.

import matplotlib.pyplot as plt
import numpy as np

from skdp_bary import PrivateMeasure
from skdp_bary.inspection import epsilon_lower_bound, replay_sensitivity

rng = np.random.default_rng(0)
X = rng.random((200, 2))
neighbor = np.vstack([X, [[1e6, -1e6]]])

measure = PrivateMeasure(epsilon=1.0, bounds=(0, 1), n_hint=200, depth=6)
report = replay_sensitivity(measure, X, neighbor)
print(report)
print(f"holds: {report.holds}; uses {report.tightness:.0%} of what was paid for")

# %%
# People with many rows
# ---------------------
# Without ``groups``, a person with thirty rows changes the statistic thirty times as much as a
# person with one row. The replay shows that ``groups`` restores the guarantee.

busy = np.vstack([X, rng.random((30, 2))])
report = replay_sensitivity(measure, X, busy)
print(f"as 30 people: loss {report.tightness:.1f} times what was paid for")

ids = np.arange(200)
busy_ids = np.append(ids, np.full(30, 200))
report = replay_sensitivity(measure, {"X": X, "groups": ids}, {"X": busy, "groups": busy_ids})
print(f"as one person: loss {report.tightness:.2f} times what was paid for")

# %%
# Three noisy counts
# ------------------
# Count people in ten cells at epsilon = 1 in three ways: with floating-point Laplace noise as in
# textbooks, with integer noise, and with integer noise but without empty cells.


def float_noise(rows, generator):
    """Counts with Laplace noise in floating point."""
    counts = np.histogram(rows, bins=10, range=(0, 1))[0]
    return counts + generator.laplace(scale=1.0, size=10)


def integer_noise(rows, generator):
    """Counts with two-sided geometric noise."""
    counts = np.histogram(rows, bins=10, range=(0, 1))[0]
    stop = 1 - np.exp(-1.0)
    return counts + generator.geometric(stop, size=10) - generator.geometric(stop, size=10)


def skip_empty_cells(rows, generator):
    """The same, and exact zeros where nobody is."""
    counts = np.histogram(rows, bins=10, range=(0, 1))[0]
    return np.where(counts == 0, 0, integer_noise(rows, generator))


rows = np.full(5, 0.05)
other = np.append(rows, 0.95)  # the neighbor: one more person, in a cell that was empty
bounds = {}
for mechanism in (integer_noise, skip_empty_cells, float_noise):
    audit = epsilon_lower_bound(mechanism, other, rows, n_runs=4_000, random_state=0)
    bounds[mechanism.__name__] = audit.epsilon
    print(f"{mechanism.__name__}: epsilon is at least {audit.epsilon:.2f}, by {audit.event}")

# %%
# The version without empty cells fails the audit. The textbook version fails, too: the low bits
# of a floating-point number reveal whether noise was added to zero or to one. This package adds
# integer noise to integers.

# %%
# Now audit a private measure in the same way. Everything that it publishes is a function of its
# noisy counts.

audited = PrivateMeasure(epsilon=1.0, bounds=(0, 1), n_hint=5, depth=3)
bounds["PrivateMeasure"] = epsilon_lower_bound(
    audited, np.column_stack([other, other]), np.column_stack([rows, rows]), n_runs=1_000
).epsilon

fig, axes = plt.subplots(figsize=(7, 3), layout="constrained")
axes.barh(list(bounds), list(bounds.values()), color=["C0", "firebrick", "firebrick", "C0"])
axes.axvline(1.0, color="black", linestyle="--", label="epsilon that was promised")
axes.set_xlabel("empirical lower bound of epsilon (95 % confidence)")
axes.legend()
plt.show()
