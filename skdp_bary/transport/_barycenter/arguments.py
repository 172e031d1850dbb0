"""What the searches for a barycenter share: checked arguments, starts, and the result."""

from dataclasses import dataclass

import numpy as np

from .._checks import check_count, check_mean_power, check_measures, check_points, check_shares
from .._measures import DiscreteMeasure
from .._result import BarycenterResult
from .._semidiscrete.frame import Prepared, UnitFrame
from .search import Iterate
from .starts import balanced_split

_POINTS_PER_ATOM = 40  # of the sample that a start is split from


@dataclass(frozen=True)
class BarycenterArguments:
    """Measures and the atoms looked for, checked.

    Attributes
    ----------
    measures : list of DiscreteMeasure
    shares : ndarray of shape (n_measures,)
    target : ndarray of shape (n_atoms,)
    p : float
    frame : UnitFrame
        Of all measures together.
    init : ndarray of shape (n_atoms, n_features) or None
        In the frame.
    """

    measures: list
    shares: np.ndarray
    target: np.ndarray
    p: float
    frame: UnitFrame
    init: np.ndarray

    @classmethod
    def of(cls, measures, n_atoms, measure_weights, atom_weights, p, init):
        """Check the arguments of a barycenter."""
        measures, p = check_measures(measures), check_mean_power(p)
        target = check_shares(atom_weights, check_count(n_atoms, "n_atoms"), "atom_weights")
        shares = check_shares(measure_weights, len(measures), "measure_weights")
        frame = UnitFrame.of(np.concatenate([measure.support for measure in measures]))
        if init is not None:
            init = check_points(init, (n_atoms, measures[0].n_features), "init")
            init = frame.inward(init)
        return cls(measures, shares, target, p, frame, init)

    @property
    def unit(self):
        """Cost of one unit of the frame in the original space."""
        return self.frame.scale**self.p

    def prepare(self, run):
        """Return every measure Prepared in the frame."""
        return run(Prepared.of, [(measure, self.frame) for measure in self.measures])

    def starts(self, prepared, n_init, random_state):
        """Return iterates at `init`, or at balanced splits of one measure after the other."""
        empty = (None,) * len(prepared)
        if self.init is not None:
            return [Iterate(0, self.init, empty)]
        rng = np.random.default_rng(random_state)
        samples = [e.cloud.coarse(_POINTS_PER_ATOM * len(self.target)) for e in prepared]
        iterates = []
        for index in range(n_init):
            sample = samples[index % len(samples)]
            atoms = balanced_split(sample.points, sample.weights, self.target, rng)
            iterates.append(Iterate(index, atoms, empty))
        return iterates

    def atoms(self, iterate):
        """Return the atoms as a measure in the original space."""
        return DiscreteMeasure(self.frame.outward(iterate.atoms), self.target)

    def result(self, iterate, transports, tol):
        """Return the barycenter with the transports to it."""
        atoms = self.atoms(iterate)
        return BarycenterResult(
            support=atoms.support,
            weights=atoms.weights,
            cost=float(self.shares @ [each.cost for each in transports]),
            dual=float(self.shares @ [each.dual for each in transports]),
            transports=tuple(transports),
            history=iterate.history,
            converged=iterate.movement <= tol,
        )
