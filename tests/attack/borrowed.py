"""Attacks whose trials are those of other tests, made anew for as long as one likes."""

import tempfile
import warnings
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np

from tests.discovery import private_estimators
from tests.estimators import start
from tests.model_selection import row_independence
from tests.parameter_fuzz import odd_type_trial, trial
from tests.queries.reader_trials import csv_trial, parquet_trial
from tests.small_worlds import explore, small_worlds, world_size
from tests.statistical.test_fuzz import accepted, fits_or_refuses, odd_table, quick
from tests.test_zero_rows import IN_MEMORY, MEASURE, ODD, STREAMS, outcome
from tests.world import RELATIONS

from .promises import Promise, Trial, repeated, spawn

_ESTIMATORS = [start(name) for name in private_estimators()]
_CONTAINERS = IN_MEMORY | STREAMS


def enumerate_neighbors(rng):
    """Yield what every small world shows, in random order; an end is reached after minutes."""
    slices = [
        (world, kind, relation)
        for world in small_worlds()
        for kind, relation in product(world.kinds, world.relations)
    ]
    for place in rng.permutation(len(slices)):
        world, kind, relation = slices[place]
        alone = replace(world, kinds=(kind,), relations=(relation,))
        for finding in explore(alone, **world_size(world)):
            yield Trial("", finding.ratio, finding.violation or "", finding.n_pairs)


def read_odd_file(rng, trials=(csv_trial, parquet_trial)):
    """Read one odd file whole and line by line."""
    one = trials[rng.integers(len(trials))]
    with tempfile.TemporaryDirectory() as folder:
        moved = one(spawn(rng), Path(folder))
    return Trial(violation=f"{one.__name__}: {moved} rows were moved" if moved else "")


def bring_a_hostile_row(rng):
    """Put some step behind some form, or row by row, and bring rows of which one is hostile."""
    if rng.random() < 0.3:
        return Trial(violation="; ".join(row_independence.verdict_trial(spawn(rng))))
    violations, _ = row_independence.trial(spawn(rng))
    return Trial(violation="; ".join(violations))


def fit_odd_rows(rng, estimators=_ESTIMATORS):
    """Fit some estimator to some odd rows."""

    def pick(options):
        return options[int(rng.integers(len(options)))]

    X = odd_table(pick)
    width = np.shape(X)[1] if np.ndim(X) == 2 else 1
    relation = pick(RELATIONS)
    estimator = quick(pick(estimators), relation, pick((0.0, 1e-6)), pick((True, False)))
    if accepted(estimator, width):
        fits_or_refuses(estimator, X, relation)


def bring_more_rows(rng):
    """Fit nobody and somebody, or two numbers of odd rows, and compare all that is said."""
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        if rng.random() < 0.5:
            kind = str(rng.choice(list(_CONTAINERS)))
            rows = rng.random((1, 2))
            found = [outcome(MEASURE, X=_CONTAINERS[kind](rows[:n])) for n in (0, 1)]
        else:
            kind, n = str(rng.choice(list(ODD))), int(rng.integers(1000, 5000))
            found = [outcome(MEASURE, X=ODD[kind](each)) for each in (n, n + 1)]
    same = found[0] == found[1]
    return Trial(violation="" if same else f"{kind}: {found[0]} and {found[1]}")


def _of(trial_of_seed):
    """Return a trial of some class with parameters that a seed chooses."""

    def attempt(rng):
        fault, case = trial_of_seed(int(rng.integers(2**31)))
        return Trial(violation=f"{fault}: {case}" if fault else "")

    return attempt


ENUMERATION = Promise(
    "enumeration",
    "Over all neighbors of small datasets, no answer changes by more than stated",
    enumerate_neighbors,
)
READERS = Promise(
    "readers",
    "A row of a CSV or Parquet file is read from its own bytes alone",
    repeated(read_odd_file),
)
PUBLIC_STEPS = Promise(
    "public steps",
    "After a SchemaTransformer, a public step transforms each row exactly as if it were alone",
    repeated(bring_a_hostile_row),
)
ODD_ROWS = Promise(
    "odd rows",
    "Unusual rows are either fitted within the guarantee or refused before any charge",
    repeated(fit_odd_rows),
)
QUIET = Promise(
    "quiet",
    "The messages of a fit reveal neither how many rows there are nor whether there are any",
    repeated(bring_more_rows),
)
PARAMETERS = Promise(
    "parameters",
    "Parameters that make no sense are refused before any charge, with an error that names them",
    repeated(_of(trial), seconds=10.0),
)
ODD_TYPES = Promise(
    "odd types",
    "Parameters may be fractions or NumPy numbers; durations and bytes are refused before a charge",
    repeated(_of(odd_type_trial), seconds=10.0),
)
