"""PrivateTwoSampleTest: one p-value for two private cohorts."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from ..exceptions import Neighbors, RandomState
from ..geometry.bounds import Bounds
from ..geometry.lattices import slicing_directions, unit_planes, unit_slices
from ..parameters import PRIVACY_RULES, Integer, Integers, Labels, Points
from ..privacy.mechanisms import REPLACE_ANY
from ..privacy.noise import public_generator
from ..privacy.spending import SharedBudget
from ..queries.meetings import CELL, FRACTION, CohortGap, PairLaw, PairSpreads
from ..queries.slices import MOST_PERSONS
from ..rows.persons import Chunk
from .base import BasePrivateEstimator
from .comparison import (
    TUNED,
    MeanLaw,
    NoisyNumber,
    compare_means,
    expected_size,
    padded_sizes,
    persons_counted,
    public_reference,
    refuse_tables,
    require_sizes,
    size_shares,
    sizes_behind,
)
from .facts import named_or_found_classes
from .notices import SURE, UNKNOWN_SIZE, warn_of_narrow

_USUAL = 0.3  # spread of rows on a slice, in units of the half domain, for the widest cells
_COHORTS = (
    "Both cohorts are rows of X: fit(np.concatenate([north, south]), np.repeat(['north', 'south'], "
    "[len(north), len(south)])), where their sizes are public."
)
_APART = np.array([NormalDist().inv_cdf((i + 0.5) / 256) for i in range(256)])


class PrivateTwoSampleTest(BasePrivateEstimator):
    """Private test of whether two cohorts have the same distribution.

    Either both cohorts are private, with labels in `y`, or one is private and the other is a public
    `reference`. The fit releases their kernel distance, and numbers that determine this distance
    for equal distributions. A p-value and an interval follow by simulation, noise included. The
    level is checked by simulation, not proved (:doc:`/explanation/two_samples`).

    Parameters
    ----------
    classes : array-like of two labels, default=None
        Public labels in `y`. Optional under "replace_one", where labels are public; None with a
        `reference`.

    reference : array-like of shape (n_rows, n_features), default=None
        Public rows to compare all rows with; `y` is then ignored, and the distance gets the whole
        budget.

    n_min : int or array-like of shape (2,), default=None
        Public lower bound of the number of people of each cohort, if private. Smaller cohorts are
        filled up with rows at the center of the domain: too high a bound makes results wrong, with
        the same guarantee. None estimates it with an eighth of the budget.

    n_resamples : int, default=1999
        Number of simulations. The smallest p-value is ``1 / (n_resamples + 1)``.

    epsilon : float, default=1.0
        Privacy loss of one fit.

    delta : float, default=0.0
        Failure probability. 0 means pure privacy with Laplace noise, best for single numbers.

    bounds : (low, high), Box, Ball or Mask, default=None
        Public domain, to which rows are clipped. None estimates a box with 20% of the budget.

    n_hint : int, default=None
        Public estimate of the number of people, for the units of weights only.

    neighbors : {"add_remove", "replace_one", "replace_any"}, default=None
        Neighboring relation. None takes the accountant's, by default "add_remove". Under
        "replace_one" the sizes of cohorts are public.

    accountant : BudgetAccountant, default=None
        Budget shared by several fits. None limits each fit separately.

    random_state : int or RandomState, default=None
        None, except in tests: other values make releases reproducible and not private.

    verbose : {0, 1, 2}, default=0
        Progress output: none, a bar, or every step.

    Attributes
    ----------
    result_ : SampleComparison
        Statistic, p-value, distance with an interval, and simulations.
    pvalue_ : float
        The p-value, also in `result_`.
    statistic_ : float
        Released distance of the cohorts, noise included.
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
        The kernel is in [0, 1] and 1 for a row with itself, so features of two rows are at most
        sqrt(2) apart. One person of n moves the distance of two means by at most sqrt(2) / n, the
        mean of ``1 - k`` over pairs by at most 2 / n, and the norm of the covariance of features by
        at most sqrt(6) / n. They are multiplied by n and rounded down to integers of 1/1024. If the
        number of people is private, n is ``n_min``. A person who changes cohorts moves them twice
        as much.
    Budget
        All steps, with estimated sizes and bounds, cost (epsilon, delta) together.
    Released
        result_, pvalue_, statistic_, domain_, privacy_, n_features_in_, feature_names_in_
    Not covered
        None.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp_bary import PrivateTwoSampleTest
    >>> rng = np.random.default_rng(0)
    >>> north = rng.normal(0.0, 0.3, size=(2000, 2))
    >>> south = rng.normal(0.1, 0.3, size=(2000, 2))
    >>> X, y = np.vstack([north, south]), np.repeat(["north", "south"], 2000)
    >>> test = PrivateTwoSampleTest(["north", "south"], epsilon=1.0, bounds=(-1, 1)).fit(X, y)
    >>> test.pvalue_ < 0.05
    True
    """

    _buys_size = False  # sizes are bought cohort by cohort
    _effort = ("n_resamples",)
    _parameter_rules = PRIVACY_RULES | {
        "classes": Labels() | None,
        "reference": Points("public rows of shape (n_rows, n_features)") | None,
        "n_min": Integer(1, MOST_PERSONS) | Integers(Integer(1, MOST_PERSONS)) | None,
        "n_resamples": Integer(1, 1 << 20),
    }

    def __init__(
        self,
        classes: ArrayLike | None = None,
        *,
        reference: ArrayLike | None = None,
        n_min: int | ArrayLike | None = None,
        n_resamples: int = 1999,
        epsilon: float = 1.0,
        delta: float = 0.0,
        bounds: Bounds | None = None,
        n_hint: int | None = None,
        neighbors: Neighbors | None = None,
        accountant: SharedBudget | None = None,
        random_state: RandomState | None = None,
        verbose: Literal[0, 1, 2] = 0,
    ) -> None:
        super().__init__(epsilon, delta, bounds, n_hint, neighbors, accountant, random_state)
        self.verbose = verbose
        self.classes = classes
        self.reference = reference
        self.n_min = n_min
        self.n_resamples = n_resamples

    def _numbers(self):
        found = self.result_
        equal = np.quantile(found.null, [0.025, 0.5, 0.975])
        values = np.array([found.distance, found.statistic, equal[1]])
        low, high = np.array([found.interval, (found.statistic,) * 2, equal[[0, 2]]]).T
        names = ["distance", "released statistic", "statistic if equal"]
        return names, values, (low, high), f"distance, p-value {found.pvalue:.3g}"

    def _noise_in_words(self, n_features):
        sides = 2 if self.reference is None else 1
        plan = self.privacy_plan(n_features)
        known = expected_size(self, sides, plan, TUNED.cohort_sds)
        if not known:
            return UNKNOWN_SIZE
        mechanism = plan.steps[-1].mechanism
        # one of n people moves the distance by sqrt(2) / n; who changes the cohort, both means
        n_means = 2 if self._relation() == REPLACE_ANY and sides == 2 else 1
        moved = math.sqrt(2.0) / known * n_means
        noise = moved / mechanism.amount * (math.sqrt(2.0) if mechanism.is_pure else 1.0)
        return f"The distance, at most 1.41, gets noise of standard deviation about {noise:.2g}."

    def _public_classes(self, y):
        refuse_tables(y, _COHORTS)
        if self.reference is not None:
            return None
        self._require_two_classes()  # before labels of rows are compared with them
        return named_or_found_classes(self.classes, y, self._relation())

    def _require_two_classes(self):
        if self.classes is not None and np.size(self.classes) != 2:
            raise ValueError(
                f"classes must be two labels, got {self.classes!r}. For example classes=[0, 1]."
            )

    def _shares(self, n_features):
        if self.reference is not None:
            if self.classes is not None:
                raise ValueError(
                    "classes must be None with a reference, to which all rows are compared, got "
                    f"{self.classes!r}. Leave the reference out to compare two cohorts, or pass "
                    "fit the rows of one."
                )
            public_reference(self.reference, n_features, least=2)
            return size_shares(self, 1, TUNED.cohort_share) | {"gap": 1.0}
        self._require_two_classes()
        law = {"look": TUNED.look_share, "law": TUNED.law_share}
        sizes = size_shares(self, 2, TUNED.cohort_share)
        return sizes | law | {"gap": 1.0 - sum(law.values())}

    def _public_facts(self, plan, rows):
        facts = super()._public_facts(plan, rows)
        if self.reference is None and facts.n_classes != 2:
            raise ValueError(
                "y must hold the labels of two cohorts, or reference public rows to compare "
                "with, got neither."
                if facts.n_classes < 2
                else f"y must hold two labels, there are {facts.n_classes}. Compare two at a time: "
                "fit(X[pair], y[pair])."
            )
        require_sizes(self, facts)
        return facts

    def _questions(self, facts):
        n_min, bought = yield from padded_sizes(self, facts, TUNED.cohort_sds)
        slices = unit_slices(facts.domain, slicing_directions(facts.n_features))
        kind = (n_min, facts.n_classes, facts.units)
        # single widths of cells in levels, each half the one before
        widths = (TUNED.widest * 2.0**-octave for octave in range(TUNED.octaves))
        ladder = tuple(max(1, round(width / slices.step)) for width in widths)
        if self.reference is None:
            released = yield "look", PairSpreads(slices, *kind, ladder)
            persons = persons_counted(released, n_min, facts)
            total = sum(persons)
            spread = _number(released, -1, total)
            planes = _planes(slices, spread.value + spread.scale)
            octave = _octave(spread.value + SURE * spread.scale)
            released = yield "law", PairLaw(planes, *kind)
            trace, norm = (_number(released, place, total) for place in (-2, -1))
            released = yield "gap", CohortGap(planes, *kind)
            law = MeanLaw(sizes_behind(persons, bought), persons, trace, norm, total)
        else:  # the distance alone is asked for: what else is needed the public rows tell
            chunk = Chunk(public_reference(self.reference, facts.n_features, 2), None, None)
            look, n_public = PairSpreads(slices, None, 1, 1, ladder), len(chunk.X)
            spread = _public_numbers(look, chunk)[-1].value
            planes, octave = _planes(slices, spread), _octave(spread)
            trace, norm = _public_numbers(PairLaw(planes), chunk)[-2:]
            ((histogram, *_),) = _counted(CohortGap(planes), chunk)
            released = yield "gap", CohortGap(planes, *kind, histogram)
            persons = persons_counted(released, n_min, facts)
            sizes = (*sizes_behind(persons, bought), NoisyNumber(n_public))
            law = MeanLaw(sizes, (*persons, n_public), trace, norm, n_public)
        return _number(released, -1, min(persons)), law, octave

    def _finish(self, facts, result):
        *result, octave = result
        rng = public_generator(self.random_state)
        self.result_ = compare_means(*result, self.n_resamples, rng)
        self.pvalue_, self.statistic_ = self.result_.pvalue, self.result_.statistic
        warn_of_narrow(octave == TUNED.octaves - 1, self.bounds)


def _planes(slices, spread):
    """Return planes with cells for rows of which about so many rungs of the ladder are too narrow.

    The widest cells, twice as wide as the widest rung, are for rows that fill one third of their
    domain; they halve while the spread is below that of Gaussian rows of half the width.
    """
    return unit_planes(slices, 2.0 * TUNED.widest * 2.0 ** -_octave(spread) / CELL)


def _octave(spread):
    """Number of times cells halve for rows of such a spread."""
    known = [_gaussian_spread(octave + 0.5) for octave in range(TUNED.octaves - 1)]
    return sum(spread < bound for bound in known)


def _gaussian_spread(octave):
    """Return the sum over the ladder for Gaussian rows, so many octaves narrower than usual."""
    apart = np.abs(_APART) * _USUAL * math.sqrt(2.0) * 2.0**-octave
    rungs = TUNED.widest * 2.0 ** -np.arange(TUNED.octaves)
    return float(np.minimum(apart / rungs[:, None], 1.0).mean(axis=1).sum())


def _number(released, place, persons):
    """Return a released number as a mean over people, with its noise."""
    unit, value = FRACTION * persons, int(released.values[place][0])
    return NoisyNumber(value / unit, released.scales[place] / unit, released.mechanism.is_pure)


def _counted(query, chunk):
    """Return what a query counts of public rows."""
    state = query.zeros()
    query.count(state, chunk)
    return state


def _public_numbers(query, chunk):
    """Return the answers about public rows, as means over them."""
    blocks, unit = query.blocks(_counted(query, chunk)), FRACTION * len(chunk.X)
    return [NoisyNumber(float(block[0]) / unit) for block in blocks]
