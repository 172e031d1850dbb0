"""Ways to adapt a network to private rows: what is asked about them, and how it is used."""

import copy
import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from ..estimators._sliced.sketch import SlicedSketch
from ..geometry import Ball
from ..geometry._projections import haar_frame, tight_frame
from ..geometry._slices import SliceLattice
from ..summaries.asking.row_mapped import RowMapped
from ..summaries.slices.quantiles import ProjectedQuantiles
from ._encoding import RowForward
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

    @property
    def ball(self):
        """Public domain of the features."""
        return Ball(np.zeros(self.n_latent), self.radius)

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
    noise_std : float
        Standard deviation of the noise on every released number.
    """

    network: nn.Module
    losses: list
    noise_std: float


@dataclass(frozen=True, eq=False)
class AdaptationSetting:
    """Public facts that adaptation may use.

    Attributes
    ----------
    source : Source
    weight, learning_rate : float
    n_epochs, steps_per_epoch, batch_size : int
    callback : callable or None
    n_projections, n_quantiles : int or None
    public : numpy.random.Generator
        From which the directions of every batch are drawn.
    """

    source: Source
    weight: float
    learning_rate: float
    n_epochs: int
    steps_per_epoch: int
    batch_size: int
    callback: object
    n_projections: int | None
    n_quantiles: int | None
    public: object

    def training(self, network):
        """Return the training of a network, by the public randomness of adaptation."""
        return Training(network, self.learning_rate, self.source.seed)

    def picked(self, rng):
        """Return the numbers of the public rows of a step."""
        n_rows = len(self.source.X)
        return torch.randint(n_rows, (min(self.batch_size, n_rows),), generator=rng)

    def loss(self, scores, rows, distance, latent):
        """Return the loss of a step: of the classes, and of the distance to what was released."""
        loss = nn.functional.cross_entropy(scores, self.source.codes[rows])
        return loss + self.weight * self.source.scaled(distance(self.source.clip(latent)))


def adapt_to_sketch(setting, sliced):
    """Move public features to the released slices and train the head on them.

    Post-processing of one release, whose questions are those of DPSlicedWasserstein.
    """
    source = setting.source
    features, head = source.network
    with torch.no_grad():
        latent = torch.cat([features(rows) for rows in source.X.split(4096)])
    move = seeded_network(lambda: ResidualMap(source.n_latent), source.seed)
    head = copy.deepcopy(head)
    training = setting.training(nn.ModuleList([move, head]))
    distance = SlicedQuantileLoss(sliced)

    def step(rng):
        rows = setting.picked(rng)
        moved = move(latent[rows])
        return setting.loss(head(moved), rows, distance, moved)

    n_steps = math.ceil(len(latent) / min(setting.batch_size, len(latent)))
    with training.kept_when_interrupted(setting.n_epochs):
        training.run(step, setting.n_epochs, n_steps=n_steps, callback=setting.callback)
    network = nn.Sequential(copy.deepcopy(features), head).eval()
    return Adapted(network, training.losses, float(sliced.noise_std_[0]))


class BatchMethod:
    """One release a step, about a fresh random batch, at the features of that step."""

    def shares(self, setting):
        """Return the one step, which is asked about every batch."""
        return {"batch": 1.0}

    def questions(self, setting, facts):
        """Train features and head on public rows, and the features on every batch's release.

        Directions need no secrecy: the noise is for the worst case of those that are drawn.
        """
        source = setting.source
        network = copy.deepcopy(source.network)
        training = setting.training(network)
        noise_std = 0.0

        def step(rng):
            nonlocal noise_std
            query = _batch_query(setting, facts)
            released = yield "batch", RowMapped(RowForward(network[0]), query)
            sketch = _batch_sketch(query, released, facts)
            noise_std = sketch.noise_std
            rows = setting.picked(rng)
            latent = network[0](source.X[rows])
            return setting.loss(network[1](latent), rows, SlicedQuantileLoss(sketch), latent)

        epochs, n_steps = setting.n_epochs, setting.steps_per_epoch
        with training.kept_when_interrupted(epochs):
            yield from training.asking(step, epochs, n_steps=n_steps, callback=setting.callback)
        return Adapted(network, training.losses, noise_std)


def _batch_query(setting, facts):
    """Return what is asked about the features of the next batch, on directions drawn anew."""
    d = facts.n_features
    k = d if setting.n_projections is None else setting.n_projections
    directions = (tight_frame if k >= d else haar_frame)(d, k, setting.public)
    blocks = _BLOCKS if setting.n_quantiles is None else setting.n_quantiles
    return ProjectedQuantiles(SliceLattice(facts.domain, directions), n_quantiles=blocks)


def _batch_sketch(query, released, facts):
    means = query.means(released.values[-1][0], float(facts.size))
    noise_std = released.noise_sd[-1] * query.lattice.step / facts.size
    return SlicedSketch(means, float(noise_std), query, float(facts.size))
