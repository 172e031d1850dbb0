"""Queries on a fitted table: rows, probabilities, counts, and a report for its owner."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from os import PathLike
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.metrics import accuracy_score, r2_score, roc_auc_score
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.validation import check_is_fitted, validate_data

from ..exceptions import RandomState, Rows, check_real
from ..privacy.noise import public_generator
from ..rows.columns import taken_out
from ..rows.persons import encode_persons
from ..schema.cells import ListCells, TableCells, frame_of
from ..values import column_names, with_width
from .notices import check_samples
from .table_mixture import Marginal, bin_words, condition, draw_units, marginal, with_rules
from .table_queries import bins_between

# What is asked of a fitted table: rows, probabilities, answers about columns.

_MOST_DRAWN = 50_000  # of an evaluation
_FEWEST = 10
_OF_ROWS = "Rows are compared, while the fit counted each person once: pass groups=, as to the fit."


class TableViews:
    """Draws rows of a fitted table, and answers questions about it; nothing is charged."""

    def sample(
        self,
        n_samples: int = 1,
        random_state: RandomState | None = None,
        *,
        given: Mapping | None = None,
    ) -> Any:
        """Draw synthetic rows: a frame with the columns and types of the schema.

        The draws are post-processing of the release: they cost nothing, whatever their number.

        Parameters
        ----------
        n_samples : int, default=1
        random_state : int or RandomState, default=None
        given : dict, default=None
            By name of the column what all rows must have: a value, a list of values of a category,
            a range ``(low, high)`` of numbers or dates in which None is an open end, or None for
            missing.

        Returns
        -------
        table : DataFrame, Arrow table or ndarray of shape (n_samples, n_columns)
            Held by what held the table of the fit: pandas, polars, Arrow, or an array. Types are
            those of the schema, whatever the types in the table were. Columns of rules come last.
        """
        check_is_fitted(self)
        n_samples = check_samples(n_samples, self.n_features_in_)
        columns, rng = self._columns(), public_generator(random_state)
        given = {} if given is None else given
        if not isinstance(given, Mapping) or not all(name in columns for name in given):
            raise ValueError(f"given must be a dict by columns of {list(columns)}, got {given!r}.")
        conditions = {n: condition(columns[n], asked, n) for n, asked in given.items()}
        units = draw_units(self.mixture_, columns, conditions, self.rules, n_samples, rng)
        frame = frame_of(units, list(columns.values()), list(columns), self._container)
        return with_rules(frame, self.rules)

    def query(self, *columns: str | int, confidence: float = 0.95) -> Marginal:
        """Return released counts of the values of one column, or of two, with intervals.

        Entries are bins of the release: values that stand out, and ranges.

        Parameters
        ----------
        *columns : str or int
            Names, or places where columns have no names.
        confidence : float, default=0.95
            Probability that an interval covers the exact count, for one entry.

        Returns
        -------
        answer : Marginal
        """
        check_is_fitted(self)
        check_real(confidence, "confidence", low=0.0, high=1.0, open_low=True, open_high=True)
        known = list(self._columns())
        if any(isinstance(name, (list, tuple)) for name in columns):
            raise TypeError(
                f"columns must be given one by one, as in query('a', 'b'), got {columns!r}."
            )
        if len(columns) not in (1, 2) or len(set(columns)) < len(columns):
            raise ValueError(
                f"columns must be one or two different columns, got {columns!r}. For example "
                f"query({known[0]!r})."
            )
        if not all(name in known for name in columns):
            raise ValueError(
                f"columns must be of {known}, got {columns!r}. For example query({known[0]!r})."
            )
        setting = self._method_setting(self.n_features_in_)
        places = tuple(known.index(name) for name in columns)
        pair = tuple(sorted(places))
        if setting.label not in pair and len(pair) == 2 and pair not in self._measured.pairs:
            raise ValueError(
                f"columns must be measured together, got {columns!r}. Pass a pair of pairs_."
            )
        return marginal(self._measured, setting, places, columns, float(confidence))

    def _numbers(self, columns=None):
        if columns is None:
            columns = self.pairs_[0] if self.pairs_ else tuple(self._columns())[:1]
        found = self.query(*([columns] if isinstance(columns, (str, int)) else columns))
        names = [list(dict.fromkeys(words)) for words in zip(*found.values, strict=True)]
        label = "people, by " + " and ".join(map(str, found.columns))
        if len(names) == 1:
            return names[0], found.counts, (found.low, found.high), label
        table = np.empty([len(words) for words in names])
        for entry, count in zip(found.values, found.counts, strict=True):
            table[tuple(words.index(w) for words, w in zip(names, entry, strict=True))] = count
        return names, table, None, label

    def score_samples(self, X: Rows) -> np.ndarray:
        """Return the logarithm of the probability of the cells that each row lies in.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            In memory. What is returned is an exact function of these rows.

        Returns
        -------
        log_probabilities : ndarray of shape (n_rows,)
        """
        check_is_fitted(self)
        _check_in_memory(X, "X")
        X = with_width(X, self.n_features_in_)
        if self.schema_.names is None:
            validate_data(self, X, skip_check_array=True, reset=False)
        cells = TableCells(self.schema_, self._beside())(X)
        return self.mixture_.log_probabilities(cells.astype(np.int64))

    def evaluate(
        self,
        X: Rows,
        *,
        groups: Rows | None = None,
        held_out: Rows | None = None,
        predict: str | int | None = None,
        random_state: RandomState | None = None,
    ) -> TableReport:
        """Compare drawn rows with those of a table: for its owner only, **not private**.

        As many rows are drawn as the table has, up to 50,000.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            The rows of the fit, in memory. The report is an exact function of them.
        groups : array-like of shape (n_rows,) or str, default=None
            Person IDs, as for the fit, where each person counts once: one row of each is compared,
            drawn at random. None: the column that the fit was told by name, where `X` has it.
        held_out : table, default=None
            Rows like them that were not in the fit: what an attack on membership is judged by. Of
            each person one, where `groups` is the name of a column that it has.
        predict : str or int, default=None
            Column that models predict from the others, of numbers or not; None: the label.
        random_state : int or RandomState, default=None

        Returns
        -------
        report : TableReport
        """
        check_is_fitted(self)
        _check_in_memory(X, "X")
        _check_in_memory(held_out, "held_out")
        ids, rng = getattr(self, "_ids", ()), public_generator(random_state)
        if groups is None and ids and ids[0] in (column_names(X) or ()):
            groups = ids[0]
        named = (groups,) if isinstance(groups, str) else ()
        columns, read = self._columns(), TableCells(self.schema_, self._beside() + named)
        kept = _one_row_each(X, groups, rng)
        tables, strays = [read(X)[kept].astype(np.int64), None], read.strays(X)[kept]
        if held_out is not None:
            own = groups if named and groups in (column_names(held_out) or ()) else None
            tables[1] = read(held_out)[_one_row_each(held_out, own, rng)].astype(np.int64)
        if any(rows is not None and len(rows) < _FEWEST for rows in tables):
            raise ValueError(
                f"X and held_out must have {_FEWEST} rows or more. Pass longer tables."
            )
        n_drawn = min(len(tables[0]), _MOST_DRAWN)
        units = draw_units(self.mixture_, columns, {}, self.rules, n_drawn, rng)
        frame = frame_of(units, list(columns.values()), list(columns), "pandas")
        frame.columns = list(columns)
        drawn = TableCells(self.schema_)(frame if self.schema_.names else frame.to_numpy())
        if predict is not None and predict not in columns:
            raise ValueError(f"predict must be one of {list(columns)}, got {predict!r}.")
        label = self._label_place(self.n_features_in_)
        predicted = label if predict is None else list(columns).index(predict)
        strays = dict(zip(columns, strays.mean(axis=0).tolist(), strict=True))
        drawn = drawn.astype(np.int64)
        report = report_of(columns, predicted, tables[0], strays, drawn, tables[1], rng)
        if groups is None and getattr(self, "_of_persons", False):
            return replace(report, verdict=f"{report.verdict} {_OF_ROWS}")
        return report

    def _columns(self):
        """Return the cells of the columns by name, or by place where they have none."""
        cells = TableCells(self.schema_).columns(self.n_features_in_)
        for place, (model, *_) in self.mixture_.columns.items():
            if len(model.bins) != cells[place].n_cells:
                raise ValueError(
                    f"{cells[place].what} has other cells than in the version that fitted this "
                    "table. Sample from it with that version, or fit it again."
                )
        names = getattr(self, "feature_names_in_", range(self.n_features_in_))
        return dict(zip(names, cells, strict=True))

    def _beside(self):
        """Names of columns that rows may have and that are not of the model."""
        return (*self._unread(), *getattr(self, "_ids", ()))


def _one_row_each(X, groups, rng):
    """Return places of rows: a random one of each person, or all where nothing tells people."""
    if groups is None:
        return slice(None)
    if isinstance(groups, str):
        groups = taken_out(X, {"groups": groups})[1]["groups"]
    order = rng.permutation(len(X))
    return order[np.unique(encode_persons(groups, len(X))[order], return_index=True)[1]]


def _check_in_memory(rows, name):
    """Raise where rows are elsewhere: exact functions of all of them have nothing to add up."""
    lazy = next((how for how in ("compute", "collect") if hasattr(rows, how)), None)
    if lazy or isinstance(rows, (str, PathLike, Iterator)):
        remedy = f"{name}.{lazy}() is one" if lazy else "pandas.read_parquet reads a file"
        kind = type(rows).__name__
        raise TypeError(f"{name} must be a table in memory, got a {kind}; {remedy}.")


# How close drawn rows are to those of a table, and to single ones: for the owner, not private.

_MOST_NEAR = 2000  # rows whose nearest ones are looked for
_BINS = 20  # of a line
_MANY = 0.01  # of the rows, which have a value or neighboring ones
_ENOUGH = 20  # drawn rows that would have them, of which chance leaves a quarter once in 10^5
_HARDLY = 0.25  # ... of that share, below which they are hardly drawn
WARNING = (
    "NOT PRIVATE: everything here was computed from the rows themselves and is covered by no "
    "guarantee. For the owner of the rows only."
)


@dataclass(frozen=True, eq=False, repr=False)
class TableReport:
    """Report on synthetic data for the data owner. It is not private.

    Attributes
    ----------
    marginals : dict
        Total variation distance by column, the largest first, in bins of about 5% of the rows of
        the table: 0 for equal histograms, 1 for disjoint ones.
    pairs : dict
        ... by pair of columns.
    learned : dict
        Scores on real rows of models that were trained on real rows (``"real"``) and on drawn rows
        (``"drawn"``): accuracy, and area under the curve for two classes; R2 for numbers. Empty
        where nothing is predicted.
    closest : dict
        Median distance from drawn rows, and from rows that were held out, to the nearest row of the
        table; a category counts 1 where it differs, a number as a share of its range.
    attack : float or None
        Area under the curve of guessing who is in the table by the distance to the nearest drawn
        row: 0.5 is a coin. None without rows held out.
    histograms : dict
        By column: words for bins, shares in the table, shares among drawn rows.
    missed : dict
        By column, where there are some: words for values that 1% of the rows or more have, as a
        range where they are neighbors, and that are drawn less than a quarter as often; their
        shares in the table and among drawn rows. Of values that few drawn rows would have,
        nothing is said.
    strays : dict
        By column, where it is more than 1%: the share of rows whose value the schema does not
        declare, so that it was clipped to the range or made "other". All else compares values
        after that.
    advice : dict
        By column of `missed` or `strays`: what to change.
    verdict : str
        What all this says, in words.
    """

    marginals: dict
    pairs: dict
    learned: dict
    closest: dict
    attack: float | None
    histograms: dict
    missed: dict
    strays: dict
    advice: dict
    verdict: str

    def __repr__(self):
        worst = ", ".join(map(str, list(self.marginals)[:3]))
        lines = [
            WARNING,
            f"In short: {self.verdict}",
            f"columns: mean distance {_mean(self.marginals):.3f}, worst {worst}",
            f"pairs of columns: mean distance {_mean(self.pairs):.3f}",
        ]
        for name, share in self.strays.items():
            lines.append(f"NOT IN THE SCHEMA: {name}: {share:.1%} of the rows")
        for name, found in self.missed.items():
            lines += [
                f"RARELY SAMPLED: {name}, {words}: {real:.1%} of the rows, {made:.1%} of drawn rows"
                for words, real, made in found
            ]
        lines += [f"advice for {name}: {words}" for name, words in self.advice.items()]
        for name, found in self.learned.items():
            words = ", ".join(f"{what} {value:.3f}" for what, value in found.items())
            lines.append(f"boosted trees trained on {name} rows, tested on real ones: {words}")
        for name, value in self.closest.items():
            lines.append(
                f"{name} rows: median distance to the nearest row of the table: {value:.3f}"
            )
        if self.attack is not None:
            lines.append(
                f"membership attack: area under the curve (0.5 is a coin): {self.attack:.3f}"
            )
        return "\n".join(lines)


def report_of(columns, predicted, table, strays, drawn, held_out, rng):
    """Return the report of drawn rows.

    Parameters
    ----------
    columns : dict
        Cells of the columns, by name.
    predicted : int or None
        Place of the column that models predict from the others.
    table, drawn : ndarray of shape (n_rows, n_columns)
        Cells of rows.
    strays : dict
        Share of the rows whose value was clipped or made "other", by column.
    held_out : ndarray or None
        Cells of rows that were not in the fit.
    rng : Generator
    """
    names, numbers, histograms, missed, distances = list(columns), [], {}, {}, {}
    for place, (name, cells) in enumerate(columns.items()):
        sides = table[:, place], drawn[:, place]
        bins = _bins(cells, sides[0])
        numbers.append([bins[rows] for rows in sides])
        histograms[name] = (bin_words(cells, bins), *_shares(bins, *sides))
        distances[name] = _distance(*histograms[name][1:])
        missed[name] = _missed(cells, bins, *sides)
    pairs = {}
    for i, j in combinations(range(len(names)), 2):
        width = len(histograms[names[j]][0])
        both = [
            first * width + second for first, second in zip(numbers[i], numbers[j], strict=True)
        ]
        groups = np.arange(len(histograms[names[i]][0]) * width)
        pairs[names[i], names[j]] = _distance(*_shares(groups, *both))
    near = [_near(rows, columns, rng) for rows in (table, drawn)]
    closest = {"drawn": float(np.median(_nearest(near[1], near[0])))}
    attack = None
    if held_out is not None:
        others = _near(held_out, columns, rng)
        closest["held out"] = float(np.median(_nearest(others, near[0])))
        # where drawn rows repeat rows of the table, these lie nearer to them than others do
        scores = -np.r_[_nearest(near[0], near[1]), _nearest(others, near[1])]
        attack = float(roc_auc_score(np.arange(len(scores)) < len(near[0]), scores))
    marginals = _largest_first(distances)
    told = predicted is not None and len(names) > 1
    learned = _learned(table, drawn, predicted, columns) if told else {}
    missed = {name: missed[name] for name in marginals if missed[name]}
    strays = {name: strays[name] for name in marginals if strays[name] > _MANY}
    advice = {
        name: _advice(columns[name], name in strays, name in missed)
        for name in marginals
        if name in strays or name in missed
    }
    # two samples of one distribution are half the mean sizes of Gaussians apart
    variance = 1.0 / len(table) + 1.0 / len(drawn)
    shares = [real for _, real, _ in histograms.values()]
    spreads = [np.sqrt(2.0 / np.pi * (variance * r * (1.0 - r))).sum() for r in shares]
    by_chance = 0.5 * np.mean(spreads)
    return TableReport(
        marginals=marginals,
        pairs=_largest_first(pairs),
        learned=learned,
        closest=closest,
        attack=attack,
        histograms={name: histograms[name] for name in marginals},
        missed=missed,
        strays=strays,
        advice=advice,
        verdict=_verdict(_mean(marginals) - by_chance, missed, strays, learned, attack),
    )


_CLOSE, _FAR = 0.05, 0.15  # mean distance of columns, beyond chance
_LOSS, _TOLD = 0.05, 0.55  # of a score; the area under the curve of an attack


def _verdict(distance, missed, strays, learned, attack):
    """Say in words what the numbers of a report mean."""
    kept = "close" if distance < _CLOSE else "roughly kept" if distance < _FAR else "far off"
    where = " within the schema" if strays else ""
    faults = []
    if strays:
        faults.append(f"many values are not in the schema in {', '.join(map(str, strays))}")
    if missed:
        faults.append(f"frequent values are rarely sampled in {', '.join(map(str, missed))}")
    said = [
        ", but ".join(filter(None, [f"single columns are {kept}{where}", " and ".join(faults)]))
    ]
    if len(learned) == 2:
        what = list(learned["real"])[-1]
        loss = learned["real"][what] - learned["drawn"].get(what, 0.0)
        lose = f"lose {loss:.2f} of {what}" if loss > _LOSS else "are nearly as good"
        said.append(f"models trained on drawn rows {lose}")
    elif learned:
        said.append("drawn rows have one class only, so that no model can be trained on them")
    if attack is not None:
        finds = "finds" if attack > _TOLD else "does not find"
        said.append(f"the attack {finds} who was in the table")
    return "; ".join(said) + "."


def _advice(cells, strays, missed):
    """Say what to change where values of a column are clipped, made "other" or hardly drawn."""
    listed, said = isinstance(cells, ListCells), []
    if strays and listed:
        said.append('add public values to its list: others were made "other"')
    elif strays:
        said.append("declare a wider public range, or special values: others were clipped")
    if missed and getattr(cells.kind, "log", False):
        said.append("declare low nearer to the smallest value, or log=False")
    elif missed:
        coarser = ", a coarser resolution" if hasattr(cells.kind, "resolution") else ""
        said.append("use fewer columns" + ("" if listed else f", a narrower range{coarser}"))
    more = " or a larger epsilon" if missed else ""
    return "; ".join(said) + more + ". A new fit is charged again."


def _largest_first(distances):
    return dict(sorted(distances.items(), key=lambda pair: -pair[1]))


def _learned(table, drawn, label, columns):
    """Scores of models on one half of the table, trained on the other and on synthetic data."""
    cells = list(columns.values())[label]
    if cells.n_ordered and not isinstance(cells, ListCells):  # numbers, where they are not missing
        table, drawn = (rows[rows[:, label] < cells.n_ordered] for rows in (table, drawn))
        kind, scores = HistGradientBoostingRegressor, {"R2": r2_score}
    else:
        kind, scores = HistGradientBoostingClassifier, {"accuracy": accuracy_score}
    half = np.arange(len(table)) % 2 == 0
    given = np.array([cells.n_ordered == 0 for cells in columns.values()])
    listed = np.delete(given & (table.max(axis=0) < 255) & (drawn.max(axis=0) < 255), label)
    tested = table[~half]
    found = {}
    for name, rows in (("real", table[half]), ("drawn", drawn)):
        model = kind(categorical_features=listed, random_state=0)
        if len(np.unique(rows[:, label])) < 2:
            continue
        model.fit(np.delete(rows, label, axis=1), rows[:, label])
        X, y = np.delete(tested, label, axis=1), tested[:, label]
        guessed = model.predict(X)
        found[name] = {what: float(score(y, guessed)) for what, score in scores.items()}
        if len(np.unique(y)) == 2 == len(getattr(model, "classes_", ())):
            chances = model.predict_proba(X)[:, 1]
            found[name]["area under the curve"] = float(roc_auc_score(y, chances))
    return found


def _bins(cells, rows):
    """Return bins of the cells of a column: quantiles of the rows, and every cell of many alone."""
    counts = np.bincount(rows, minlength=cells.n_cells)[: cells.n_ordered]
    total = max(counts.sum(), 1)
    quantiles = (np.cumsum(counts) - counts / 2) * _BINS // total
    line = bins_between(quantiles, cells.alone | (counts * _BINS >= total))
    first = line[-1] + 1 if len(line) else 0
    return np.concatenate([line, first + np.arange(cells.n_cells - len(line))])


def _missed(cells, bins, table, made):
    """Return words and shares of what is hardly drawn: neighboring bins of a line, and cells.

    A value that many rows have is looked at by itself too: its bin may hold others that are drawn.
    """
    least = max(_MANY, _ENOUGH / min(len(table), len(made)))
    real, drawn = _shares(bins, table, made)
    few, on_line = drawn < _HARDLY * real, np.isin(np.arange(len(real)), bins[: cells.n_ordered])
    joined = np.append(False, (few & on_line)[1:] & few[:-1])
    together, alone = (np.cumsum(~joined) - 1)[bins], np.arange(cells.n_cells)
    found, told = [], np.zeros(cells.n_cells, dtype=bool)
    for groups in (together, alone):
        real, drawn = _shares(groups, table, made)
        words = bin_words(cells, groups)
        for i in np.flatnonzero((real >= least) & (drawn < _HARDLY * real)):
            if not told[groups == i].all():
                found.append((words[i], float(real[i]), float(drawn[i])))
                told |= groups == i
    return found


def _shares(groups, *tables):
    """Return the shares of rows in every group of cells, of each table."""
    n_groups = groups.max() + 1
    return [np.bincount(groups[rows], minlength=n_groups) / len(rows) for rows in tables]


def _distance(real, drawn):
    """Return the total variation distance of shares."""
    return 0.5 * float(np.abs(real - drawn).sum())


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
    search = NearestNeighbors(n_neighbors=1, metric="manhattan").fit(others)
    return search.kneighbors(points)[0][:, 0]


def _mean(values):
    return float(np.mean(list(values.values()))) if values else 0.0
