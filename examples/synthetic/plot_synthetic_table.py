"""
====================
Synthetic bank table
====================

A bank wants to give its customer table to a consultant. Instead, it shares a synthetic table made
from one private release. The table has numbers, categories, dates, missing values, and a label of
interest.
"""

# %%
# The table
# ---------

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score

from skdp_bary import PrivateTable
from skdp_bary.schema import Boolean, Category, Date, Integer, Number, Schema

JOBS = ["office", "trade", "service", "none"]
rng = np.random.default_rng(0)


def customers(n_rows):
    """Return a table; the last column says who had trouble to pay."""
    age = np.clip(45 + 15 * rng.standard_normal(n_rows), 18, 90).astype(int)
    job = rng.choice(4, size=n_rows, p=[0.4, 0.2, 0.25, 0.15])
    income = np.array([60, 45, 35, 15])[job] * np.exp(0.3 * rng.standard_normal(n_rows))
    income *= 0.7 + age / 150
    owner = rng.random(n_rows) < 1 / (1 + np.exp(3.0 - income / 25 - age / 60))
    since = pd.Timestamp("2010-01-01") + pd.to_timedelta(rng.integers(0, 5000, n_rows), unit="D")
    risk = 0.5 - income / 20 - 0.9 * owner + 0.7 * (job == 3)
    return pd.DataFrame(
        {
            "age": pd.array(np.where(rng.random(n_rows) < 0.05, None, age), "Int64"),
            "income": np.clip(income, 0, 200),
            "job": pd.Categorical.from_codes(job, JOBS),
            "since": since,
            "owner": owner,
            "trouble": rng.random(n_rows) < 1 / (1 + np.exp(-risk)),
        }
    )


table, test = customers(20_000), customers(10_000)
print(table.head(3).to_string())

# %%
# The schema
# ----------
# The possible values of every column are public: they come from the bank's forms, not from the
# rows.

schema = Schema(
    {
        "age": Integer(18, 99, missing=True),
        "income": Number(0, 200),
        "job": Category(JOBS, outside="refuse"),
        "since": Date("2010-01-01", "2024-12-31"),
        "owner": Boolean(),
        "trouble": Boolean(),
    }
)

# %%
# The release
# -----------
# It is private who had trouble paying, and how many customers there are.

tables = {"real": table}
for epsilon in (3.0, 0.3):
    model = PrivateTable(schema, label="trouble", epsilon=epsilon).fit(table)
    tables[f"epsilon = {epsilon:g}"] = model.sample(20_000)
print(tables["epsilon = 3"].head(3).to_string())

# %%
# Accuracy
# --------
# Models trained on the synthetic table are tested on real customers, and compared with a model
# trained on the real table.


def features(frame):
    frame = frame.drop(columns="trouble")
    days = (frame["since"] - pd.Timestamp("2010-01-01")).dt.days
    ages = frame["age"].astype("Float64").to_numpy(dtype=float, na_value=np.nan)
    return frame.assign(since=days, job=frame["job"].cat.codes, age=ages).to_numpy(dtype=float)


for name, frame in tables.items():
    trees = HistGradientBoostingClassifier().fit(features(frame), frame["trouble"])
    area = roc_auc_score(test["trouble"], trees.predict_proba(features(test))[:, 1])
    print(f"{name:14s} trouble {frame['trouble'].mean():.3f}   area under the curve {area:.3f}")

# %%
# The release itself gives counts with intervals:

print(model.query("job", "trouble").to_frame().round(0).to_string())

# %%
# Distributions of columns
# ------------------------

_, axes = plt.subplots(1, 3, figsize=(11, 3.2), layout="constrained")
for title, frame in tables.items():
    axes[0].hist(frame["income"], np.linspace(0, 200, 40), density=True, histtype="step")
    ages = frame["age"].dropna().astype(float)
    axes[1].hist(ages, np.arange(18, 95, 3), density=True, histtype="step", label=title)
for place, (title, frame) in enumerate(tables.items()):
    shares = frame.groupby("job", observed=False)["trouble"].mean()
    axes[2].bar(np.arange(4) + 0.25 * place, shares[JOBS], width=0.25, label=title)
axes[2].set_xticks(np.arange(4) + 0.25, JOBS)
for ax, name in zip(axes, ("income", "age", "trouble by job"), strict=True):
    ax.set_title(name)
axes[2].legend()
plt.show()
