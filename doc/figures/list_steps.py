"""List what check_private says of every transformer that scikit-learn ships, as a table."""

import csv
import warnings
from pathlib import Path

import numpy as np
import sklearn
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.utils import all_estimators

from skdp_bary import PrivateMeasure, SchemaTransformer, check_private
from skdp_bary.schema import Number, Text

TABLE = Path(__file__).parents[1] / "tables" / "sklearn_steps.csv"
COMPOSED = {"ColumnTransformer", "FeatureUnion"}  # judged by their parts
WANTED = {
    "estimator": LogisticRegression(),
    "dictionary": np.eye(2),
    "estimators": [("a", Ridge())],
}
TEXTS = {"FeatureHasher", "HashingVectorizer"}


def main():
    """Write the table."""
    version = ".".join(sklearn.__version__.split(".")[:2])
    with TABLE.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([f"Step of scikit-learn {version}", "At its defaults", "What to do"])
        writer.writerows(listed())


def listed():
    """Return (step, verdict, advice) of every step, at its defaults and behind a public schema."""
    return [
        judged(name, cls) for name, cls in all_estimators("transformer") if name not in COMPOSED
    ]


def judged(name, cls):
    """Return the name of a step, its verdict and what to do instead."""
    schema = SchemaTransformer(Text() if name in TEXTS else Number(0, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        report = check_private(make_pipeline(schema, _made(cls), PrivateMeasure(bounds=(0, 1))))
    found = report.steps[1]
    return [name, found.verdict, found.advice]


def _made(cls):
    try:
        return cls()
    except TypeError as error:
        return cls(**{name: value for name, value in WANTED.items() if f"'{name}'" in str(error)})


if __name__ == "__main__":
    main()
