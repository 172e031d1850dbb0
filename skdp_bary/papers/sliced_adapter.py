"""SlicedNetworkAdapter: networks adapted to private rows without labels, by their slices.

A. Rakotomamonjy, L. Ralaivola. Differentially private sliced Wasserstein distance. ICML 2021.
Algorithm 2.

Claimed: domain adaptation is private if the projected features of private rows have noise. Wrong:
gradients flow through private features without noise, and a batch is divided by its own largest
norm. Here private rows are asked about once, or in batches that are all paid for before the first
(:mod:`~skdp_bary.papers.sliced_adaptation`).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from functools import partial
from typing import Literal, Self

import numpy as np
import torch
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, check_X_y
from torch import nn

from .._sklearn import VersionedPickle
from ..base import Facts, Integer, Number, Option
from ..estimators.base import SEEDED, fitted_alone
from ..estimators.facts import setting_of
from ..estimators.notices import KnowsSearches
from ..estimators.sliced import DPSlicedWasserstein
from ..exceptions import (
    Neighbors,
    PrivacyWarning,
    RandomState,
    RelationError,
    Rows,
    as_charged,
    check_integer,
)
from ..geometry import Ball
from ..parameters import (
    MOST_FEATURES,
    MOST_STEPS,
    Function,
    Integers,
    PlainParameters,
    check_parameters,
)
from ..privacy.entries import ROWS, check_text, note_of
from ..privacy.mechanisms import ADD_REMOVE, REPLACE_ONE, check_neighbors
from ..privacy.noise import noise_generator, public_generator
from ..privacy.plans import Plan
from ..privacy.spending import SharedBudget
from ..rows.origins import origin_of
from ..values import read_rows
from .sliced_adaptation import (
    AdaptationSetting,
    BatchMethod,
    Source,
    adapt_to_sketch,
    encoded_chunks,
)
from .sliced_noise import BatchDesk, batched_plan
from .sliced_training import Training, TrainingEvent, feature_network, head_network, seeded_network

_SKETCH, _BATCHES = "sketch", "batches"
_METHOD = BatchMethod()
_QUANTILE, _MARGIN = 0.95, 1.25  # of the norms of public features: the ball that all are clipped to
_PREDICTED_ROWS = 4096


class SlicedNetworkAdapter(
    KnowsSearches, PlainParameters, VersionedPickle, ClassifierMixin, BaseEstimator
):
    """A classifier trained on public labeled rows and adapted to private rows without labels.

    Algorithm 2 of Rakotomamonjy and Ralaivola, made private: features of private rows are computed
    one by one and clipped to a public ball, what leaves are noisy block means of their sorted
    projections, and gradients flow through the public rows only. Adapting may also do harm: compare
    with `source_network_`, and see :doc:`/howto/torch`.

    Parameters
    ----------
    method : {"sketch", "batches"}, default="sketch"
        - "sketch": features stay those of the source. Their slices on the private rows are released
          once; public features are moved there, and the classifier is trained on them, for any
          number of epochs.
        - "batches": features are trained. Every step releases the slices of a fresh random batch of
          the private rows, at the features of that step. All steps are paid for before the first.
          Only under "replace_one", with all rows in one array; needs the extra "accounting".

    image_shape : (height, width), default=None
        Shape of a row that is an image: two convolutions. None: fully connected layers.

    latent_sizes : tuple of int, default=(100, 50)
        Layers of the features of rows that are not images.

    network : callable, default=None
        Takes the number of columns and returns a torch.nn.Module with features as outputs, and
        their number.

    weight : float, default=1.0
        Of the distance between the features, next to the classification loss.

    n_source_epochs : int, default=10
        Epochs on the public rows alone.

    n_epochs : int, default=10
        Epochs of adaptation, over the public rows with "sketch"; of `steps_per_epoch` private
        batches with "batches".

    steps_per_epoch : int, default=30
        Private batches of an epoch with ``method="batches"``; every one is paid for.

    batch_size : int, default=128
        Rows of a batch, public and private.

    learning_rate : float, default=1e-3
        Of Adam.

    callback : callable, default=None
        Called with a TrainingEvent after every epoch; training stops where it returns True.

    n_projections : int, default=None
        Directions. None takes whole frames with "sketch", one frame a batch with "batches".

    n_quantiles : int, default=None
        Blocks of the sorted projections. None balances noise and width with "sketch", and is 8 with
        "batches".

    n_min : int, default=None
        Public lower bound of the number of private rows, as in DPSlicedWasserstein; with "sketch".

    epsilon : float, default=1.0
        Privacy loss of one fit for the private rows.

    delta : float, default=1e-6
        Failure probability of the guarantee, above zero.

    n_hint : int, default=None
        Public estimate of the number of private rows, with "sketch".

    neighbors : {"add_remove", "replace_one", "replace_any"}, default=None
        Neighboring relation. None takes the accountant's, by default "add_remove".

    accountant : BudgetAccountant, default=None
        Shared budget that the fit is charged to.

    random_state : int or RandomState, default=None
        None draws noise from the operating system. Anything else makes the fit reproducible, and
        the releases not private.

    Attributes
    ----------
    network_ : torch.nn.Module
        The adapted classifier: features and head.
    source_network_ : torch.nn.Module
        The classifier before adaptation, trained on public rows alone.
    radius_ : float
        Radius of the ball that features are clipped to, from public rows.
    noise_std_ : float
        Standard deviation of the noise on every released number.
    sketch_ : DPSlicedWasserstein or None
        The release of ``method="sketch"``.
    losses_ : list of float
        Mean loss of every epoch of adaptation.
    classes_ : ndarray of shape (n_classes,)
        Labels of the public rows.
    privacy_ : Plan
        Releases and charges of the fit.
    n_features_in_ : int
        Number of features of a row.

    Privacy
    -------
    Neighbors
        The relation in ``neighbors``, of private rows; "add_remove" unless stated. Public rows
        and labels are not protected.
    Mechanism
        RoundedGaussian.
    Sensitivity
        That of DPSlicedWasserstein with ``method="sketch"`` for rows in a ball of radius
        ``radius_``; for "batches" that of a batch.
    Budget
        With "sketch" one release costs (epsilon, delta). With "batches" all steps together do, each
        on a batch drawn without replacement; the charge is the composition of the amplified
        losses, before the first step, also where training ends early.
    Released
        network_, source_network_, radius_, noise_std_, sketch_, losses_, classes_, privacy_,
        n_features_in_. What leaves the rows with "batches" are the slices of every batch, which
        the network was trained on.
    Not covered
        predict, predict_source, predict_proba, score: functions of the networks and of the rows
        they are given, which they do not protect.

    References
    ----------
    A. Rakotomamonjy, L. Ralaivola. Differentially private sliced Wasserstein distance. ICML 2021.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp_bary.papers import SlicedNetworkAdapter
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(2, size=2000)
    >>> X = rng.normal(size=(2000, 2)) + np.where(y, 3.0, -3.0)[:, None]
    >>> adapter = SlicedNetworkAdapter(n_source_epochs=3, n_epochs=2, n_min=1500)
    >>> bool((adapter.fit(X, y, X + [0.5, 0.0]).predict(X) == y).mean() > 0.9)
    True
    """

    _parameter_rules = {
        "method": Option((_SKETCH, _BATCHES)),
        "image_shape": Integers(Integer(1, MOST_FEATURES), 2, 2) | None,
        "latent_sizes": Integers(Integer(1, MOST_FEATURES)),
        "network": Function() | None,
        "weight": Number(0.0, 1e6),
        "n_source_epochs": Integer(0, MOST_STEPS),
        "n_epochs": Integer(0, MOST_STEPS),
        "steps_per_epoch": Integer(1, MOST_STEPS),
        "batch_size": Integer(1, MOST_FEATURES),
        "learning_rate": Number(0.0, 1e6, open_low=True),
        "callback": Function() | None,
        "delta": Number(0.0, 1.0, open_low=True, open_high=True, note="The noise is Gaussian."),
    } | {
        name: DPSlicedWasserstein._parameter_rules[name]
        for name in (
            *("n_projections", "n_quantiles", "n_min", "epsilon", "n_hint", "neighbors"),
            *("accountant", "random_state"),
        )
    }

    def __init__(
        self,
        method: Literal["sketch", "batches"] = "sketch",
        *,
        image_shape: tuple[int, int] | None = None,
        latent_sizes: tuple = (100, 50),
        network: Callable[[int], tuple[nn.Module, int]] | None = None,
        weight: float = 1.0,
        n_source_epochs: int = 10,
        n_epochs: int = 10,
        steps_per_epoch: int = 30,
        batch_size: int = 128,
        learning_rate: float = 1e-3,
        callback: Callable[[TrainingEvent], object] | None = None,
        n_projections: int | None = None,
        n_quantiles: int | None = None,
        n_min: int | None = None,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        n_hint: int | None = None,
        neighbors: Neighbors | None = None,
        accountant: SharedBudget | None = None,
        random_state: RandomState | None = None,
    ) -> None:
        self.method = method
        self.image_shape = image_shape
        self.latent_sizes = latent_sizes
        self.network = network
        self.weight = weight
        self.n_source_epochs = n_source_epochs
        self.n_epochs = n_epochs
        self.steps_per_epoch = steps_per_epoch
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.callback = callback
        self.n_projections = n_projections
        self.n_quantiles = n_quantiles
        self.n_min = n_min
        self.epsilon = epsilon
        self.delta = delta
        self.n_hint = n_hint
        self.neighbors = neighbors
        self.accountant = accountant
        self.random_state = random_state

    def fit(
        self,
        X_source: ArrayLike,
        y_source: ArrayLike,
        X_target: Rows,
        *,
        unit: str | None = None,
        note: str = "",
    ) -> Self:
        """Train on public rows, release what is needed about private rows, and adapt.

        Parameters
        ----------
        X_source : array-like of shape (n_source_rows, n_features)
            Public rows.
        y_source : array-like of shape (n_source_rows,)
            Their labels.
        X_target : array-like of shape (n_target_rows, n_features), or function returning chunks
            Private rows; chunks with ``method="sketch"`` only.
        unit : str, default=None
            Name of a row; None: "rows".
        note : str, default=""
            Text for the ledger, such as "2026-03".

        Returns
        -------
        self : object
        """
        with fitted_alone(self):
            check_parameters(self)
            X, y = check_X_y(X_source, y_source, dtype=np.float32)
            classes, codes = np.unique(y, return_inverse=True)
            public = public_generator(self.random_state)
            source = self._train_source(X, codes, len(classes), int(public.integers(1 << 62)))
            setting = setting_of(AdaptationSetting, self, source=source, public=public)
            terms = {"unit": ROWS if unit is None else unit, "note": check_text(note, "note")}
            if self.method == _SKETCH:  # of all private rows, to which the source adapts
                sliced = self._sliced(source.ball)
                sliced.fit(encoded_chunks(source.network[0], X_target), **terms)
                adapted, plan = adapt_to_sketch(setting, sliced), sliced.privacy_
            else:
                sliced, (adapted, plan) = None, self._by_batches(setting, X_target, terms)
            self.privacy_, self.sketch_ = plan, sliced
            self.source_network_ = source.network
            self.radius_ = source.radius
            self.network_ = adapted.network
            self.noise_std_ = adapted.noise_std
            self.losses_ = adapted.losses
            self.classes_ = classes
            self.n_features_in_ = X.shape[1]
        return self

    def privacy_plan(self, n_features: int, n_persons: int | None = None) -> Plan:
        """Plan of a fit: its releases and its charge.

        Parameters
        ----------
        n_features : int
        n_persons : int, default=None
            Number of private rows, which "batches" needs.

        Returns
        -------
        plan : Plan
        """
        n_features = check_integer(n_features, "n_features", low=1)
        check_parameters(self)
        if self.method == _BATCHES:
            return self._batched_plan(n_persons)
        n_latent = self._features(n_features)[1]
        return self._sliced(Ball(np.zeros(n_latent), 1.0)).privacy_plan(n_latent)

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Return the labels that the adapted network gives to rows.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)

        Returns
        -------
        y : ndarray of shape (n_rows,)
        """
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def predict_source(self, X: ArrayLike) -> np.ndarray:
        """Return the labels that the network before adaptation gives to rows.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)

        Returns
        -------
        y : ndarray of shape (n_rows,)
        """
        check_is_fitted(self)
        return self.classes_[self._scores(self.source_network_, X).argmax(axis=1)]

    def predict_proba(self, X: ArrayLike) -> np.ndarray:
        """Return the probabilities that the adapted network gives to the classes.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)

        Returns
        -------
        probabilities : ndarray of shape (n_rows, n_classes)
        """
        check_is_fitted(self)
        return self._scores(self.network_, X)

    def _scores(self, network, X):
        X = torch.from_numpy(read_rows(self, X, reset=False).astype(np.float32))
        with torch.no_grad():
            scores = [network(rows).softmax(1) for rows in X.split(_PREDICTED_ROWS)]
        return torch.cat(scores).double().numpy()

    def _by_batches(self, setting, X, terms):
        """Adapt to the slices of batches, which are paid for before the first."""
        plan = self._batched_plan(len(X))
        noise = noise_generator(self.random_state)
        desk = BatchDesk(X, plan, noise, partial(self._charge, plan, noise.seeded, X, **terms))
        if noise.seeded:
            warnings.warn(SEEDED, PrivacyWarning, stacklevel=3)
        desk.pay()
        # facts for the conversation about batches of features
        facts = Facts(
            relation=plan.relation,
            n_features=setting.source.n_latent,
            classes=None,
            units=1,
            total_public=True,
            mass_public=True,
            domain=setting.source.ball,
            size=plan.batch_size,
            mechanisms={step.name: step.mechanism for step in plan.steps},
        )
        adapted = desk.answer(_METHOD.questions(setting, facts))
        return adapted, self._as_searched(plan)

    def _charge(self, plan, seeded, X, unit, note):
        if self.accountant is not None:
            terms = {"unit": unit, "note": note_of(seeded, note), "origin": partial(origin_of, X)}
            advice = self.accountant.unit_advice(unit)
            if advice:
                warnings.warn(advice, PrivacyWarning, stacklevel=5)
            self.accountant.charge(plan, type(self).__name__, **terms)

    def _sliced(self, ball):
        """Return the unfitted release of slices in a ball of features."""
        names = ("n_quantiles", "n_min", "epsilon", "delta", "n_hint", "neighbors", "accountant")
        shared = {name: getattr(self, name) for name in (*names, "random_state")}
        return DPSlicedWasserstein(self.n_projections, bounds=ball, **shared)

    def _batched_plan(self, n_persons):
        if n_persons is None:
            raise ValueError(
                "n_persons must be the public number of people, got None: batches cost less "
                "because of it. For example n_persons=1000."
            )
        relation = self.neighbors
        if relation is None:
            relation = ADD_REMOVE if self.accountant is None else self.accountant.neighbors
        if check_neighbors(relation) != REPLACE_ONE:
            raise RelationError(
                f"neighbors must be {REPLACE_ONE!r} for method='batches', whose batches have a "
                f"public size, drawn from a public number of rows, got {relation!r}."
            )
        return batched_plan(
            relation,
            *as_charged(self.epsilon, self.delta),
            _METHOD.shares(None),
            n_batches=max(1, self.n_epochs * self.steps_per_epoch),
            batch_size=self.batch_size,
            n_persons=n_persons,
        )

    def _features(self, n_features):
        """Return a new feature extractor and the number of its outputs."""
        if self.network is not None:
            return self.network(n_features)
        return feature_network(n_features, tuple(self.latent_sizes), self.image_shape)

    def _train_source(self, X, codes, n_classes, seed):
        """Return the public side, trained; the ball of the features follows from it alone."""

        def make():
            features, n_latent = self._features(X.shape[1])
            return nn.Sequential(features, head_network(n_latent, n_classes)), n_latent

        network, n_latent = seeded_network(make, seed)
        X, codes = torch.from_numpy(X), torch.from_numpy(codes)
        training = Training(network, self.learning_rate, seed)
        count = min(self.batch_size, len(X))

        def step(rng):
            rows = torch.randint(len(X), (count,), generator=rng)
            return nn.functional.cross_entropy(network(X[rows]), codes[rows])

        training.run(step, self.n_source_epochs, n_steps=math.ceil(len(X) / count))
        with torch.no_grad():
            latent = torch.cat([network[0](rows) for rows in X.split(_PREDICTED_ROWS)])
            radius = _MARGIN * float(latent.norm(dim=1).quantile(_QUANTILE))
        return Source(X, codes, network, n_latent, max(radius, 1e-6), seed + 1)
