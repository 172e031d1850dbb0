"""Pairs of neighbors as a search needs them: common rows, and one person before and after."""

from collections import Counter
from dataclasses import dataclass, replace

import numpy as np

from tests.world import ADD_REMOVE, REPLACE_ANY, REPLACE_ONE, corners, public_classes

_PERSON = 20_000  # id of the person in whom neighbors differ
_LARGEST = 1e300
_WEIGHTS = (0.0, 1e-300, 1e-6, 0.3, 1.0, 1.0 + 2.0**-52, 4.0, 1e300)


@dataclass(frozen=True)
class Neighbors:
    """Arguments of ``fit``: what both data sets have, and the rows of one person in each.

    A person that is not there has no rows.
    """

    common: dict
    old: dict
    new: dict

    @classmethod
    def of(cls, pair):
        """Split a pair of data sets into what they have in common and what they have not."""
        ids = [_persons(arguments) for arguments in (pair.data, pair.neighbor)]
        shared = Counter(ids[0].values()) & Counter(ids[1].values())
        gone, come = (_others(persons, shared) for persons in ids)
        stays = np.ones(len(pair.data["X"]), dtype=bool)
        stays[gone] = False
        return cls(_take(pair.data, stays), _take(pair.data, gone), _take(pair.neighbor, come))

    def data(self):
        """Return the two data sets."""
        return tuple(_joined(self.common, person) for person in (self.old, self.new))


def _persons(arguments):
    """Return the rows of every person as something that can be compared, by the rows' numbers."""
    rows = [arguments["X"].tolist()]
    rows += [arguments[name].tolist() for name in ("y", "sample_weight") if name in arguments]
    rows = [str(row) for row in zip(*rows, strict=True)]
    ids = arguments.get("groups", np.arange(len(rows)))
    return {
        tuple(numbers): tuple(sorted(rows[i] for i in numbers))
        for numbers in (np.flatnonzero(ids == person).tolist() for person in np.unique(ids))
    }


def _others(persons, shared):
    """Return the numbers of the rows whose persons are not among the shared ones."""
    left, numbers = shared.copy(), []
    for rows, content in persons.items():
        if left[content]:
            left[content] -= 1
        else:
            numbers += rows
    return numbers


def _take(arguments, rows):
    return {name: np.asarray(values)[rows] for name, values in arguments.items()}


def _joined(common, person):
    person = dict(person)
    if "groups" in person:
        person["groups"] = np.full(len(person["X"]), _PERSON)
    return {name: np.concatenate([person[name], values]) for name, values in common.items()}


class Mutations:
    """Small and large changes of neighbors that leave them neighbors of an estimator's relation."""

    def __init__(self, estimator, n_features, rng):
        self.low, self.high = corners(estimator, n_features)
        self.classes = public_classes(estimator)
        self.relation = estimator.neighbors
        self.rng = rng

    def mutated(self, neighbors):
        """Return neighbors that differ a little, mostly in the one person."""
        sides = [side for side in ("old", "new") if len(getattr(neighbors, side)["X"])]
        if not sides or self.rng.random() < 0.25:
            return replace(neighbors, common=self._common(neighbors))
        if self.relation == REPLACE_ONE and "groups" in neighbors.old and self.rng.random() < 0.2:
            return self._other_rows(neighbors, sides)
        side = sides[self.rng.integers(len(sides))]
        return replace(neighbors, **{side: self._person(getattr(neighbors, side), neighbors)})

    def _other_rows(self, neighbors, sides):
        """Give the person other numbers of rows; half the time of several labels, the same ones."""
        several = "y" in neighbors.old and self.rng.random() < 0.5
        labels = self.rng.permutation(self.classes)[:2] if several else []
        made = {}
        for side in sides:
            person = getattr(neighbors, side)
            size = int(self.rng.integers(max(len(labels), 1), 6))
            person = {name: np.resize(v, (size, *v.shape[1:])) for name, v in person.items()}
            if several:
                drawn = self.rng.choice(labels, size=size - len(labels))
                person["y"] = np.concatenate([labels, drawn]).astype(person["y"].dtype)
            made[side] = person
        return replace(neighbors, **made)

    def _person(self, person, neighbors):
        """Move some rows of the person; change a label or a weight where the relation lets one."""
        person = {name: values.copy() for name, values in person.items()}
        moved = self.rng.random(len(person["X"])) < 0.5
        moved[self.rng.integers(len(moved))] = True
        person["X"][moved] = self._rows(person["X"][moved], neighbors)
        if "y" in person and self.relation in (ADD_REMOVE, REPLACE_ANY) and self.rng.random() < 0.2:
            person["y"][moved] = self.rng.choice(self.classes, size=moved.sum())
        if "sample_weight" in person and self.rng.random() < 0.3:
            person["sample_weight"][moved] = self.rng.choice(_WEIGHTS, size=moved.sum())
        if "groups" in person and self.relation == ADD_REMOVE and self.rng.random() < 0.2:
            copies = self.rng.integers(1, 6)
            person = {name: np.resize(v, (copies, *v.shape[1:])) for name, v in person.items()}
        return person

    def _rows(self, rows, neighbors):
        with np.errstate(over="ignore"):
            moved = _MOVES[self.rng.integers(len(_MOVES))](self, rows, neighbors)
        return np.clip(moved, -_LARGEST, _LARGEST)

    def _near(self, rows, _):
        return rows + self._step() * self.rng.normal(size=rows.shape)

    def _one_coordinate(self, rows, _):
        rows = rows.copy()
        axis = self.rng.integers(rows.shape[1])
        rows[:, axis] += self._step()[axis] * self.rng.normal()
        return rows

    def _next_number(self, rows, _):
        return np.nextafter(rows, self.rng.choice([-np.inf, np.inf], size=rows.shape))

    def _on_the_grid(self, rows, _):
        cells = 2.0 ** self.rng.integers(1, 7)
        unit = np.round((rows - self.low) / (self.high - self.low) * cells) / cells
        return self.low + unit * (self.high - self.low)

    def _corner(self, rows, _):
        return np.where(self.rng.random(rows.shape) < 0.5, self.low, self.high)

    def _anywhere(self, rows, _):
        return self.rng.uniform(self.low, self.high, size=rows.shape)

    def _scaled(self, rows, _):
        middle = (self.low + self.high) / 2
        return middle + self.rng.choice([0.5, 0.9, 1.1, 2.0, 1e6, -1.0]) * (rows - middle)

    def _to_others(self, rows, neighbors):
        sources = neighbors.common, neighbors.old, neighbors.new
        other = sources[self.rng.integers(3)]["X"]
        return other[self.rng.integers(len(other), size=len(rows))] if len(other) else rows

    def _step(self):
        return (self.high - self.low) * 10.0 ** self.rng.uniform(-6, 0)

    def _common(self, neighbors):
        """Move some of the other rows: together, apart, or to the person."""
        common = {name: values.copy() for name, values in neighbors.common.items()}
        moved = self.rng.random(len(common["X"])) < self.rng.choice([0.03, 0.5, 1.0])
        if moved.any():
            rows = common["X"][moved]
            common["X"][moved] = self._rows(np.resize(rows[:1], rows.shape), neighbors)
        if self.relation == ADD_REMOVE and self.rng.random() < 0.2:
            kept = self.rng.random(len(moved)) < 0.7
            common = _take(common, kept)
        return common


_MOVES = (
    Mutations._near,
    Mutations._near,
    Mutations._one_coordinate,
    Mutations._next_number,
    Mutations._on_the_grid,
    Mutations._corner,
    Mutations._anywhere,
    Mutations._scaled,
    Mutations._to_others,
)
