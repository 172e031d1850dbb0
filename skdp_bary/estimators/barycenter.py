"""PrivateWassersteinBarycenter: one representative support for many distributions."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ..exceptions import Neighbors, RandomState
from ..geometry.bounds import Bounds
from ..geometry.rowwise import row_distances
from ..parameters import (
    MOST_FEATURES,
    MOST_STEPS,
    PRIVACY_RULES,
    Integer,
    Labels,
    OneOf,
    Option,
    Weights,
)
from ..privacy.noise import public_generator
from ..privacy.spending import SharedBudget
from ..rows.opening import warn
from ..rows.persons import encode_labels
from ..transport.measures import DiscreteMeasure
from ..transport.semidiscrete import solve_semidiscrete
from .barycenter_methods import (
    BarycenterSetting,
    ClustersMethod,
    CoresetMethod,
    PyramidMethod,
    advise,
    best_method,
    of_known_size,
)
from .barycenter_subspace import SubspaceMethod
from .base import BasePrivateEstimator
from .facts import class_shares, named_or_found_classes, setting_of
from .noisy_trees import BlockCountsMethod, HaarMethod
from .notices import check_samples, warn_of_border, warn_of_few_persons

_MOST_ATOMS = 4096
_NO_WIDTH = 1e-9  # of the domain: rounding
_ONE_PLACE = (
    "All atoms are at one place, the mean of the release: noise hides everything else. "
    "privacy_advice(n_features) returns how many people are needed."
)


class PrivateWassersteinBarycenter(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, BasePrivateEstimator
):
    """Private Wasserstein barycenter of several distributions.

    The barycenter is the measure on ``n_atoms`` points with the least mean transport cost to all
    distributions. With one distribution it is an optimal quantizer with equal masses.

    A cost joins differences of all features, so those in a small unit outweigh the others: if units
    differ, scale rows by :class:`~skdp_bary.DomainScaler` with public bounds first.

    Parameters
    ----------
    n_atoms : int, default=8
        Number of atoms.

    method : {"auto", "coreset", "pyramid", "clusters", "subspace"}, default="auto"
        Release, see :doc:`/explanation/barycenter`:

        - "auto": chosen from public or released numbers only;
        - "coreset": a noisy tree of each distribution;
        - "pyramid": counts of cells, split where earlier counts show people;
        - "clusters": private k-means of each distribution;
        - "subspace": Gaussian models in principal axes. Needs p = 2 and ``delta > 0``.

    p : {1, 2}, default=2
        Power of the distance.

    classes : array-like, default=None
        Public labels. None: one distribution, or under "replace_one" the labels in `y`, which are
        public.

    class_weights : array-like of shape (n_classes,), default=None
        Public weights, equal by default.

    n_init : int, default=None
        Starts of the search. None: two, or ten for one distribution without "pyramid".

    n_components : int, default=None
        Axes of "subspace". None: 2 to 12 that exceed the noise.

    epsilon : float, default=1.0
        Privacy loss of one fit.

    delta : float, default=0.0
        Failure probability, much smaller than one over the number of people. 0 means Laplace noise,
        other values mean Gaussian noise.

    bounds : (low, high), Box, Ball or Mask, default=None
        Public domain, to which rows are clipped. None estimates a box with 20% of the budget.

    n_hint : int, default=None
        Public estimate of the number of people, for resolutions only. None spends 5% of the budget
        under "add_remove"; other relations make this number public.

    neighbors : {"add_remove", "replace_one", "replace_any"}, default=None
        Neighboring relation. None takes the accountant's, by default "add_remove".

    accountant : BudgetAccountant, default=None
        Budget shared by several fits. None limits each fit separately.

    random_state : int or RandomState, default=None
        None, except in tests: other values make releases reproducible and not private.

    verbose : {0, 1, 2}, default=0
        Progress output: none, a bar, or every step. Hundreds of atoms can take a minute.

    Attributes
    ----------
    support_ : ndarray of shape (n_atoms, n_features)
        Atoms.
    weights_ : ndarray of shape (n_atoms,)
        Masses ``1 / n_atoms``.
    classes_ : ndarray of shape (n_classes,)
        Labels.
    class_weights_ : ndarray of shape (n_classes,)
        Weights.
    potentials_ : ndarray of shape (n_classes, n_atoms)
        A row x of a class belongs to the atom with the least
        ``|x - y_j|**p - potentials_[class, j]``.
    private_measures_ : list of DiscreteMeasure
        Private measure of each distribution.
    release_cost_ : float
        Mean cost from the private measures, not the rows.
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
        ``groups``. A person's rows belong to one distribution, or count in each by their share
        where labels are private.
    Mechanism
        RoundedGaussian when ``delta > 0``, DiscreteLaplace when ``delta=0`` and
        ``method!="subspace"``.
    Sensitivity
        For one distribution that of PrivateMeasure, of PrivateKMeans for "clusters", and in
        :doc:`/explanation/barycenter` for "subspace". Several cost what one costs under
        "add_remove" and "replace_one". Under "replace_any" two change, each by an added or a
        removed person.
    Budget
        All distributions, bounds and size cost (epsilon, delta) together.
    Released
        support_, weights_, class_weights_, classes_, potentials_, private_measures_, release_cost_,
        domain_, privacy_, n_features_in_, feature_names_in_
    Not covered
        predict, transform, fit_transform, map, score: exact functions of their input.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp_bary import PrivateWassersteinBarycenter
    >>> X, y = np.random.default_rng(0).beta(2, 5, size=(20000, 2)), np.arange(20000) % 2
    >>> model = PrivateWassersteinBarycenter(4, classes=[0, 1], bounds=(0, 1), n_hint=20000)
    >>> model.fit(X, y).support_.shape
    (4, 2)
    """

    _setting = BarycenterSetting
    _methods = {
        "coreset": CoresetMethod(HaarMethod(power=2.0), pure=BlockCountsMethod(step=4)),
        "pyramid": PyramidMethod(),
        "clusters": ClustersMethod(),
        "subspace": SubspaceMethod(),
    }
    _fewest_steps = 'method="coreset"'
    _effort = ("n_init",)
    _display = "BarycenterDisplay"
    _parameter_rules = PRIVACY_RULES | {
        "n_atoms": Integer(1, _MOST_ATOMS),
        "method": Option(("auto", *_methods)),
        "p": OneOf((1, 2)),
        "classes": Labels() | None,
        "class_weights": Weights() | None,
        "n_init": Integer(1, MOST_STEPS) | None,
        "n_components": Integer(1, MOST_FEATURES) | None,
    }

    def __init__(
        self,
        n_atoms: int = 8,
        *,
        method: Literal["auto", "coreset", "pyramid", "clusters", "subspace"] = "auto",
        p: float = 2,
        classes: ArrayLike | None = None,
        class_weights: ArrayLike | None = None,
        n_init: int | None = None,
        n_components: int | None = None,
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
        self.n_atoms = n_atoms
        self.method = method
        self.p = p
        self.classes = classes
        self.class_weights = class_weights
        self.n_init = n_init
        self.n_components = n_components

    def transform(self, X: ArrayLike) -> np.ndarray:
        """Return the distance of each row to each atom.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)

        Returns
        -------
        distances : ndarray of shape (n_rows, n_atoms)
        """
        return row_distances(self._floats(X), self.support_)

    def predict(self, X: ArrayLike, y: ArrayLike | None = None) -> np.ndarray:
        """Return the atom to which transport takes each row.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        y : array-like of shape (n_rows,), default=None
            Labels of the rows. Without them the cells of the weighted mean of the potentials are
            used; with one distribution there is no difference.

        Returns
        -------
        atoms : ndarray of int of shape (n_rows,)
        """
        X = self._floats(X)
        if y is None:
            potentials = self.class_weights_ @ self.potentials_
        else:
            potentials = self.potentials_[encode_labels(y, self.classes_, len(X))]
        # the power cell of an atom: where its cost less its potential is least (Aurenhammer 1987)
        return (row_distances(X, self.support_) ** self.p - potentials).argmin(axis=1)

    def map(self, X: ArrayLike, label: object = None) -> np.ndarray:
        """Move rows of one distribution to the barycenter, by the transport of its release.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        label : object, default=None
            The distribution the rows belong to; may be left out when there is only one.

        Returns
        -------
        X_mapped : ndarray of shape (n_rows, n_features)
            For every row the atom of its cell.
        """
        check_is_fitted(self)
        if label is None and len(self.classes_) > 1:
            known = self.classes_.tolist()
            raise ValueError(
                f"label must be one of {known!r}, got None. For example label={known[0]!r}."
            )
        y = None if label is None else np.full(len(X), label)
        return self.support_[self.predict(X, y)]

    def score(self, X: ArrayLike, y: ArrayLike | None = None) -> float:
        """Return minus the mean transport cost from the rows given to the barycenter.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        y : array-like of shape (n_rows,), default=None
            Labels of the rows; without them the rows are taken as one distribution.

        Returns
        -------
        score : float
        """
        X = self._floats(X)
        atoms = DiscreteMeasure(self.support_, self.weights_)
        if y is None:
            return -solve_semidiscrete(DiscreteMeasure(X), atoms, p=self.p).cost
        codes = encode_labels(y, self.classes_, len(X))
        present = np.unique(codes)
        weights = self.class_weights_[present]
        clouds = [DiscreteMeasure(X[codes == code]) for code in present]
        costs = [solve_semidiscrete(cloud, atoms, p=self.p).cost for cloud in clouds]
        return -float(weights @ costs / weights.sum())

    def sample(self, n_samples: int = 1, random_state: RandomState | None = None) -> np.ndarray:
        """Draw atoms by their weight: rows of the barycenter.

        Parameters
        ----------
        n_samples : int, default=1
        random_state : int or RandomState, default=None

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        n_samples = check_samples(n_samples, self.n_features_in_)
        rng = public_generator(random_state)
        return self.support_[rng.choice(len(self.weights_), size=n_samples, p=self.weights_)]

    def to_measure(self) -> DiscreteMeasure:
        """Return the barycenter as a discrete measure for transport.

        Returns
        -------
        measure : DiscreteMeasure
        """
        check_is_fitted(self)
        return DiscreteMeasure(self.support_, self.weights_)

    @property
    def _n_features_out(self):
        return len(self.support_)

    def _public_classes(self, y):
        return named_or_found_classes(self.classes, y, self._relation())

    def _method_setting(self, n_features, class_weights=None):
        return setting_of(self._setting, self, n_features=n_features, class_weights=class_weights)

    def _method(self, setting):
        return self._methods[best_method(setting) if self.method == "auto" else self.method]

    def _shares(self, n_features):
        setting = self._method_setting(n_features)
        return self._method(setting).shares(setting)

    def _settled_shares(self, facts):
        setting = self._method_setting(facts.n_features)
        method = self._method(of_known_size(setting, facts))
        settled = method.settled_shares(setting, facts)
        if settled is None and method is not self._method(setting):
            return method.shares(setting)  # the size speaks for another one
        return settled

    def _public_facts(self, plan, rows):
        facts = super()._public_facts(plan, rows)
        self._weights_of_classes(facts.n_classes)  # refused before anything is charged
        return facts

    def _questions(self, facts):
        weights = self._weights_of_classes(facts.n_classes)
        setting = self._method_setting(facts.n_features, weights)
        method = self._method(of_known_size(setting, facts))
        return weights, (yield from method.questions(setting, facts))

    def _finish(self, facts, result):
        self.class_weights_, barycenter = result
        self.classes_ = facts.labels
        self.private_measures_ = list(barycenter.measures)
        self.support_ = np.array(barycenter.support)
        self.weights_ = np.full(len(self.support_), 1.0 / len(self.support_))
        self.potentials_ = np.array(barycenter.potentials)
        self.release_cost_ = float(barycenter.cost)
        points = np.concatenate([measure.support for measure in self.private_measures_])
        weights = np.concatenate([measure.weights for measure in self.private_measures_])
        warned = warn_of_few_persons(facts, self.epsilon)
        warn_of_border(points, weights, facts, self.epsilon, self.bounds)
        # atoms in one place say nothing of what tells rows apart: noise has hidden it
        width = np.ptp(self.support_, axis=0).max()
        if not warned:
            self._warn_of_noise(facts.n_features, facts.size)
        if self.n_atoms > 1 and width <= _NO_WIDTH * facts.domain.radius and not warned:
            warn(_ONE_PLACE, stacklevel=4)

    def _noise_of(self, n_features, persons):
        return advise(replace(self._method_setting(n_features), n_hint=persons))

    def _weights_of_classes(self, n_classes):
        if self.class_weights is None:
            return np.full(n_classes, 1.0 / n_classes)
        return class_shares(self.class_weights, "class_weights", n_classes)
