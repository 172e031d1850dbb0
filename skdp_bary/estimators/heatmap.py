"""PrivateEMDHeatmap: a differentially private map of where people are."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from ..exceptions import Neighbors, RandomState
from ..geometry.bounds import Bounds
from ..parameters import PRIVACY_RULES, Number, OneOf, Option, PowerOfTwo, PublicDomain
from ..privacy.mechanisms import ADD_REMOVE
from ..privacy.spending import SharedBudget
from ..queries.cells import MAX_GRID_DEPTH, DisjointCounts, GridDivision, Partition, QuadGrid
from ..transport.tree_posterior import glance, infer_masses
from ..transport.trees import Tree, child_codes, refine
from .base import BasePrivateEstimator
from .heatmap_views import HeatmapViews
from .noisy_means import PYRAMID
from .noisy_trees import Measurement, cells_of, learned_priors, with_rest_kept
from .notices import warn_of_few_cells, warn_of_missing

# What every way to measure a heatmap has: public facts, steps, questions, and how it rebuilds.


@dataclass(frozen=True)
class HeatmapSetting:
    """Public facts that a method may use.

    Attributes
    ----------
    depth : int
        The grid has ``2**depth`` rows and columns.
    finest : int
        The level beyond which cells are too small to be seen after blurring.
    epsilon : float
        Budget of all steps of the method together.
    size : int or None
        Public or estimated number of people.
    whole : bool
        Whether masses are whole people.
    reach : int
        Number of people that a neighbor can move: 1 when one is added or removed, else 2.
    """

    depth: int
    finest: int
    epsilon: float
    size: int | None
    whole: bool
    reach: int


class HeatmapMethod:
    """One way to measure a heatmap and to rebuild it.

    ``shares(setting)`` returns the steps, in order, and the share of the budget of each.
    ``questions(setting, facts)`` asks for masses of cells, and returns the list of Measurement.
    """

    needs_size = False

    def rebuild(self, setting, measurements):
        """Return the :class:`HeatmapFit` of the measurements."""
        return fit_posterior(measurements, whole=setting.whole)


def measure(setting, facts, name, *partitions):
    """Ask for the masses of partitions in one step, and return a Measurement of each."""
    cells = GridDivision(QuadGrid(facts.domain, setting.depth), partitions)
    released = yield name, DisjointCounts(cells, facts.units)
    units, found = facts.units, zip(partitions, released.values, released.scales, strict=True)
    return [Measurement(c.levels, c.codes, values / units, units / b) for c, values, b in found]


# Looking closely where a coarse look found masses: in two rounds, or in one at a public level.

_FINEST_LEVEL = 8  # of one look: time


class AdaptiveMethod(HeatmapMethod):
    """A coarse look with one third of the budget, then cells where it showed mass with the rest."""

    def shares(self, setting):
        """Return a third for the coarse look, two thirds for the fine one."""
        return {"coarse": 1.0, "fine": TUNED.fine_share}

    def questions(self, setting, facts):
        """Ask for a full level, then for cells refined where it shows mass."""
        level = Partition.complete(setting.depth, self.first_level(setting))
        coarse = yield from measure(setting, facts, "coarse", level)
        rate = facts.mechanisms["fine"].epsilon / setting.reach
        fine = yield from measure(setting, facts, "fine", self.fine_cells(setting, coarse, rate))
        return coarse + fine

    def fine_cells(self, setting, coarse, rate):
        """Return cells as fine as the masses of a coarse look, for noise of a rate."""
        fit = fit_posterior(coarse, whole=setting.whole)
        least, branching = TUNED.threshold / rate, (4,) * setting.finest
        tree = refine(covering_tree(coarse), fit.posterior.mean, least, branching)
        return Partition(setting.depth, *cells_of(tree))

    def first_level(self, setting):
        """Return the level of the first look, from public numbers alone."""
        level = TUNED.coarse
        if setting.size is not None:
            known = setting.size * setting.epsilon / setting.reach
            level += int(known > TUNED.large) - int(known < TUNED.small)
        return min(level, setting.finest)


class OneShotMethod(HeatmapMethod):
    """Two full levels at once, of which the finer has about two cells per person and epsilon."""

    needs_size = True

    def shares(self, setting):
        """Return the one step."""
        return {"levels": 1.0}

    def questions(self, setting, facts):
        """Ask for two levels, two apart."""
        known = setting.size * setting.epsilon / setting.reach
        fine = round(math.log(max(TUNED.cells_a_person * known, 1.0), 4))
        fine = min(max(fine, 2), setting.finest, _FINEST_LEVEL)
        # not level 0: where a person is replaced, noise on the total would protect nothing
        levels = sorted({max(fine - TUNED.apart, 1), fine})
        whole = [Partition.complete(setting.depth, level) for level in levels]
        return (yield from measure(setting, facts, "levels", *whole))


# From noisy masses of quadtree cells to a heatmap: the posterior of the masses.


@dataclass(frozen=True, eq=False)
class HeatmapCells:
    """Disjoint cells and their masses; what they do not cover has no mass.

    Attributes
    ----------
    level, code : ndarray of int
        Level in the quadtree, and Morton code at that level.
    low, high : ndarray of shape (n_cells, 2)
        Corners, in the units of the rows.
    mass : ndarray
        Masses, in people.
    """

    level: np.ndarray
    code: np.ndarray
    low: np.ndarray
    high: np.ndarray
    mass: np.ndarray

    def __len__(self):
        return len(self.mass)


@dataclass(frozen=True, eq=False)
class HeatmapFit:
    """Masses of disjoint cells, and their posterior where there is one."""

    level: np.ndarray
    code: np.ndarray
    mass: np.ndarray
    posterior: object = None


def covering_tree(measurements):
    """Return the quadtree that lists every measured cell, and no more than that needs."""
    levels = np.concatenate([m.level for m in measurements])
    codes = np.concatenate([m.code for m in measurements])
    depth = int(levels.max())
    chosen, listed = [], np.zeros(1, dtype=np.int64)
    for k in range(depth):
        below = levels > k
        ancestors = np.unique(codes[below] >> 2 * (levels[below] - k))
        chosen.append(np.isin(listed, ancestors))
        listed = child_codes(listed[chosen[-1]])
    chosen.append(np.zeros(len(listed), dtype=bool))
    return Tree(tuple(chosen), (4,) * depth)


def fit_posterior(measurements, *, whole):
    """Return posterior mean masses of the finest measured cells.

    Parameters
    ----------
    measurements : sequence of Measurement
    whole : bool
        Whether true masses are whole people.
    """
    tree = covering_tree(measurements)
    measurements = [replace(m, rate=min(m.rate, TUNED.sharpest)) for m in measurements]
    step = TUNED.step / max(m.rate for m in measurements)
    step = max(1.0, round(step)) if whole else max(TUNED.least_step, step)
    rounds = [m.on_tree(tree) for m in measurements]
    posterior = None
    if tree.depth and max(m.rate * m.mass.sum() for m in measurements) >= TUNED.learned:
        # the splits teach a prior, which may be mostly even
        numbers = {"step": step, "width": PYRAMID.width}
        with suppress(FloatingPointError):  # noise beyond the odds of narrow windows
            first = glance(tree, rounds, prior=PYRAMID.prior, **numbers)
            prior = learned_priors(first.parts, PYRAMID)[: tree.depth]
            posterior = infer_masses(tree, rounds, prior=prior, start=first, **numbers)
    if posterior is None:
        posterior = infer_masses(tree, rounds, step=step)
    masses = with_rest_kept(tree, posterior.mean, measurements)
    return HeatmapFit(*tree.leaves(masses), posterior)


# The tuned numbers of heatmaps, and what each of them trades.


@dataclass(frozen=True)
class HeatmapTuning:
    """Chosen on the populations of ``benchmarks/heatmap/quality.py``.

    None of them changes what is guaranteed: they choose which cells are asked about, and how finely
    is computed with the answers.
    """

    # the coarse look and the fine one
    coarse: int = 3  # level of the first look: cells that hold enough against detail
    small: float = 60.0  # persons times epsilon below which it is one level coarser
    large: float = 2000.0  # ... and above which it is one level finer
    threshold: float = 3.0  # scales of noise for which a cell is split: detail against noise
    fine_share: float = 2.0  # of the fine look, where the coarse one gets 1

    # one look
    cells_a_person: float = 2.0  # of the finer level, for each epsilon: detail against noise
    apart: int = 2  # levels between the two that are asked for

    # posterior
    step: float = 0.35  # of the grid of masses, in scales of the noise: precision against time
    least_step: float = 0.2  # ... and in persons
    sharpest: float = 100.0  # rate of noise that is believed: that grid rounds parts of persons
    learned: float = 50.0  # scales of noise in the total from which splits teach a prior


TUNED = HeatmapTuning()


# The estimator.


class PrivateEMDHeatmap(HeatmapViews, BasePrivateEstimator):
    """Private heatmap: how the places of many people are distributed over a map.

    A person has a mass of one, shared among their rows inside the bounds. Noisy masses of quadtree
    cells give a heatmap that is close to the true one in earth mover's distance.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy loss of one fit.

    delta : float, default=0.0
        Must be 0: the guarantee is pure, with Laplace noise.

    bounds : (low, high), Box, Ball or Mask
        Public map, in the units of the rows. Rows outside carry no mass. Required, because the
        outermost place of a person is a secret.

    resolution : int, default=256
        Cells of the map along each side, a power of two up to 2**24. Time depends on the
        measured cells, not on ``resolution**2``.

    bandwidth : float, default=1/32
        Standard deviation of the blur of the heatmap, in units of the side of the map.

    method : {"adaptive", "one_shot"}, default="adaptive"
        - "adaptive": a coarse pass with one third of the budget, then cells as fine as the masses
          that it showed;
        - "one_shot": two levels at once.

        Both use posterior means of all masses, under a public prior that expects people in few
        places.

    n_hint : int, default=None
        Public estimate of the number of people, for levels only. None: "one_shot" spends 5% of the
        budget on a noisy count under "add_remove", "adaptive" needs none.

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
    heatmap_ : ndarray of shape (side, side)
        Blurred heatmap with sum 1, computed on access. ``heatmap_[i, j]`` is the i-th row of cells
        (second feature) and j-th column (first feature) from the lower corner. Its side is the
        resolution, or 1024 for finer grids; see `render`.
    cells_ : HeatmapCells
        Level, code, corners and mass (in people) of the released cells.
    coreset_ : DiscreteMeasure
        Centers of the cells, weighted by mass, for `k_median`.
    total_ : float
        Mass of the cells, in people. Large noise shrinks it; `count_persons` estimates the number
        of people.
    measurements_ : list of Measurement
        Noisy masses.
    grid_ : QuadGrid
        Grid of the map.
    domain_ : Box, Ball or Mask
        The map.
    privacy_ : Plan
        Releases and charges of the fit.
    n_features_in_ : int
        Number of features, 2.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Feature names, if `X` has string column names.

    Privacy
    -------
    Neighbors
        ``neighbors``, by default "add_remove" of one person: a row, or all rows with one value of
        ``groups``.
    Mechanism
        DiscreteLaplace
    Sensitivity
        The cells of one step are disjoint, and a person has a mass of at most 1, so joining changes
        the masses of a step by at most 1 in L1 and replacing a person by at most 2. The step of
        "one_shot" has two such sets of cells. An estimated count moves by 1.
    Budget
        The steps of a fit share epsilon.
    Released
        heatmap_, cells_, coreset_, total_, measurements_, grid_, domain_, privacy_, n_features_in_,
        feature_names_in_
    Not covered
        score_samples, score, transform, fit_transform: exact functions of their input.

    References
    ----------
    B. Ghazi et al. Differentially private heatmaps. AAAI 2023.

    Examples
    --------
    >>> from skdp_bary import PrivateEMDHeatmap
    >>> from skdp_bary.datasets import CITY_BOUNDS, make_city_checkins
    >>> X, people = make_city_checkins(n_people=500, random_state=0)
    >>> city = PrivateEMDHeatmap(epsilon=1.0, bounds=CITY_BOUNDS, n_hint=500)
    >>> heatmap = city.fit(X, groups=people).heatmap_
    >>> heatmap.shape, round(float(heatmap.sum()), 6)
    ((256, 256), 1.0)
    """

    _fewest_steps = 'method="one_shot"'
    _methods = {"adaptive": AdaptiveMethod(), "one_shot": OneShotMethod()}
    _parameter_rules = PRIVACY_RULES | {
        "delta": OneOf((0,), note="The guarantee is pure."),
        "bounds": PublicDomain(),
        "resolution": PowerOfTwo(2, 2**MAX_GRID_DEPTH),
        "bandwidth": Number(2.0**-MAX_GRID_DEPTH, 1.0),
        "method": Option(tuple(_methods)),
    }

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 0.0,
        bounds: Bounds | None = None,
        resolution: int = 256,
        bandwidth: float = 1 / 32,
        *,
        method: Literal["adaptive", "one_shot"] = "adaptive",
        n_hint: int | None = None,
        neighbors: Neighbors | None = None,
        accountant: SharedBudget | None = None,
        random_state: RandomState | None = None,
        verbose: Literal[0, 1, 2] = 0,
    ) -> None:
        super().__init__(epsilon, delta, bounds, n_hint, neighbors, accountant, random_state)
        self.verbose = verbose
        self.resolution = resolution
        self.bandwidth = bandwidth
        self.method = method

    def _noise_in_words(self, n_features):
        step = self.privacy_plan(n_features).steps[-1]
        # a person moves one cell of a grid, or of each of the two grids of "levels"
        moved = self._method_setting(None, 1).reach * (2 if step.name == "levels" else 1)
        noise = math.sqrt(2.0) * moved / step.mechanism.epsilon
        return f"A measured cell gets noise of standard deviation about {noise:.2g} people."

    def _mass_bounds(self):
        return self.bounds

    def _shares(self, n_features):
        if n_features != 2:
            raise ValueError(
                f"X must have 2 features, got n_features={n_features}. Select the two of a map."
            )
        return self._methods[self.method].shares(self._method_setting(None, 1))

    def _bought_shares(self):
        return super()._bought_shares() if self._methods[self.method].needs_size else {}

    def _method_setting(self, size, units):
        depth = int(self.resolution).bit_length() - 1
        finest = min(depth, math.ceil(math.log2(1.0 / self.bandwidth)) + 2)
        reach = 1 if self._relation() == ADD_REMOVE else 2
        return HeatmapSetting(depth, finest, self.epsilon, size, units == 1, reach)

    def _questions(self, facts):
        setting = self._method_setting(facts.size, facts.units)
        method = self._methods[self.method]
        measurements = yield from method.questions(setting, facts)
        return measurements, method.rebuild(setting, measurements)

    def _finish(self, facts, result):
        measurements, fit = result
        grid = QuadGrid(facts.domain, self._method_setting(facts.size, facts.units).depth)
        # where noise outweighs the data, the uniform map is what is left
        mass = fit.mass if fit.mass.sum() > 0 else np.exp2(-2.0 * fit.level)
        cells, total = (fit.level, fit.code), float(fit.mass.sum())
        vars(self).update(
            measurements_=measurements,
            grid_=grid,
            cells_=HeatmapCells(*cells, *grid.corners(*cells), mass),
            total_=total,
            _posterior=fit.posterior,
        )
        warn_of_missing(total, measurements, facts, self.epsilon)
        warn_of_few_cells(fit, facts, self.epsilon)
