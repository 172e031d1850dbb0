"""Ways to release enough about k distributions to compute their barycenter."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from ...geometry._cell_tree import CellTree
from ...privacy.accounting.calibration import gaussian_mu
from ...privacy.noise.mechanisms import RoundedGaussian
from ...privacy.noise.sampler import public_generator
from ...transport import DiscreteMeasure, free_support_barycenter, solve_semidiscrete
from ...transport._tree.haar import prune
from .._denoise.trees import cell_support

_PRUNE = 0.5  # cells below this many noise standard deviations are not split
_DEEPEST = 20
_MANY_FEATURES = 4  # by benchmarks/barycenter/methods.py
_GAUSSIAN_SIGNAL = 16.0  # least persons times mu, for each root of a feature
_PURE_SIGNAL = 500.0  # least persons times epsilon
_GAUSSIAN_RATE = 6.0  # epsilon of Laplace noise that allows the same depth, relative to mu


@dataclass(frozen=True, eq=False)
class PrivateBarycenter:
    """What a method makes of its releases.

    Attributes
    ----------
    measures : list of DiscreteMeasure
        The private measure of each class.
    support : ndarray of shape (n_atoms, n_features)
    potentials : ndarray of shape (n_classes, n_atoms)
    cost : float
        Mean transport cost from the private measures to the atoms.
    """

    measures: list
    support: np.ndarray
    potentials: np.ndarray
    cost: float


class BarycenterMethod(ABC):
    """What is released for a barycenter, and how the barycenter is made of it.

    A method reads the public parameters of the estimator and earlier releases, never a row.
    """

    @abstractmethod
    def shares(self, estimator, n_features):
        """Return the steps, in order, and the share of the budget of each."""

    @abstractmethod
    def query(self, estimator, step_name, facts):
        """Return the query of a step."""

    @abstractmethod
    def finish(self, estimator, facts, class_weights):
        """Return the PrivateBarycenter."""


class CoresetMethod(BarycenterMethod):
    """A tree of cells for every class, released together, then the exact barycenter.

    A person is in one class, so the trees cost together what one of them costs; under
    "replace_any" a person may move from one tree to another, and the sensitivity says so.

    Parameters
    ----------
    tree_method : TreeMethod
    pure : TreeMethod or None, default=None
        What is released instead with Laplace noise, for which fewer levels are better.
    """

    def __init__(self, tree_method, pure=None):
        self.tree_method = tree_method
        self.pure = tree_method if pure is None else pure

    def shares(self, estimator, n_features):
        """Return a single step."""
        return {"tree": 1.0}

    def query(self, estimator, step_name, facts):
        """Return the query of the trees."""
        tree_method = self.chosen(facts)
        tree = CellTree(facts.domain, tree_depth(tree_method, estimator.n_atoms, facts))
        return tree_method.query(tree, facts.n_classes, facts.units, facts.total_public)

    def finish(self, estimator, facts, class_weights):
        """Compute the barycenter of the private measures."""
        return solve_barycenter(estimator, self.measures(facts), class_weights)

    def measures(self, facts):
        """Return the private measures that the trees give."""
        tree = facts.released["tree"].query.tree
        return tree_measures(self.chosen(facts), tree, facts)

    def chosen(self, facts):
        """Return the tree method for the noise of the fit."""
        gaussian = isinstance(facts.mechanisms["tree"], RoundedGaussian)
        return self.tree_method if gaussian else self.pure


class AutoMethod(BarycenterMethod):
    """The method that public facts speak for.

    Trees give the shape of a distribution where cells are many for its dimension. From
    `_MANY_FEATURES` on, sums over released cells say more, which needs means (p = 2); with Gaussian
    noise moments in a few released axes say most. Either needs a mean that noise does not move far;
    where `n_hint` says that there is none, trees lose less. Who names a `distortion` asks for a
    random projection.

    Parameters
    ----------
    low, high, high_pure, projected : BarycenterMethod
        For few features, for many with and without a delta, and for a given distortion.
    """

    def __init__(self, low, high, high_pure, projected):
        self.low = low
        self.high = high
        self.high_pure = high_pure
        self.projected = projected

    def choose(self, estimator, n_features):
        """Return the method for rows with `n_features` features."""
        if estimator.distortion is not None:
            return self.projected
        if estimator.p != 2 or n_features < _MANY_FEATURES or _is_drowned(estimator, n_features):
            return self.low
        return self.high if estimator.delta > 0 else self.high_pure

    def shares(self, estimator, n_features):
        """Return the steps of the chosen method."""
        return self.choose(estimator, n_features).shares(estimator, n_features)

    def query(self, estimator, step_name, facts):
        """Return the query of the chosen method."""
        return self.choose(estimator, facts.n_features).query(estimator, step_name, facts)

    def finish(self, estimator, facts, class_weights):
        """Let the chosen method finish."""
        return self.choose(estimator, facts.n_features).finish(estimator, facts, class_weights)


def _is_drowned(estimator, n_features):
    """Whether sums of a distribution are mostly noise, by the public hint of the size."""
    return estimator.n_hint is not None and signal_level(estimator, n_features) < 1.0


def signal_level(estimator, n_features):
    """Return persons a class, by the public hint, over those whose sums noise does not drown."""
    classes = 1 if estimator.classes is None else max(np.size(estimator.classes), 1)
    persons = estimator.n_hint / classes
    epsilon, delta = estimator.epsilon, estimator.delta
    if delta > 0:
        return persons * gaussian_mu(epsilon, delta) / (_GAUSSIAN_SIGNAL * math.sqrt(n_features))
    return persons * epsilon / _PURE_SIGNAL


def advise(estimator, n_features):
    """Return what public facts say about the noise of a barycenter in many features, or nothing."""
    if n_features < _MANY_FEATURES:
        return ""
    if estimator.n_hint is None:
        return "Give n_hint, the public number of persons, to see whether noise drowns them."
    level = signal_level(estimator, n_features)
    text = f"n_hint is {level:.2g} times the persons that {n_features} features need at this noise"
    if level >= 1.0:
        return f"{text}."
    remedy = "" if estimator.delta > 0 else ", delta > 0"
    return (
        f"{text}: the barycenter can be mostly noise, and no better than the center of the bounds. "
        f"More persons, a larger epsilon{remedy} or fewer features (n_components) would help."
    )


def starts(estimator, n_measures):
    """Return how many starts a search makes."""
    if estimator.n_init is not None:
        return estimator.n_init
    return 10 if n_measures == 1 else 2


def search_barycenter(estimator, measures, class_weights, init=None):
    """Return the BarycenterResult of released measures under the estimator's public parameters."""
    return free_support_barycenter(
        measures,
        estimator.n_atoms,
        measure_weights=class_weights,
        p=estimator.p,
        init=init,
        n_init=starts(estimator, len(measures)),
        random_state=public_generator(estimator.random_state),
    )


def solve_barycenter(estimator, measures, class_weights):
    """Return the PrivateBarycenter of released measures."""
    result = search_barycenter(estimator, measures, class_weights)
    potentials = np.stack([transport.potentials for transport in result.transports])
    return PrivateBarycenter(measures, result.support, potentials, result.cost)


def tree_depth(tree_method, n_atoms, facts):
    """Depth of the trees by public facts: cells small beside those of the atoms, not emptied by
    noise."""
    mechanism = facts.mechanisms["tree"]
    gaussian = isinstance(mechanism, RoundedGaussian)
    rate = _GAUSSIAN_RATE * mechanism.mu if gaussian else mechanism.epsilon
    signal = math.log2(max(rate * facts.size / facts.n_classes, 2.0))
    depth = tree_method.depth(signal, math.log2(n_atoms) + 8.0)
    return int(np.clip(round(depth), 2, _DEEPEST))


def tree_measures(tree_method, tree, facts):
    """Return one measure a class from the release of their trees."""
    released = facts.released["tree"]
    noise_sd = [sd / facts.units for sd in released.noise_sd]
    least = [_PRUNE * sd for sd in tree_method.split_noise(tree, noise_sd)]
    measures = []
    for code in range(facts.n_classes):
        blocks = [block[code] / facts.units for block in released.values]
        levels = tree_method.masses(tree, blocks, noise_sd)
        if levels[0][0] < 1.0:  # a class lost in noise becomes the prior
            levels = [tree.share(level) for level in range(tree.depth + 1)]
        cells = prune(tree, levels, least)
        measures.append(DiscreteMeasure(cell_support(tree, cells), cells.mass))
    return measures


def transport_cost(X, atoms, p):
    """Return the exact transport cost from rows to atoms.

    Of squared distances, the part across the span of the atoms is the same for every atom, so it
    is added afterwards, and the transport is solved in as many dimensions as there are atoms.
    """
    if p != 2 or X.shape[1] <= atoms.n_points:
        return solve_semidiscrete(DiscreteMeasure(X), atoms, p=p).cost
    center = atoms.mean()
    span = np.linalg.svd(atoms.support - center, full_matrices=False)[2]
    rows, inside = X - center, (X - center) @ span.T
    images = DiscreteMeasure((atoms.support - center) @ span.T, atoms.weights)
    across = float(((rows - inside @ span) ** 2).sum(axis=1).mean())
    return solve_semidiscrete(DiscreteMeasure(inside), images).cost + across
