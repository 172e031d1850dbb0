"""PrivateGenerator: synthetic rows of every class from one private release."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from ..exceptions import Neighbors, RandomState, check_real
from ..geometry.bounds import Bounds
from ..geometry.domains import Box
from ..parameters import (
    MOST_FEATURES,
    PRIVACY_RULES,
    Integer,
    Integers,
    Labels,
    Number,
    Option,
    Weights,
)
from ..privacy.mechanisms import gaussian_mu
from ..privacy.noise import public_generator
from ..privacy.spending import SharedBudget
from ..queries.maps import Clipped, InWidths, about_images
from ..rows.opening import warn
from .base import BasePrivateEstimator
from .facts import class_shares, named_or_found_classes, number_of_classes
from .generator_mixture import full_shape
from .generator_queries import GeneratorSetting, questions, shares
from .noisy_means import positive_part
from .notices import as_dataframe, cheapest, check_samples, projections, rounded_up, warn_of_border

# PrivateGenerator: synthetic rows of every class from one private release.

_MOST_CELLS = 256
_NEEDS_DELTA = (
    "PrivateGenerator releases second moments with Gaussian noise and needs delta > 0; "
    "PrivateMeasure has a pure form."
)
_MEAN_NOISE = 2.0  # times the root of the number of features, over mu times persons; measured
_NOISY = 0.1
_WIDE = 20  # features, from which rows may be tables with columns for values of categories
_ROUNDING = 1.0 + 1e-9  # within which widths are equal
_UNEQUAL = 4.0  # times the width of the narrowest side of a box, from which it is said


class PrivateGenerator(BasePrivateEstimator):
    """Synthetic rows with labels: a private mixture of rectified Gaussians for every class.

    Cells of a class have noisy masses, means and covariances. Samples are Gaussians with these
    moments after clipping to the bounds, any number at no further privacy cost
    (:doc:`/explanation/generator`).

    Parameters
    ----------
    n_components : "auto" or int, default="auto"
        Cells per class, at most 256. "auto": 5, or 1 if by public facts noise would dominate, or
        matrices exceed 256 MB.

    image_shape : tuple, default=None
        Public (height, width) or (height, width, channels) of rows that are images. Means are then
        smoothed, neighboring pixels vary together, and dark pixels stay dark.

    covariance_type : {"full", "tied"}, default="full"
        One covariance per cell, or one for all classes, which may differ only by their means.

    class_spread : float, default=None
        Public estimate of the root mean square distance of rows from their class mean, for
        clipping. None: from the first release.

    classes : array-like, default=None
        Public labels. None: one class, or under "replace_one" those in `y`, which are public.

    class_prior : array-like of shape (n_classes,), default=None
        Public label frequencies of samples. None: the released ones.

    epsilon : float, default=1.0
        Privacy loss of one fit.

    delta : float, default=1e-6
        Failure probability, above 0 and much smaller than one over the number of people.

    bounds : (low, high), Box, Ball or Mask, default=None
        Public domain, to which rows and samples are clipped. None estimates a box with 20% of the
        budget.

    n_hint : int, default=None
        Public estimate of the number of people, for `n_components` only. None spends 5% of the
        budget under "add_remove"; other relations make this number public.

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
    means_ : ndarray of shape (n_classes, n_components, n_features)
        Cell means.
    covariances_ : ndarray of shape (n_classes, n_components, n_features, n_features)
        Cell covariances, computed on access.
    weights_ : ndarray of shape (n_classes, n_components)
        Cell probabilities, with sum 1.
    classes_ : ndarray of shape (n_classes,)
        Labels.
    n_components_ : int
        Cells per class; public.
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
        RoundedGaussian; ``delta=0`` is rejected.
    Sensitivity
        Rows are clipped to released balls, and a row counts in its class and cell only. With a
        constant c appended to a clipped row of length at most r, its outer product moves by ``r**2
        + c**2`` when it joins and ``sqrt(2) (r**2 + c**2)`` when it is replaced, whichever cell it
        goes to; sums by r and 2 r; the pooled second moment by ``r**2`` and ``sqrt(2) r**2``.
        Changing the class under "replace_any" is leaving one and joining another.
    Budget
        All steps, bounds and size cost (epsilon, delta) together.
    Released
        means_, covariances_, weights_, classes_, n_components_, domain_, privacy_, n_features_in_,
        feature_names_in_
    Not covered
        none: no method but fit takes rows.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp_bary import PrivateGenerator
    >>> y = np.repeat([0, 1], 10000)
    >>> X = np.random.default_rng(0).normal(0.3 + 0.4 * y[:, None], 0.1, size=(20000, 3))
    >>> generator = PrivateGenerator(classes=[0, 1], bounds=(0, 1), n_hint=20000).fit(X, y)
    >>> rows, labels = generator.sample(1000, y=1)
    >>> round(rows.mean(), 1)
    np.float64(0.7)
    """

    _display = "ClusterDisplay"
    _parameter_rules = PRIVACY_RULES | {
        "delta": Number(0.0, 1.0, open_low=True, open_high=True, note=_NEEDS_DELTA),
        "n_components": Integer(1, _MOST_CELLS) | Option(("auto",)),
        "image_shape": Integers(Integer(1, MOST_FEATURES), 2, 3) | None,
        "covariance_type": Option(("full", "tied")),
        "class_spread": Number(1e-30, 1e30) | None,
        "classes": Labels() | None,
        "class_prior": Weights() | None,
    }

    def __init__(
        self,
        n_components: int | Literal["auto"] = "auto",
        *,
        image_shape: tuple | None = None,
        covariance_type: Literal["full", "tied"] = "full",
        class_spread: float | None = None,
        classes: ArrayLike | None = None,
        class_prior: ArrayLike | None = None,
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
        self.n_components = n_components
        self.image_shape = image_shape
        self.covariance_type = covariance_type
        self.class_spread = class_spread
        self.classes = classes
        self.class_prior = class_prior

    def sample(
        self,
        n_samples: int = 1,
        y: object = None,
        random_state: RandomState | None = None,
        *,
        as_frame: bool = False,
        warps: Mapping[str, float] | None = None,
    ) -> tuple[Any, np.ndarray]:
        """Draw synthetic rows and their labels.

        The draws are post-processing of the release: they cost nothing, whatever their number. The
        first draw of a cell computes a factor that later draws use again.

        Parameters
        ----------
        n_samples : int, default=1
        y : label, default=None
            Class of all rows. None draws the labels by the probabilities of the classes.
        random_state : int or RandomState, default=None
        as_frame : bool, default=False
            Return `X` as a pandas DataFrame with the names of the features, where there are some.
        warps : dict, default=None
            For images: every row is warped at random, by up to "turn" degrees, a "shear" and a
            "scale" (logarithm) of both axes, and a "shift" as a part of the sides, 0 where not
            named. This is a public prior, that images moved so far keep their class: it adds what
            you know, and nothing about the private rows.

        Returns
        -------
        X : ndarray or DataFrame of shape (n_samples, n_features)
        y : ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        n_samples = check_samples(n_samples, self.n_features_in_)
        reach = check_warps(warps, self.image_shape)
        rng = public_generator(random_state)
        probabilities = self.weights_.sum(axis=1)
        if y is not None:
            probabilities = np.array([float(label == y) for label in self.classes_.tolist()])
            if not probabilities.any():
                raise ValueError(f"y must be one of {self.classes_.tolist()!r}, got {y!r}.")
        codes = rng.choice(len(probabilities), size=n_samples, p=probabilities)
        X = self._mixture.draw(codes, rng)
        if reach is not None:
            low, width = self.domain_.low, self.domain_.high - self.domain_.low
            images = warped((X - low) / width, self.image_shape, reach, rng)
            X = self.domain_.clip(low + width * images)
        return as_dataframe(self, X) if as_frame else X, self.classes_[codes]

    def _noise_of(self, n_features, persons):
        each = persons / number_of_classes(self.classes)
        mu = gaussian_mu(self.epsilon, self.delta)
        moved = _MEAN_NOISE * math.sqrt(n_features) / (mu * each)
        table = ""
        if self.image_shape is None and n_features >= _WIDE:
            table = " For tables, with columns that stand for categories, PrivateTable is better."
        text = (
            f"Noise moves the mean of a class of {each:.0f} people by about {moved:.2g} of the "
            "radius of the domain. "
        )
        if moved <= _NOISY:
            return text + f"Up to {_NOISY} classes are mostly signal.{table}", False
        ways = projections(n_features)
        remedies = [(words, moved * math.sqrt(width / n_features)) for width, words in ways]
        more = rounded_up(persons * moved / _NOISY)
        found = cheapest(remedies, lambda reached: reached <= _NOISY, more)
        return text + f"Above {_NOISY} classes can be mostly noise. {found}{table}", True

    @property
    def covariances_(self) -> np.ndarray:
        """Covariance of every cell."""
        check_is_fitted(self)
        shape = len(self.classes_), self.n_components_
        found = [positive_part(self._mixture.covariance(*place)) for place in np.ndindex(shape)]
        return np.reshape(found, (*shape, *found[0].shape))

    def _public_classes(self, y):
        return named_or_found_classes(self.classes, y, self._relation())

    def _shares(self, n_features):
        shape = self.image_shape
        if shape is not None and math.prod(map(int, shape)) != n_features:
            raise ValueError(
                "image_shape must be (height, width) or (height, width, channels) of the "
                f"{n_features} features, got {shape!r}. For example image_shape=(28, 28) for 784."
            )
        n_classes = number_of_classes(self.classes)
        return shares(self._method_setting(n_features, n_classes, self.n_hint))

    def _method_setting(self, n_features, n_classes, size):
        shape = None if self.image_shape is None else tuple(self.image_shape)
        mu = gaussian_mu(self.epsilon, self.delta)
        cells = self.n_components, self.class_spread, shape, self.covariance_type
        return GeneratorSetting(n_features, n_classes, size, mu, *cells, self.random_state)

    def _settled_shares(self, facts):
        settled = shares(self._method_setting(facts.n_features, facts.n_classes, facts.size))
        announced = self._shares(facts.n_features)
        return None if announced.keys() == settled.keys() else settled

    def _public_facts(self, plan, rows):
        facts = super()._public_facts(plan, rows)
        self._prior(facts.n_classes)  # refused before anything is charged
        domain = facts.domain
        least, most = _width_range(domain)
        if most >= _UNEQUAL * least and not self._counts_in_widths(domain):
            warn(
                f"The widths of bounds go from {least:g} to {most:g}, and noise for the widest "
                "feature dominates the others. Leave class_spread out, so that features are "
                "scaled, or use PrivateTable for tables.",
                stacklevel=3,
            )
        return facts

    def _questions(self, facts):
        setting = self._method_setting(facts.n_features, facts.n_classes, facts.size)
        box = facts.domain
        if not self._counts_in_widths(box):
            return (yield from about_images(partial(Clipped, box), questions(setting, facts)))
        # in widths of the box, so that noise of one size suits every feature
        unit = Box(np.zeros(facts.n_features), np.ones(facts.n_features))
        scaled = questions(setting, replace(facts, domain=unit))
        mixture, *others = yield from about_images(partial(InWidths, box), scaled)
        return mixture.stretched(box), *others

    def _counts_in_widths(self, domain):
        """Whether features are scaled: pixels have one scale, a given spread has its own."""
        least, most = _width_range(domain)
        return self.image_shape is None and self.class_spread is None and most > _ROUNDING * least

    def _finish(self, facts, result):
        self._mixture, released, narrow = result
        prior = self._prior(facts.n_classes, released)
        self.classes_ = facts.labels
        self.means_ = self._mixture.means
        self.weights_ = self._mixture.weights * prior[:, None]
        self.n_components_ = self._mixture.weights.shape[1]
        points = self.means_.reshape(-1, facts.n_features)
        given = facts, self.epsilon, self.bounds, narrow and self.class_spread is None
        warn_of_border(points, self.weights_.ravel(), *given)

    def _prior(self, n_classes, released=None):
        """Return the public frequencies of the classes, or where none are given those released."""
        if self.class_prior is None:
            return released
        return class_shares(self.class_prior, "class_prior", n_classes)


def _width_range(domain):
    """Return the least and the largest width of a box; of other domains, one as the other."""
    widths = domain.high - domain.low if isinstance(domain, Box) else np.ones(1)
    return float(widths.min()), float(widths.max())


# Random turns, shears, scalings and shifts of drawn images: a public prior, not a release.

LARGEST = {"turn": 180.0, "shear": 2.0, "scale": 2.0, "shift": 1.0}
_ROWS = 1000  # at once


def check_warps(warps, image_shape):
    """Largest warp of images, by kind; raise unless it is a good dict.

    Parameters
    ----------
    warps : dict or None
    image_shape : tuple or None
    """
    if warps is None:
        return None
    if image_shape is None:
        raise ValueError(
            f"warps must be None without image_shape, got {warps!r}. Pass image_shape to the fit."
        )
    if not isinstance(warps, Mapping) or not warps or not warps.keys() <= LARGEST.keys():
        raise ValueError(
            f"warps must be a dict by some of {list(LARGEST)}, got {warps!r}. For example "
            "warps={'turn': 10.0}."
        )
    for kind, reach in warps.items():
        check_real(reach, f"warps[{kind!r}]", low=0.0, high=LARGEST[kind])
    return dict.fromkeys(LARGEST, 0.0) | {kind: float(reach) for kind, reach in warps.items()}


def warped(rows, image_shape, reach, rng):
    """Return images of the unit box, each warped at random; what comes in at the border is 0.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_pixels)
    image_shape : tuple
    reach : dict
        By kind, see `check_warps`.
    rng : Generator
    """
    height, width, channels = full_shape(image_shape)
    found = np.empty_like(rows)
    for start in range(0, len(rows), _ROWS):
        part = slice(start, start + _ROWS)
        images = rows[part].reshape(-1, height, width, channels)
        matrices, shifts = affine_maps(len(images), (height, width), reach, rng)
        found[part] = read_along(images, matrices, shifts).reshape(len(images), -1)
    return found


def affine_maps(n, sides, reach, rng):
    """Return random matrices of shape (n, 2, 2) and shifts (n, 2), in pixels."""
    # a turn of what was scaled along both axes and sheared
    angle, shear, tall, wide, down, right = rng.uniform(-1.0, 1.0, size=(6, n))
    angle = np.deg2rad(reach["turn"]) * angle
    cos, sin = np.cos(angle), np.sin(angle)
    turns = np.stack([np.stack([cos, -sin], 1), np.stack([sin, cos], 1)], 1)
    shapes = np.zeros((n, 2, 2))
    shapes[:, 0, 0], shapes[:, 1, 1] = np.exp(reach["scale"] * np.stack([tall, wide]))
    shapes[:, 1, 0] = reach["shear"] * shear
    return turns @ shapes, reach["shift"] * np.stack([down, right], 1) * np.array(sides)


def read_along(images, matrices, shifts):
    """Return images read at affine images of their pixels, about the middle, bilinearly."""
    n, height, width, channels = images.shape
    middle = (np.array([height, width]) - 1.0)[:, None] / 2.0
    at = np.stack(np.meshgrid(np.arange(height), np.arange(width), indexing="ij")).reshape(2, -1)
    places = matrices @ (at - middle) + middle + shifts[:, :, None]
    places = np.clip(places, -1.0, np.array([height, width])[:, None])
    low = np.floor(places).astype(np.int64)
    parts = (places - low)[..., None]
    padded = np.pad(images, ((0, 0), (1, 2), (1, 2), (0, 0)))
    # a place is read off the four pixels around it; beyond the border there are zeros
    rows, (down, right) = np.arange(n)[:, None], low.transpose(1, 0, 2) + 1
    upper, lower = (
        padded[rows, y, right] * (1.0 - parts[:, 1]) + padded[rows, y, right + 1] * parts[:, 1]
        for y in (down, down + 1)
    )
    mixed = upper * (1.0 - parts[:, 0]) + lower * parts[:, 0]
    return mixed.reshape(n, height, width, channels)
