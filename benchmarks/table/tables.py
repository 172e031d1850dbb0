"""Real tables with their public schemas, divided into training and test rows.

Ranges come from what the columns mean, not from the rows. The numbers of PrivateTable were tuned on
the tables marked as such; the others, BudgetFood.csv, VietNamI.csv and Computers.csv of the package
pydataset, were kept aside.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from skdp_bary.schema import Boolean, Category, Integer, Number, Ordinal, Schema


@dataclass(frozen=True, eq=False)
class Table:
    """One table.

    Attributes
    ----------
    name, label : str
    schema : Schema
    train, test : DataFrame
    tuned : bool
        Whether numbers of PrivateTable were chosen on it.
    """

    name: str
    label: str
    schema: Schema
    train: pd.DataFrame
    test: pd.DataFrame
    tuned: bool


def _divided(name, label, columns, frame, tuned=True):
    frame = frame[list(columns)]
    order = np.random.default_rng(0).permutation(len(frame))
    cut = int(0.75 * len(frame))
    train, test = (frame.iloc[rows].reset_index(drop=True) for rows in (order[:cut], order[cut:]))
    return Table(name, label, Schema(columns), train, test, tuned)


def adult(folder):
    """Census incomes."""
    frame = pd.read_csv(folder / "adult.csv.gz", skipinitialspace=True)
    frame["rich"] = frame["income-per-year"].str.startswith(">")
    text = {name: _listed(frame[name]) for name in _ADULT_TEXT}  # of the code book
    columns = {
        "age": Integer(17, 90),
        "workclass": text["workclass"],
        "education-num": Integer(1, 16),
        "marital-status": text["marital-status"],
        "occupation": text["occupation"],
        "relationship": text["relationship"],
        "race": text["race"],
        "sex": text["sex"],
        "capital-gain": Integer(0, 99999),
        "capital-loss": Integer(0, 4999),
        "hours-per-week": Integer(1, 99),
        "native-country": text["native-country"],
        "rich": Boolean(),
    }
    return _divided("Adult", "rich", columns, frame)


_CLARITY = ["I1", "SI2", "SI1", "VS2", "VS1", "VVS2", "VVS1", "IF"]
_ADULT_TEXT = (
    "workclass", "marital-status", "occupation", "relationship", "race", "sex", "native-country",
)  # fmt: skip


def diamonds(folder):
    """Prices of diamonds."""
    frame = pd.read_csv(folder / "diamonds.csv.gz")
    frame["ideal"] = frame["cut"] == "Ideal"
    columns = {
        "carat": Number(0.2, 5.2),
        "color": Ordinal(list("JIHGFED"), outside="refuse"),
        "clarity": Ordinal(_CLARITY, outside="refuse"),
        "depth": Number(40.0, 80.0),
        "table": Number(40.0, 100.0),
        "price": Integer(300, 20000),
        "x": Number(0.0, 12.0),
        "y": Number(0.0, 60.0),
        "z": Number(0.0, 35.0),
        "ideal": Boolean(),
    }
    return _divided("diamonds", "ideal", columns, frame)


def insurance(folder):
    """Health insurance of wives."""
    frame = pd.read_csv(folder / "health_insurance.csv.gz")
    for name in ("hhi", "whi", "hhi2", "hispanic"):
        frame[name] = frame[name] == "yes"
    schooling = ["<9years", "9-11years", "12years", "13-15years", "16years", ">16years"]
    columns = {
        "whrswk": Integer(0, 90),
        "hhi": Boolean(),
        "whi": Boolean(),
        "hhi2": Boolean(),
        "education": Ordinal(schooling, outside="refuse"),
        "race": Category(["white", "black", "other"], outside="refuse"),
        "hispanic": Boolean(),
        "experience": Number(-1.0, 60.0),
        "kidslt6": Integer(0, 6),
        "kids618": Integer(0, 9),
        "husby": Number(0.0, 200.0),
        "region": Category(["northcentral", "south", "west", "other"], outside="refuse"),
    }
    return _divided("insurance", "whi", columns, frame)


def food(folder):
    """Budgets of Spanish households; kept aside."""
    frame = pd.read_csv(folder / "BudgetFood.csv").dropna()
    frame["woman"] = frame["sex"] == "woman"
    columns = {
        "wfood": Number(0.0, 1.0),
        "totexp": Number(10_000.0, 20_000_000.0, log=True),
        "age": Integer(16, 99),
        "size": Integer(1, 40),
        "town": Ordinal([1, 2, 3, 4, 5], outside="refuse"),
        "woman": Boolean(),
    }
    return _divided("food budgets", "woman", columns, frame, tuned=False)


def vietnam(folder):
    """Visits to pharmacies in Vietnam; kept aside."""
    frame = pd.read_csv(folder / "VietNamI.csv").dropna()
    for name in ("married", "injury", "insurance"):
        frame[name] = frame[name] == 1
    frame["male"] = frame["sex"] == "male"
    columns = {
        "pharvis": Integer(0, 60),
        "lnhhexp": Number(0.0, 6.0),
        "age": Number(0.0, 4.7),
        "male": Boolean(),
        "married": Boolean(),
        "educ": Integer(0, 12),
        "illness": Integer(0, 10),
        "injury": Boolean(),
        "illdays": Integer(0, 60),
        "actdays": Integer(0, 60),
        "insurance": Boolean(),
    }
    return _divided("pharmacies", "insurance", columns, frame, tuned=False)


def computers(folder):
    """Prices of computers, few rows; kept aside."""
    frame = pd.read_csv(folder / "Computers.csv")
    for name in ("cd", "multi", "premium"):
        frame[name] = frame[name] == "yes"
    columns = {
        "price": Integer(500, 6000),
        "speed": Ordinal([25, 33, 50, 66, 75, 100], outside="refuse"),
        "hd": Integer(0, 2500),
        "ram": Ordinal([2, 4, 8, 16, 24, 32], outside="refuse"),
        "screen": Ordinal([14, 15, 17], outside="refuse"),
        "cd": Boolean(),
        "multi": Boolean(),
        "premium": Boolean(),
        "ads": Integer(0, 400),
        "trend": Integer(1, 35),
    }
    return _divided("computers", "cd", columns, frame, tuned=False)


def _listed(column):
    return Category(sorted(set(column)), outside="refuse")


TABLES = {
    "Adult": adult,
    "diamonds": diamonds,
    "insurance": insurance,
    "food budgets": food,
    "pharmacies": vietnam,
    "computers": computers,
}


def load(name, folder):
    """Return a table by name."""
    return TABLES[name](Path(folder))
