"""Ways to adapt a network to private rows: what is asked about them, and how it is used."""

import copy
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from ..estimators import DPSlicedWasserstein
from ..estimators._sliced.sketch import SlicedSketch
from ..exceptions import RelationError
from ..geometry import Ball
from ..geometry._projections import haar_frame, tight_frame
from ..geometry._slices import SliceLattice
from ..privacy._neighbors import ADD_REMOVE, REPLACE_ONE, check_neighbors
from ..privacy.accounting.batched_plan import batched_plan
from ..privacy.ledger.entry import note_of
from ..privacy.noise.sampler import noise_generator
from ..summaries.asking.batches import BatchReleases
from ..summaries.asking.row_mapped import RowMapped
from ..summaries.slices.quantiles import ProjectedQuantiles
from ._encoding import RowForward, encoded_chunks
from ._losses import SlicedQuantileLoss
from ._networks import ResidualMap
from ._training import Training, seeded_network

_BLOCKS = 8  # of a batch


@dataclass(frozen=True, eq=False)
class Source:
    """The public side.

    Attributes
    ----------
    X : Tensor of shape (n_rows, n_features)
    codes : int Tensor of shape (n_rows,)
    network : torch.nn.Sequential
        Features and head, trained on public rows.
    n_latent : int
        Number of features.
    radius : float
        Of the ball that features are clipped to.
    seed : int
        Of the public randomness of adaptation.
    """

    X: torch.Tensor
    codes: torch.Tensor
    network: nn.Module
    n_latent: int
    radius: float
    seed: int

    def scaled(self, cost):
        """Return a mean squared distance of slices as one of features, in units of the ball."""
        return cost * (self.n_latent / self.radius**2)

    def clip(self, features):
        """Move features outside the ball to its border, as those of private rows are."""
        norms = features.norm(dim=1, keepdim=True).clamp(min=self.radius)
        return features * (self.radius / norms)


@dataclass(frozen=True, eq=False)
class Adapted:
    """What adaptation gives.

    Attributes
    ----------
    network : torch.nn.Module
    losses : list of float
    plan : Plan
    noise_std : float
        Standard deviation of the noise on every released number.
    sketch : DPSlicedWasserstein or None
        The one release, where there is only one.
    """

    network: nn.Module
    losses: list
    plan: object
    noise_std: float
    sketch: object = None


class Adaptation(ABC):
    """One way to adapt. It asks queries and never sees a private row."""

    @abstractmethod
    def plan(self, estimator, n_latent, n_persons):
        """Return the plan of a fit."""

    @abstractmethod
    def adapt(self, estimator, source, X_target, public):
        """Charge, release and train; return what came of it.

        Parameters
        ----------
        estimator : SlicedNetworkAdapter
        source : Source
        X_target : object
            Private rows, to be handed on.
        public : numpy.random.Generator
        """


class SketchAdaptation(Adaptation):
    """One release of the slices of the source's features of all private rows."""

    def plan(self, estimator, n_latent, n_persons):
        """Return the plan of the one release."""
        return _sliced(estimator, n_latent, 1.0).privacy_plan(n_latent)

    def adapt(self, estimator, source, X_target, public):
        """Move public features to the released slices and train the head on them."""
        features, head = source.network
        sliced = _sliced(estimator, source.n_latent, source.radius)
        sliced.fit(encoded_chunks(features, X_target))
        with torch.no_grad():
            latent = torch.cat([features(rows) for rows in source.X.split(4096)])
        move = seeded_network(lambda: ResidualMap(source.n_latent), source.seed)
        head = copy.deepcopy(head)
        training = Training(nn.ModuleList([move, head]), estimator.learning_rate, source.seed)
        distance = SlicedQuantileLoss(sliced)
        count = min(estimator.batch_size, len(latent))

        def step(rng):
            rows = torch.randint(len(latent), (count,), generator=rng)
            moved = move(latent[rows])
            loss = nn.functional.cross_entropy(head(moved), source.codes[rows])
            return loss + estimator.weight * source.scaled(distance(source.clip(moved)))

        training.run_after_release(
            step,
            estimator.n_epochs,
            n_steps=math.ceil(len(latent) / count),
            callback=estimator.callback,
        )
        network = nn.Sequential(copy.deepcopy(features), head).eval()
        noise_std = float(sliced.noise_std_[0])
        return Adapted(network, training.losses, sliced.privacy_, noise_std, sliced)


class BatchAdaptation(Adaptation):
    """One release a step, about a fresh random batch, at the features of that step."""

    def plan(self, estimator, n_latent, n_persons):
        """Return the plan of all steps together."""
        if n_persons is None:
            raise ValueError("n_persons is needed: sampling gains what it gains for that number.")
        relation = estimator.neighbors
        if relation is None:
            shared = estimator.accountant
            relation = ADD_REMOVE if shared is None else shared.neighbors
        if check_neighbors(relation) != REPLACE_ONE:
            raise RelationError(
                f"neighbors must be {REPLACE_ONE!r} for method='batches', whose batches have a "
                f"public size, drawn from a public number of rows, got {relation!r}."
            )
        return batched_plan(
            relation,
            estimator.epsilon,
            estimator.delta,
            n_batches=max(1, estimator.n_epochs * estimator.steps_per_epoch),
            batch_size=estimator.batch_size,
            n_persons=n_persons,
        )

    def adapt(self, estimator, source, X_target, public):
        """Train features and head on public rows, and the features on every batch's release.

        Directions need no secrecy: the noise is for the worst case of those that are drawn.
        """
        noise = noise_generator(estimator.random_state)
        plan = self.plan(estimator, source.n_latent, len(X_target))
        batches = BatchReleases(X_target, plan, noise)
        estimator._warn_if_seeded()
        if estimator.accountant is not None:
            note = note_of("rows", noise.seeded)
            who = type(estimator).__name__
            estimator.accountant.charge(plan, who, note=note, rows=X_target)
        network = copy.deepcopy(source.network)
        training = Training(network, estimator.learning_rate, source.seed)
        count = min(estimator.batch_size, len(source.X))
        noise_std = 0.0

        def step(rng):
            nonlocal noise_std
            sketch = _batch_sketch(estimator, source, network[0], batches, public)
            noise_std = sketch.noise_std
            rows = torch.randint(len(source.X), (count,), generator=rng)
            latent = network[0](source.X[rows])
            loss = nn.functional.cross_entropy(network[1](latent), source.codes[rows])
            distance = SlicedQuantileLoss(sketch)(source.clip(latent))
            return loss + estimator.weight * source.scaled(distance)

        training.run_after_release(
            step,
            estimator.n_epochs,
            n_steps=estimator.steps_per_epoch,
            callback=estimator.callback,
        )
        return Adapted(network, training.losses, plan, noise_std)


def _batch_sketch(estimator, source, features, batches, public):
    """Return the released slices of the next batch at the present features."""
    d = source.n_latent
    k = d if estimator.n_projections is None else estimator.n_projections
    directions = (tight_frame if k >= d else haar_frame)(d, k, public)
    lattice = SliceLattice(Ball(np.zeros(d), source.radius), directions)
    blocks = _BLOCKS if estimator.n_quantiles is None else estimator.n_quantiles
    query = ProjectedQuantiles(lattice, n_quantiles=blocks)
    released = batches.ask(RowMapped(RowForward(features), query))
    persons = float(estimator.batch_size)
    means = query.means(released.values[-1][0], persons)
    noise_std = released.noise_sd[-1] * lattice.step / persons
    return SlicedSketch(means, float(noise_std), query, persons)


def _sliced(estimator, n_latent, radius):
    """Return the unfitted release of slices in a ball of features."""
    return DPSlicedWasserstein(
        estimator.n_projections,
        n_quantiles=estimator.n_quantiles,
        n_min=estimator.n_min,
        epsilon=estimator.epsilon,
        delta=estimator.delta,
        bounds=Ball(np.zeros(n_latent), radius),
        n_hint=estimator.n_hint,
        neighbors=estimator.neighbors,
        accountant=estimator.accountant,
        random_state=estimator.random_state,
    )
