"""Odd rows: every fit is charged and finite and stays within what it states, or is refused free."""

import numpy as np

from tests.discovery import private_estimators
from tests.estimators import start
from tests.statistical.test_fuzz import accepted, fits_or_refuses, odd_table, quick
from tests.world import RELATIONS

from .promises import Promise, repeated

_ESTIMATORS = [start(name) for name in private_estimators()]


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


PROMISE = Promise(
    "odd rows",
    "Odd rows are fitted within the guarantee, or refused before a charge",
    repeated(fit_odd_rows),
)
