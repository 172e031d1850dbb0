"""Rows drawn from a mixture under public conditions and rules."""

from dataclasses import dataclass

import numpy as np

from ...schema import Derived, InOrder, Integer, Key, Shares
from ...schema._cells import ListCells
from ...schema._frames import frame_of, instants, with_column

_ROUNDS = 30  # of draws, to find rows in order
_LEAST_DRAWN = 1000  # at once, of which few rows may be found: chance alone finds none of one
_TRIED = 400  # rows of a trial
_TRIED_MISSING = 0.1  # ... of which values are missing


@dataclass(frozen=True, eq=False)
class Condition:
    """What is asked of one column.

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
            raise ValueError(f"given: the schema lets no value of {name!r} be missing.")
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
        raise ValueError(f"{what} must be a value or (low, high), got {asked!r}.")
    low, high = (
        public if end is None else kind.numbers_of(_objects([end]), what)[0]
        for end, public in zip(ends, kind.range, strict=True)
    )
    if isinstance(kind, Integer):
        low, high = np.rint([low, high])
    if not low <= high:
        raise ValueError(f"{what} must have low <= high, got {asked!r}.")
    allowed = cells.meeting(low, high)
    if not allowed.any():
        special = f" or a special value, {list(kind.special)}" if kind.special else ""
        public = cells.in_words(*kind.line) + special
        raise ValueError(f"{what} must meet the range of its schema, {public}, got {asked!r}.")
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
    if shared:
        return _by_shares(mixture, columns, conditions, rules, n_rows, rng, shared[0])
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
    raise ValueError(f"rules: fewer than one row in {_ROUNDS} of the release is in order.")


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
        raise ValueError("rules need a schema with names of columns.")
    for rule in rules:
        if isinstance(rule, (Derived, Key)):
            if rule.column in columns:
                raise ValueError(f"rules: {rule.column!r} is a column of the schema already.")
            continue
        names = (rule.column,) if isinstance(rule, Shares) else (rule.first, rule.second)
        for name in names:
            if name not in columns:
                raise ValueError(f"rules: {name!r} is no column of the schema.")
            if isinstance(columns[name], ListCells) != isinstance(rule, Shares):
                raise ValueError(f"rules: {rule!r} does not suit the kind of {name!r}.")
        if isinstance(rule, Shares):
            condition(columns[rule.column], list(rule.shares), rule.column)


def _by_shares(mixture, columns, conditions, rules, n_rows, rng, rule):
    """Return units with exact numbers of rows for the values of one column."""
    values, shares = list(rule.shares), np.array(list(rule.shares.values()), dtype=float)
    counts = np.floor(n_rows * np.cumsum(shares) / shares.sum() + rng.random()).astype(int)
    counts = np.diff(np.minimum(np.r_[0, counts[:-1], n_rows], n_rows))
    parts = []
    for value, count in zip(values, counts, strict=True):
        if count:
            asked = conditions | {rule.column: condition(columns[rule.column], value, rule.column)}
            parts.append(draw_units(mixture, columns, asked, rules, int(count), rng))
    order = rng.permutation(n_rows)
    return [np.concatenate(part)[order] for part in zip(*parts, strict=True)]


def _units(mixture, columns, conditions, n_rows, rng):
    cells = mixture.draw(n_rows, rng)
    units = [column.draw(cells[:, i], rng) for i, column in enumerate(columns.values())]
    for place, name in enumerate(columns):
        asked = conditions.get(name)
        if asked is not None and asked.low is not None:
            units[place] = np.clip(units[place], asked.low, asked.high)
    return units


def _in_order(units, columns, rule):
    names = list(columns)
    first, second = (
        instants(units[names.index(name)], columns[name]) for name in (rule.first, rule.second)
    )
    return ~(first > second)  # what is missing is in order


def _objects(values):
    found = np.empty(len(values), dtype=object)
    found[:] = list(values)
    return found
