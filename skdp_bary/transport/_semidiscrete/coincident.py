"""Atoms that coincide: transported to as one, and told apart afterwards.

Between equal atoms every point is tied, so that potentials cannot tell who takes what; any division
by mass is as good as any other.
"""

from dataclasses import replace

import numpy as np
from scipy import sparse


def merge_atoms(problem, potentials):
    """Return the problem with equal atoms as one, potentials for it, and each atom's group."""
    atoms, first, group = np.unique(problem.atoms, axis=0, return_index=True, return_inverse=True)
    group = group.ravel()
    if len(atoms) == len(problem.atoms):
        return problem, potentials, None
    merged = replace(problem, atoms=atoms, target=np.bincount(group, problem.target))
    return merged, None if potentials is None else potentials[first], group


def divide(solution, weights, target, group):
    """Return the Assignment to all atoms from one to groups of equal atoms.

    Parameters
    ----------
    solution : Assignment
    weights : ndarray of shape (n_points,)
    target : ndarray of shape (n_atoms,)
    group : ndarray of shape (n_atoms,)
        Atom of `solution` that stands for each atom.
    """
    received = np.ones(len(weights))
    received[solution.split] = 0.0
    held = sparse.csc_array(
        (received * weights, (np.arange(len(weights)), solution.labels)),
        shape=(len(weights), len(solution.potentials)),
    )
    shared = sparse.coo_array(solution.shares * weights[solution.split])
    rows = solution.split[shared.coords[1]]
    held = held + sparse.csc_array((shared.data, (rows, shared.coords[0])), shape=held.shape)
    held.eliminate_zeros()
    points, atoms, masses = [], [], []
    for place in np.flatnonzero(np.diff(held.indptr)):  # the least masses may receive nothing
        members = np.flatnonzero(group == place)
        mine = slice(held.indptr[place], held.indptr[place + 1])
        point, atom, mass = fill_in_order(held.data[mine], target[members])
        points.append(held.indices[mine][point])
        atoms.append(members[atom])
        masses.append(mass)
    plan = sparse.csr_array(
        (np.concatenate(masses), (np.concatenate(points), np.concatenate(atoms))),
        shape=(len(weights), len(target)),
    )
    return _read_off(solution, plan, group)


def _read_off(solution, plan, group):
    """Return `solution` with labels and shares as in a sparse plan."""
    split = np.flatnonzero(np.diff(plan.indptr) > 1)
    shares = plan[split].toarray().T
    member = np.empty(len(solution.potentials), dtype=np.intp)
    member[group] = np.arange(len(group))
    labels = member[solution.labels]  # stays where a point is too light to be in the plan
    held = np.flatnonzero(np.diff(plan.indptr))
    labels[held] = plan.indices[plan.indptr[held]]
    return replace(
        solution,
        potentials=solution.potentials[group],
        labels=labels.astype(np.intp),
        split=split,
        shares=shares / shares.sum(axis=0),
    )


def fill_in_order(masses, capacities):
    """Hand masses out in order to receivers in order, splitting where a receiver is full.

    Returns
    -------
    giver, receiver : ndarrays of int
    mass : ndarray
        What each piece weighs; at most ``len(masses) + len(capacities) - 1`` pieces.
    """
    ends = np.cumsum(masses)
    bounds = np.cumsum(capacities) * (ends[-1] / capacities.sum())
    cuts = np.union1d(ends, bounds[:-1])
    middles = (np.append(0.0, cuts[:-1]) + cuts) / 2
    giver = np.minimum(np.searchsorted(ends, middles), len(ends) - 1)
    receiver = np.minimum(np.searchsorted(bounds, middles), len(bounds) - 1)
    return giver, receiver, np.diff(cuts, prepend=0.0)
