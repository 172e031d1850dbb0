"""Where a barycenter starts: the means of balanced pieces of a measure."""

import numpy as np


def balanced_split(points, weights, target, rng):
    """Cut points by hyperplanes into pieces with the target masses; return the pieces' means.

    Each cut takes a random direction, drawn with the covariance of the piece, so that long sides
    are cut more often; the masses on both sides are those of the atoms that go there.

    Parameters
    ----------
    points : ndarray of shape (n_points, n_features)
    weights : ndarray of shape (n_points,)
    target : ndarray of shape (n_atoms,)
        Masses of the pieces.
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of shape (n_atoms, n_features)
    """
    means = np.empty((len(target), points.shape[1]))
    pieces = [(np.arange(len(points)), weights, np.arange(len(target)))]
    while pieces:
        rows, masses, atoms = pieces.pop()
        if len(atoms) == 1:
            means[atoms[0]] = masses @ points[rows] / masses.sum()
            continue
        left, right = atoms[: len(atoms) // 2], atoms[len(atoms) // 2 :]
        order = np.argsort(_random_projection(points[rows], rng), kind="stable")
        rows, masses = rows[order], masses[order]
        goal = masses.sum() * target[left].sum() / target[atoms].sum()
        ends = np.cumsum(masses)
        cut = min(int(np.searchsorted(ends, goal)), len(rows) - 1)
        # The point on the border goes to both sides, with the mass that belongs there.
        inner = goal - (ends[cut] - masses[cut])
        pieces.append((rows[: cut + 1], np.append(masses[:cut], inner), left))
        pieces.append((rows[cut:], np.append(masses[cut] - inner, masses[cut + 1 :]), right))
    return means


def _random_projection(points, rng):
    centered = points - points.mean(axis=0)
    return centered @ (centered.T @ rng.standard_normal(len(points)))
