"""Neighbors for questions about slices: one person leaves a crowd at the other end of the domain.

One person moves quantiles and costs most where all others are at one end of the domain, the person
is at the other, and there are no more persons than the noise was made for.
"""

import numpy as np

from ..geometry._unit_slices import UnitPlanes, UnitSlices
from ..privacy._neighbors import ADD_REMOVE, REPLACE_ANY
from ._hostile import Pair, public_classes

_PERSONS = 60  # where their number is public


def crowded_pairs(estimator, kind, query):
    """Yield pairs of neighbors for every direction in which the domain may be widest."""
    counts = [_PERSONS] * query.n_classes if query.n_min is None else query.n_min
    classes = public_classes(estimator)
    for near, far in _ends(query.lattice):
        labels = np.repeat(np.arange(len(counts)), counts)
        if estimator.neighbors == ADD_REMOVE:
            names = "a person joins a crowd far away"
            old, new = (labels, None, None), (labels, far, 0)
        else:
            names = "a person moves far from a crowd"
            old, new = (labels[1:], near, 0), (labels[1:], far, 0)
        yield Pair(names, *(_crowd(kind, classes, near, *end) for end in (old, new)))
        if estimator.neighbors == REPLACE_ANY and len(counts) > 1:
            ends = (labels, far, 0), (labels, far, len(counts) - 1)
            names = "a person goes from one crowd to another"
            yield Pair(names, *(_crowd(kind, classes, near, *end) for end in ends))


def parted_pairs(estimator, kind, query):
    """Yield pairs for questions about how often rows meet.

    All rows are at one end of the domain, or every class is at its own, and one person goes to the
    other end. Who changes the class takes the place of the only row that filled up the other, or is
    one of few at the other end.
    """
    yield from crowded_pairs(estimator, kind, query)
    counts = [_PERSONS] * query.n_classes if query.n_min is None else query.n_min
    classes = public_classes(estimator)
    last = len(counts) - 1
    for near, far in _ends(query.lattice):
        labels = np.repeat(np.arange(len(counts)), counts)
        places = np.where((labels == 0)[:, None], near, far)
        if estimator.neighbors == ADD_REMOVE:
            old, new = (places, labels, None, None), (places, labels, far, 0)
        else:
            old, new = ((places[1:], labels[1:], end, 0) for end in (near, far))
        name = "a person joins the place of the other crowd"
        yield Pair(name, *(_crowd(kind, classes, *end) for end in (old, new)))
        if estimator.neighbors == REPLACE_ANY and last:
            for lost, few in ((1, 0), (0, 2)):
                places = np.tile(near, (len(labels) - lost, 1))
                places[:few] = far
                who = places, labels[: len(places)]
                moves = (*who, far, 0), (*who, near if lost else far, last)
                name = "a person goes to the other crowd"
                yield Pair(name, *(_crowd(kind, classes, *move) for move in moves))


def _ends(lattice):
    """Yield opposite points of the domain: its corners, and two ends of some lines."""
    lattice = lattice.slices if isinstance(lattice, UnitPlanes) else lattice
    scaled = isinstance(lattice, UnitSlices)
    for ends in _ends_of_lattice(lattice):
        yield tuple(map(lattice.unscaled, ends)) if scaled else ends


def _ends_of_lattice(lattice):
    domain, directions = lattice.domain, lattice.directions
    yield domain.low, domain.high
    widest = np.linalg.svd(directions, full_matrices=False)[0][:, 0]
    along = directions.sum(axis=1)
    for line in (widest, along / np.linalg.norm(along)):
        yield domain.center - domain.radius * line, domain.center + domain.radius * line


def _crowd(kind, classes, places, labels, row, label):
    """Return arguments of ``fit``: rows at one point or at many, and one more if it is given."""
    X = np.tile(places, (len(labels), 1)) if places.ndim == 1 else places
    if row is not None:
        X, labels = np.vstack([X, row]), np.append(labels, label)
    arguments = {"X": X}
    if classes is not None:
        arguments["y"] = classes[labels]
    if kind == "persons":
        arguments["groups"] = np.arange(len(X))
    if kind == "weights":
        arguments["sample_weight"] = np.ones(len(X))
    return arguments
