"""PrivateDomainAdapter: a classifier for private rows, from public rows with labels."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin

from ..exceptions import Estimator, Neighbors, RandomState, Rows
from ..geometry.bounds import Bounds
from ..parameters import (
    MOST_FEATURES,
    MOST_STEPS,
    PRIVACY_RULES,
    Function,
    Having,
    Integer,
    Number,
    Option,
    check_parameters,
)
from ..privacy.noise import public_generator
from ..privacy.spending import SharedBudget
from ..rows.opening import warn
from ..values import column_names
from .adapter_methods import MeanShift, MomentsMethod, SelfTraining
from .adapter_source import RowClassifier, check_views_signature, read_source
from .base import BasePrivateEstimator, fitted_alone

# PrivateDomainAdapter: a classifier for private rows, from public rows with labels.

_METHODS = {"self_training": SelfTraining(), "moments": MomentsMethod()}
_WITHOUT_VIEWS = MeanShift()
_NEEDS_DELTA = "What is released of private rows has Gaussian noise."
_GOOD_SOURCE = 0.9  # accuracy below which a fit warns

_OTHER_SHARES = (
    "The mean of the private rows moved as if {:.0%} of them were of other classes than in the "
    "source. If class shares differ, the adapted model is worse than source_model_: pass views, "
    "which other shares mislead little, or resample the source to the expected shares."
)


class PrivateDomainAdapter(ClassifierMixin, BasePrivateEstimator):
    """Classifier for private unlabeled rows, learned from public labeled rows.

    Noisy statistics of the private rows change a model of the public source, which is kept too,
    because this does not help on all data (:doc:`/explanation/adaptation`).

    Parameters
    ----------
    estimator : estimator or callable, default=None
        Features: ``transform`` or ``predict_proba`` of an estimator, fitted on the source if not
        yet fitted, or a function. None: scaled rows.

    row_map : callable, default=None
        ``row_map(rows)`` normalizes each row by itself, at no privacy cost.

    views : callable, default=None
        ``views(rows, draws)`` returns rows altered without a change of class, after `row_map`.
        `draws`, of shape (n_rows, 8), are public uniform numbers in [0, 1), for use instead of a
        random generator.

    method : {"self_training", "moments"}, default="self_training"
        Private statistics: sums of clipped gradients, or without `views` a mean ("self_training"),
        or mean and covariance of features ("moments"). Means and moments assume the class shares
        of the source; a fit warns if other shares explain the mean.

    hidden : int, default=100
        Hidden units.

    align : float, default=1.0
        Strength of the pull of predicted classes to their shares in the source. Lower it if
        private shares may differ.

    max_iter : int, default=None
        Passes over the data. None: 150.

    block_rows : int, default=1
        Private rows passed at once to `row_map`, `views` and `estimator`, which must have no memory
        and draw nothing. With more than 1, results for a row must also be the same, to the last
        bit, next to any other rows.

    epsilon : float, default=1.0
        Privacy loss of one fit.

    delta : float, default=1e-6
        Failure probability, above 0 and much smaller than one over the number of people.

    bounds : (low, high), Box, Ball or Mask, default=None
        Public domain, to which rows are clipped. None clips only gradients and features.

    n_hint : int, default=None
        Public number of private people, which divides sums. None takes a noisy count under
        "add_remove".

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
    model_ : RowClassifier
        Adapted classifier.
    source_model_ : RowClassifier
        Source classifier.
    source_score_ : float
        Accuracy of the source model on held-out source views (rows, without `views`). Below 0.9 a
        fit warns.
    target_frequencies_ : ndarray of shape (n_classes,) or None
        Noisy shares of predicted classes.
    classes_ : ndarray of shape (n_classes,)
        Labels of the source.
    domain_ : Box, Ball, Mask or None
        Public domain, if given.
    privacy_ : Plan
        Releases and charges of the fit.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Feature names, if `X_target` has string column names.

    Privacy
    -------
    Neighbors
        ``neighbors``, by default "add_remove" of one person: a row of `X_target`, or all rows with
        one value of ``groups``. The source is public.
    Mechanism
        RoundedGaussian.
    Sensitivity
        A person's gradient, averaged over its views, is clipped to a public norm C: C when it
        joins, 2 C when it is replaced. Counts of predicted classes change by 1, or by sqrt(2).
        Moments and means are of clipped features.
    Budget
        All steps and an estimated count cost (epsilon, delta).
    Released
        model_, source_model_, source_score_, target_frequencies_, classes_, domain_, privacy_,
        n_features_in_, feature_names_in_
    Not covered
        predict, predict_proba, score: they do not protect their input. Choices by private labels or
        accuracy.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp_bary import PrivateDomainAdapter
    >>> X = np.random.default_rng(0).normal(size=(2000, 5))
    >>> PrivateDomainAdapter(epsilon=3.0, n_hint=2000).fit(X, X[:, 0] > 0, X + 0.5).classes_
    array([False,  True])
    """

    _parameter_rules = PRIVACY_RULES | {
        "delta": Number(0.0, 1.0, open_low=True, open_high=True, note=_NEEDS_DELTA),
        "estimator": Having(
            "an estimator with transform or predict_proba", ("transform", "predict_proba")
        )
        | Function()
        | None,
        "row_map": Function() | None,
        "views": Function() | None,
        "method": Option(tuple(_METHODS)),
        "hidden": Integer(1, 1 << 16),
        "align": Number(0.0, 1e6),
        "max_iter": Integer(1, MOST_STEPS) | None,
        "block_rows": Integer(1, MOST_FEATURES),
    }

    def __init__(
        self,
        estimator: Estimator | Callable[..., ArrayLike] | None = None,
        *,
        row_map: Callable[..., ArrayLike] | None = None,
        views: Callable[..., Any] | None = None,
        method: Literal["self_training", "moments"] = "self_training",
        hidden: int = 100,
        align: float = 1.0,
        max_iter: int | None = None,
        block_rows: int = 1,
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
        self.estimator = estimator
        self.row_map = row_map
        self.views = views
        self.method = method
        self.hidden = hidden
        self.align = align
        self.max_iter = max_iter
        self.block_rows = block_rows

    def fit(
        self,
        X_source: ArrayLike,
        y_source: ArrayLike,
        X_target: Rows,
        *,
        groups: Rows | None = None,
        sample_weight: Rows | None = None,
        unit: str | None = None,
        note: str = "",
    ) -> Self:
        """Train on the public source and adapt to the private target.

        Parameters
        ----------
        X_source : array-like of shape (n_source, n_features)
            Public rows.
        y_source : array-like of shape (n_source,)
            Their labels.
        X_target : array-like, dataframe, Dask collection or chunks, of shape (n_rows, n_features)
            Private rows, without labels. They are read once a step: chunks must be readable again,
            and the features of chunks are computed anew every time, those of an array once.
        groups : array-like of shape (n_rows,), optional
            Person IDs of the private rows. Without them every row is a person.
        sample_weight : array-like of shape (n_rows,), optional
            Weights of the private rows in [0, 1].
        unit : str, default=None
            Privacy unit; None: the name of `groups`, or "rows" without groups.
        note : str, default=""
            Text for the ledger, such as "2026-03".

        Returns
        -------
        self : object
            The fitted adapter.
        """
        with fitted_alone(self):
            self._check_parameters()
            source = read_source(self, X_source, y_source, public_generator(self.random_state))
            if source.score < _GOOD_SOURCE:
                warnings.warn(
                    f"The source model is right on {source.score:.0%} of views of source rows that "
                    "it was not trained on. Adapting a poor model often makes it worse: compare "
                    "with source_model_, or take milder views.",
                    UserWarning,
                    stacklevel=2,
                )
            self._source, self._source_names = source, column_names(X_source)
            try:
                whose = {"groups": groups, "sample_weight": sample_weight, "unit": unit}
                return super().fit(X_target, **whose, note=note)
            finally:
                del self._source, self._source_names

    def predict_proba(self, X: ArrayLike) -> np.ndarray:
        """Return the probability of each class for each row.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)

        Returns
        -------
        probabilities : ndarray of shape (n_rows, n_classes)
        """
        return self.model_.predict_proba(self._floats(X))

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the accuracy, an exact function of the rows and labels given.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
        sample_weight : array-like of shape (n_rows,), optional

        Returns
        -------
        score : float
        """
        return super().score(X, y, sample_weight)

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Return the most probable class of each row.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)

        Returns
        -------
        labels : ndarray of shape (n_rows,)
        """
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def _numbers(self):
        if self.target_frequencies_ is None:
            return ["source model"], np.array([self.source_score_]), None, "accuracy on the source"
        names = [str(label) for label in self.classes_]
        return names, self.target_frequencies_, None, "share of the private rows, as predicted"

    def _check_parameters(self):
        check_parameters(self)
        if self.views is not None:
            check_views_signature(self.views)

    def _method(self):
        if self.method == "self_training" and self.views is None:
            return _WITHOUT_VIEWS
        return _METHODS[self.method]

    def _bought_shares(self):
        # the norms that features are clipped to come from the source
        return {name: share for name, share in super()._bought_shares().items() if name == "count"}

    def _shares(self, n_features):
        self._check_parameters()
        return self._method().shares(self)

    def _bounds_in_words(self):
        if self.bounds is None:
            return "not needed: what is released is clipped by norms of the public source"
        return super()._bounds_in_words()

    def _noise_of(self, n_features, persons):
        return self._method().noise(self, self.privacy_plan(n_features), n_features, persons)

    def _rehearsal_key(self, *public):
        return object()  # a rehearsal follows from the public source as well

    def _public_facts(self, plan, rows):
        expected = self._source.n_inputs
        if rows.n_features != expected:
            raise ValueError(
                f"X_target has {rows.n_features} features, but X_source has {expected}. Pass the "
                "same columns of both."
            )
        named = rows.source.named
        names = None if named is None else column_names(named)
        if None not in (names, self._source_names) and names != self._source_names:
            raise ValueError(
                f"X_target has the columns {names}, but X_source has {self._source_names}. Pass "
                "both with the same columns in the same order."
            )
        return super()._public_facts(plan, rows)

    def _questions(self, facts):
        return (yield from self._method().questions(self, self._source, facts))

    def _finish(self, facts, adapted):
        source = self._source
        self.classes_ = source.classes
        self.source_score_ = source.score
        self.source_model_ = RowClassifier(source.features, source.head, source.classes)
        self.model_ = RowClassifier(source.features, adapted.head, source.classes)
        self.target_frequencies_ = adapted.frequencies
        self._warn_of_noise(len(source.axes), facts.size)
        if adapted.other_classes:
            warn(_OTHER_SHARES.format(adapted.other_classes), stacklevel=4)
