"""
========================
One budget for many fits
========================

Every release about the same people reveals a little more about each of them. A
:class:`~skdp_bary.BudgetAccountant` adds up the costs of all fits and refuses a fit that would
exceed the limit. It does not matter whether the fits happen in a pipeline, in a search, in
another process or next week.
"""

# %%
# One limit
# ---------
# The budget is a file, which other processes of this computer can open. It survives crashes.

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
# Quote
# -----
# A quote charges nothing.

measure = PrivateMeasure(epsilon=0.5, bounds=COUNTRY_BOUNDS, accountant=budget)
quote = budget.quote(measure, n_features=2)
print(quote)

# %%
# A copy of an estimator shares the budget.

measure.fit(X)
clone(measure).set_params(epsilon=0.1).fit(X)
print(budget)

# %%
# Disjoint classes
# ----------------
# Each person is in one class, so the total is that of the most expensive class. Each class is a
# *part* of the data.

for label in range(3):
    part = budget.part(f"class {label}")
    PrivateMeasure(epsilon=0.4, bounds=COUNTRY_BOUNDS, accountant=part).fit(X[y == label])
print(f"spent: epsilon={budget.total()[0]} (not {0.6 + 3 * 0.4:.1f})")

# %%
# Grid search
# -----------
# Three values on two folds and the final fit are seven fits, and each is charged. Without
# ``error_score="raise"``, scikit-learn replaces the scores of refused fits by NaN.
# ``cv_results_`` contains exact scores, for the data owner only.

budget = BudgetAccountant(epsilon=2.0, ledger=ledger)
search = GridSearchCV(
    PrivateMeasure(epsilon=0.1, bounds=COUNTRY_BOUNDS, accountant=budget),
    {"depth": [4, 8, 12]},
    cv=2,
    error_score="raise",
).fit(X)
print(f"best depth: {search.best_params_['depth']}; left: epsilon={budget.remaining()[0]}")

# %%
# A fit that exceeds the budget raises an error. Nothing is charged or released.

try:
    PrivateMeasure(epsilon=1.0, bounds=COUNTRY_BOUNDS, accountant=budget).fit(X)
except BudgetError as error:
    print(error)

# %%
# All charges:

BudgetDisplay.from_accountant(budget)
plt.show()
print(budget)
folder.cleanup()
