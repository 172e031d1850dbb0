"""SlicedNetworkGenerator: a generator network trained on one private release of slices.

A. Rakotomamonjy, L. Ralaivola. Differentially private sliced Wasserstein distance. ICML 2021.
Algorithm 1.

Claimed: a generator trained on noisy sliced distances of batches is private at the epsilon of its
steps. Wrong: a bound of the sensitivity that may fail in every step is paid for once. Here the
slices are released once, and training is post-processing of any length. Files hold plain types and
tensors, and are read without running any code.
"""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Self

import numpy as np
import torch
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from .._sklearn import warn_of_other_version
from .._version import __version__
from ..base import Integer, Number
from ..estimators.base import fitted_alone
from ..estimators.sliced import DPSlicedWasserstein
from ..estimators.sliced_methods import SlicedSketch
from ..exceptions import Neighbors, PrivacyWarning, RandomState, Rows, check_integer
from ..geometry import Ball, Box
from ..geometry.bounds import Bounds
from ..geometry.lattices import SliceLattice, public_directions
from ..parameters import (
    MOST_FEATURES,
    MOST_STEPS,
    File,
    Function,
    Integers,
    Rule,
    Weights,
    check_parameters,
)
from ..privacy.mechanisms import RoundedGaussian
from ..privacy.noise import public_generator
from ..privacy.plans import Plan, Step
from ..privacy.spending import SharedBudget
from ..queries.slices import ProjectedQuantiles
from .sliced_training import (
    SlicedQuantileLoss,
    Training,
    TrainingEvent,
    generator_network,
    seeded_network,
)

_FORMAT = 1
_NOT_SAVED = ("network", "encoder", "callback", "checkpoint", "accountant", "bounds", "directions")
_SAMPLE_ROWS = 1024  # that go through the network at once


def write_state(path, state):
    """Write a state so that a crash leaves the file before or the file after, and no half."""
    path = Path(path)
    part = path.with_name(path.name + ".part")
    torch.save({"format": _FORMAT, "version": __version__} | state, part)
    os.replace(part, path)


def generator_state(generator):
    """Return the release, the parameters that are no code, and the state of training."""
    params = generator.get_params(deep=False)
    for name in ("classes", "class_prior", "n_min"):
        if params[name] is not None:
            params[name] = np.asarray(params[name]).tolist()
    params = {
        name: value.item() if isinstance(value, np.generic) else value
        for name, value in params.items()
        if name not in _NOT_SAVED
    }
    plan = generator.privacy_
    plan_state = {  # a plan of Gaussian steps as plain types
        "relation": plan.relation,
        "epsilon": float(plan.epsilon),
        "delta": float(plan.delta),
        "steps": [(step.name, step.mechanism.mu) for step in plan.steps],
        "one_of_several": plan.one_of_several,
    }
    return {
        "params": params | {"random_state": None},
        "release": _sketches_state(generator.releases_, generator.directions),
        "classes": generator.classes_.tolist(),
        "plan": plan_state,
        "seeded": generator._seeded,
        "training": generator._training.state(),
    }


def _sketches_state(sketches, directions):
    """Return the releases of all classes as plain types and tensors.

    Directions that have a name follow from it and two numbers; others are kept.
    """
    query = sketches[0].query
    domain = query.lattice.domain
    if isinstance(domain, Box):
        shape = {"kind": "box", "low": _tensor(domain.low), "high": _tensor(domain.high)}
    elif isinstance(domain, Ball):
        shape = {"kind": "ball", "center": _tensor(domain.center), "radius": float(domain.radius)}
    else:
        told = f"bounds must be a Box or a Ball for a state to be written, got {domain!r}."
        raise ValueError(told)
    return {
        "domain": shape,
        "directions": directions if isinstance(directions, str) else _tensor(directions),
        "n_directions": query.lattice.n_directions,
        "n_min": None if query.n_min is None else list(query.n_min),
        "units": query.units,
        "quantiles": torch.stack([_tensor(sketch.quantiles) for sketch in sketches]),
        "noise_std": [sketch.noise_std for sketch in sketches],
        "persons": [sketch.persons for sketch in sketches],
    }


def _restore_sketches(state):
    """Return the releases of a state."""
    shape, directions = state["domain"], state["directions"]
    if shape["kind"] == "box":
        domain = Box(shape["low"].numpy(), shape["high"].numpy())
    else:
        domain = Ball(shape["center"].numpy(), shape["radius"])
    if not isinstance(directions, str):
        directions = directions.numpy()
    directions = public_directions(directions, state["n_directions"], domain.n_features)
    quantiles = state["quantiles"].numpy()
    query = ProjectedQuantiles(
        SliceLattice(domain, directions),
        None if state["n_min"] is None else tuple(state["n_min"]),
        len(quantiles),
        state["units"],
        quantiles.shape[2],
    )
    numbers = zip(quantiles, state["noise_std"], state["persons"], strict=True)
    return [SlicedSketch(block, noise_std, query, persons) for block, noise_std, persons in numbers]


def _tensor(array):
    return torch.from_numpy(np.array(array, dtype=np.float64))


@dataclass(frozen=True)
class Device(Rule):
    """Device that networks are trained on."""

    def __str__(self):
        return "the name of a device that torch has here"

    def _admits(self, value):
        try:
            torch.empty(0, device=value)
        except (AssertionError, RuntimeError, TypeError):
            return False
        return self._knows(value)

    def _knows(self, value):
        return isinstance(value, (str, torch.device))


class SlicedNetworkGenerator(DPSlicedWasserstein):
    """Synthetic rows from a network that is trained on private slices, released once.

    The release is that of :class:`~skdp_bary.DPSlicedWasserstein`: noisy quantiles of projections,
    of every class. The network is trained on its distance to them, for as long as one likes: the
    budget pays for the release and for nothing else. It is the generator of Rakotomamonjy and
    Ralaivola, with a guarantee that holds, for comparisons and for rows whose slices are what
    matters; see :doc:`/howto/torch` for how it compares.

    Parameters
    ----------
    n_epochs : int, default=100
        Epochs of ``steps_per_epoch`` steps. No epoch reads a row.

    image_shape : (height, width) or (height, width, channels), default=None
        Shape of a row that is an image with values in its bounds, channels last. None is a table.

    network : callable, default=None
        Takes the lengths of an input, a code with the one-hot label behind it, and of an output,
        and returns a torch.nn.Module with outputs in [0, 1]. None takes the convolutions of the
        paper for images, and three fully connected layers for tables.

    encoder : torch.nn.Module, default=None
        Public map from outputs to the features that ``fit`` is given, where these are not the rows
        themselves: what the network makes is encoded and then compared. Private rows must have been
        encoded one by one, see :func:`~skdp_bary.papers.encode_rows`.

    code_size : int, default=10
        Length of the Gaussian code.

    batch_size : int, default=100
        Rows made of every class in a step.

    steps_per_epoch : int, default=100

    directions_per_step : int, default=None
        Random directions that a step compares on; all by default.

    learning_rate : float, default=1e-3
        Of Adam.

    patience : int, default=None
        Stops training after so many epochs without a new lowest loss. The loss is computed from the
        release and the network alone.

    callback : callable, default=None
        Called with a TrainingEvent after every epoch; training stops where it returns True.
        :class:`~skdp_bary.papers.ProgressLine` shows the progress.

    checkpoint : str or path-like, default=None
        File that the state is written to after the release and after every epoch. ``fit`` refuses
        a file that is already there: :meth:`load` goes on from it without a second release.

    device : str, default="cpu"
        Device that the network is trained on.

    class_prior : array-like of shape (n_classes,), default=None
        Public frequencies by which `sample` draws classes. None takes the numbers of people that
        the release was made for: public or estimated sizes, or ``n_min``.

    n_projections, n_quantiles, directions, n_min, epsilon, delta, bounds, n_hint, neighbors, \
accountant
        As in :class:`~skdp_bary.DPSlicedWasserstein`.

    classes : array-like, default=None
        Public labels; one network makes rows of all of them. None: rows have no labels.

    random_state : int or RandomState, default=None
        None draws noise from the operating system. Anything else makes the noise and the training
        reproducible, for tests and simulations; the release is then not private.

    Attributes
    ----------
    network_ : torch.nn.Module
        The trained network.
    losses_ : list of float
        Mean loss of every epoch.
    directions_ : ndarray of shape (n_features, n_directions)
        Directions of the slices.
    quantiles_ : ndarray of shape (n_classes, n_directions, n_quantiles)
        Releases of the fit.
    noise_std_ : ndarray of shape (n_classes,)
        Standard deviation of the noise on each released number.
    releases_ : list
        The release of each class.
    classes_ : ndarray of shape (n_classes,)
        Public labels.
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
        RoundedGaussian.
    Sensitivity
        That of DPSlicedWasserstein with ``method="sketch"``. Training is post-processing.
    Budget
        All classes together, and what finds bounds and sizes, cost (epsilon, delta), once. Epochs,
        samples, saved states and continued training cost nothing.
    Released
        network_, losses_, directions_, quantiles_, noise_std_, releases_, classes_, domain_,
        privacy_, n_features_in_, feature_names_in_
    Not covered
        transform, fit_transform, score, cost, distance, gradient: functions of the release and of
        the rows they are given, which they do not protect.

    References
    ----------
    A. Rakotomamonjy, L. Ralaivola. Differentially private sliced Wasserstein distance. ICML 2021.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp_bary.papers import SlicedNetworkGenerator
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(2, size=20000)
    >>> X = 0.05 * rng.normal(size=(20000, 2)) + np.where(y, 0.5, -0.5)[:, None]
    >>> generator = SlicedNetworkGenerator(5, classes=[0, 1], bounds=(-1, 1), n_min=8000).fit(X, y)
    >>> generator.sample(3, y=1)[0].shape
    (3, 2)
    """

    method, p, reference = "sketch", 2, None  # what a network is trained on

    _parameter_rules = DPSlicedWasserstein._parameter_rules | {
        "n_epochs": Integer(0, MOST_STEPS),
        "image_shape": Integers(Integer(1, MOST_FEATURES), 2, 3) | None,
        "network": Function() | None,
        "encoder": Function() | None,
        "code_size": Integer(1, MOST_FEATURES),
        "batch_size": Integer(1, MOST_FEATURES),
        "steps_per_epoch": Integer(1, MOST_STEPS),
        "directions_per_step": Integer(1, MOST_FEATURES) | None,
        "learning_rate": Number(0.0, 1e6, open_low=True),
        "patience": Integer(1, MOST_STEPS) | None,
        "callback": Function() | None,
        "checkpoint": File() | None,
        "device": Device(),
        "class_prior": Weights(least=0.0) | None,
    }

    def __init__(
        self,
        n_epochs: int = 100,
        *,
        image_shape: tuple[int, ...] | None = None,
        network: Callable[[int, int], torch.nn.Module] | None = None,
        encoder: torch.nn.Module | None = None,
        code_size: int = 10,
        batch_size: int = 100,
        steps_per_epoch: int = 100,
        directions_per_step: int | None = None,
        learning_rate: float = 1e-3,
        patience: int | None = None,
        callback: Callable[[TrainingEvent], object] | None = None,
        checkpoint: str | os.PathLike | None = None,
        device: str = "cpu",
        n_projections: int | None = None,
        n_quantiles: int | None = None,
        directions: str = "tight",
        classes: ArrayLike | None = None,
        class_prior: ArrayLike | None = None,
        n_min: int | ArrayLike | None = None,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        bounds: Bounds | None = None,
        n_hint: int | None = None,
        neighbors: Neighbors | None = None,
        accountant: SharedBudget | None = None,
        random_state: RandomState | None = None,
    ) -> None:
        self.n_epochs = n_epochs
        self.image_shape = image_shape
        self.network = network
        self.encoder = encoder
        self.code_size = code_size
        self.batch_size = batch_size
        self.steps_per_epoch = steps_per_epoch
        self.directions_per_step = directions_per_step
        self.learning_rate = learning_rate
        self.patience = patience
        self.callback = callback
        self.checkpoint = checkpoint
        self.device = device
        self.n_projections = n_projections
        self.n_quantiles = n_quantiles
        self.directions = directions
        self.classes = classes
        self.class_prior = class_prior
        self.n_min = n_min
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.n_hint = n_hint
        self.neighbors = neighbors
        self.accountant = accountant
        self.random_state = random_state

    def fit(
        self,
        X: Rows,
        y: Rows | None = None,
        *,
        groups: Rows | None = None,
        sample_weight: Rows | None = None,
        unit: str | None = None,
        note: str = "",
    ) -> Self:
        """Release the slices of the rows, once, and train the network on the release.

        Parameters
        ----------
        X : array-like, dataframe, Dask collection or chunks, of shape (n_rows, n_features)
            Private rows.
        y : array-like of shape (n_rows,), optional
            Labels among ``classes``; ignored without them.
        groups : array-like of shape (n_rows,), optional
            Person IDs: the rows of one person count as one person together.
        sample_weight : array-like of shape (n_rows,), optional
            Weights in [0, 1]; larger ones count as 1.
        unit : str, default=None
            Privacy unit; None: the name of `groups`, or "rows" without groups.
        note : str, default=""
            Text for the ledger, such as "2026-03".

        Returns
        -------
        self : object
            The fitted estimator.
        """
        with fitted_alone(self):
            check_parameters(self)
            if self.checkpoint is not None and Path(self.checkpoint).exists():
                raise ValueError(
                    f"checkpoint {str(self.checkpoint)!r} must be a new file, got one with a "
                    "charged release. SlicedNetworkGenerator.load continues it; pass another "
                    "name for a new release."
                )
            whose = {"groups": groups, "sample_weight": sample_weight, "unit": unit}
            super().fit(X, y, **whose, note=note)
            self._begin(int(public_generator(self.random_state).integers(1 << 62)))
            self._write_checkpoint()
            return self.continue_training(self.n_epochs)

    def continue_training(self, n_epochs: int) -> Self:
        """Train for more epochs on the release that is there. No row is read, nothing is charged.

        Parameters that ``set_params`` has changed, such as `learning_rate`, hold from now on.

        Parameters
        ----------
        n_epochs : int

        Returns
        -------
        self : object
        """
        check_is_fitted(self)
        n_epochs = check_integer(n_epochs, "n_epochs", low=0)
        for group in self._training.optimizer.param_groups:
            group["lr"] = self.learning_rate
        step = self._step_of(SlicedQuantileLoss(self).to(self.device))
        with self._training.kept_when_interrupted(n_epochs):
            self._training.run(
                step,
                n_epochs,
                n_steps=self.steps_per_epoch,
                callback=self.callback,
                patience=self.patience,
                after_epoch=self._write_checkpoint,
            )
        return self

    def sample(
        self, n_samples: int = 1, y: object = None, *, random_state: RandomState | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return rows made by the network, and their labels.

        Parameters
        ----------
        n_samples : int, default=1
        y : object, default=None
            The class of all rows. None draws the class of each by ``class_prior``.
        random_state : int or RandomState, default=None
            Randomness of labels and codes, which is public.

        Returns
        -------
        X : ndarray of shape (n_samples, n_outputs)
            Within the domain; with an encoder, what comes before it, with values in [0, 1].
        y : ndarray of shape (n_samples,)
        """
        n_samples = check_integer(n_samples, "n_samples", low=1)
        rng = public_generator(random_state)
        if y is not None or len(self._labels()) == 1:
            release = self._release(y)
            code = next(i for i, known in enumerate(self.releases_) if known is release)
            codes = np.full(n_samples, code)
        else:
            prior = self.class_prior
            if prior is None:
                prior = [release.persons for release in self.releases_]
            shares = np.divide(prior, np.sum(prior))
            codes = rng.choice(len(self.classes_), size=n_samples, p=shares)
        draws = torch.Generator().manual_seed(int(rng.integers(1 << 62)))
        made = []
        with torch.no_grad():
            for some in torch.from_numpy(codes).split(_SAMPLE_ROWS):
                made.append(self._outputs(some, draws).cpu().double().numpy())
        rows = np.concatenate(made)
        rows = rows if self.encoder is not None else self.domain_.clip(rows)
        return rows, self.classes_[codes]

    def save(self, path: str | os.PathLike) -> None:
        """Write the release and the state of training to a file.

        Parameters
        ----------
        path : str or path-like
            The file holds plain types and tensors. It is as private as the release: it may be
            published.
        """
        check_is_fitted(self)
        write_state(path, generator_state(self))

    @classmethod
    def load(
        cls,
        path: str | os.PathLike,
        *,
        network: Callable[[int, int], torch.nn.Module] | None = None,
        encoder: torch.nn.Module | None = None,
        callback: Callable[[TrainingEvent], object] | None = None,
    ) -> Self:
        """Return the generator of a file that was written by `save` or as a checkpoint.

        It makes rows and goes on training as the saved one would have, on the saved release. Its
        budget is spent: fitting it to rows again would be a new release.

        Parameters
        ----------
        path : str or path-like
        network, encoder, callback : object
            As they were given to the saved generator: files hold no code.

        Returns
        -------
        generator : SlicedNetworkGenerator
        """
        # a state, or raise ValueError where a file holds something else
        state = torch.load(path, map_location="cpu", weights_only=True)
        if not isinstance(state, dict) or state.get("format") != _FORMAT:
            raise ValueError(f"path must be a file that was written by save, got {str(path)!r}.")
        warn_of_other_version("This file", state.get("version", "0.1"))
        generator = cls(**state["params"], network=network, encoder=encoder, callback=callback)
        # set what a fit that made the release of a state would have set
        sketches = _restore_sketches(state["release"])
        directions = state["release"]["directions"]
        generator.directions = directions if isinstance(directions, str) else directions.numpy()
        generator.bounds = generator.domain_ = sketches[0].query.lattice.domain
        generator.releases_ = sketches
        generator.directions_ = sketches[0].directions
        generator.quantiles_ = np.array([sketch.quantiles for sketch in sketches])
        generator.noise_std_ = np.array([sketch.noise_std for sketch in sketches])
        generator.classes_ = np.array(state["classes"])
        plan = state["plan"]
        generator.privacy_ = Plan(
            plan["relation"],
            plan["epsilon"],
            plan["delta"],
            tuple(Step(name, RoundedGaussian(mu)) for name, mu in plan["steps"]),
            one_of_several=plan.get("one_of_several", False),  # earlier versions did not keep it
        )
        generator.n_features_in_ = generator.domain_.n_features
        generator._seeded = state["seeded"]
        if generator._seeded:
            warnings.warn(
                "The release of this file was seeded: it is not private.",
                PrivacyWarning,
                stacklevel=2,
            )
        generator._begin(0)
        generator._training.restore(state["training"])
        generator.losses_ = generator._training.losses
        return generator

    def _shares(self, n_features):
        if self.class_prior is not None:
            n_classes = 1 if self.classes is None else len(self.classes)
            if len(self.class_prior) != n_classes or not np.sum(self.class_prior) > 0:
                raise ValueError(
                    f"class_prior must be {n_classes} non-negative numbers, not all zero, got "
                    f"{self.class_prior!r}. For example {[1] * n_classes}."
                )
        free = self.encoder is not None or self.image_shape is None
        shape = (n_features,) if free else self.image_shape
        if math.prod(shape) != n_features:
            raise ValueError(
                f"image_shape must have {n_features} values, as many as a row, got {tuple(shape)}."
            )
        return super()._shares(n_features)

    def _begin(self, seed):
        """Make the network and its training, from public facts and a seed."""
        n_inputs = self.code_size + len(self.classes_)
        shape = self.image_shape
        n_outputs = self.n_features_in_ if shape is None else math.prod(shape)
        make = self.network
        if make is None:
            make = partial(generator_network, image_shape=shape)
        network = seeded_network(partial(make, n_inputs, n_outputs), seed)
        self._training = Training(network.to(self.device), self.learning_rate, seed)
        self.network_ = network.eval()
        self.losses_ = self._training.losses

    def _step_of(self, loss):
        """Return a function that makes a batch and returns its loss."""
        n_classes, n_directions = len(self.classes_), loss.directions.shape[1]
        labels = torch.arange(n_classes).repeat_interleave(self.batch_size)
        encoder = None if self.encoder is None else self.encoder.to(self.device)
        fewer = self.directions_per_step

        def step(rng):
            rows = self._outputs(labels, rng)
            if encoder is not None:
                rows = encoder(rows)
            some = None
            if fewer is not None and fewer < n_directions:
                some = torch.randperm(n_directions, generator=rng)[:fewer].to(self.device)
            return loss(rows, labels.to(self.device), directions=some)

        return step

    def _outputs(self, labels, rng):
        """Return rows of the given codes of classes, before any encoder."""
        codes = torch.randn(len(labels), self.code_size, generator=rng)
        hot = torch.nn.functional.one_hot(labels, len(self.classes_))
        outputs = self.network_(torch.cat([codes, hot.to(codes.dtype)], 1).to(self.device))
        if self.encoder is not None:
            return outputs
        low, high = (
            torch.tensor(side, dtype=outputs.dtype, device=outputs.device)
            for side in (self.domain_.low, self.domain_.high)
        )
        return low + outputs * (high - low)

    def _write_checkpoint(self):
        if self.checkpoint is not None:
            write_state(self.checkpoint, generator_state(self))
