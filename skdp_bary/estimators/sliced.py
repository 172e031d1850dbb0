"""DPSlicedWasserstein: distances, tests and barycenters of slices."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ..exceptions import Neighbors, RandomState
from ..geometry.bounds import Bounds, check_domain
from ..geometry.lattices import DIRECTIONS, SliceLattice, direction_count, public_directions
from ..parameters import PRIVACY_RULES, Integer, Integers, Labels, OneOf, Option, Points
from ..privacy.spending import SharedBudget
from ..queries.slices import MOST_PERSONS
from ..rows.persons import encode_labels
from ..transport.measures import sliced_gradient
from .base import BasePrivateEstimator
from .comparison import TWO_SIDED, expected_size, refuse_tables
from .facts import number_of_classes
from .notices import NARROW, SURE, UNKNOWN_SIZE, warn_of_narrow
from .sliced_methods import MOST_QUANTILES, ScalarMethod, SketchMethod, SlicedSketch, mean_sketch

_MOST_ENTRIES = 1 << 26  # of all directions together: half a gigabyte
_SAMPLES = (
    "For public rows B: fit(A).distance(B). For two private samples: classes=['a', 'b'] and "
    "fit(np.concatenate([A, B]), np.repeat(['a', 'b'], [len(A), len(B)]))."
)
_MOST_COUNTS = 1 << 29  # on the levels of all slices of all classes: four gigabytes


class DPSlicedWasserstein(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BasePrivateEstimator):
    """Private sliced Wasserstein distances to and between private distributions.

    One release of noisy quantiles in public directions gives any number of distances, gradients,
    samples and barycenters, with known errors (:doc:`/explanation/sliced`).

    Parameters
    ----------
    n_projections : int, default=None
        Number of directions. None: whole frames, 100 or more; 1 for one feature, 1000 above 1000.

    n_quantiles : int, default=None
        Number of blocks. None: 8 to 128.

    p : {1, 2}, default=2
        Power of the distance.

    method : {"sketch", "scalar"}, default="sketch"
        Release:

        - "sketch": quantiles of the slices, with Gaussian noise and ``delta > 0``;
        - "scalar": only the p-th power of the distance to `reference`, more accurately, with
          Laplace noise and ``delta=0``.

    directions : {"tight", "iid"} or ndarray of shape (n_features, n_directions), default="tight"
        Public directions: a tight frame, or independent ones with more noise, the same in every fit
        with the same numbers, so releases can be compared. An array has unit columns and must not
        depend on private data.

    reference : array-like of shape (n_rows, n_features), default=None
        Public rows for "scalar".

    classes : array-like, default=None
        Public labels. None: one distribution, ignoring `y`.

    n_min : int or array-like of shape (n_classes,), default=None
        Public lower bound of the people of each class, if private. Smaller classes are filled up
        with rows at the center of the domain: too high a bound makes distributions wrong, with the
        same guarantee. None spends 5% of the budget.

    epsilon : float, default=1.0
        Privacy loss of one fit.

    delta : float, default=1e-6
        Failure probability, much smaller than one over the number of people.

    bounds : (low, high), Box, Ball or Mask, default=None
        Public domain, to which rows are clipped. None estimates a box with 20% of the budget.

    n_hint : int, default=None
        Public estimate of the number of people, for `n_quantiles` only.

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
    directions_ : ndarray of shape (n_features, n_directions)
        Directions.
    quantiles_ : ndarray of shape (n_classes, n_directions, n_quantiles) or None
        Noisy block means, for "sketch".
    noise_std_ : ndarray of shape (n_classes,)
        Standard deviation of the noise.
    releases_ : list
        Release of each distribution.
    classes_ : ndarray of shape (n_classes,)
        Labels of the distributions.
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
        RoundedGaussian for ``method="sketch"``, DiscreteLaplace for ``method="scalar"``.
    Sensitivity
        One person of n moves the quantiles by at most the bound of :doc:`/explanation/sliced` in
        L2, rounding included, and the mean cost by its largest change for one row, over n, and one
        unit of rounding per class. If the number of people is private, n is ``n_min``. A person who
        changes the class moves two distributions.
    Budget
        All distributions, bounds and sizes cost (epsilon, delta) together.
    Released
        directions_, quantiles_, noise_std_, releases_, classes_, domain_, privacy_, n_features_in_,
        feature_names_in_
    Not covered
        transform, fit_transform, score, cost, distance, gradient: they do not protect their input.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp_bary import DPSlicedWasserstein
    >>> X = np.random.default_rng(0).normal(0.5, 0.1, size=(20000, 3))
    >>> sliced = DPSlicedWasserstein(bounds=(0, 1), n_min=10000).fit(X)
    >>> round(sliced.distance(np.full((10, 3), 0.5)), 1)  # to public rows
    0.1
    """

    _buys_size = False  # sizes are bought class by class, by the method
    _methods = {"sketch": SketchMethod(), "scalar": ScalarMethod()}
    _parameter_rules = PRIVACY_RULES | {
        "n_projections": Integer(1, 1 << 20) | None,
        "n_quantiles": Integer(1, MOST_QUANTILES) | None,
        "p": OneOf((1, 2)),
        "method": Option(tuple(_methods)),
        "directions": Option(DIRECTIONS) | Points("an array of public directions as columns"),
        "reference": Points("public rows of shape (n_rows, n_features)") | None,
        "classes": Labels() | None,
        "n_min": Integer(1, MOST_PERSONS) | Integers(Integer(1, MOST_PERSONS)) | None,
    }

    def __init__(
        self,
        n_projections: int | None = None,
        *,
        n_quantiles: int | None = None,
        p: float = 2,
        method: Literal["sketch", "scalar"] = "sketch",
        directions: Literal["tight", "iid"] | np.ndarray = "tight",
        reference: ArrayLike | None = None,
        classes: ArrayLike | None = None,
        n_min: int | ArrayLike | None = None,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        bounds: Bounds | None = None,
        n_hint: int | None = None,
        neighbors: Neighbors | None = None,
        accountant: SharedBudget | None = None,
        random_state: RandomState | None = None,
        verbose: Literal[0, 1, 2] = 0,
    ) -> None:
        super().__init__(epsilon, delta, bounds, n_hint, neighbors, accountant, random_state)
        self.verbose = verbose
        self.n_projections = n_projections
        self.n_quantiles = n_quantiles
        self.p = p
        self.method = method
        self.directions = directions
        self.reference = reference
        self.classes = classes
        self.n_min = n_min

    def _noise_in_words(self, n_features):
        plan = self.privacy_plan(n_features)
        persons = expected_size(self, self._known_classes(), plan)
        if not persons:
            return UNKNOWN_SIZE
        if self.bounds is None:
            return "Pass bounds, to see how much noise there would be."
        names = list(self.bounds) if isinstance(self.bounds, Mapping) else None
        domain = check_domain(self.bounds, n_features, names)
        return self._methods[self.method].noise(self, domain, persons, plan)

    def cost(
        self, Y: ArrayLike | None = None, *, label: object = None, return_std: bool = False
    ) -> float | tuple[float, float]:
        """Return the estimated p-th power of the distance to public rows.

        For ``p=2`` the estimate is free of bias, and so below zero now and then when the distance
        is small against the noise. For ``p=1`` noise is smoothed away by isotonic regression, which
        leaves estimates of small distances too large.

        Parameters
        ----------
        Y : array-like of shape (n_rows, n_features) or None, default=None
            Public rows; moved to the border of the domain where they are outside. None is the
            reference of ``method="scalar"``, which answers about no others.
        label : object, default=None
            The distribution that is compared; may be left out when there is only one.
        return_std : bool, default=False
            Whether to return the standard error too.

        Returns
        -------
        cost : float
        std : float
            Standard deviation that the noise gives to `cost` (an upper bound for ``p=1``). That
            the private rows are themselves a sample is not in it. Only with ``return_std=True``.
        """
        cost, std = self._cost(Y, label)
        return (cost, std) if return_std else cost

    def distance(
        self, Y: ArrayLike | None = None, *, label: object = None, return_std: bool = False
    ) -> float | tuple[float, float]:
        """Return the estimated distance to public rows: the p-th root of :meth:`cost`.

        Parameters
        ----------
        Y : array-like of shape (n_rows, n_features) or None, default=None
            As in :meth:`cost`.
        label : object, default=None
            The distribution that is compared; may be left out when there is only one.
        return_std : bool, default=False
            Whether to return the standard error too.

        Returns
        -------
        distance : float
            Zero where the estimated cost is below zero.
        std : float
            Its standard error. Near zero, where a root has none, it is such that 1.96 of it reach
            to both ends of what `cost` and 1.96 of its error allow. Only with ``return_std=True``.
        """
        distance, std = _root(*self._cost(Y, label), self.p)
        return (distance, std) if return_std else distance

    def distance_between(
        self,
        other: Self,
        *,
        label: object = None,
        other_label: object = None,
        return_std: bool = False,
    ) -> float | tuple[float, float]:
        """Return the estimated distance between two private distributions, from their releases.

        Parameters
        ----------
        other : DPSlicedWasserstein
            Fitted with the same directions and number of quantiles, or this estimator itself with
            another label. A copy of one release is rejected.
        label, other_label : object, default=None
            Which of `classes_` of this estimator, and of the other, are compared, such as
            ``label="north", other_label="south"``. None where ``classes=None``.
        return_std : bool, default=False
            Whether to return the standard error too.

        Returns
        -------
        distance : float
        std : float
            Only with ``return_std=True``.
        """
        if not isinstance(other, DPSlicedWasserstein):
            raise TypeError(
                f"other must be a fitted DPSlicedWasserstein, got {other!r}. For two classes of "
                "one fit call sliced.distance_between(sliced, label='a', other_label='b')."
            )
        check_is_fitted(other)
        ours, theirs = self._release(label), other._release(other_label, "other_label")
        distance, std = _root(*ours.cost_between(theirs, self.p), self.p)
        return (distance, std) if return_std else distance

    def gradient(self, Z: ArrayLike, *, label: object = None) -> np.ndarray:
        """Return the gradient of the squared distance with respect to public points.

        Parameters
        ----------
        Z : array-like of shape (n_points, n_features)
            Points of equal mass, such as the output of a generator.
        label : object, default=None
            The target; may be left out when there is only one distribution.

        Returns
        -------
        gradient : ndarray of shape (n_points, n_features)
            It is free of bias given the order of the points on every slice.
        """
        sketch = self.sketch(label)
        return sliced_gradient(self._floats(Z), sketch.directions, sketch.quantiles)[1]

    def transform(self, X: ArrayLike) -> np.ndarray:
        """Return the ranks of projected rows among the private quantiles.

        A feature is the share of the private distribution that lies below the row on one slice,
        from 0 to 1; with several distributions, the ranks in the first come first.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)

        Returns
        -------
        ranks : ndarray of shape (n_rows, n_classes * n_directions)
        """
        sketches = [self.sketch(label) for label in self._labels()]
        X = self._floats(X)
        return np.hstack([sketch.ranks(X) for sketch in sketches])

    def score(self, X: ArrayLike, y: ArrayLike | None = None) -> float:
        """Return minus the distance to the rows given.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        y : array-like of shape (n_rows,), default=None
            Labels of the rows, needed when there are several distributions; the mean over those
            that occur is returned.

        Returns
        -------
        score : float
        """
        X = self._floats(X)
        if len(self.classes_) == 1:
            return -self.distance(X)
        codes = encode_labels(y, self.classes_, len(X))
        present = [(code, self.classes_[code]) for code in np.unique(codes)]
        return -float(np.mean([self.distance(X[codes == i], label=of) for i, of in present]))

    def sample(
        self, n_samples: int = 1, *, label: object = None, random_state: RandomState | None = None
    ) -> np.ndarray:
        """Return points fitted to the release, so that their slices are as released.

        Parameters
        ----------
        n_samples : int, default=1
            All points are fitted together; a few thousand take seconds.
        label : object, default=None
            The distribution; may be left out when there is only one.
        random_state : int or RandomState, default=None
            Randomness of the start, which is public.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
        """
        return self.sketch(label).sample(n_samples, random_state)

    def barycenter(
        self, weights: ArrayLike | None = None, others: Iterable[DPSlicedWasserstein] = ()
    ) -> SlicedSketch:
        """Return the sliced barycenter of the distributions, from their releases.

        On every slice its quantiles are the weighted means of theirs.

        Parameters
        ----------
        weights : array-like, default=None
            Non-negative, one a distribution: first those of this estimator, in the order of
            ``classes_``, then those of the others. Equal by default.
        others : sequence of DPSlicedWasserstein, default=()
            Fitted with the same bounds, directions and number of quantiles. A release that occurs
            twice, or a copy of it, counts once with both weights.

        Returns
        -------
        barycenter : SlicedSketch
            With ``quantiles``, ``noise_std``, ``sample(n_samples, random_state)`` and
            ``cost(Y, p)``.
        """
        sketches = [each.sketch(label) for each in (self, *others) for label in each._labels()]
        count = len(sketches)
        shares = np.asarray(np.ones(count) if weights is None else weights, dtype=np.float64)
        valid = shares.shape == (count,) and np.isfinite(shares).all() and shares.min() >= 0
        if not valid or not shares.sum() > 0:
            raise ValueError(
                f"weights must be {count} non-negative numbers, not all zero, got {weights!r}. "
                "Leave them out for equal ones."
            )
        return mean_sketch(sketches, shares / shares.sum())

    def sketch(self, label: object = None) -> SlicedSketch:
        """Return the released quantiles of one distribution.

        Parameters
        ----------
        label : object, default=None
            The distribution; may be left out when there is only one.

        Returns
        -------
        sketch : SlicedSketch
            With ``quantiles``, ``noise_std``, ``directions``, ``sample`` and ``cost``.
        """
        release = self._release(label)
        if not isinstance(release, SlicedSketch):
            raise ValueError(
                f"method must be 'sketch' for quantiles, got {self.method!r}. Fit again with "
                "method='sketch', for example."
            )
        return release

    @property
    def _display(self):
        return "NumbersDisplay" if self.quantiles_ is None else "SlicesDisplay"

    @property
    def _n_features_out(self):
        return len(self.releases_) * self.directions_.shape[1]

    def _labels(self):
        check_is_fitted(self)
        return self.classes_

    def _release(self, label, name="label"):
        check_is_fitted(self)
        if label is None and len(self.releases_) == 1:
            return self.releases_[0]
        places = [i for i, known in enumerate(self.classes_.tolist()) if known == label]
        if label is None or not places:
            known = self.classes_.tolist()
            raise ValueError(
                f"{name} must be one of {known!r}, got {label!r}. For example {name}={known[0]!r}."
            )
        return self.releases_[places[0]]

    def _cost(self, Y, label):
        release = self._release(label)
        return release.cost(None if Y is None else self._floats(Y), self.p)

    def _numbers(self):
        found = [self.distance(label=label, return_std=True) for label in self.classes_]
        values, reach = np.array(found).T * [[1.0], [TWO_SIDED]]
        names = [str(label) for label in self.classes_]
        ends = values - reach, values + reach
        return names, values, ends, "distance to the reference"

    def _public_classes(self, y):
        refuse_tables(y, _SAMPLES)
        return None if self.classes is None else np.asarray(self.classes)

    def _shares(self, n_features):
        # raises if the directions do not fit
        direction_count(self.directions, self.n_projections, n_features)
        n_classes = number_of_classes(self.classes)
        most = min(_MOST_ENTRIES // n_features, _MOST_COUNTS // (n_classes * SliceLattice.n_levels))
        if (self.n_projections or 1) > most:
            raise ValueError(
                f"n_projections must be at most {most} for {n_features} features and {n_classes} "
                f"classes, got {self.n_projections}. Lower it, or leave it out."
            )
        return self._methods[self.method].shares(self, n_features)

    def _public_facts(self, plan, rows):
        facts = super()._public_facts(plan, rows)
        self._methods[self.method].check(self, facts)
        return facts

    def _questions(self, facts):
        return (yield from self._methods[self.method].questions(self, facts))

    def _lattice(self, domain):
        """Return the lattice of the directions in a domain."""
        columns = public_directions(self.directions, self.n_projections, domain.n_features)
        return SliceLattice(domain, columns)

    def _finish(self, facts, releases):
        quantiles = [release.quantiles for release in releases]
        vars(self).update(
            releases_=releases,
            classes_=facts.labels,
            directions_=releases[0].directions,
            quantiles_=None if quantiles[0] is None else np.array(quantiles),
            noise_std_=np.array([release.noise_std for release in releases]),
        )
        if self.quantiles_ is not None:
            # halves of mass are twice as far apart as rows from their median, in the mean
            count = self.quantiles_.shape[2] // 2
            low, high = (each.mean(axis=2) for each in np.split(self.quantiles_, [count], axis=2))
            squares, noise = (high - low) ** 2 / 4.0, self.noise_std_.max() ** 2 / (2.0 * count)
            mean = squares.mean() - noise
            error = math.sqrt((2.0 * noise + 4.0 * max(mean, 0.0)) * noise / squares.size)
            mean += ((high + low) / 2.0).var(axis=0).mean()  # of classes apart from each other
            most = facts.n_features * (mean + SURE * error)
            warn_of_narrow(most < (NARROW * facts.domain.radius) ** 2, self.bounds)


def _root(cost, std, p):
    """Return the p-th root of a cost and its standard error.

    A root is not nearly linear around zero. The error is scaled to hold the roots of an interval
    for the cost; far from zero that is ``std / (2 * distance)``.
    """
    if p == 1:
        return max(cost, 0.0), std
    cost = max(cost, 0.0)
    distance, half = math.sqrt(cost), TWO_SIDED * std
    low, high = math.sqrt(max(cost - half, 0.0)), math.sqrt(cost + half)
    return distance, max(distance - low, high - distance) / TWO_SIDED
