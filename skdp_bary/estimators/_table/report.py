"""How close drawn rows are to those of a table, and to single ones: for the owner, not private."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import accuracy_score, roc_auc_score
from sklearn.neighbors import NearestNeighbors

from .answers import bin_words
from .bins import even_bins
from .page import html_page

if TYPE_CHECKING:
    from os import PathLike

_MOST_NEAR = 2000  # rows whose nearest ones are looked for
_BINS = 20  # of a line
_MANY = 0.02  # of the rows, which have a value or neighboring ones
_HARDLY = 0.25  # ... of that share, below which they are hardly drawn
WARNING = (
    "NOT PRIVATE: everything here was computed from the rows themselves and is covered by no "
    "guarantee. For the owner of the rows only."
)


@dataclass(frozen=True, eq=False)
class TableReport:
    """What an owner may want to know of drawn rows. It is not private.

    Attributes
    ----------
    marginals : dict
        Total variation distance by column: 0 for equal histograms, 1 for disjoint ones.
    pairs : dict
        ... by pair of columns.
    learned : dict
        Accuracy, and area under the curve for two classes, on real rows of models that were trained
        on real rows (``"real"``) and on drawn rows (``"drawn"``); empty without a label.
    closest : dict
        Median distance from drawn rows, and from rows that were held out, to the nearest row of the
        table; a category counts 1 where it differs, a number as a share of its range.
    attack : float or None
        Area under the curve of guessing who is in the table by the distance to the nearest drawn
        row: 0.5 is a coin. None without rows held out.
    histograms : dict
        By column: words for bins, shares in the table, shares among drawn rows.
    missed : dict
        By column, where there are some: words for values that 2% of the rows or more have, as a
        range where they are neighbors, and that are drawn less than a quarter as often; their
        shares in the table and among drawn rows.
    """

    marginals: dict
    pairs: dict
    learned: dict
    closest: dict
    attack: float | None
    histograms: dict
    missed: dict

    def __str__(self):
        worst = ", ".join(map(str, sorted(self.marginals, key=self.marginals.get)[:-4:-1]))
        lines = [
            WARNING,
            f"columns: mean distance {_mean(self.marginals):.3f}, worst {worst}",
            f"pairs of columns: mean distance {_mean(self.pairs):.3f}",
        ]
        for name, found in self.missed.items():
            lines += [
                f"HARDLY DRAWN: {name}, {words}: {real:.1%} of the rows, {made:.1%} of drawn rows"
                for words, real, made in found
            ]
        for name, found in self.learned.items():
            lines.append(
                f"models trained on {name} rows: "
                + ", ".join(f"{what} {value:.3f}" for what, value in found.items())
            )
        for name, found in self.closest.items():
            lines.append(f"distance from {name} rows to the nearest row: median {found:.3f}")
        if self.attack is not None:
            lines.append(f"attack on membership: area under the curve {self.attack:.3f}")
        return "\n".join(lines)

    def to_html(self, path: str | PathLike[str]) -> None:
        """Write one page with pictures, which need matplotlib.

        Parameters
        ----------
        path : str or Path
        """
        html_page(self, WARNING, path)


def report_of(columns, label, table, drawn, held_out, rng):
    """Return the report of drawn rows.

    Parameters
    ----------
    columns : dict
        Cells of the columns, by name.
    label : int or None
        Place of the column that tells the class.
    table, drawn : ndarray of shape (n_rows, n_columns)
        Cells of rows.
    held_out : ndarray or None
        Cells of rows that were not in the fit.
    rng : Generator
    """
    bins = [_bins(cells) for cells in columns.values()]
    real, made = ([b[rows[:, i]] for i, b in enumerate(bins)] for rows in (table, drawn))
    names = list(columns)
    histograms = {
        name: _histogram(columns[name], bins[i], real[i], made[i]) for i, name in enumerate(names)
    }
    missed = {
        name: _missed(columns[name], bins[i], *histograms[name][1:]) for i, name in enumerate(names)
    }
    pairs = {
        (names[i], names[j]): _distance(
            real[i] * (bins[j].max() + 1) + real[j], made[i] * (bins[j].max() + 1) + made[j]
        )
        for i, j in combinations(range(len(names)), 2)
    }
    near = [_near(rows, columns, rng) for rows in (table, drawn)]
    closest = {"drawn": float(np.median(_nearest(near[1], near[0])))}
    attack = None
    if held_out is not None:
        others = _near(held_out, columns, rng)
        closest["held out"] = float(np.median(_nearest(others, near[0])))
        scores = -np.r_[_nearest(near[0], near[1]), _nearest(others, near[1])]
        attack = float(roc_auc_score(np.arange(len(scores)) < len(near[0]), scores))
    return TableReport(
        marginals={name: _distance(real[i], made[i]) for i, name in enumerate(names)},
        pairs=pairs,
        learned={} if label is None or len(names) == 1 else _learned(table, drawn, label, columns),
        closest=closest,
        attack=attack,
        histograms=histograms,
        missed={name: found for name, found in missed.items() if found},
    )


def _learned(table, drawn, label, columns):
    """Return how good models are on one half of the table, trained on the other and on drawn."""
    half = np.arange(len(table)) % 2 == 0
    given = np.array([cells.n_ordered == 0 for cells in columns.values()])
    listed = np.delete(given & (table.max(axis=0) < 255) & (drawn.max(axis=0) < 255), label)
    tested = table[~half]
    found = {}
    for name, rows in (("real", table[half]), ("drawn", drawn)):
        model = HistGradientBoostingClassifier(categorical_features=listed, random_state=0)
        if len(np.unique(rows[:, label])) < 2:
            continue
        model.fit(np.delete(rows, label, axis=1), rows[:, label])
        X, y = np.delete(tested, label, axis=1), tested[:, label]
        found[name] = {"accuracy": float(accuracy_score(y, model.predict(X)))}
        if len(np.unique(y)) == 2 == len(model.classes_):
            chances = model.predict_proba(X)[:, 1]
            found[name]["area under the curve"] = float(roc_auc_score(y, chances))
    return found


def _bins(cells):
    """Return bins of the cells of a column, for comparisons."""
    line = even_bins(cells, _BINS)
    first = line[-1] + 1 if len(line) else 0
    return np.concatenate([line, first + np.arange(cells.n_cells - len(line))])


def _histogram(cells, bins, real, drawn):
    words = bin_words(cells, bins)
    shares = [np.bincount(rows, minlength=len(words)) / len(rows) for rows in (real, drawn)]
    return words, *shares


def _missed(cells, bins, real, drawn):
    """Return words and shares of what is hardly drawn: neighboring bins of a line together."""
    few = drawn < _HARDLY * real
    on_line = np.isin(np.arange(len(real)), bins[: cells.n_ordered])
    joined = np.append(False, (few & on_line)[1:] & few[:-1])
    groups = np.cumsum(~joined) - 1
    words = bin_words(cells, groups[bins])
    real, drawn = np.bincount(groups, real), np.bincount(groups, drawn)
    found = np.flatnonzero((real >= _MANY) & (drawn < _HARDLY * real))
    return [(words[i], float(real[i]), float(drawn[i])) for i in found]


def _distance(real, drawn):
    """Return the total variation distance of two samples of integers."""
    n = int(max(real.max(), drawn.max())) + 1
    shares = [np.bincount(rows, minlength=n) / len(rows) for rows in (real, drawn)]
    return 0.5 * float(np.abs(shares[0] - shares[1]).sum())


def _near(rows, columns, rng):
    """Return some rows as points whose L1 distance counts differences of columns."""
    rows = rows[rng.permutation(len(rows))[:_MOST_NEAR]]
    points = []
    for place, cells in enumerate(columns.values()):
        own, n = rows[:, place], cells.n_ordered
        if n:
            points.append(np.where(own < n, own / max(n - 1, 1), 0.0))
        points += [0.5 * (own == cell) for cell in range(n, cells.n_cells)]
    return np.column_stack(points)


def _nearest(points, others):
    return (
        NearestNeighbors(n_neighbors=1, metric="manhattan").fit(others).kneighbors(points)[0][:, 0]
    )


def _mean(values):
    return float(np.mean(list(values.values()))) if values else 0.0
