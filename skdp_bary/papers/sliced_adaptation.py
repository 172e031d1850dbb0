"""Ways to adapt a network to private rows, and public networks in front of a release.

A. Rakotomamonjy, L. Ralaivola. Differentially private sliced Wasserstein distance. ICML 2021.
Algorithm 2.

Claimed: domain adaptation is private if the projected features of private rows have noise. Wrong:
gradients flow through private features without noise, and a batch is divided by its own largest
norm. Here features of private rows are computed one by one and clipped to a public ball, what
leaves are noisy block means of their slices, and gradients flow through public rows only.
"""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import nn

from ..estimators.sliced_methods import SlicedSketch
from ..geometry import Ball
from ..geometry.lattices import SliceLattice
from ..geometry.linear_maps import haar_frame, tight_frame
from ..queries.maps import RowMapped
from ..queries.slices import ProjectedQuantiles
from ..values import as_numbers, check_floats
from .sliced_training import (
    FirstChannels,
    ResidualMap,
    SlicedQuantileLoss,
    Training,
    channels_of,
    seeded_network,
)

_CHUNK_ROWS = 4096
_LARGEST = float(np.finfo(np.float32).max)
_BLOCKS = 8  # of a batch


class RowForward:
    """A frozen network as a function of one row, bit for bit.

    Batches may be added up in another order than single rows, batch normalization in training mode
    looks at all of them, and threads share the work differently. So the network runs in evaluation
    mode, on one row, by one thread: what a row becomes depends on that row alone, which is what a
    sensitivity counts on. A copy is taken, so later training steps do not change it. Numbers beyond
    float32 become its largest ones, and rows that the network has no finite answer for, or fails
    on, become zero: an error would be an answer about one row.
    Networks that give one public row two images, or change a buffer, are rejected: they draw at
    random (dropout in evaluation mode), or count rows.

    Parameters
    ----------
    network : torch.nn.Module
        Public: built without private rows, or from the release about them.
    """

    def __init__(self, network):
        self._network = copy.deepcopy(network).cpu().float().eval().requires_grad_(False)
        self._tried = None

    def __call__(self, row):
        """Return the image of an array of shape (1, n_features)."""
        row = np.asarray(row)
        if self._tried != row.shape:
            # the image of a public row, encoded twice; images and buffers must agree
            probe = np.random.default_rng(0).random(row.shape)
            before = [buffer.clone() for buffer in self._network.buffers()]
            first, second = self._image(probe), self._image(probe)
            same = first.shape == second.shape and first.tobytes() == second.tobytes()
            unchanged = all(map(torch.equal, before, self._network.buffers()))
            if not (same and unchanged):
                raise ValueError(
                    "network must be a function of one row in evaluation mode, but its output "
                    "for a row or its buffers changed. Use layers that neither draw nor count."
                )
            self._none = np.zeros_like(first)
            self._tried = row.shape
        try:
            image = self._image(row)
        except Exception:
            image = None
        return image if image is not None and image.shape == self._none.shape else self._none

    def _image(self, row):
        as_float32 = np.clip(row, -_LARGEST, _LARGEST).astype(np.float32)
        n_threads = torch.get_num_threads()
        torch.set_num_threads(1)  # how sums are divided among threads is seen in their last bits
        try:
            with torch.no_grad():
                image = self._network(torch.from_numpy(as_float32))
        finally:
            torch.set_num_threads(n_threads)
        return np.nan_to_num(image.flatten(1).double().numpy(), nan=0.0, posinf=0.0, neginf=0.0)


def encode_rows(network: nn.Module, X: ArrayLike) -> np.ndarray:
    """Return the images of rows under a public network, each computed from its row alone.

    Parameters
    ----------
    network : torch.nn.Module
        Must not have been trained on private rows.
    X : array-like of shape (n_rows, n_features)

    Returns
    -------
    features : ndarray of shape (n_rows, n_outputs)

    Examples
    --------
    >>> import torch
    >>> from skdp_bary.papers import encode_rows
    >>> encode_rows(torch.nn.ReLU(), [[1.0, -1.0]])
    array([[1., 0.]])
    """
    forward = RowForward(network)
    X = check_floats(X)
    return np.concatenate([forward(X[i : i + 1]) for i in range(len(X))])


def encoded_chunks(network, X):
    """Return a function that gives the images of rows chunk by chunk, for ``fit`` to read.

    Parameters
    ----------
    network : torch.nn.Module
        As in :func:`encode_rows`.
    X : array-like, or function that returns an iterator of chunks
    """

    def chunks():
        if callable(X):
            yield from (encode_rows(network, chunk) for chunk in X())
            return
        rows = as_numbers(X)
        for first in range(0, len(rows), _CHUNK_ROWS):
            yield encode_rows(network, rows[first : first + _CHUNK_ROWS])

    return chunks


def fixed_image_encoder(
    image_shape: tuple[int, ...], *, n_filters: int = 64, seed: int = 0
) -> nn.Sequential:
    """Return a convolutional encoder with fixed random weights, drawn from a public seed.

    Four convolutions of stride 2 with orthogonal weights, and rectifiers that leak: 64 x 64 images
    get ``16 * 8 * n_filters`` features, 8192 by default. It has seen no data. Where a network that
    was trained on public images is at hand, that one tells images apart better.

    Parameters
    ----------
    image_shape : (height, width) or (height, width, channels)
    n_filters : int, default=64
        Of the first convolution; doubled by every other one.
    seed : int, default=0
        Public; the same number gives the same encoder.

    Returns
    -------
    encoder : torch.nn.Sequential
        Of rows of pixels in [0, 1].

    Examples
    --------
    >>> import torch
    >>> from skdp_bary.papers import fixed_image_encoder
    >>> fixed_image_encoder((64, 64, 3))(torch.zeros(1, 64 * 64 * 3)).shape
    torch.Size([1, 8192])
    """
    draws = torch.Generator().manual_seed(seed)
    n_channels = channels_of(image_shape)
    layers = [FirstChannels(image_shape)]
    for number in range(4):
        convolution = nn.utils.skip_init(
            nn.Conv2d, n_channels, n_filters * 2**number, 4, 2, 1, bias=False
        )
        nn.init.orthogonal_(convolution.weight, math.sqrt(2.0), generator=draws)
        layers += [convolution, nn.LeakyReLU(0.2)]
        n_channels = n_filters * 2**number
    return nn.Sequential(*layers, nn.Flatten()).requires_grad_(False).eval()


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
    """Result of adaptation.

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
        """Return the loss of a step: of the classes, and of the distance to the release."""
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
    """One release per step, about a fresh random batch, at the features of that step."""

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
            # query on the features of the next batch, on directions drawn anew
            d = facts.n_features
            k = d if setting.n_projections is None else setting.n_projections
            directions = (tight_frame if k >= d else haar_frame)(d, k, setting.public)
            blocks = _BLOCKS if setting.n_quantiles is None else setting.n_quantiles
            query = ProjectedQuantiles(SliceLattice(facts.domain, directions), n_quantiles=blocks)
            released = yield "batch", RowMapped(RowForward(network[0]), query)
            size = float(facts.size)
            means = query.means(released.values[-1][0], size)
            noise_std = float(released.noise_sd[-1] * query.lattice.step / facts.size)
            sketch = SlicedSketch(means, noise_std, query, size)
            rows = setting.picked(rng)
            latent = network[0](source.X[rows])
            return setting.loss(network[1](latent), rows, SlicedQuantileLoss(sketch), latent)

        epochs, n_steps = setting.n_epochs, setting.steps_per_epoch
        with training.kept_when_interrupted(epochs):
            yield from training.asking(step, epochs, n_steps=n_steps, callback=setting.callback)
        return Adapted(network, training.losses, noise_std)
