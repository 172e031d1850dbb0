"""PrivateWassersteinBarycenter: one representative support for many distributions."""

from __future__ import annotations

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
from .barycenter_methods import (
    AutoMethod,
    BarycenterSetting,
    ClustersMethod,
    CoresetMethod,
    PyramidMethod,
    advise,
    transport_cost,
)
from .barycenter_subspace import SubspaceMethod
from .base import BasePrivateEstimator
from .facts import class_shares, named_or_found_classes, setting_of
from .noisy_trees import BlockCountsMethod, HaarMethod
from .notices import check_samples, warn_of_border, warn_of_few_persons

_MOST_ATOMS = 4096
_NO_WIDTH = 1e-9  # of the domain: rounding
_ONE_PLACE = (
    "All atoms are at one place, the mean of what was released: noise left no more to be seen. "
    "privacy_advice(n_features) says how many persons are needed."
)
_METHODS = {
    "coreset": CoresetMethod(HaarMethod(power=2.0), pure=BlockCountsMethod(step=4)),
    "pyramid": PyramidMethod(),
    "clusters": ClustersMethod(),
    "subspace": SubspaceMethod(),
}


class PrivateWassersteinBarycenter(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, BasePrivateEstimator
):
    """Private Wasserstein barycenter of several distributions, on a few free atoms.

    Every row belongs to one of k distributions, named by its label. The barycenter is the measure
    on ``n_atoms`` points with the least mean transport cost to all of them; with one distribution
    it is an optimal quantizer with cells of equal mass.

    Parameters
    ----------
    n_atoms : int, default=8
        Number of atoms.

    method : {"auto", "coreset", "pyramid", "clusters", "subspace"}, default="auto"
        How the distributions are released:

        - "auto": with a given box, "pyramid" for two to four features, and for five and six with
          ``delta=0`` and few people. Otherwise "coreset" for p = 1 and for up to three features,
          above "subspace" where ``delta > 0`` and the budget lets moments stand out from noise,
          and else "clusters". The choice uses public or released numbers alone;
        - "coreset": a noisy tree for every distribution, then the exact barycenter of the measures
          made of them. Haar differences with ``delta > 0``, counts with ``delta=0``;
        - "pyramid": counts of cells that are split where earlier counts show people, in a box cut
          to where the rows are; reads the rows five times. Costs least for wide bounds or thin
          shapes in two to six features;
        - "clusters": private k-means of every distribution, then the exact barycenter of the
          weighted centers. From four features on; where noise hides clusters, centers and atoms
          go to one private mean;
        - "subspace": principal axes, a model of every distribution in them, and mean residuals
          that lift its atoms back to all features. For p = 2 and ``delta > 0``.

    p : {1, 2}, default=2
        Power of the distance in the transport cost.

    classes : array-like or None, default=None
        Public labels of the distributions. None: rows without labels are one distribution; rows
        with labels need the set, except under "replace_one", where labels are public.

    class_weights : array-like of shape (n_classes,) or None, default=None
        Public weight of each distribution in the mean; equal by default.

    n_init : int or None, default=None
        Number of starts of the barycenter search, which cost only time. None: ten for one
        distribution, two for several and for "pyramid".

    n_components : int or None, default=None
        Number of axes of "subspace". None takes those that stand out from the noise, 2 to 12.

    epsilon : float, default=1.0
        Privacy loss of one fit.

    delta : float, default=0.0
        Failure probability of the guarantee. 0 means pure privacy, with Laplace noise; a positive
        value (much smaller than one over the number of people) means Gaussian noise.

    bounds : (low, high), Box, Ball, Mask or None, default=None
        Public domain of the rows; rows outside are moved to its border. None finds a box with a
        fifth of the budget.

    n_hint : int or None, default=None
        Public guess of the number of people; sets resolutions only. None takes a noisy count with
        a twentieth of the budget under "add_remove"; the other relations make the number public.

    neighbors : {"add_remove", "replace_one", "replace_any"} or None, default=None
        Neighboring relation. None takes the accountant's, which is "add_remove" by default.

    accountant : BudgetAccountant or None, default=None
        Shared budget that pays for the fit. None: this fit is covered by a budget of its own and
        nothing adds up over several fits.

    random_state : None, int or RandomState, default=None
        None draws noise from the operating system. Anything else makes the noise and the starts
        reproducible, for tests and simulations; the release is then not private.

    verbose : {0, 1, 2}, default=0
        Progress output: none, a bar, or one line per step.

    Attributes
    ----------
    support_ : ndarray of shape (n_atoms, n_features)
        The atoms.
    weights_ : ndarray of shape (n_atoms,)
        Their masses, all equal; they sum to 1.
    class_weights_ : ndarray of shape (n_classes,)
        Weight of each distribution.
    classes_ : ndarray of shape (n_classes,)
        Labels of the distributions.
    potentials_ : ndarray of shape (n_classes, n_atoms)
        A row x of a class belongs to the atom with the least
        ``|x - y_j|**p - potentials_[class, j]``.
    private_measures_ : list of DiscreteMeasure
        The private measure of each distribution.
    release_cost_ : float
        Mean transport cost from the private measures to the atoms, not from the rows.
    domain_ : Box, Ball or Mask
        Public or estimated domain.
    privacy_ : Plan
        What was released and charged.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, when `X` has string column names.

    Privacy
    -------
    Neighbors
        The relation in ``neighbors``; "add_remove" of one person unless stated. A person is a row,
        or all rows with one value of ``groups``. A person's rows belong to one distribution, or
        count in each by their share where labels are private.
    Mechanism
        RoundedGaussian when ``delta`` is positive. With ``delta=0``, DiscreteLaplace for
        ``method="auto"``, DiscreteLaplace for ``method="coreset"``, DiscreteLaplace for
        ``method="pyramid"``, DiscreteLaplace for ``method="clusters"``, nothing for
        ``method="subspace"``: it refuses ``delta=0``.
    Sensitivity
        That of PrivateMeasure for one distribution; a level of counts changes by 1 when a person is
        added and by 2 when one is replaced. A person is in one distribution, so several cost
        together what one costs under "add_remove" and "replace_one"; under "replace_any" two trees
        change, each by an added or a removed person. The counts of a pyramid change as levels do.
        Clusters change as those of PrivateKMeans, each class with noise for its own questions. A
        round releases masses, residual sums and squared residuals of fixed cells, in units in which
        a residual has length at most 1: one person adds 1 to each in one cell; replaced, the person
        moves the sums of one cell by up to 2, or of two cells by 1 each.
    Budget
        All distributions together, and what finds bounds and size, cost (epsilon, delta).
    Released
        support_, weights_, class_weights_, classes_, potentials_, private_measures_,
        release_cost_, domain_, privacy_, n_features_in_, feature_names_in_
    Not covered
        predict, transform, fit_transform, map, score: exact functions of the rows they are given.

    See Also
    --------
    PrivateMeasure : The private measure of one distribution.

    References
    ----------
    Y. He, R. Vershynin, Y. Zhu. Algorithmically effective differentially private synthetic data.
    COLT 2023.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp_bary import PrivateWassersteinBarycenter
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(2, size=20000)
    >>> X = rng.normal(size=(20000, 2)) * 0.05 + np.where(y[:, None] == 0, 0.3, 0.7)
    >>> barycenter = PrivateWassersteinBarycenter(
    ...     n_atoms=4, classes=[0, 1], bounds=(0, 1), n_hint=20000
    ... ).fit(X, y)
    >>> bool(abs(barycenter.support_.mean(axis=0) - 0.5).max() < 0.05)
    True
    """

    _setting = BarycenterSetting
    _methods = {"auto": AutoMethod(**_METHODS), **_METHODS}
    _fewest_steps = 'method="coreset"'
    _effort = ("n_init",)
    _display = "BarycenterDisplay"
    _parameter_rules = PRIVACY_RULES | {
        "n_atoms": Integer(1, _MOST_ATOMS),
        "method": Option(tuple(_methods)),
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
            return -transport_cost(X, atoms, self.p)
        codes = encode_labels(y, self.classes_, len(X))
        present = np.unique(codes)
        weights = self.class_weights_[present]
        costs = [transport_cost(X[codes == code], atoms, self.p) for code in present]
        return -float(weights @ costs / weights.sum())

    def sample(self, n_samples: int = 1, random_state: RandomState | None = None) -> np.ndarray:
        """Draw atoms by their weight: rows of the barycenter.

        Parameters
        ----------
        n_samples : int, default=1
        random_state : None, int or RandomState, default=None

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

    def _shares(self, n_features):
        return self._methods[self.method].shares(self._method_setting(n_features))

    def _settled_shares(self, facts):
        setting = self._method_setting(facts.n_features)
        return self._methods[self.method].settled_shares(setting, facts)

    def _public_facts(self, plan, rows):
        facts = super()._public_facts(plan, rows)
        self._weights_of_classes(facts.n_classes)  # refused before anything is charged
        return facts

    def _questions(self, facts):
        weights = self._weights_of_classes(facts.n_classes)
        setting = self._method_setting(facts.n_features, weights)
        return weights, (yield from self._methods[self.method].questions(setting, facts))

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
        width = np.ptp(self.support_, axis=0).max()
        if self.n_atoms > 1 and width <= _NO_WIDTH * facts.domain.radius and not warned:
            warn(_ONE_PLACE, stacklevel=4)

    def privacy_advice(self, n_features: int) -> str:
        """Whether noise will drown the people, by public facts, for the quote of a budget.

        Parameters
        ----------
        n_features : int

        Returns
        -------
        advice : str
        """
        few = super().privacy_advice(n_features)
        return few or advise(self._method_setting(n_features))

    def _weights_of_classes(self, n_classes):
        if self.class_weights is None:
            return np.full(n_classes, 1.0 / n_classes)
        return class_shares(self.class_weights, "class_weights", n_classes)
