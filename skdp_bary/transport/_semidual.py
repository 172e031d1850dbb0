"""The semi-dual of optimal transport to few atoms, exact or with soft minima, block by block.

For points of mass a_i, atoms with target masses b_j and costs c_ij,

    D(g) = sum_i a_i min_j (c_ij - g_j) + sum_j b_j g_j

is concave in the m potentials and its maximum is the cost of transport. Soft minima, with a
temperature t_i for each point, make it smooth; only points whose two cheapest atoms are within a
few t_i of each other are then shared. Temperatures follow the local scale of the cells, since
cells where points are dense may be thousands of times smaller than others.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import splu

from ._costs import paired_cost, pairwise_cost, two_cheapest
from ._kernels import PLAIN, SOFT, Totals
from ._points import OrderedPoints

_TRUSTED = 8.0  # temperatures over which the quadratic model is good for a loose mode
_LEAST_SCALE = 1e-30  # in the unit frame; keeps temperatures away from zero
_CHUNK = 4096
_SAMPLE = 20  # points per atom from which the scales of the cells are read
_BOXED = 3  # most features in which boxes tell near atoms from far ones
_LARGE = 2_000_000  # points times atoms from which code that does so is loaded, or compiled once
_LOOSE = 8  # a Hessian with fewer than one in so many entries is solved as a sparse matrix
_MANY = 128  # atoms from which that pays


@dataclass(frozen=True)
class SemidualProblem:
    """Points against atoms with target masses that sum to one."""

    cloud: OrderedPoints
    atoms: np.ndarray
    target: np.ndarray
    p: float

    @property
    def kernel(self):
        """The loops over the points; compiled ones are for p = 2."""
        return self.cloud.kernel if self.p == 2 else PLAIN

    @property
    def boxed(self):
        """Whether points are compared with the atoms near them only.

        That depends on the whole cloud, so that all its samples are treated alike.
        """
        cloud, few = self.cloud, self.atoms.shape[1] <= _BOXED
        large = cloud.n_origin * len(self.atoms) >= _LARGE
        return few and large and self.kernel is not PLAIN

    def coarse(self, points_per_atom):
        """Return the problem with a sample of the points."""
        return replace(self, cloud=self.cloud.coarse(points_per_atom * len(self.atoms)))

    def candidates(self, potentials, reach):
        """Tell which atoms may come within `reach` of the cheapest one somewhere in a block.

        Parameters
        ----------
        potentials : ndarray of shape (n_atoms,)
        reach : ndarray of shape (n_blocks,)

        Returns
        -------
        ndarray of bool of shape (n_blocks, n_atoms)
        """
        cloud, atoms = self.cloud, self.atoms
        if self.p != 2:
            far = np.sqrt(np.einsum("ij,ij->i", cloud.widths, cloud.widths))[:, None]
            distance = pairwise_cost(cloud.centers, atoms, 1)
            lowest = np.maximum(distance - far, 0.0) ** self.p - potentials
            highest = (distance + far) ** self.p - potentials
            return lowest <= highest.min(axis=1, keepdims=True) + reach[:, None]
        # The difference of two squared distances is affine in the point, so its least value over
        # the box is known exactly.
        least = pairwise_cost(cloud.centers, atoms, 2) - potentials
        winner = least.argmin(axis=1)
        least -= least[np.arange(len(least)), winner][:, None]
        for axis in range(atoms.shape[1]):
            apart = np.abs(atoms[:, axis] - atoms[winner, axis][:, None])
            least -= 2.0 * cloud.widths[:, axis, None] * apart
        return least <= reach[:, None]

    def blocks(self, potentials, reach):
        """Yield (start, stop, atoms that matter, costs less potentials) of every block.

        For p = 2 the entries leave out the point's own squared norm, the same for all atoms.
        """
        cloud = self.cloud
        matters = self.candidates(potentials, reach)
        if self.p == 2:
            norms = np.einsum("ij,ij->i", self.atoms, self.atoms)
            slopes, rises = -2.0 * self.atoms, (norms - potentials)[:, None]
        for block, start in enumerate(cloud.starts[:-1]):
            stop, atoms = cloud.starts[block + 1], np.flatnonzero(matters[block])
            if self.p == 2:
                entries = slopes[atoms] @ cloud.points[start:stop].T
                entries += rises[atoms]
            else:
                entries = pairwise_cost(self.atoms[atoms], cloud.points[start:stop], self.p)
                entries -= potentials[atoms, None]
            yield start, stop, atoms, entries

    def entries(self, points, potentials):
        """Return costs less potentials of any points, as in :meth:`blocks`."""
        if self.p != 2:
            return pairwise_cost(self.atoms, points, self.p) - potentials[:, None]
        norms = np.einsum("ij,ij->i", self.atoms, self.atoms)
        return -2.0 * self.atoms @ points.T + (norms - potentials)[:, None]

    def cheapest(self, potentials):
        """Yield (start, stop, a cheapest atom of every point) of every block."""
        reach = np.zeros(len(self.cloud.centers))
        for start, stop, atoms, entries in self.blocks(potentials, reach):
            yield start, stop, atoms[self.kernel.cheapest(entries)[0]]

    def labels(self, potentials):
        """Return a cheapest atom of every point."""
        labels = np.empty(len(self.cloud.points), dtype=np.intp)
        for start, stop, found in self.cheapest(potentials):
            labels[start:stop] = found
        return labels

    def own_costs(self, labels):
        """Return the cost of every point at its atom."""
        points, costs = self.cloud.points, np.empty(len(labels))
        for start in range(0, len(labels), _CHUNK):  # whole copies of wide points would be large
            part = slice(start, start + _CHUNK)
            costs[part] = paired_cost(points[part], self.atoms[labels[part]], self.p)
        return costs

    @cached_property
    def _sample(self):
        return self.cloud.coarse(_SAMPLE * len(self.atoms)).points

    def _margins(self, potentials):
        """Return label and margin of every point of a sample."""
        if self.boxed:
            from ._boxed import two_cheapest as two_near  # loads compiled code

            labels, _, margins = two_near(self._sample, self.atoms, potentials)
            return labels, margins
        costs = pairwise_cost(self.atoms, self._sample, self.p) - potentials[:, None]
        labels, lowest, second = two_cheapest(costs)
        return labels, second - lowest

    def scales(self, potentials):
        """Return the mean margin of the points of every atom, read from a sample."""
        labels, margins = self._margins(potentials)
        if not np.isfinite(margins).all():
            return np.ones(len(self.atoms))
        counts = np.bincount(labels, minlength=len(self.atoms))
        means = np.bincount(labels, margins, len(self.atoms)) / np.maximum(counts, 1)
        typical = max(margins.mean(), _LEAST_SCALE)
        means[counts == 0] = typical
        return np.maximum(means, 1e-6 * typical)


@dataclass(frozen=True)
class Smoothed:
    """The smoothed semi-dual at some potentials.

    Attributes
    ----------
    potentials : ndarray of shape (n_atoms,)
    temperatures : ndarray of shape (n_points,)
    value : float
        For p = 2 without the mean squared norm of the points.
    dual : float
        The same without smoothing: a lower bound of the cost at any warmth.
    gradient : ndarray of shape (n_atoms,)
        Target masses less masses received when soft points are shared.
    hessian : ndarray of shape (n_atoms, n_atoms)
        Negated, hence positive semi-definite.
    shared : float
        Mass of the soft points, each counted by how evenly it is shared.
    blur : float
        The same with every point counted by its temperature, too.
    labels, margins : ndarrays of shape (n_points,)
        Cheapest atom, and how much dearer the next one is where that is less than the soft range.
    mass_to_move : float
        Mass that has to move when every point goes to its label whole.
    soft_counts : ndarray of shape (n_atoms,)
    soft_sums : ndarray of shape (n_atoms, n_features)
        Sum of weights, and weighted sum, of the soft points each atom receives. For p other than
        2 a point counts by mass times :func:`attraction`.
    """

    potentials: np.ndarray
    temperatures: np.ndarray
    value: float
    dual: float
    gradient: np.ndarray
    hessian: np.ndarray
    shared: float
    blur: float
    labels: np.ndarray
    margins: np.ndarray
    mass_to_move: float
    soft_counts: np.ndarray
    soft_sums: np.ndarray

    @property
    def imbalance(self):
        """Twice the mass in the wrong place after sharing."""
        return np.abs(self.gradient).sum()

    @property
    def soft(self):
        """Index of the points that are shared among atoms."""
        return np.flatnonzero(self.margins < SOFT * self.temperatures)

    def newton_step(self, longest, gradient=None):
        """Return the change of potentials that removes a gradient, in the quadratic model.

        Where two parts of the atoms share hardly any soft point the Hessian has a mode near zero
        and the step along it overshoots; a ridge keeps every mode below `longest` temperatures.
        """
        gradient = self.gradient if gradient is None else gradient
        size = len(gradient)
        scale = self.hessian.trace() / size + 1e-300
        typical = self.blur / self.shared if self.shared > 0 else 1.0
        ridge = max(np.sqrt(gradient @ gradient) / (longest * typical), 1e-9 * scale)
        if self._sparse is not None:
            step = _solve_sparse(self._sparse, ridge, gradient)
        else:
            # The Hessian vanishes on constants; a rank-one term and the ridge make it definite.
            matrix = self.hessian + scale / size
            matrix[np.diag_indices(size)] += ridge
            step = np.linalg.solve(matrix, gradient)
        return step - step.mean()

    @cached_property
    def _sparse(self):
        """The Hessian of many atoms, few of which share points; otherwise None."""
        size = len(self.gradient)
        if size < _MANY or np.count_nonzero(self.hessian) * _LOOSE > size**2:
            return None
        # Twice as fast as leaving it to SciPy; a symmetric matrix is its own transpose.
        flat = np.flatnonzero(self.hessian)
        starts = np.searchsorted(flat, np.arange(0, size**2 + 1, size))
        entries = self.hessian.ravel()[flat], flat % size, starts
        return sparse.csc_array(entries, shape=(size, size))

    def settled(self, tol):
        """Whether at most `tol` mass is out of place, and moving it would gain little.

        The second condition sees potentials of loosely connected atoms that are far off although
        hardly any mass says so.
        """
        if self.imbalance <= 1e-13 or self.shared == 0.0:
            return self.imbalance <= max(tol, 1e-13)
        if self.imbalance > tol:
            return False
        gain = self.gradient @ self.newton_step(_TRUSTED)
        return gain * self.shared <= tol * self.blur


def _solve_sparse(hessian, ridge, gradient):
    """Solve with a ridge added; the part of the gradient along constants is left out."""
    matrix = hessian + ridge * sparse.eye_array(len(gradient), format="csc")
    factors = splu(matrix, "MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    return factors.solve(gradient - gradient.mean())


def smooth(problem, potentials, temperatures):
    """Evaluate the smoothed semi-dual and its derivatives."""
    cloud, total = problem.cloud, _totals(problem, potentials, temperatures)
    dual = float(cloud.weights @ total.cheapest + problem.target @ potentials)
    n_atoms = len(problem.target)
    whole = np.bincount(total.labels, cloud.weights, n_atoms)
    return Smoothed(
        potentials=potentials,
        temperatures=temperatures,
        value=dual - total.softness,
        dual=dual,
        gradient=problem.target - total.masses - np.bincount(total.labels, total.hard, n_atoms),
        hessian=total.hessian,
        shared=total.shared,
        blur=total.blur,
        labels=total.labels,
        margins=total.margins,
        mass_to_move=0.5 * np.abs(whole - problem.target).sum(),
        soft_counts=total.counts,
        soft_sums=total.sums,
    )


def _totals(problem, potentials, temperatures):
    """Return what the points add up to."""
    if problem.boxed:
        from ._boxed import totals  # loads compiled code

        return totals(problem, potentials, temperatures)
    cloud = problem.cloud
    total = Totals.empty(len(cloud.points), len(problem.target), cloud.points.shape[1])
    farthest = np.maximum.reduceat(SOFT * temperatures, cloud.starts[:-1])
    for start, stop, atoms, entries in problem.blocks(potentials, farthest):
        problem.kernel.fold(
            total, slice(start, stop), atoms, entries, cloud, temperatures, problem.p, potentials
        )
    return total
