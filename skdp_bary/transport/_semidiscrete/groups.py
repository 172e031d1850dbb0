"""Arrays that compiled functions take together, so that each is passed by one name."""

from typing import NamedTuple

import numpy as np

from .compiling import compiled_type


class Problem(NamedTuple):
    """Points, atoms and the power of the distance."""

    points: np.ndarray
    atoms: np.ndarray
    p: float


class Boxes(NamedTuple):
    """Boxes around runs of items, by atom, see Cells; `bounds` is room for one of each."""

    firsts: np.ndarray
    starts: np.ndarray
    centers: np.ndarray
    widths: np.ndarray
    table: np.ndarray
    bounds: np.ndarray


class Items(NamedTuple):
    """Points, or parts of them, with their atoms and mass.

    `ring` joins the items of one point. `latest` is the last item that each atom has received, and
    `earlier` the one before, of those that are no whole points.
    """

    rows: np.ndarray
    owners: np.ndarray
    units: np.ndarray
    ring: np.ndarray
    latest: np.ndarray
    earlier: np.ndarray


class Windows(NamedTuple):
    """What is known of pairs of atoms: bounds, and a window of items for some of the pairs."""

    gap: np.ndarray
    front: np.ndarray
    slots: np.ndarray
    keys: np.ndarray
    members: np.ndarray
    sizes: np.ndarray


class Edges(NamedTuple):
    """Shortest edges of each atom, how long the others are at least, and potentials.

    `lengths` is room for those of one atom.
    """

    listed: np.ndarray
    lists: np.ndarray
    degrees: np.ndarray
    beyond: np.ndarray
    potentials: np.ndarray
    lengths: np.ndarray


class Heap(NamedTuple):
    """Edges by length, and the least length at which each atom is on it."""

    keys: np.ndarray
    tails: np.ndarray
    heads: np.ndarray
    best: np.ndarray


class Paths(NamedTuple):
    """How each atom was reached, in the order in which they were."""

    distance: np.ndarray
    hops: np.ndarray
    parent: np.ndarray
    via: np.ndarray
    settled: np.ndarray
    fresh: np.ndarray
    order: np.ndarray


PROBLEM = compiled_type(Problem, "f8[:,::1]", "f8[:,::1]", "f8")
BOXES = compiled_type(Boxes, "i8[::1]", "i4[::1]", *3 * ["f8[:,::1]"], "f8[::1]")
ITEMS = compiled_type(Items, "i4[::1]", "i4[::1]", "i8[::1]", *3 * ["i4[::1]"])
WINDOWS = compiled_type(
    Windows, "f8[:,::1]", "f8[:,::1]", "i4[:,::1]", "f8[:,::1]", "i4[:,::1]", "i4[::1]"
)
EDGES = compiled_type(Edges, "i1[:,::1]", "i4[:,::1]", "i8[::1]", *3 * ["f8[::1]"])
HEAP = compiled_type(Heap, "f8[::1]", "i4[::1]", "i4[::1]", "f8[::1]")
PATHS = compiled_type(Paths, "f8[::1]", *3 * ["i8[::1]"], "b1[::1]", "b1[::1]", "i8[::1]")
