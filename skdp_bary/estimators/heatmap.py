"""PrivateEMDHeatmap: a differentially private map of where people are."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..parameters import PRIVACY_RULES, Number, OneOf, Option, PowerOfTwo, PublicDomain
from ..privacy.mechanisms import ADD_REMOVE
from ..queries.cells import MAX_GRID_DEPTH, QuadGrid
from .base import BasePrivateEstimator
from .facts import setting_of
from .heatmap_methods import AdaptiveMethod, HeatmapCells, HeatmapSetting, OneShotMethod
from .heatmap_views import HeatmapViews
from .noisy_trees import noisy_total
from .notices import warn_of_few_cells, warn_of_missing

if TYPE_CHECKING:
    from ..exceptions import Neighbors, RandomState
    from ..geometry.bounds import Bounds
    from ..privacy.spending import SharedBudget


class PrivateEMDHeatmap(HeatmapViews, BasePrivateEstimator):
    """Private heatmap: how the places of many people are distributed over a map.

    Every person counts once, however many rows they have: their mass of one is shared among their
    rows inside the bounds. Noisy masses of the cells of a quadtree are released, and made into a
    heatmap that is close to the true one in earth mover's distance.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy loss of one fit.

    delta : float, default=0.0
        Must be 0: the guarantee is pure, with Laplace noise.

    bounds : (low, high), Box, Ball or Mask
        Public map, in the units of the rows. Rows outside carry no mass. It must be given: the
        outermost place of someone is a secret.

    resolution : int, default=256
        Cells of the map along each side, a power of two up to 2**24. Fits cost what the measured
        cells cost, not ``resolution**2``.

    bandwidth : float, default=1/32
        Standard deviation of the blur of the heatmap, in units of the side of the map.

    method : {"adaptive", "one_shot"}, default="adaptive"
        - "adaptive": a coarse look with one third of the budget, then cells as fine as the masses
          that it showed;
        - "one_shot": two levels at once.

        Both make a map of the posterior means of all masses, under a public prior that expects
        people in few places.

    n_hint : int or None, default=None
        Public guess of the number of people; it sets levels only. None: "one_shot" buys a noisy
        count with 5% of the budget under "add_remove", "adaptive" does without.

    neighbors : {"add_remove", "replace_one", "replace_any"} or None, default=None
        Neighboring relation. None takes the accountant's, which is "add_remove" by default.

    accountant : BudgetAccountant or None, default=None
        Shared budget that the fit is charged to. None: this fit is covered by its own budget and
        nothing adds up over several fits.

    random_state : None, int or RandomState, default=None
        None draws noise from the operating system. Anything else makes the noise reproducible, for
        tests and simulations; the release is then not private.

    verbose : {0, 1, 2}, default=0
        Progress output: none, a bar, or one line per step.

    Attributes
    ----------
    heatmap_ : ndarray of shape (side, side)
        The blurred heatmap, computed on demand; it sums to 1. ``heatmap_[i, j]`` is the i-th row
        of cells (second feature) and j-th column (first feature) from the lower corner. Its side
        is the resolution, or 1024 for finer grids; see `render`.
    cells_ : HeatmapCells
        Level, code, corners and mass (in people) of the cells of the release.
    coreset_ : DiscreteMeasure
        Their middles, weighted by mass: what `k_median` works on.
    total_ : float
        Mass of the cells, in people. Masses are drawn to fewer people where noise is large;
        `count_persons` estimates the number of people.
    measurements_ : list of Measurement
        The noisy masses.
    grid_ : QuadGrid
        The grid of the map.
    domain_ : Box, Ball or Mask
        The map.
    privacy_ : Plan
        Releases and charges of the fit.
    n_features_in_ : int
        Number of features, 2.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, when `X` has string column names.

    Privacy
    -------
    Neighbors
        The relation in ``neighbors``; "add_remove" of one person unless stated. A person is a row,
        or all rows with one value of ``groups``.
    Mechanism
        DiscreteLaplace
    Sensitivity
        The cells of one step are disjoint, and a person has a mass of at most 1, so joining
        changes the masses of a step by at most 1 in L1 and replacing a person by at most 2. The
        step of "one_shot" has two such sets of cells. An estimated count moves by 1.
    Budget
        The steps of a fit share epsilon. Several fits on one accountant add up.
    Released
        heatmap_, cells_, coreset_, total_, measurements_, grid_, domain_, privacy_,
        n_features_in_, feature_names_in_
    Not covered
        score_samples, score, transform, fit_transform: exact functions of the rows they are given.

    See Also
    --------
    PrivateMeasure : Measures in any number of dimensions.

    References
    ----------
    B. Ghazi, J. He, K. Kohlhoff, R. Kumar, P. Manurangsi, V. Navalpakkam, N. Valliappan.
    Differentially private heatmaps. AAAI 2023.

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
    _setting = HeatmapSetting
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
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.resolution = resolution
        self.bandwidth = bandwidth
        self.method = method
        self.n_hint = n_hint
        self.neighbors = neighbors
        self.accountant = accountant
        self.random_state = random_state
        self.verbose = verbose

    def count_persons(self, *, return_std: bool = False) -> float | tuple[float, float]:
        """Return about how many people are on the map, from the noisy masses as released.

        Unlike `total_` it is drawn to nothing, and may be below 0 where there are few.

        Parameters
        ----------
        return_std : bool, default=False
            Whether to return the standard error too.

        Returns
        -------
        persons : float
        std : float
            Standard deviation of its noise. Only with ``return_std=True``.
        """
        check_is_fitted(self)
        persons, std = noisy_total(self.measurements_)
        return (float(persons), float(std)) if return_std else float(persons)

    def _mass_bounds(self):
        return self.bounds

    def _check_width(self, n_features):
        if n_features != 2:
            raise ValueError(
                f"A heatmap is drawn in the plane: X must have 2 features, got "
                f"n_features={n_features}."
            )

    def _shares(self, n_features):
        self._check_width(n_features)
        return self._methods[self.method].shares(self._method_setting(None, 1))

    def _bought_shares(self):
        return super()._bought_shares() if self._methods[self.method].needs_size else {}

    def _method_setting(self, size, units):
        depth = int(self.resolution).bit_length() - 1
        return setting_of(
            self._setting,
            self,
            depth=depth,
            finest=min(depth, math.ceil(math.log2(1.0 / self.bandwidth)) + 2),
            size=size,
            whole=units == 1,
            reach=1 if self._relation() == ADD_REMOVE else 2,
        )

    def _questions(self, facts):
        setting = self._method_setting(facts.size, facts.units)
        method = self._methods[self.method]
        measurements = yield from method.questions(setting, facts)
        return measurements, method.rebuild(setting, measurements)

    def _finish(self, facts, result):
        self.measurements_, fit = result
        self.grid_ = QuadGrid(facts.domain, self._method_setting(facts.size, facts.units).depth)
        self._posterior = fit.posterior
        mass = fit.mass
        if not mass.sum() > 0:  # noise outweighs the data: the uniform map is what is left
            mass = np.exp2(-2.0 * fit.level)
        self.cells_ = HeatmapCells(
            fit.level, fit.code, *self.grid_.corners(fit.level, fit.code), mass
        )
        self.total_ = float(fit.mass.sum())
        warn_of_missing(self.total_, self.measurements_, facts, self.epsilon)
        warn_of_few_cells(fit, facts, self.epsilon)
