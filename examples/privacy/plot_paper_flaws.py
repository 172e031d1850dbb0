r"""
=============================
Flaws in published mechanisms
=============================

Eight details that break or weaken the guarantees of published mechanisms, each in a few lines.
:doc:`/explanation/coming_from_papers` lists the fixes of this package.

All computations use public formulas or simulated rows.
"""

# %%
# Replacing a person
# ------------------
# The papers on barycenters *replace* people. This changes two counts per level below the total, so
# noise for one changed count loses almost twice the stated epsilon. The package releases
# differences of halves. A replay measures both relations.

import math

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import gammaln

from skdp_bary import PrivateMeasure
from skdp_bary.inspection import replay_sensitivity
from skdp_bary.papers.races import race_delta
from skdp_bary.privacy.mechanisms import gaussian_delta

rows = np.full((50, 1), 0.1)
moved = rows.copy()
moved[0] = 0.9
for relation, neighbor in (("add_remove", rows[1:]), ("replace_one", moved)):
    measure = PrivateMeasure(bounds=(0, 1), depth=4, neighbors=relation, n_hint=50)
    step = replay_sensitivity(measure, rows, neighbor).steps[0]
    print(f"{relation:12} the total and four levels change by {step.l1}, loss {step.realized:.2f}")

# %%
# The loss is 1 in both cases, because the noise is twice as large for ``replace_one``.
#
# Noise of all levels
# -------------------
# The schedule of He, Vershynin and Zhu gives level :math:`j` of :math:`r` a scale proportional to
# :math:`2^{(1 - 1/d)(r - j)/2}`. Inverse scales must add up to epsilon, which the published script
# omits.


def spent(n_levels, d):
    """Return what the levels cost together when the scales are taken as they are."""
    return sum(2.0 ** (-(1 - 1 / d) * (n_levels - j) / 2) for j in range(n_levels + 1))


def spent_when_replaced(n_levels, d):
    """Return what replacing a person costs on scales that add up to 1 for adding one."""
    total_level = 2.0 ** (-(1 - 1 / d) * n_levels / 2)
    return 2 * (1 - total_level / spent(n_levels, d))


for d in (1, 2, 10):
    print(f"{d:2d} features, 18 levels: {spent(18, d):.1f} times the stated epsilon")

# %%
# Epsilon of a sample
# -------------------
# The US experiment states epsilon = 1 for everyone in the country, of whom 200,000 are sampled.
# For the people in the sample, the same noise means a much larger epsilon. The formula is for
# sampling without replacement.


def within_sample(epsilon, n_sampled, n_all):
    """Return the epsilon on the sample that `epsilon` for everybody amounts to."""
    return math.log1p((math.exp(epsilon) - 1) * n_all / n_sampled)


POPULATION = 316_500_000  # of the US, as the survey of 2015 gives it
for epsilon in (1, 5):
    print(f"epsilon {epsilon} of all: {within_sample(epsilon, 200_000, POPULATION):.1f} on 200,000")

# %%
# delta = 1/n
# -----------
# A "mechanism" that shows every row with probability 1/n is (0, 1/n)-private by definition. It
# publishes a random person's row most of the time.

rng = np.random.default_rng(0)
shown = rng.binomial(n=1000, p=1 / 1000, size=10_000)
print(f"somebody's row is shown in {np.mean(shown > 0):.0%} of the runs")

# %%
# Textbook Gaussian noise
# -----------------------
# The formula :math:`\sigma = \sqrt{2 \ln(1.25/\delta)}/\varepsilon` is proved for epsilon below 1.
# The papers use it at 1 and 5, where it happens to hold, with too much noise. At 10 it fails.

DELTA = 1 / 200_000
for epsilon in (1, 5, 10):
    mu = epsilon / math.sqrt(2 * math.log(1.25 / DELTA))
    print(f"epsilon {epsilon:2d}: delta {gaussian_delta(mu, epsilon):.1e}, promised {DELTA:.1e}")

# %%
# Number of rows
# --------------
# In the paper on k-means the number of rows n is private, but grids start at a radius of 1/n. The
# grids of n and n + 1 rows share almost no points, so two picks reveal n. A public estimate of n
# repairs the proof.

ALPHA, DIMENSION = 0.99, 2
side = {n: ALPHA / n / math.sqrt(DIMENSION) for n in (1000, 1001)}
picks = side[1000] * np.array([[417, -33], [418, 250]])  # any two points of the grid for 1000 rows
for n, length in side.items():
    off = np.abs(picks / length - np.rint(picks / length)).max()
    print(f"on the grid of {n} rows: {bool(off < 1e-9)}")

# %%
# The accounting of the paper is sound but wasteful: at delta = 1e-6, the exact rate may be three
# times as large.

EPSILON, FAILURE = 0.2, 1e-6
published = EPSILON / (2 * math.log(math.e / FAILURE))
for name, rate in (("published", published), ("exact", 0.02198)):
    print(f"{name:9} rate {rate:.4f}: delta {race_delta(rate, EPSILON, 'add_remove'):.1e}")

# %%
# Floating-point noise
# --------------------
# The paper on heatmaps adds Laplace noise to real numbers. In floating-point numbers, many sums of
# a count and noise cannot occur for another count. For each of 400 noisy zeros, test whether 0 or 1
# could have produced it.


def could_be(released, count, width=64):
    """Whether numpy's Laplace noise of scale 1 can turn `count` into exactly `released`."""
    z = released - count
    share = 0.5 * math.exp(z) if z < 0 else 1 - 0.5 * math.exp(-z)
    guess = round(share * 2**53)
    for step in range(max(guess - width, 1), min(guess + width, 2**53)):
        u = step * 2.0**-53
        noise = math.log(u + u) if u < 0.5 else -math.log(2.0 - u - u)
        if count + noise == released:
            return True
    return False


releases = np.random.default_rng(1).laplace(scale=1.0, size=400)
possible = np.array([[could_be(y, count) for count in (0.0, 1.0)] for y in releases])
told_apart = float(np.mean(possible[:, 0] & ~possible[:, 1]))
print(f"from 0 for certain: {told_apart:.0%} of the releases, at epsilon = 1")

# %%
# The package adds exact integer noise to integers.
#
# Dropouts
# --------
# Without a trusted curator, each of n people adds a share of the noise. If some people drop out,
# their shares are missing. The loss then grows with B, the number of units of one person.


def loss_when_present(share, n_units):
    """Return epsilon when this share of the noise for epsilon = 1 is there."""
    k = np.arange(60 * n_units)
    ratio = math.exp(-1 / n_units)
    log_law = gammaln(k + share) - gammaln(share) - gammaln(k + 1) + k * math.log(ratio)
    law = np.exp(log_law + share * math.log1p(-ratio))
    return n_units * math.log((law * law).sum() / (law[:-1] * law[1:]).sum())


for n_units in (16, 256):
    print(f"B = {n_units:3d}: all there {loss_when_present(1.0, n_units):.2f}", end=", ")
    print(f"30 % missing {loss_when_present(0.7, n_units):.2f}")

# %%
# The package makes shares for a guaranteed number of honest people.
#
# Plot
# ----
# Left: stated and actual epsilon. Right: releases whose last bits reveal the count.

present = np.linspace(0.4, 1.0, 25)
cases = {
    "replaced, noise for added": spent_when_replaced(18, 2),
    "scales not divided, d = 2": spent(18, 2),
    "seen from the sample": within_sample(1, 200_000, POPULATION),
    "30 % drop out, B = 256": loss_when_present(0.7, 256),
}
figure, (left, right) = plt.subplots(
    1, 2, figsize=(10, 3.6), layout="constrained", width_ratios=(1.5, 1)
)
left.barh(list(cases), list(cases.values()), color="firebrick")
left.axvline(1.0, color="black", linestyle="--", label="epsilon that is meant")
left.set(xlabel="epsilon that results")
left.invert_yaxis()
left.legend()
jitter = rng.uniform(-1, 1, len(releases))
certain = possible[:, 0] & ~possible[:, 1]
right.plot(releases[certain], jitter[certain], ".", ms=4, color="firebrick", label="only from 0")
right.plot(releases[~certain], jitter[~certain], ".", ms=4, color="C0", label="from 0 or from 1")
right.set(yticks=[], xlabel="released number", xlim=(-5, 5), title="0 + Laplace noise of numpy")
right.legend()
plt.show()
