"""Samples of growing size: the potentials of one are the start of the next."""

from dataclasses import replace

import numpy as np

from .balancing import Balancing
from .certificate import UNITS, certify, sum_by_label, to_units
from .labels import prepare
from .plan import read_plan
from .simplex import network_simplex

_FACTOR = 4  # how much larger the next sample is
_LEAST = 6  # points an atom from which a smaller sample is solved first
_MANY = 128  # atoms from which POT solves the smallest sample, which moves most, sooner
_CLOSE = 0.05  # mass to move up to which given potentials are better than samples


def solve_levels(problem, potentials):
    """Return the Assignment of all points; `potentials` of a similar problem or None."""
    if potentials is not None:
        level = Level(problem, potentials)
        if level.mass_to_move <= _CLOSE:
            return certify(problem, *level.plan())
    potentials = None
    for size in sample_sizes(len(problem.cloud.points), len(problem.target)):
        potentials = _next(replace(problem, cloud=problem.cloud.coarse(size)), potentials)
    if potentials is None:
        potentials = np.zeros(len(problem.target))
    # What the level holds is let go before the certificate is made.
    return certify(problem, *Level(problem, potentials).plan())


def _next(sample, potentials):
    """Return the potentials of a sample, from those of a smaller one."""
    if potentials is not None:
        return Level(sample, potentials).balanced().edges.potentials
    if len(sample.target) >= _MANY:
        return network_simplex(sample).potentials
    return Level(sample, np.zeros(len(sample.target))).balanced().edges.potentials


def sample_sizes(n_points, n_atoms):
    """Return the sizes of the samples that come before all points, the smallest first."""
    sizes = []
    while n_points > _LEAST * n_atoms:
        n_points //= _FACTOR
        sizes.append(n_points)
    return sizes[::-1]


class Level:
    """One sample, or all points, with the labels that some potentials give."""

    def __init__(self, problem, potentials):
        self.problem = problem
        self.potentials = potentials
        self.points = prepare(problem.cloud.points)
        self.labels = self.points.labels(problem.atoms, potentials, problem.p)
        held = sum_by_label(self.labels, to_units(problem.cloud.weights), len(problem.target))
        self.excess = held - to_units(problem.target)

    @property
    def mass_to_move(self):
        """Mass that has to move when every point goes to its label whole."""
        return float(np.abs(self.excess).sum() / (2.0 * UNITS))

    def balanced(self):
        """Return a Balancing in which every atom has its share."""
        problem = self.problem
        cells = self.points.cells(self.labels, problem.atoms, problem.p)
        found = Balancing(cells, to_units(problem.cloud.weights), self.excess, self.potentials)
        found.run(self.points.points, problem.atoms, problem.p)
        return found

    def plan(self):
        """Return potentials, labels of all points, the split points, and the shares of these."""
        found = self.balanced()
        return found.edges.potentials, *read_plan(self.problem, found)
