"""
========================
One budget for many fits
========================

Every release about the same people tells a little more about each of them. A
:class:`~skdp_bary.BudgetAccountant` adds up what all fits cost and refuses the one that would cost
too much, wherever the fits happen: in a pipeline, a search, another process, next week.
"""

# %%
# A ceiling for everything
# ------------------------
# The budget lives in a file here, which other processes of this computer can open too. It survives
# crashes and restarts.

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from skdp_bary import BudgetAccountant, PrivateMeasure
from skdp_bary.datasets import COUNTRY_BOUNDS, make_population
from skdp_bary.exceptions import BudgetError
from skdp_bary.plotting import BudgetDisplay

folder = tempfile.TemporaryDirectory()
ledger = Path(folder.name) / "budget.db"
budget = BudgetAccountant(epsilon=2.0, ledger=ledger)

X, y = make_population(30_000, n_classes=3, random_state=0)

# %%
# What would it cost?
# -------------------
# A quote comes before the charge.

measure = PrivateMeasure(epsilon=0.5, bounds=COUNTRY_BOUNDS, accountant=budget)
quote = budget.quote(measure, n_features=2)
print(quote)

# %%
# A copy of an estimator shares the budget: there is no way around it by cloning.

measure.fit(X)
clone(measure).set_params(epsilon=0.1).fit(X)
print(budget)

# %%
# People in disjoint classes
# --------------------------
# Nobody is in two classes, so what is spent on different classes does not add up: the most
# expensive class counts. Each class is a *part* of the data.

for label in range(3):
    part = budget.part(f"class {label}")
    PrivateMeasure(epsilon=0.4, bounds=COUNTRY_BOUNDS, accountant=part).fit(X[y == label])
print(f"spent: epsilon={budget.total()[0]} (not {0.6 + 3 * 0.4:.1f})")

# %%
# A grid search fits many times
# -----------------------------
# Three values, two folds and one more fit with the best value are seven fits, and each costs its
# epsilon. ``error_score="raise"`` matters: by default scikit-learn writes NaN where a fit was
# refused, and goes on. What the search writes into ``cv_results_`` are scores of exact rows: they
# are for the owner of the rows and are not private. Here the accountant of the search is the same
# file, opened again, as another process would do it.

budget = BudgetAccountant(epsilon=2.0, ledger=ledger)
search = GridSearchCV(
    PrivateMeasure(epsilon=0.1, bounds=COUNTRY_BOUNDS, accountant=budget),
    {"depth": [4, 8, 12]},
    cv=2,
    error_score="raise",
).fit(X)
print(f"best depth: {search.best_params_['depth']}; left: epsilon={budget.remaining()[0]}")

# %%
# What does not fit is refused, and then nothing is charged or released.

try:
    PrivateMeasure(epsilon=1.0, bounds=COUNTRY_BOUNDS, accountant=budget).fit(X)
except BudgetError as error:
    print(error)

# %%
# The whole story:

BudgetDisplay.from_accountant(budget)
plt.show()
print(budget)
folder.cleanup()
