"""The command that tells whether two private tables, or two released sketches, have one law."""

import os
from functools import partial
from pathlib import Path

import numpy as np

from ..estimators import PrivateTwoSampleTest
from ..geometry._bounds import in_words
from ._bounds import read_bounds
from ._offer import offer, open_budget, persons_in_words
from ._sketches import compare_sketches
from ._tables import Table, numbered
from ._text import say

_COHORTS = ("first", "second")


def run(given):
    """Compare two tables, or say what it would cost; or two sketches, which costs nothing."""
    paths = (given.table, given.other)
    if all(Path(path).exists() for path in paths) and os.path.samefile(*paths):
        raise ValueError(f"{given.table} and {given.other} are one file.")
    sketches = [Path(path).suffix == ".npz" for path in paths]
    if any(sketches) and not all(sketches):
        raise ValueError("Two tables can be compared, or two sketches, but not one with the other.")
    if all(sketches):
        say(f"{in_numbers(compare_sketches(*paths))}; nothing was charged")
        return 0
    first = Table(given.table, given.columns, groups=given.groups)
    tables = (first, Table(given.other, first.columns, groups=given.groups))
    bounds = read_bounds(given.bounds, first.columns, named=given.columns is not None)
    given.columns = first.columns
    given.write, given.said = None, lambda estimator, given: in_numbers(estimator.result_)
    estimator = PrivateTwoSampleTest(
        _COHORTS,
        n_min=_sizes(given.n_min),
        epsilon=given.epsilon,
        delta=given.delta,
        bounds=bounds,
        n_hint=given.n_hint,
        accountant=open_budget(given),
    )
    say(persons_in_words(first.columns, given.groups))
    say(f"bounds: {in_words(bounds, first.columns)}")
    return offer(estimator, len(first.columns), partial(_fit, tables, given), given)


def in_numbers(result):
    """Return the outcome of a test in two lines."""
    low, high = result.interval
    return (
        f"two-sample test: p={result.pvalue:.4g}\n"
        f"distance={result.distance:.4g}, 95 % interval {low:.4g} to {high:.4g} (0: one law; at "
        "most 1.41)"
    )


def _sizes(given):
    if given is None or len(given) == 1:
        return given if given is None else given[0]
    if len(given) > 2:
        raise ValueError(f"--n-min must be one number, or one a table, got {len(given)}.")
    return tuple(given)


def _fit(tables, given, estimator, unit):
    if given.groups is None:
        estimator.fit(lambda: _chunks(tables), unit=unit)
        return
    parts = [table.read() for table in tables]
    X = np.concatenate([part[0] for part in parts])
    y = np.repeat(_COHORTS, [len(part[0]) for part in parts])
    # one id is one person in both tables
    ids = numbered([ids for part in parts for ids in part[2]])
    estimator.fit(X, y, groups=ids, unit=unit)


def _chunks(tables):
    for cohort, table in zip(_COHORTS, tables, strict=True):
        for X in table.chunks():
            yield X, np.full(len(X), cohort)
