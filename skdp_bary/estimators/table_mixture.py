"""A mixture of products over the cells of a table: rows drawn from it, and what it answers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import ndtri

from ..exceptions import import_optional
from ..schema.cells import ListCells, frame_of, instants, with_column
from ..schema.kinds import Integer
from ..schema.schema import Derived, InOrder, Key, Shares
from .table_queries import binned

# A mixture of products over the cells of a table: rows, probabilities, and conditions.

_LEAST_INSIDE = 1e-9  # of a bin, in any of its cells: nothing is impossible
_ROWS = 1 << 14  # at once


@dataclass(frozen=True, eq=False)
class ColumnModel:
    """One column of a mixture.

    Attributes
    ----------
    bins : ndarray of shape (n_cells,)
        Bin of every cell.
    inside : ndarray of shape (n_classes, n_cells)
        Probability of a cell in its bin.
    components : ndarray of shape (n_components, n_bins)
        Probability of a bin in every component.
    """

    bins: np.ndarray
    inside: np.ndarray
    components: np.ndarray

    def given(self, allowed):
        """Return the column with some cells alone, and their probability before.

        Parameters
        ----------
        allowed : ndarray of shape (n_cells,), float
            1.0 for cells that are allowed, 0.0 for others.

        Returns
        -------
        column : list of ColumnModel
            One a class: bins are no longer alike in all classes.
        likelihood : ndarray of shape (n_components, n_classes)
        """
        n_bins = self.components.shape[1]
        sizes = np.bincount(self.bins, minlength=n_bins)
        inside = (self.inside + _LEAST_INSIDE / sizes[self.bins]) * allowed
        kept = np.stack([np.bincount(self.bins, row, minlength=n_bins) for row in inside])
        likelihood = self.components @ kept.T
        inside, columns = _over(inside, kept[:, self.bins]), []
        for of_class, total in zip(kept, likelihood.T, strict=True):
            components = _over(self.components * of_class, total[:, None])
            columns.append(ColumnModel(self.bins, inside, components))
        return columns, likelihood


@dataclass(frozen=True, eq=False)
class TableMixture:
    """Components in which all columns are independent, given the class.

    Attributes
    ----------
    weights : ndarray of shape (n_components, n_classes)
        Joint probabilities of components and classes.
    columns : dict
        By place, next to the label: a list of ColumnModel, one per class.
    label : int or None
        Place of the column that tells the class.
    """

    weights: np.ndarray
    columns: dict
    label: int | None

    def given(self, allowed):
        """Return the mixture on some cells alone.

        Parameters
        ----------
        allowed : dict
            By place: 1.0 for cells that are allowed, 0.0 for others.
        """
        logs, columns = np.log(np.maximum(self.weights, 1e-300)), dict(self.columns)
        for place, cells in allowed.items():
            if place == self.label:
                logs = logs + np.log(np.maximum(cells, 1e-300))
                continue
            found = [column.given(cells) for column in self.columns[place]]
            columns[place] = [models[code] for code, (models, _) in enumerate(found)]
            likelihood = np.column_stack([like[:, code] for code, (_, like) in enumerate(found)])
            logs = logs + np.log(np.maximum(likelihood, 1e-300))
        weights = np.exp(logs - logs.max())
        return replace(self, weights=weights / weights.sum(), columns=columns)

    def draw(self, n_rows, rng):
        """Return cells of rows, of shape (n_rows, n_columns), in random order.

        Every row has the distribution of the mixture. Rows share it evenly: components, and cells
        of every column within a component, come about as often as they are probable.
        """
        flat = self.weights.ravel()
        ends = np.floor(np.cumsum(flat / flat.sum()) * n_rows + rng.random()).astype(np.int64)
        ends[-1] = n_rows
        ends = np.minimum(ends, n_rows)
        counts = np.diff(np.concatenate([[0], ends]))
        groups = np.repeat(np.arange(len(flat)), counts)
        n_columns = len(self.columns) + (self.label is not None)
        cells, n_classes = np.empty((n_rows, n_columns), dtype=np.int64), self.weights.shape[1]
        if self.label is not None:
            cells[:, self.label] = groups % n_classes
        for place in self.columns:
            # uniforms that are spread evenly over each group, in random order within it
            order = np.argsort(groups + rng.random(n_rows))
            ranks = np.empty(n_rows)
            ranks[order] = np.arange(n_rows) - (np.cumsum(counts) - counts)[groups]
            uniform = (ranks + rng.random(n_rows)) / counts[groups]
            for code, column in enumerate(self.columns[place]):
                rows = np.flatnonzero(groups % n_classes == code)
                own = groups[rows] // n_classes, uniform[rows]
                cells[rows, place] = _cells_at(column, code, *own)
        return cells[rng.permutation(n_rows)]

    def log_probabilities(self, cells):
        """Return the logarithm of the probability of the cells of each row."""
        classes = np.zeros(len(cells), np.int64) if self.label is None else cells[:, self.label]
        found = np.empty(len(cells))
        for code in np.unique(classes):
            of_class = np.flatnonzero(classes == code)
            start = np.log(np.maximum(self.weights[:, code], 1e-300))
            for rows in np.split(of_class, range(_ROWS, len(of_class), _ROWS)):
                logs, inside = np.tile(start, (len(rows), 1)), np.zeros(len(rows))
                for place, columns in self.columns.items():
                    column, own = columns[code], cells[rows, place]
                    logs += np.log(np.maximum(column.components[:, column.bins[own]], 1e-300)).T
                    inside += np.log(column.inside[code, own] + _LEAST_INSIDE)
                highest = logs.max(axis=1)
                sums = np.exp(logs - highest[:, None]).sum(axis=1)
                found[rows] = highest + np.log(sums) + inside
        return found


def mixture_of(measured, setting, weights, bins):
    """Return the mixture of fitted weights and bins.

    Parameters
    ----------
    measured : Measured
    setting : TableSetting
    weights : ndarray of shape (n_components, n_classes)
    bins : ndarray of shape (n_components, n_all_bins)
    """
    columns, start = {}, 0
    for place in setting.places:
        own = measured.bins[place]
        n = int(own.max()) + 1
        model = ColumnModel(own, measured.inside[place], bins[:, start : start + n])
        columns[place] = [model] * weights.shape[1]
        start += n
    return TableMixture(weights, columns, setting.label)


def _cells_at(column, code, components, uniform):
    """Return the cells at quantiles of the distributions of components."""
    ends = np.cumsum(column.components, axis=1)
    ends /= ends[:, -1:]
    n_bins = ends.shape[1]
    bins = np.empty(len(uniform), dtype=np.int64)
    rest = np.empty(len(uniform))
    for start in range(0, len(uniform), _ROWS):
        rows = slice(start, start + _ROWS)
        own = ends[components[rows]]
        bins[rows] = np.minimum((uniform[rows, None] >= own).sum(axis=1), n_bins - 1)
        place = np.arange(len(own)), bins[rows]
        low = np.where(bins[rows] > 0, own[place[0], place[1] - 1], 0.0)
        rest[rows] = (uniform[rows] - low) / np.maximum(own[place] - low, 1e-300)
    # cells in the order of their bins, with the running sums of their probabilities
    order = np.argsort(column.bins, kind="stable")
    sums = np.cumsum(column.inside[code, order])
    sizes = np.bincount(column.bins, minlength=n_bins)
    lasts = np.cumsum(sizes) - 1
    before = np.concatenate([[0.0], sums[lasts]])
    wanted = before[bins] + rest * (before[bins + 1] - before[bins])
    found = np.searchsorted(sums, wanted, side="right")
    found = np.clip(found, lasts[bins] - sizes[bins] + 1, lasts[bins])
    return order[found]


def _over(values, totals):
    """Return quotients, 0 where there is nothing to divide by."""
    return np.divide(values, totals, out=np.zeros_like(values), where=totals > 0)


# Rows drawn from a mixture under public conditions and rules.

_ROUNDS = 30  # of draws, to find rows in order
_LEAST_DRAWN = 1000  # at once, of which few rows may be found: chance alone finds none of one
_TRIED = 400  # rows of a trial
_TRIED_MISSING = 0.1  # ... of which values are missing


@dataclass(frozen=True, eq=False)
class Condition:
    """Queries on one column.

    Attributes
    ----------
    allowed : ndarray of shape (n_cells,)
        1.0 for cells that are allowed, 0.0 for others.
    low, high : float or None
        Of the numbers that are allowed.
    """

    allowed: np.ndarray
    low: float | None = None
    high: float | None = None


def condition(cells, asked, name):
    """Return the condition that a value, a list of values or a range (low, high) makes.

    Parameters
    ----------
    cells : Cells
    asked : object
        None: missing.
    name : str
        Of the column, for errors.
    """
    allowed = np.zeros(cells.n_cells)
    if asked is None:
        if cells.missing is None:
            raise ValueError(
                f"given: {name!r} must be a value of its schema, which has none missing, got None. "
                "Leave it out for all values."
            )
        allowed[cells.missing] = 1.0
        return Condition(allowed)
    if isinstance(cells, ListCells):
        values = list(asked) if isinstance(asked, (list, tuple, set, frozenset)) else [asked]
        places = cells.encode(_objects(values))
        if not values or (places >= len(cells.values)).any():
            raise ValueError(f"given: {name!r} must be of {list(cells.values)}, got {asked!r}.")
        allowed[places] = 1.0
        return Condition(allowed)
    return _in_range(cells, asked, name)


def _in_range(cells, asked, name):
    """Return the condition that a value or a range (low, high) makes; None is an open end."""
    what, kind = f"given: {name!r}", cells.kind
    ends = asked if isinstance(asked, tuple) else (asked, asked)
    if len(ends) != 2 or isinstance(asked, (list, set, frozenset, np.ndarray)):
        raise ValueError(
            f"{what} must be a value or (low, high), got {asked!r}. For example (0, None)."
        )
    low, high = (
        public if end is None else kind.numbers_of(_objects([end]), what)[0]
        for end, public in zip(ends, kind.range, strict=True)
    )
    if isinstance(kind, Integer):
        low, high = np.rint([low, high])
    if not low <= high:
        raise ValueError(f"{what} must have low <= high, got {asked!r}. Pass None for an open end.")
    allowed = cells.meeting(low, high)
    if not allowed.any():
        special = f" or a special value, {list(kind.special)}" if kind.special else ""
        public = cells.in_words(*kind.line) + special
        raise ValueError(
            f"{what} must meet the range of its schema, {public}, got {asked!r}. Ask for values in "
            "it, or None for an open end."
        )
    return Condition(allowed, float(low), float(high))


def draw_units(mixture, columns, conditions, rules, n_rows, rng):
    """Return the units of every column of rows that keep all conditions and rules.

    Parameters
    ----------
    mixture : TableMixture
    columns : dict
        By name: cells of the columns, in order.
    conditions : dict
        By name.
    rules : tuple
    n_rows : int
    rng : Generator
    """
    names = list(columns)
    shared = [rule for rule in rules if isinstance(rule, Shares) and rule.column not in conditions]
    if shared:  # exact numbers of rows for the values of its column, one value after another
        name, shares = shared[0].column, shared[0].shares
        parts = np.array(list(shares.values()), dtype=float)
        counts = np.floor(n_rows * np.cumsum(parts) / parts.sum() + rng.random()).astype(int)
        counts = np.diff(np.minimum(np.r_[0, counts[:-1], n_rows], n_rows)).tolist()
        kept = []
        for value, count in zip(shares, counts, strict=True):
            if count:
                asked = conditions | {name: condition(columns[name], value, name)}
                kept.append(draw_units(mixture, columns, asked, rules, count, rng))
        order = rng.permutation(n_rows)
        return [np.concatenate(part)[order] for part in zip(*kept, strict=True)]
    wanted = {names.index(name): asked.allowed for name, asked in conditions.items()}
    mixture = mixture.given(wanted) if wanted else mixture
    ordered = [rule for rule in rules if isinstance(rule, InOrder)]
    kept, n_drawn = [], max(n_rows, _LEAST_DRAWN) if ordered else n_rows
    for _ in range(_ROUNDS if ordered else 1):
        units = _units(mixture, columns, conditions, n_drawn, rng)
        good = np.ones(n_drawn, dtype=bool)
        for rule in ordered:
            good &= _in_order(units, columns, rule)
        kept.append([values[good] for values in units])
        if sum(len(part[0]) for part in kept) >= n_rows:
            return [np.concatenate(parts)[:n_rows] for parts in zip(*kept, strict=True)]
    raise ValueError(
        f"rules must hold for some synthetic rows, got fewer than one in {_ROUNDS}. Remove the "
        "rule that contradicts the data, or sample without rules and filter."
    )


def with_rules(frame, rules):
    """Return a frame with the columns of rules that compute them."""
    for rule in rules:
        if isinstance(rule, Key):
            numbers = np.arange(1, len(frame) + 1)
            made = [f"{rule.prefix}{n}" for n in numbers] if rule.prefix else numbers
        elif isinstance(rule, Derived):
            made = rule.function(frame)
        else:
            continue
        frame = with_column(frame, rule.column, made)
    return frame


def try_rules(rules, columns, container):
    """Raise where a function of a rule fails on rows that are drawn from the schema alone.

    Parameters
    ----------
    rules : sequence
        They have been checked.
    columns : dict
        By name: cells of the columns, in order.
    container : str
        What rows are held by.
    """
    rng, allowed = np.random.default_rng(0), {}
    for rule in rules:
        if isinstance(rule, Shares):
            values = [value for value, share in rule.shares.items() if share > 0]
            allowed[rule.column] = condition(columns[rule.column], values, rule.column).allowed
    units = []
    for name, cells in columns.items():
        drawn = rng.choice(np.flatnonzero(allowed.get(name, np.ones(cells.n_cells))), _TRIED)
        if cells.missing is not None and name not in allowed:
            drawn[rng.random(_TRIED) < _TRIED_MISSING] = cells.missing
        units.append(cells.draw(drawn, rng))
    good = np.ones(_TRIED, dtype=bool)
    for rule in rules:
        if isinstance(rule, InOrder):
            good &= _in_order(units, columns, rule)
    if good.any():
        kept = [values[good] for values in units]
        with_rules(frame_of(kept, list(columns.values()), list(columns), container), rules)


def check_rules(rules, columns):
    """Raise unless rules speak about columns that there are, or are not yet."""
    if rules and not columns:
        raise ValueError(
            "rules need a schema with column names. For example Schema({'age': kind})."
        )
    for rule in rules:
        if isinstance(rule, (Derived, Key)):
            if rule.column in columns:
                raise ValueError(
                    f"rules: {rule.column!r} is a column of the schema already. Give the derived "
                    "column another name, or leave it out of the schema."
                )
            continue
        names = (rule.column,) if isinstance(rule, Shares) else (rule.first, rule.second)
        for name in names:
            if name not in columns:
                raise ValueError(
                    f"rules must name columns of the schema, got {name!r}. It has {list(columns)}: "
                    "write one of them."
                )
            if isinstance(columns[name], ListCells) != isinstance(rule, Shares):
                wanted = "Shares for lists of values, InOrder for numbers and dates"
                raise ValueError(f"rules: {rule!r} does not suit {name!r}. Pass {wanted}.")
        if isinstance(rule, Shares):
            condition(columns[rule.column], list(rule.shares), rule.column)


def _units(mixture, columns, conditions, n_rows, rng):
    cells = mixture.draw(n_rows, rng)
    units = [column.draw(cells[:, i], rng) for i, column in enumerate(columns.values())]
    for place, name in enumerate(columns):
        asked = conditions.get(name)
        if asked is not None and asked.low is not None:
            units[place] = np.clip(units[place], asked.low, asked.high)
    return units


def _in_order(units, columns, rule):
    by_name = dict(zip(columns, units, strict=True))
    first, second = (instants(by_name[n], columns[n]) for n in (rule.first, rule.second))
    return ~(first > second)  # what is missing is in order


def _objects(values):
    found = np.empty(len(values), dtype=object)
    found[:] = list(values)
    return found


# Released counts of one or two columns, with intervals for their noise.

_DRAWS = 20_000  # of sums of Laplace noise, for their quantiles


@dataclass(frozen=True, eq=False)
class Marginal:
    """Counts of rows by value, from the release.

    Attributes
    ----------
    columns : tuple
        One or two names or places.
    values : list of tuple of str
        Values, or ranges of values, of each entry.
    counts : ndarray of shape (n_entries,)
        Released numbers of rows (people): right on average, and below 0 at times.
    low, high : ndarray of shape (n_entries,)
        Ends of the interval of each entry; below 0 where there may be no rows at all.
    confidence : float
        Probability that an interval covers the exact number, entry by entry.
    """

    columns: tuple
    values: list
    counts: np.ndarray
    low: np.ndarray
    high: np.ndarray
    confidence: float

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with one row per entry."""
        pandas = import_optional("pandas", "cli", "Marginal.to_frame")
        parts = dict(zip(map(str, self.columns), zip(*self.values, strict=True), strict=True))
        numbers = {"count": self.counts, "low": self.low, "high": self.high}
        return pandas.DataFrame(parts | numbers)


def marginal(measured, setting, places, names, confidence):
    """Return the counts of one or two columns.

    Parameters
    ----------
    measured : Measured
    setting : TableSetting
    places : tuple of int
    names : tuple
    confidence : float
    """
    counts, scale, n_summed, words = _released(measured, setting, places)
    reach = _reach(scale, n_summed, confidence, setting.pure)
    return Marginal(names, words, counts, counts - reach, counts + reach, confidence)


def _released(measured, setting, places):
    """Return counts, the scale of their noise, how many draws each has, and words for entries."""
    found, label = measured.histograms, setting.label
    n_classes = len(found.sizes)
    if places == (label,):
        words = [(setting.columns[label].label(cell),) for cell in range(n_classes)]
        return found.raw_sizes, measured.size_scale, np.ones(n_classes), words
    if len(places) == 1 or label in places:
        (own,) = [place for place in places if place != label]
        bins = measured.bins[own]
        table = binned(found.counts[own], bins)
        sizes, words = np.bincount(bins), bin_words(setting.columns[own], bins)
        if len(places) == 1:
            return table.sum(0), measured.count_scale, sizes * n_classes, [(w,) for w in words]
        classes = [setting.columns[label].label(code) for code in range(n_classes)]
        swap = places[0] != label
        entries = [(w, c) if swap else (c, w) for c in classes for w in words]
        return table.ravel(), measured.count_scale, np.tile(sizes, n_classes), entries
    table = measured.tables[measured.pairs.index(tuple(sorted(places)))].sum(axis=0)
    table = table if places[0] < places[1] else table.T
    words = [bin_words(setting.columns[place], measured.bins[place]) for place in places]
    entries = [(a, b) for a in words[0] for b in words[1]]
    return table.ravel(), measured.pair_scale, np.full(table.size, n_classes), entries


def bin_words(cells, bins):
    """Return the bins of a column in words."""
    words = []
    for number in range(int(bins.max()) + 1):
        own = np.flatnonzero(bins == number)
        if isinstance(cells, ListCells):
            words.append(" or ".join(cells.label(cell) for cell in own))
        elif own[0] == cells.missing:
            words.append(cells.label(own[0]))
        else:
            words.append(cells.in_words(cells.ends(own[0])[0], cells.ends(own[-1])[1]))
    return words


def _reach(scale, n_summed, confidence, pure):
    """Return half the width of intervals: quantiles of sums of draws."""
    if not pure:
        return ndtri(0.5 + 0.5 * confidence) * scale * np.sqrt(n_summed)
    rng, reach = np.random.default_rng(0), np.empty(len(n_summed))
    for n in np.unique(n_summed):
        sums = rng.gamma(n, 1.0, _DRAWS) - rng.gamma(n, 1.0, _DRAWS)  # of n Laplace draws
        reach[n_summed == n] = scale * float(np.quantile(np.abs(sums), confidence))
    return reach
