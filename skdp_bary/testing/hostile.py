"""Rows and settings to check an estimator on, and pairs of neighbors that are meant to hurt."""

from collections import Counter
from dataclasses import dataclass

import numpy as np
from sklearn.base import clone

from ..geometry.bounds import check_domain
from ..privacy.accountant import BudgetAccountant
from ..privacy.mechanisms import ADD_REMOVE, RELATIONS, REPLACE_ANY, REPLACE_ONE

# Rows to check an estimator on, and pairs of neighbors that are meant to hurt.

_NEWCOMER = 10_000  # id of the person in whom neighbors differ


@dataclass(frozen=True)
class Pair:
    """Two neighboring datasets as arguments of ``fit``, and what is hostile about them.

    Attributes
    ----------
    name : str
    data, neighbor : dict
    move : str, default=""
        What the person does, and
    places : tuple of str, default=()
        where: what is met in some pair or other, see :func:`met_first`.
    """

    name: str
    data: dict
    neighbor: dict
    move: str = ""
    places: tuple = ()


@dataclass(frozen=True)
class Part:
    """The rows of one person.

    Attributes
    ----------
    rows : ndarray of shape (n_rows, n_features)
    labels : list of int
        Positions among the public classes, one per row.
    weights : list of float
    """

    rows: np.ndarray
    labels: list
    weights: list


def make_arguments(estimator, n_rows=60, *, kind="rows", n_features=None, seed=0):
    """Return arguments of ``fit``: rows with duplicates, ties and cell borders among them.

    `kind` says what comes with the rows: nothing, person IDs, or weights. Labels come along when
    the estimator has ``classes``.
    """
    n_features = feature_count(estimator) if n_features is None else n_features
    rng = np.random.default_rng(seed)
    low, high = corners(estimator, n_features)
    unit = rng.random((n_rows, n_features))
    unit[: n_rows // 3] = np.round(unit[: n_rows // 3] * 8) / 8
    unit[n_rows // 2] = unit[n_rows // 2 - 1]
    arguments = {"X": (low + unit * (high - low)).astype(np.float32).astype(float)}
    classes = public_classes(estimator)
    if classes is not None:
        arguments["y"] = classes[rng.integers(len(classes), size=n_rows)]
    if kind == "persons":
        arguments["groups"] = rng.integers(max(n_rows // 3, 1), size=n_rows)
        if classes is not None and estimator.neighbors == REPLACE_ONE:  # one public label each
            arguments["y"] = classes[arguments["groups"] % len(classes)]
    if kind == "weights":
        arguments["sample_weight"] = rng.choice([0.0, 0.3, 1.0, 4.0], size=n_rows)
    return arguments


def hostile_pairs(estimator, kind):
    """Yield neighbors under the estimator's relation, see :class:`Pair`."""
    base, parts = make_arguments(estimator, kind=kind), dict(_parts(estimator, kind))
    # all rows at one point, so that the other cells are empty
    alone = base | {"X": np.tile(base["X"][0], (len(base["X"]), 1))}
    if estimator.neighbors == ADD_REMOVE:
        for name, part in parts.items():
            yield Pair(f"{name} joins", base, _with(estimator, base, part), "joins", (name,))
        first = _with(estimator, base, next(iter(parts.values())))
        yield Pair("leaves permuted rows", _permuted(first), base, "leaves")
        for name, part in parts.items():
            beside = _with(estimator, alone, part)
            yield Pair(f"{name} joins equal rows", alone, beside, "joins equal rows", (name,))
        twice = {key: np.concatenate([value, value]) for key, value in base.items()}
        if "groups" in twice:
            twice["groups"] = np.arange(len(twice["groups"]))
        once = _take(twice, slice(1, None))
        yield Pair("one of two equal rows leaves", twice, once, "one of two leaves")
        return
    names = list(parts)
    for old, new in zip(names, names[1:] + names[:1], strict=True):
        data, neighbor = (_with(estimator, base, parts[name]) for name in (old, new))
        yield Pair(f"{old} becomes {new}", data, _permuted(neighbor), "becomes", (old, new))
    for old, new in (("low corner", "high corner"), ("far outlier", "opposite far outlier")):
        data, neighbor = (_with(estimator, alone, parts[name]) for name in (old, new))
        name = f"{old} becomes {new} beside equal rows"
        yield Pair(name, data, neighbor, "becomes beside equal rows", (old, new))
    if kind == "weights":
        light = Part(parts["high corner"].rows, [0], [0.0])
        data, neighbor = (_with(estimator, base, part) for part in (light, parts["high corner"]))
        yield Pair("weight 0 becomes 4", data, neighbor, "becomes heavy")
    if estimator.neighbors != REPLACE_ANY or public_classes(estimator) is None:
        return
    last = len(public_classes(estimator)) - 1
    for name, part in _parts(estimator, kind, label=last, other_label=last):
        data, neighbor = _with(estimator, base, parts[name]), _with(estimator, base, part)
        yield Pair(f"{name} changes its label", data, neighbor, "changes its label", (name,))
    opposite = Part(parts["high corner"].rows, [last] * len(part.labels), part.weights)
    data, neighbor = (_with(estimator, base, end) for end in (parts["low corner"], opposite))
    yield Pair("label and row change", data, neighbor, "changes label and row")


def met_first(pairs):
    """Return the pairs in another order, and after how many every move and place has been met.

    Moves take turns, so that no place belongs to one of them.
    """
    left, ordered, met, turns = list(pairs), [], set(), Counter()
    while unmet := {trait for pair in left for trait in (pair.move, *pair.places)} - met:
        pair = max(left, key=lambda p: (len(unmet & {p.move, *p.places}), -turns[p.move]))
        left.remove(pair)
        ordered.append(pair)
        met |= {pair.move, *pair.places}
        turns[pair.move] += 1
    return ordered + left, len(ordered)


def corners(estimator, n_features):
    """Return the corners of the bounds, or of a unit box around the origin without bounds."""
    if estimator.bounds is None:
        return np.full(n_features, -1.0), np.full(n_features, 1.0)
    domain = check_domain(estimator.bounds, n_features)
    return np.array(domain.low), np.array(domain.high)


def public_classes(estimator):
    """Return the public labels as an array, or None."""
    classes = getattr(estimator, "classes", None)
    return None if classes is None else np.asarray(classes)


def _places(estimator):
    """Points that are hostile on their own."""
    low, high = corners(estimator, feature_count(estimator))
    middle, width = (low + high) / 2, high - low
    return {
        "low corner": low,
        "high corner": high,
        "cell border": middle,
        "just below a cell border": np.nextafter(middle, low),
        "far outlier": middle + 1e6 * width,
        "opposite far outlier": middle - 1e6 * width,
        "huge value": np.full(len(low), 1e300),
    }


def _parts(estimator, kind, label=0, other_label=0):
    """Yield named people: one row each, or several for people with IDs."""
    n_classes = len(public_classes(estimator)) if public_classes(estimator) is not None else 1
    places = _places(estimator)
    for name, place in places.items():
        count = 4 if kind == "persons" else 1
        weight = 4.0 if kind == "weights" else 1.0
        yield name, Part(np.tile(place, (count, 1)), [label] * count, [weight] * count)
    if kind == "persons":
        mixed = np.array([places[name] for name in list(places)[:4]])
        labels = [label, label, other_label, other_label] if n_classes > 1 else [label] * 4
        yield "spread over the domain", Part(mixed, labels, [1.0] * 4)


def rewritten(estimator, kind, old, new):
    """Return the pair in which the person at row `old` turns into one at row `new`.

    ``old=None``: the person joins.
    """
    base = make_arguments(estimator, kind=kind)
    count = 4 if kind == "persons" else 1
    weights = [4.0 if kind == "weights" else 1.0] * count
    data, neighbor = (
        base
        if row is None
        else _with(estimator, base, Part(np.tile(row, (count, 1)), [0] * count, weights))
        for row in (old, new)
    )
    return Pair("a row is placed for the question", data, neighbor)


def _with(estimator, base, part):
    """Return the base with one more person: the first row in front, the others at the end."""
    classes = public_classes(estimator)
    extra = {
        "X": part.rows,
        "y": None if classes is None else classes[part.labels],
        "groups": np.full(len(part.rows), _NEWCOMER),
        "sample_weight": np.asarray(part.weights),
    }
    return {
        name: np.concatenate([extra[name][:1], values, extra[name][1:]])
        for name, values in base.items()
    }


def _permuted(arguments):
    order = np.random.default_rng(1).permutation(len(arguments["X"]))
    return _take(arguments, order)


def _take(arguments, rows):
    return {name: values[rows] for name, values in arguments.items()}


# The settings under which an estimator is checked, and how a check reports what it found.

DELTAS = (0.0, 1e-5)


def require(condition, message):
    """Raise an AssertionError that says what the estimator does wrong."""
    if not condition:
        raise AssertionError(message)


def settings(estimator):
    """Return clones for every relation and kind of noise that the estimator accepts."""
    accepted = []
    for relation in RELATIONS:
        for delta in DELTAS:
            candidate = clone(estimator).set_params(
                neighbors=relation, delta=delta, accountant=None, random_state=None
            )
            if _accepts(candidate, feature_count(estimator)):
                accepted.append(candidate)
    require(accepted, f"{estimator} accepts no relation with delta in {DELTAS}.")
    return accepted


def default_setting(estimator):
    """Return a clone under add_remove if the estimator accepts it, with delta=0 if it does."""
    return settings(estimator)[0]


def feature_count(estimator):
    """Number of features that a schema or bounds speak about; 2 where they do not say."""
    declared = _declared_columns(estimator)
    if declared is not None:
        return declared
    bounds = estimator.bounds
    if hasattr(bounds, "n_features"):
        return bounds.n_features
    width = 1 if bounds is None else max(np.size(bound) for bound in bounds)
    return width if width > 1 else 2


def feature_counts(estimator):
    """Numbers of features to try: those of 1 to 50 that the estimator and its bounds accept."""
    bounds = estimator.bounds
    free = bounds is None or (
        not hasattr(bounds, "n_features") and all(np.size(bound) == 1 for bound in bounds)
    )
    free = free and _declared_columns(estimator) is None
    tried = range(1, 51) if free else (feature_count(estimator),)
    return [n_features for n_features in tried if _accepts(estimator, n_features)]


def with_budget(estimator, fits=1000):
    """Return a clone and the accountant, with room for many fits, that pays for it."""
    accountant = BudgetAccountant(
        fits * estimator.epsilon,
        min(fits * estimator.delta, 0.5),
        neighbors=estimator.neighbors or ADD_REMOVE,
    )
    return clone(estimator).set_params(accountant=accountant), accountant


def is_unfitted(estimator):
    """Whether fit left no attribute behind."""
    return set(vars(estimator)) <= set(estimator.get_params(deep=False))


def _declared_columns(estimator):
    """Number of columns of the schema of an estimator, or None."""
    return getattr(getattr(estimator, "schema", None), "n_columns", None)


def _accepts(estimator, n_features):
    try:
        estimator.privacy_plan(n_features)
    except ValueError:
        return False
    return True
