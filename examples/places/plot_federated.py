"""
=================================
Heatmap without a trusted curator
=================================

Here, no curator collects the rows. Every phone adds a little noise to its own counts, splits them
into shares that reveal nothing individually, and sends the shares through a shuffler. Only noisy
sums come out, and only if enough people take part. No phone knows the total noise.
"""

# %%
# A plan and one message
# ----------------------
# The plan is public. It states the map, the measured levels, the guarantee, and the number of
# honest participants that the guarantee relies on. These determine the number of messages that a
# person sends for each cell.

import matplotlib.pyplot as plt
import numpy as np

from skdp_bary import PrivateEMDHeatmap
from skdp_bary.datasets import CITY_BOUNDS, make_city_checkins
from skdp_bary.metrics import similarity
from skdp_bary.papers import (
    LevelwiseEMDHeatmap,
    ShuffleAnalyzer,
    ShuffleClient,
    ShufflePlan,
    ShuffleRounds,
    shuffle_messages,
    simulate_shuffle,
)
from skdp_bary.plotting import HeatmapDisplay

N_PEOPLE = 200
X, people = make_city_checkins(N_PEOPLE, random_state=0)
plan = ShufflePlan(CITY_BOUNDS, epsilon=2.0, delta=1e-6, n_guaranteed=150, n_max=250, levels=(2, 4))
print(f"{plan.n_cells} cells, {plan.n_messages} messages for each of them")
print(f"a person sends {plan.bytes_per_person / 1000:.1f} kB")
own = ShuffleClient(plan).messages(X[people == 0])
print("the first messages of person 0, cell and share:", own[:3].tolist())

# %%
# One round
# ---------
# The analyzer sees the messages of all people in random order. After the fit, it is a heatmap
# like any other.

batches = [ShuffleClient(plan).messages(X[people == person]) for person in range(N_PEOPLE)]
one_round = ShuffleAnalyzer(plan).fit(shuffle_messages(batches))

# %%
# With fewer participants than the guarantee relies on, nothing is computed.

try:
    ShuffleAnalyzer(plan).fit(shuffle_messages(batches[:100]))
except ValueError as error:
    print(error)

# %%
# Two rounds
# ----------
# The first round measures coarse cells. The second round measures finer cells where the first one
# showed people. The two rounds share the budget, and most empty cells are never measured in
# detail.

rounds = ShuffleRounds(CITY_BOUNDS, epsilon=2.0, delta=1e-6, n_guaranteed=150, n_max=250)
two_rounds = simulate_shuffle(rounds, X, people)
sent = rounds.first.bytes_per_person + two_rounds.plan.bytes_per_person
print(f"two rounds: {sent / 1000:.1f} kB a person")

# %%
# Comparison with a curator
# -------------------------
# A trusted curator needs neither delta nor messages.

curator = PrivateEMDHeatmap(2.0, bounds=CITY_BOUNDS, n_hint=N_PEOPLE).fit(X, groups=people)
noiseless = LevelwiseEMDHeatmap(1e5, bounds=CITY_BOUNDS, method="laplace")
truth = noiseless.fit(X, groups=people).render(256)
titles = ("one round", "two rounds", "a curator")
_, axes = plt.subplots(1, 3, figsize=(14, 4), layout="constrained")
low, high = np.array(CITY_BOUNDS)
for ax, model, title in zip(axes, (one_round, two_rounds, curator), titles, strict=True):
    heatmap = model.render(256)
    title = f"{title}: similarity {similarity(heatmap, truth):.2f}"
    extent = (low[0], high[0], low[1], high[1])
    HeatmapDisplay(heatmap, extent=extent, title=title).plot(ax=ax)
plt.show()
