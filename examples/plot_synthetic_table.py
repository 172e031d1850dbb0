"""
=========================================================
Can a table with categories be shared as a synthetic one?
=========================================================

A bank wants to hand its customer table to a consultant. Instead it hands over a synthetic one, made
from a single private release: columns of numbers with public ranges, columns of categories with
public lists, and the label of interest.
"""

# %%
# The table
# ---------

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from skdp_bary import PrivateGenerator

RANGES = {"age": (18.0, 90.0), "income": (0.0, 200.0), "hours": (0.0, 80.0)}
CATEGORIES = {
    "region": ["north", "south", "west"],
    "job": ["office", "trade", "service", "none"],
    "owner": ["no", "yes"],
}
rng = np.random.default_rng(0)


def customers(n_rows):
    """Return a table, as one array a column, and who had trouble to pay."""
    age = np.clip(45 + 15 * rng.standard_normal(n_rows), 18, 90)
    job = rng.choice(4, size=n_rows, p=[0.4, 0.2, 0.25, 0.15])
    hours = np.clip(np.array([38, 42, 30, 5])[job] + 6 * rng.standard_normal(n_rows), 0, 80)
    income = np.array([60, 45, 35, 15])[job] * np.exp(0.3 * rng.standard_normal(n_rows))
    income = np.clip(income * (0.7 + age / 150), 0, 200)
    owner = (rng.random(n_rows) < 1 / (1 + np.exp(3.0 - income / 25 - age / 60))).astype(int)
    region = rng.choice(3, size=n_rows, p=[0.5, 0.3, 0.2])
    risk = 0.5 - income / 20 + 0.8 * (region == 1) - 0.9 * owner + 0.7 * (job == 3)
    trouble = (rng.random(n_rows) < 1 / (1 + np.exp(-risk))).astype(int)
    codes = {"region": region, "job": job, "owner": owner}
    words = {name: np.array(CATEGORIES[name])[code] for name, code in codes.items()}
    return {"age": age, "income": income, "hours": hours} | words, trouble


table, trouble = customers(40_000)
test_table, test_trouble = customers(10_000)

# %%
# From the table to numbers and back
# ----------------------------------
# Every number is scaled by its public range, every category becomes one column of zeros and ones.
# Nothing is learned from the rows: scikit-learn's encoders would have to be told the ranges and the
# lists. On the way back the largest of the columns of a category names it.


def encode(table):
    numbers = [(table[n] - low) / (high - low) for n, (low, high) in RANGES.items()]
    marks = [np.array(table[n])[:, None] == np.array(words) for n, words in CATEGORIES.items()]
    return np.column_stack([*numbers, *marks]).astype(float)


def decode(rows):
    table, start = {}, len(RANGES)
    for place, (name, (low, high)) in enumerate(RANGES.items()):
        table[name] = low + (high - low) * rows[:, place]
    for name, words in CATEGORIES.items():
        columns = rows[:, start : start + len(words)]
        table[name] = np.array(words)[columns.argmax(axis=1)]
        start += len(words)
    return table


# %%
# The release
# -----------
# Who had trouble to pay is private as well, and so is how many there are: the default relation.

generators = {
    epsilon: PrivateGenerator(
        epsilon=epsilon, delta=1e-6, bounds=(0, 1), classes=[0, 1], n_hint=40_000
    ).fit(encode(table), trouble)
    for epsilon in (5.0, 1.0)
}

# %%
# Is the synthetic table of use?
# ------------------------------
# Models trained on it are tested on real customers, beside models trained on the real table.


def usefulness(table, label):
    scores = []
    for model in (LogisticRegression(max_iter=500), HistGradientBoostingClassifier()):
        model.fit(encode(table), label)
        chances = model.predict_proba(encode(test_table))[:, 1]
        scores.append(roc_auc_score(test_trouble, chances))
    return scores


tables = {"real": (table, trouble)}
for epsilon, generator in generators.items():
    rows, labels = generator.sample(40_000)
    tables[f"epsilon = {epsilon:g}"] = (decode(rows), labels)
print(f"{'':14s} {'trouble':>8s} {'AUC, linear':>12s} {'AUC, trees':>12s}")
for name, (columns, labels) in tables.items():
    linear, trees = usefulness(columns, labels)
    print(f"{name:14s} {labels.mean():8.3f} {linear:12.3f} {trees:12.3f}")

# %%
# Columns side by side
# --------------------

_, axes = plt.subplots(2, 3, figsize=(11, 6))
for ax, (name, (low, high)) in zip(axes[0], RANGES.items(), strict=True):
    for title, (columns, _) in tables.items():
        ax.hist(
            columns[name], np.linspace(low, high, 40), density=True, histtype="step", label=title
        )
    ax.set_title(name)
for ax, (name, words) in zip(axes[1], CATEGORIES.items(), strict=True):
    for place, (columns, _) in enumerate(tables.values()):
        shares = [(columns[name] == word).mean() for word in words]
        ax.bar(np.arange(len(words)) + 0.25 * place, shares, width=0.25)
    ax.set_xticks(np.arange(len(words)) + 0.25, words)
    ax.set_title(name)
axes[0, 0].legend()
plt.tight_layout()
plt.show()
