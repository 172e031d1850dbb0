"""Trials of an adaptation on public pairs of a source and a target, whose labels are known."""

import warnings

import numpy as np
from sklearn.base import clone

_PARTS = ("X_source", "y_source", "X_target", "y_target")
_WANTED = f"public_pairs must be a list of tuples ({', '.join(_PARTS)}) of public data"


def check_pairs(method, pairs, private):
    """Return the public pairs as a list, or raise where they do not suit the method.

    The private rows are compared with them as objects only; none is read.
    """
    if method != "auto":
        if pairs is not None:
            raise ValueError(f"public_pairs are for method='auto', got method={method!r}.")
        return []
    pairs = [] if pairs is None else list(pairs)
    if not pairs or not all(isinstance(pair, tuple) and len(pair) == len(_PARTS) for pair in pairs):
        raise ValueError(f"{_WANTED}, at least one, for method='auto'.")
    if any(part is private for pair in pairs for part in pair):
        raise ValueError(f"{_WANTED}, got X_target, which is private.")
    return pairs


def mean_gain(adapter, pairs):
    """Return by how much accuracy on public targets grows when they are adapted to, on average.

    Every public target is treated as if it was private, with as much noise as its own number of
    rows gets; nothing is charged, because there is nobody to protect.

    Parameters
    ----------
    adapter : PrivateDomainAdapter
    pairs : list of tuple
    """
    gains = []
    for X_source, y_source, X_target, y_target in pairs:
        trial = clone(adapter).set_params(
            method="self_training",
            accountant=None,
            neighbors=adapter._relation(),
            n_hint=None if adapter.n_hint is None else len(X_target),
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a poor source, and of seeds: these are public
            trial.fit(X_source, y_source, X_target)
        models = trial.model_, trial.source_model_
        gains.append(np.subtract(*(model.score(X_target, y_target) for model in models)))
    return float(np.mean(gains))
