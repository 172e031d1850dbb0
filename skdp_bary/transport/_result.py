"""What the solvers return."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse


@dataclass(frozen=True, eq=False)
class TransportResult:
    """Optimal transport from points to atoms.

    Attributes
    ----------
    cost : float
        Cost of the plan, for masses normalised to one: the p-th power of the Wasserstein distance.
    dual : float
        Value of the potentials: no plan costs less.
    plan : scipy.sparse.csr_array of shape (n_points, n_atoms)
        Mass sent from each point to each atom; at most n_points + n_atoms - 1 entries.
    potentials : ndarray of shape (n_atoms,)
        Atom j takes only points for which ``cost - potentials[j]`` is least.
    masses : ndarray of shape (n_atoms,)
        Mass each atom receives.
    projections : ndarray of shape (n_atoms, n_features)
        Mean of the points each atom receives; the atom itself where it receives none.
    """

    cost: float
    dual: float
    plan: sparse.csr_array
    potentials: np.ndarray
    masses: np.ndarray
    projections: np.ndarray

    @property
    def gap(self) -> float:
        """Cost less dual, never negative; relative gaps are ``gap / cost``."""
        return max(self.cost - self.dual, 0.0)


@dataclass(frozen=True, eq=False)
class BarycenterResult:
    """Atoms of a barycenter and the transport of every measure to them.

    Attributes
    ----------
    support : ndarray of shape (n_atoms, n_features)
    weights : ndarray of shape (n_atoms,)
    cost : float
        Weighted mean of the transport costs at `support`.
    dual : float
        Weighted mean of the dual values: the transport costs at `support` are no smaller.
    transports : tuple of TransportResult
        One for each measure, with plan, potentials and barycentric projections.
    history : tuple of float
        Mean cost before every step of the start that was kept, on samples of growing size.
    converged : bool
        Whether the last step was below the tolerance.
    """

    support: np.ndarray
    weights: np.ndarray
    cost: float
    dual: float
    transports: tuple
    history: tuple
    converged: bool

    @property
    def gap(self) -> float:
        """Cost less dual, never negative."""
        return max(self.cost - self.dual, 0.0)
