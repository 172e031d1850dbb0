"""Samples of growing size: the potentials of one are the start of the next."""

from dataclasses import dataclass, replace

import numpy as np

from .balancing import TOLERANCE, Balancing
from .certificate import UNITS, certify, sum_by_label, to_units
from .labels import LoosePoints, prepare
from .plan import read_plan
from .simplex import network_simplex
from .stepping import newton_step

_FACTOR = 4  # how much larger the next sample is
_LEAST = 6  # points an atom from which a smaller sample is solved first
_MANY = 128  # atoms from which POT solves the smallest sample, which moves most, sooner
_ENOUGH = 50  # points an atom from which a step of Newton's method helps, in many dimensions
_FAR_LESS = 0.7  # of the mass to move; steps that gain less mislead
_NOISE = 0.3  # of the square root of the points of an atom, in many dimensions
_CLOSE = 0.05  # mass to move up to which given potentials are better than samples


def solve_levels(problem, potentials):
    """Return the Assignment of all points; `potentials` of a similar problem or None."""
    if potentials is not None:
        level = Level(problem, potentials)
        if level.standing.mass_to_move <= _CLOSE:
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
    if potentials is None:
        if len(sample.target) >= _MANY:
            return network_simplex(sample).potentials
        potentials = np.zeros(len(sample.target))
    level = Level(sample, potentials)
    return level.balanced(level.noise if level.loose else TOLERANCE).edges.potentials


def sample_sizes(n_points, n_atoms):
    """Return the sizes of the samples that come before all points, the smallest first."""
    sizes = []
    while n_points > _LEAST * n_atoms:
        n_points //= _FACTOR
        sizes.append(n_points)
    return sizes[::-1]


@dataclass(frozen=True)
class Standing:
    """Where points go under some potentials.

    Attributes
    ----------
    potentials : ndarray of shape (n_atoms,)
    labels : ndarray of shape (n_points,)
    excess : ndarray of int64 of shape (n_atoms,)
        Units held less target.
    """

    potentials: np.ndarray
    labels: np.ndarray
    excess: np.ndarray

    @classmethod
    def of(cls, problem, potentials, labels):
        """Return where the points of a problem are, with what every atom has too much."""
        held = sum_by_label(labels, to_units(problem.cloud.weights), len(problem.target))
        return cls(potentials, labels, held - to_units(problem.target))

    @property
    def mass_to_move(self):
        """Mass that has to move when every point goes to its label whole."""
        return float(np.abs(self.excess).sum() / (2.0 * UNITS))


class Level:
    """One sample, or all points, with the labels that some potentials, or close ones, give."""

    def __init__(self, problem, potentials):
        self.problem = problem
        self.points = prepare(problem.cloud.points)
        self.standing = self._stepped(potentials) if self.loose else self._standing(potentials)

    @property
    def loose(self):
        """Whether there are too many dimensions for boxes."""
        return isinstance(self.points, LoosePoints)

    @property
    def noise(self):
        """Units that an atom of a sample may lack without saying anything of all points."""
        return int(_NOISE * UNITS / np.sqrt(len(self.points.points) * len(self.problem.target)))

    def _standing(self, potentials):
        problem = self.problem
        labels = self.points.labels(problem.atoms, potentials, problem.p)
        return Standing.of(problem, potentials, labels)

    def _stepped(self, potentials):
        """Return the Standing after a step of Newton's method, if that leaves far less to move."""
        problem, n_atoms = self.problem, len(self.problem.target)
        ranked = self.points.rank(problem.atoms, potentials, problem.p)
        here = Standing.of(problem, potentials, ranked[0])
        if n_atoms == 1 or problem.cloud.effective_size < _ENOUGH * n_atoms:
            return here
        step = newton_step(*ranked, problem.cloud.weights, here.excess)
        there = self._standing(potentials + step)
        return there if there.mass_to_move < _FAR_LESS * here.mass_to_move else here

    def balanced(self, tolerance=TOLERANCE):
        """Return a Balancing in which no atom lacks more than some units."""
        problem, standing = self.problem, self.standing
        cells = self.points.cells(standing.labels, problem.atoms, problem.p)
        units = to_units(problem.cloud.weights)
        found = Balancing(cells, units, standing.excess, standing.potentials)
        found.run(self.points.points, problem.atoms, problem.p, tolerance)
        return found

    def plan(self):
        """Return potentials, labels of all points, the split points, and the shares of these."""
        found = self.balanced()
        return found.edges.potentials, *read_plan(self.problem, found)
