"""The loops that take most of the time, in NumPy."""

from dataclasses import dataclass

import numpy as np

from ._costs import two_cheapest

SOFT = 14.0  # a margin above this many temperatures is hard: a share below exp(-14)
_NOTHING = -60.0  # exponent of a share that changes no sum; underflow takes processors 30x longer


@dataclass
class Totals:
    """What the points add up to, block by block, and what is known of each.

    Attributes
    ----------
    labels, cheapest, margins : ndarrays of shape (n_points,)
        Cheapest atom, its cost less its potential, and how much dearer the next atom is.
    hard : ndarray of shape (n_points,)
        Weights, zero for soft points; all others below are sums over the soft points.
    masses, counts : ndarrays of shape (n_atoms,)
    sums : ndarray of shape (n_atoms, n_features)
    hessian : ndarray of shape (n_atoms, n_atoms)
    shared, blur, softness : float
    """

    labels: np.ndarray
    cheapest: np.ndarray
    margins: np.ndarray
    hard: np.ndarray
    masses: np.ndarray
    counts: np.ndarray
    sums: np.ndarray
    hessian: np.ndarray
    shared: float = 0.0
    blur: float = 0.0
    softness: float = 0.0

    @classmethod
    def empty(cls, n_points, n_atoms, n_features):
        """Return totals of nothing."""
        return cls(
            labels=np.empty(n_points, dtype=np.intp),
            cheapest=np.empty(n_points),
            margins=np.empty(n_points),
            hard=np.empty(n_points),
            masses=np.zeros(n_atoms),
            counts=np.zeros(n_atoms),
            sums=np.zeros((n_atoms, n_features)),
            hessian=np.zeros((n_atoms, n_atoms)),
        )


class PlainKernel:
    """NumPy on whole blocks."""

    def cheapest(self, entries):
        """Return row of the minimum, minimum and second of every column; overwrites `entries`."""
        return two_cheapest(entries)

    def fold(self, total, block, atoms, entries, cloud, temperatures, p, potentials):
        """Add a block of points to the totals; overwrites `entries`.

        Parameters
        ----------
        total : Totals
        block : slice
            Of the points.
        atoms : ndarray of int
            Those that matter in the block.
        entries : ndarray of shape (n_atoms of the block, n_points of the block)
            Costs less potentials.
        cloud : OrderedPoints
        temperatures : ndarray of shape (n_points,)
        p : float
        potentials : ndarray
            Of all atoms.
        """
        winner, lowest, second = two_cheapest(entries)
        total.labels[block], total.cheapest[block] = atoms[winner], lowest
        margins = np.subtract(second, lowest, out=total.margins[block])
        total.hard[block] = cloud.weights[block]
        soft = np.flatnonzero(margins < SOFT * temperatures[block])
        if not soft.size:
            return
        if soft.size < margins.size:
            entries, lowest = entries[:, soft], lowest[soft]
        rows = soft + block.start
        total.hard[rows] = 0.0
        points, weights, temperatures = cloud.points[rows], cloud.weights[rows], temperatures[rows]
        pulls = None if p == 2 else attraction(entries + potentials[atoms, None], p)
        shares, totals = soft_shares(entries, lowest, temperatures)
        masses = shares @ weights
        if pulls is None:
            counts, sums = masses, shares @ (weights[:, None] * points)
        else:
            pulls *= shares * weights
            counts, sums = pulls.sum(axis=1), pulls @ points
        mixed = weights * (1.0 - np.einsum("ji,ji->i", shares, shares))
        total.shared += mixed.sum()
        total.blur += mixed @ temperatures
        total.softness += (weights * temperatures) @ np.log(totals)
        total.masses[atoms] += masses
        total.counts[atoms] += counts
        total.sums[atoms] += sums
        total.hessian[atoms, atoms] += shares @ (weights / temperatures)
        shares *= np.sqrt(weights / temperatures)
        total.hessian[atoms[:, None], atoms] -= shares @ shares.T

    def drift(self, entries, rises, weights, temperatures):
        """Return how the masses of soft points change, to first order; overwrites its arguments.

        Parameters
        ----------
        entries, rises : ndarrays of shape (n_atoms, n_points)
            Costs less potentials, and by how much they rise.
        weights, temperatures : ndarrays of shape (n_points,)
        """
        shares, _ = soft_shares(entries, entries.min(axis=0), temperatures)
        rises -= np.einsum("ji,ji->i", shares, rises)
        rises *= shares
        return -rises @ (weights / temperatures)


PLAIN = PlainKernel()


def attraction(costs, p):
    """Return ``distance ** (p - 2)``, capped where a point sits on the atom."""
    return np.maximum(np.maximum(costs, 0.0) ** (1.0 / p), 1e-9) ** (p - 2.0)


def soft_shares(entries, lowest, temperatures):
    """Return the shares of every column, and what they were divided by; overwrites `entries`.

    The soft minimum is ``lowest - temperatures * log(divisor)``.
    """
    entries -= lowest
    entries *= -1.0 / temperatures
    np.maximum(entries, _NOTHING, out=entries)
    np.exp(entries, out=entries)
    total = entries.sum(axis=0)
    entries /= total
    return entries, total
