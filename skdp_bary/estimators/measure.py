"""PrivateMeasure: a weighted discrete measure close to the data in Wasserstein distance."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from ..exceptions import Neighbors, RandomState
from ..geometry.bounds import Bounds
from ..geometry.cells import MAX_DEPTH, CellTree
from ..parameters import PRIVACY_RULES, Integer, Option
from ..privacy.noise import public_generator
from ..privacy.spending import SharedBudget
from ..transport.measures import DiscreteMeasure
from ..transport.tree_fits import prune
from .base import BasePrivateEstimator
from .noisy_means import TREES, pyramid_tuning
from .noisy_trees import (
    HaarMethod,
    Pyramid,
    by_level,
    cell_support,
    is_box,
    pyramid_shares,
    suits_pyramid,
)
from .notices import NARROW, as_dataframe, check_samples, parts_in_words, warn_of_border

_GRID_DEPTH = 24  # the deepest grid of which domains other than boxes know the shares


class PrivateMeasure(BasePrivateEstimator):
    """Private discrete measure: weighted points close to the data in Wasserstein distance.

    The domain is halved repeatedly into a tree of cells, whose noisy masses give the measure
    (:doc:`/explanation/private_measure`). ``sample`` draws any number of synthetic rows, at no
    further privacy cost.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy loss of one fit.

    delta : float, default=0.0
        Failure probability, much smaller than one over the number of people. 0 means Laplace noise,
        other values mean Gaussian noise.

    bounds : (low, high), Box, Ball or Mask, default=None
        Public domain, to which rows are clipped. None estimates a box with 20% of the budget.

    depth : "auto" or int, default="auto"
        Number of times the domain is halved. "auto" follows from the budget and the public or
        estimated size.

    method : {"auto", "haar", "pyramid"}, default="auto"
        Measurement, and computation of masses:

        - "auto": "pyramid" if ``delta=0``, ``bounds`` is a box that is given, ``depth="auto"`` and
          there are at most four features; "haar" otherwise;
        - "haar": the difference between the halves of every cell, in one pass;
        - "pyramid": the counts of two full levels, then of cells split where these show mass,
          twice, in three passes. Masses are posterior means.

    n_hint : int, default=None
        Public estimate of the number of people, for the depth only. None spends 5% of the budget
        under "add_remove"; other relations make this number public.

    neighbors : {"add_remove", "replace_one", "replace_any"}, default=None
        Neighboring relation. None takes the accountant's, by default "add_remove".

    accountant : BudgetAccountant, default=None
        Budget shared by several fits. None limits each fit separately.

    random_state : int or RandomState, default=None
        None, except in tests: other values make releases reproducible and not private.

    verbose : {0, 1, 2}, default=0
        Progress output: none, a bar, or every step.

    Attributes
    ----------
    support_ : ndarray of shape (n_atoms, n_features)
        Points of the measure, one in each cell of an adaptive partition of the domain.
    weights_ : ndarray of shape (n_atoms,)
        Weights of the points, with sum 1.
    cells_ : CellMasses
        Level, index and weight of the cells.
    total_ : float
        Noisy number of people (the exact number where the relation makes it public).
    tree_ : CellTree
        The tree that was measured.
    domain_ : Box, Ball or Mask
        Public or estimated domain.
    privacy_ : Plan
        Releases and charges of the fit.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Feature names, if `X` has string column names.

    Privacy
    -------
    Neighbors
        ``neighbors``, by default "add_remove" of one person: a row, or all rows with one value of
        ``groups``.
    Mechanism
        DiscreteLaplace when ``delta=0``, otherwise RoundedGaussian.
    Sensitivity
        One person adds 1 to the total and 1 in absolute value to one number on every level, or of
        every partition of a pyramid. Replacing a person moves every partition by at most 2 in L1
        and in squared L2, and every level by at most 2 in L1; in squared L2 a Haar difference moves
        by 4 where the two paths part and by 2 on each level below. Estimated bounds: 1 (add) or 2
        (replace) for the histograms of magnitudes and distances; the sum of clipped rows is on a
        lattice of steps of radius / 2**20 and moves by the radius, or twice that.
    Budget
        All levels or partitions, and estimated bounds and size, cost (epsilon, delta) together.
    Released
        support_, weights_, cells_, total_, tree_, domain_, privacy_, n_features_in_,
        feature_names_in_
    Not covered
        score_samples, score: exact functions of their input.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp_bary import PrivateMeasure
    >>> X = np.random.default_rng(0).normal(0.5, 0.1, size=(5000, 2))
    >>> measure = PrivateMeasure(epsilon=1.0, bounds=(0, 1), n_hint=5000).fit(X)
    >>> measure.sample(3).shape
    (3, 2)
    >>> bool(abs(measure.weights_ @ measure.support_ - 0.5).max() < 0.05)
    True
    """

    _fewest_steps = 'method="haar"'
    _tree_method = HaarMethod()
    _display = "MeasureDisplay"
    _parameter_rules = PRIVACY_RULES | {
        "depth": Integer(0, MAX_DEPTH) | Option(("auto",)),
        "method": Option(("auto", "haar", "pyramid")),
    }

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 0.0,
        bounds: Bounds | None = None,
        depth: int | Literal["auto"] = "auto",
        *,
        method: Literal["auto", "haar", "pyramid"] = "auto",
        n_hint: int | None = None,
        neighbors: Neighbors | None = None,
        accountant: SharedBudget | None = None,
        random_state: RandomState | None = None,
        verbose: Literal[0, 1, 2] = 0,
    ) -> None:
        super().__init__(epsilon, delta, bounds, n_hint, neighbors, accountant, random_state)
        self.verbose = verbose
        self.depth = depth
        self.method = method

    def sample(
        self, n_samples: int = 1, random_state: RandomState | None = None, *, as_frame: bool = False
    ) -> Any:
        """Draw synthetic rows: a cell by its weight, then a point uniformly inside it.

        The draws are post-processing of the release: they cost nothing, whatever their number.

        Parameters
        ----------
        n_samples : int, default=1
        random_state : int or RandomState, default=None
        as_frame : bool, default=False
            Return `X` as a pandas DataFrame with the names of the features, where there are some.

        Returns
        -------
        X : ndarray or DataFrame of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        n_samples = check_samples(n_samples, self.n_features_in_)
        rng = public_generator(random_state)
        drawn = np.sort(rng.choice(len(self.weights_), size=n_samples, p=self.weights_))
        X = np.empty((n_samples, self.n_features_in_))
        for level, rows, index in by_level(self.cells_.level[drawn], self.cells_.index[drawn]):
            places = self.tree_.positions(index, level)
            X[rows] = self.domain_.sample_in_cells(places, self.tree_.full_shape(level), rng)
        # rows were drawn level by level, and come in any order
        X = rng.permutation(X)
        return as_dataframe(self, X) if as_frame else X

    def score_samples(self, X: ArrayLike) -> np.ndarray:
        """Return the logarithm of the density of the released measure at each row.

        The density is constant inside a cell. One person's worth of the uniform distribution on
        the domain is added, so it is positive everywhere; rows outside the domain are moved to its
        border, as ``fit`` does.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)

        Returns
        -------
        log_density : ndarray of shape (n_rows,)
        """
        X = self._floats(X)
        leaf = self.tree_.leaf_index(X)
        mass = np.zeros(len(X))
        share = np.full(len(X), 1.0 / self.tree_.n_cells)
        # cells are disjoint: at most one level has a cell that holds the row
        for level in np.unique(self.cells_.level):
            here = self.cells_.level == level
            ours = self.tree_.ancestor(leaf, level)
            place = np.searchsorted(self.cells_.index[here], ours)
            place = np.minimum(place, np.count_nonzero(here) - 1)
            found = self.cells_.index[here][place] == ours
            mass[found] = self.cells_.mass[here][place[found]]
            share[found] = self.tree_.share(level)[ours[found]]
        relative = self.total_ * mass / np.maximum(share, 1e-300) + 1.0
        return np.log(relative) - math.log(self.total_ + 1.0) - self.domain_.log_volume

    def score(self, X: ArrayLike, y: None = None) -> float:
        """Return the mean of ``score_samples(X)``.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        y : None
            Ignored.

        Returns
        -------
        score : float
        """
        return float(self.score_samples(X).mean())

    def to_measure(self) -> DiscreteMeasure:
        """Return the release as a discrete measure for transport.

        Returns
        -------
        measure : DiscreteMeasure
        """
        check_is_fitted(self)
        return DiscreteMeasure(self.support_, self.weights_)

    def _is_pyramid(self, n_features):
        """Whether a pyramid is measured, by public facts alone."""
        if self.method != "auto":
            return self.method == "pyramid"
        is_free = isinstance(self.depth, str) and self.delta == 0
        return is_free and suits_pyramid(self.bounds, n_features)

    def _shares(self, n_features):
        if not is_box(self.bounds) and not isinstance(self.depth, str):
            rule = Integer(0, _GRID_DEPTH, note="Grids on balls and masks are that fine.")
            rule.check(self.depth, "depth")
        if self._is_pyramid(n_features):
            return pyramid_shares(pyramid_tuning(n_features))
        return {"tree": 1.0}

    def _questions(self, facts):
        depth = None if isinstance(self.depth, str) else int(self.depth)
        if self._is_pyramid(facts.n_features):
            pyramid = Pyramid(facts, depth, pyramid_tuning(facts.n_features))
            ((cells, total),) = yield from pyramid.questions()
            return pyramid.tree, cells, total
        if depth is None:  # cells of about one standard deviation of noise
            depth = round(math.log2(max(facts.size * facts.mechanisms["tree"].amount, 1.0))) + 1
            depth = min(max(depth, 1), TREES.deepest)
        method, tree = self._tree_method, CellTree(facts.domain, depth)
        query = method.query(tree, facts.n_classes, facts.units, facts.total_public)
        released = yield "tree", query
        blocks = [b[0] if facts.units == 1 else b[0] / facts.units for b in released.values]
        noise_sd = [sd / facts.units for sd in released.noise_sd]
        levels = method.masses(tree, blocks, noise_sd)  # of shape (2**level,) each
        if not levels[0][0] > 0:  # noise outweighs the data: the public prior is what is left
            levels = [tree.share(level) for level in range(tree.depth + 1)]
        cells = prune(tree, levels, [TREES.prune * sd for sd in noise_sd[1:]])
        return tree, cells, max(float(blocks[0][0]), 0.0)

    def _finish(self, facts, result):
        self.tree_, self.cells_, self.total_ = result
        self.support_ = cell_support(self.tree_, self.cells_)
        self.weights_ = self.cells_.mass
        self.weights_ /= self.weights_.sum()
        points, weights = self.support_, self.weights_
        # a feature at a time, as there are many points; noise adds to the square
        square = sum(weights @ (each - weights @ each) ** 2 for each in points.T)
        narrow = square < (NARROW * facts.domain.radius) ** 2
        warn_of_border(points, weights, facts, self.epsilon, self.bounds, narrow)
        self._warn_of_noise(facts.n_features, facts.size)

    def _noise_of(self, n_features, persons):
        return parts_in_words(self, persons, n_features)
