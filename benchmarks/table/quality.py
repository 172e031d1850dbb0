"""How close synthetic rows are to real ones, and what models learn from them."""

from itertools import combinations

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

_BINS = 20  # of numbers, with equally many test rows
_LINES = 50
_TRIPLES = 60


class Yardstick:
    """Measures tables against the test rows of one table."""

    def __init__(self, table):
        self._table = table
        self._numbers = [
            name for name, kind in table.schema.columns if kind.word in ("number", "integer")
        ]
        self._edges = {
            name: np.unique(np.quantile(table.test[name], np.linspace(0, 1, _BINS + 1)[1:-1]))
            for name in self._numbers
        }
        self._codes = self._binned(table.test)
        self._scale = table.test[self._numbers].astype(float)
        self._scale = self._scale.mean(), self._scale.std() + 1e-12

    def measures(self, rows, models=True):
        """Return all measures of synthetic rows as a dict."""
        found = self.distances(rows)
        return found | (self.learned(rows) if models else {})

    def distances(self, rows):
        """Return mean total variation of marginals, and Wasserstein distances of numbers."""
        codes = self._binned(rows)
        d = codes.shape[1]
        triples = list(combinations(range(d), 3))
        chosen = np.random.default_rng(0).permutation(len(triples))[:_TRIPLES]
        found = {
            "tvd1": np.mean([self._tvd(codes, (i,)) for i in range(d)]),
            "tvd2": np.mean([self._tvd(codes, pair) for pair in combinations(range(d), 2)]),
            "tvd3": np.mean([self._tvd(codes, triples[i]) for i in chosen]),
        }
        real, drawn = (self._scaled(frame) for frame in (self._table.test, rows))
        lines = np.random.default_rng(1).standard_normal((real.shape[1], _LINES))
        lines /= np.linalg.norm(lines, axis=0)
        return found | {"w1": _w1(real, drawn), "sw1": _w1(real @ lines, drawn @ lines)}

    def learned(self, rows):
        """Return the areas under the curves of models trained on synthetic rows."""
        label = self._table.label
        wanted = self._table.test[label].to_numpy(bool)
        given = rows[label].to_numpy(bool)
        if given.min() == given.max():
            return {"gb": 0.5, "lr": 0.5}
        (train, test), ordered = self._features(rows)
        boosted = HistGradientBoostingClassifier(categorical_features=~ordered, random_state=0)
        boosted.fit(train, given)
        both = np.vstack([train, test])
        n_values = np.where(ordered, 0, both.max(axis=0).astype(int) + 1)
        hot = np.split(self._one_hot(both, n_values), [len(train)])
        logistic = LogisticRegression(C=1.0, max_iter=500).fit(hot[0], given)
        return {
            "gb": roc_auc_score(wanted, boosted.predict_proba(test)[:, 1]),
            "lr": roc_auc_score(wanted, logistic.predict_proba(hot[1])[:, 1]),
        }

    def _features(self, rows):
        names = [name for name, _ in self._table.schema.columns if name != self._table.label]
        parts = [
            np.column_stack([self._plain(f, n) for n in names]) for f in (rows, self._table.test)
        ]
        kinds = dict(self._table.schema.columns)
        return parts, np.array([kinds[name].word != "category" for name in names])

    def _one_hot(self, part, n_values):
        """Return numbers in standard form and a column for every value of a category."""
        columns = []
        for values, n in zip(part.T, n_values, strict=True):
            if n:
                columns += [values == value for value in range(n)]
            else:
                columns.append((values - values.mean()) / (values.std() + 1e-9))
        return np.column_stack(columns)

    def _plain(self, frame, name):
        kind = dict(self._table.schema.columns)[name]
        if hasattr(kind, "values"):
            return kind.codes(np.asarray(frame[name], dtype=object), name).astype(float)
        return frame[name].to_numpy(dtype=float)

    def _binned(self, rows):
        columns = []
        for name, _ in self._table.schema.columns:
            values = self._plain(rows, name)
            if name in self._edges:
                values = np.searchsorted(self._edges[name], values, side="right")
            columns.append(np.asarray(values, dtype=np.int64))
        return np.column_stack(columns)

    def _tvd(self, codes, places):
        sizes = [int(max(self._codes[:, i].max(), codes[:, i].max())) + 1 for i in places]
        real, drawn = (
            np.bincount(np.ravel_multi_index(c[:, places].T, sizes), minlength=np.prod(sizes))
            / len(c)
            for c in (self._codes, codes)
        )
        return 0.5 * np.abs(real - drawn).sum()

    def _scaled(self, frame):
        mean, sd = self._scale
        return ((frame[self._numbers].astype(float) - mean) / sd).to_numpy()


def _w1(real, drawn):
    """Return the mean distance of the columns of two arrays by their quantiles."""
    levels = (np.arange(2000) + 0.5) / 2000
    return float(
        np.abs(np.quantile(real, levels, axis=0) - np.quantile(drawn, levels, axis=0)).mean()
    )
