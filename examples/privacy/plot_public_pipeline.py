"""
======================================
Scale and project without privacy cost
======================================

``StandardScaler`` and ``PCA`` compute means, variances and directions from the rows. In a private
pipeline each of these is a release with a privacy cost, but scikit-learn charges nothing and adds
no noise. :class:`~skdp_bary.DomainScaler` and :class:`~skdp_bary.JLTransformer` use public facts
only, so they have no privacy cost, and the pipeline is as private as its last step.
"""

# %%
# There are forty measurements of each person. It is publicly known that every measurement is a
# number from 0 to 300.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.datasets import make_blobs
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from skdp_bary import (
    BudgetAccountant,
    DomainScaler,
    JLTransformer,
    PrivateMeasure,
    Schema,
    SchemaTransformer,
    check_private,
)
from skdp_bary.plotting import MeasureDisplay
from skdp_bary.schema import Category, Integer, Number

X, _ = make_blobs(20_000, n_features=40, centers=4, cluster_std=20, center_box=(50, 250),
                  random_state=0)  # fmt: skip
X = X.clip(0, 300)

# %%
# The pipeline
# ------------
# The scaler maps the public domain to the unit ball, and the projection keeps two random
# directions. Both output public bounds.

scaler = DomainScaler(bounds=(0, 300), target="ball").fit(X[:1])
projection = JLTransformer(2, bounds=scaler.output_bounds_, random_state=3).fit(np.zeros((1, 40)))
budget = BudgetAccountant(epsilon=1.0)
pipeline = make_pipeline(
    scaler,
    projection,
    PrivateMeasure(epsilon=1.0, bounds=projection.output_bounds_, accountant=budget),
).fit(X)
print(f"output bounds: {projection.output_bounds_}")
print(f"spent: epsilon={budget.total()[0]}")

MeasureDisplay.from_comparison(pipeline[-1], pipeline[:-1].transform(X))
plt.show()

# %%
# Mixed columns
# -------------
# Tables with text, Booleans and missing values need a public schema. Without one, a single
# unusual value would change the type of a column, and so all other rows.

frame = pd.DataFrame(
    {
        "age": [59, 41, 33, 27] * 500,
        "job": ["cook", "nurse", "spy", "cook"] * 500,
        "hours": [38.5, None, 20, 40] * 500,
    }
)
schema = Schema(
    {
        "age": Integer(18, 100),
        "job": Category(["cook", "nurse", "teacher"]),
        "hours": Number(0, 80, missing=True),
    }
)
print(schema.describe())
encode = OneHotEncoder(
    categories=schema.levels("job"), handle_unknown="ignore", sparse_output=False
)
fill = SimpleImputer(strategy="constant", fill_value=40, keep_empty_features=True)
table = make_pipeline(
    SchemaTransformer(schema),
    ColumnTransformer(
        [
            ("job", encode, ["job"]),
            ("age", DomainScaler((18, 100)), ["age"]),
            ("hours", make_pipeline(fill, DomainScaler((0, 80))), ["hours"]),
        ]
    ),
    PrivateMeasure(bounds=(0, 1), accountant=BudgetAccountant(epsilon=1.0)),
)
print(check_private(table, strict=True))
table.fit(frame)

# %%
# With a schema, one unusual value ("58.5" as text) changes no other row:

with_odd = pd.concat([frame, pd.DataFrame({"age": ["58.5"], "job": [7], "hours": ["9"]})])
same = (table[:-1].transform(frame) == table[:-1].transform(with_odd)[: len(frame)]).all()
print(f"all other rows are the same, bit for bit: {same}")

# %%
# Fitted scalers leak
# -------------------
# Remove one person and fit both scalers again. Any difference reveals something about that person.

X[0] = 300  # somebody unusual
for candidate in (StandardScaler(), DomainScaler(bounds=(0, 300))):
    name = type(candidate).__name__
    with_person = candidate.fit(X).scale_.copy()
    without = candidate.fit(X[1:]).scale_
    print(f"{name}: largest change of scale_ {np.abs(with_person - without).max():.6f}")
