"""Noisy masses of disjoint cells of a tree."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Measurement:
    """Released masses of disjoint cells, with noise of one scale.

    Attributes
    ----------
    level, code : ndarray of int
        The cells: level in a tree, and code at that level; Morton codes of a quadtree.
    mass : ndarray
        Noisy masses, in persons.
    rate : float
        The noise on a mass has density proportional to ``exp(-rate * abs(noise))``; Gaussian noise,
        to ``exp(-(rate * noise)**2 / 2)``.
    """

    level: np.ndarray
    code: np.ndarray
    mass: np.ndarray
    rate: float

    def on_tree(self, tree):
        """Return masses and rates for every cell of a tree, with rate 0 where nothing is known."""
        values = [np.zeros(n) for n in tree.sizes]
        rates = [np.zeros(n) for n in tree.sizes]
        for k, codes in enumerate(tree.codes):
            here = self.level == tree.top + k
            place = np.searchsorted(codes, self.code[here])
            values[k][place] = self.mass[here]
            rates[k][place] = self.rate
        return values, rates


def noisy_total(measurements):
    """Return the mass of the map before it is made non-negative, and its standard deviation.

    Every measurement that covers the map has a sum of its own. They count by their precision:
    Laplace noise of some rate has a variance of 2 / rate**2 on every cell.
    """
    total = precision = 0.0
    for measured in measurements:
        covered = np.exp2(-2.0 * measured.level).sum()
        if covered == 1.0:
            weight = measured.rate**2 / (2.0 * len(measured.mass))
            total += weight * measured.mass.sum()
            precision += weight
    return total / precision, precision**-0.5
