"""Networks of the paper, the loss on released slices, and epochs that can be watched and continued.

A. Rakotomamonjy, L. Ralaivola. Differentially private sliced Wasserstein distance. ICML 2021.
Section 8.5 with Tables 3 and 5.

Claimed: a network is trained privately on noisy sliced distances of batches, each step accounted
for. Wrong: the noise stays in the distance, and some steps are not counted. Here the loss is the
distance to quantiles that were released once, its bias subtracted, so every epoch is free.

Generators take codes with the one-hot label behind them, and give rows with values in [0, 1].
Feature extractors and heads are those of the domain adaptation experiments. Images are rows in the
order (height, width, channel).
"""

from __future__ import annotations

import math
import sys
import time
import warnings
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TextIO

import torch
from torch import nn

from ..estimators.sliced import DPSlicedWasserstein
from ..estimators.sliced_methods import SlicedSketch

_HIDDEN = 200
_HEAD = 100


class Reshape(nn.Module):
    """Gives every row a shape."""

    def __init__(self, shape):
        super().__init__()
        self.shape = tuple(shape)

    def forward(self, rows):
        """Return the rows with their shape."""
        return rows.reshape(len(rows), *self.shape)


class FlatImages(nn.Module):
    """Turns images with channels first into rows with channels last."""

    def forward(self, images):
        """Return the rows."""
        return images.permute(0, 2, 3, 1).flatten(1)


class FirstChannels(nn.Module):
    """Turns rows with channels last into images with channels first."""

    def __init__(self, image_shape):
        super().__init__()
        height, width = image_shape[:2]
        self.shape = (height, width, channels_of(image_shape))

    def forward(self, rows):
        """Return the images."""
        return rows.reshape(len(rows), *self.shape).permute(0, 3, 1, 2)


def channels_of(image_shape):
    """Return the number of channels of (height, width) or (height, width, channels)."""
    return image_shape[2] if len(image_shape) == 3 else 1


def generator_network(n_inputs, n_outputs, image_shape):
    """Return the generator for a kind of rows.

    Parameters
    ----------
    n_inputs : int
        Length of a code and its one-hot label.
    n_outputs : int
        Length of a row; not used for images.
    image_shape : tuple or None
        None is a table. Images of one channel get the network of Table 3, others that of Table 5.
    """
    if image_shape is None:
        return nn.Sequential(
            nn.Linear(n_inputs, _HIDDEN),
            nn.BatchNorm1d(_HIDDEN),
            nn.ReLU(),
            nn.Linear(_HIDDEN, _HIDDEN),
            nn.BatchNorm1d(_HIDDEN),
            nn.ReLU(),
            nn.Linear(_HIDDEN, n_outputs),
            nn.Sigmoid(),
        )
    if channels_of(image_shape) == 1:
        return _digit_network(n_inputs, image_shape)
    # table 5: transposed convolutions that double the side, from 4 x 4 to the image
    height, width = image_shape[:2]
    doublings = math.log2(height / 4)
    if height != width or doublings not in range(1, 7):
        raise ValueError(
            "image_shape must be a square with sides 8, 16, 32, 64, ... for images of several "
            f"channels, got {tuple(image_shape)}."
        )
    n_channels = 512
    layers = [Reshape((n_inputs, 1, 1)), nn.ConvTranspose2d(n_inputs, n_channels, 4, 1, bias=False)]
    for _ in range(int(doublings) - 1):
        layers += [nn.BatchNorm2d(n_channels), nn.ReLU()]
        layers.append(nn.ConvTranspose2d(n_channels, n_channels // 2, 4, 2, 1, bias=False))
        n_channels //= 2
    layers += [nn.BatchNorm2d(n_channels), nn.ReLU()]
    layers.append(nn.ConvTranspose2d(n_channels, channels_of(image_shape), 4, 2, 1))
    return nn.Sequential(*layers, nn.Sigmoid(), FlatImages())


def _digit_network(n_inputs, image_shape):
    """Table 3: about 170,000 weights for 28 x 28."""
    height, width = image_shape[:2]
    if height % 4 or width % 4:
        raise ValueError(
            "image_shape must have sides that are multiples of 4 for images of one channel, got "
            f"{tuple(image_shape)}."
        )
    first = (16, height // 4, width // 4)
    return nn.Sequential(
        nn.Linear(n_inputs, _HIDDEN),
        nn.BatchNorm1d(_HIDDEN),
        nn.ReLU(),
        nn.Linear(_HIDDEN, math.prod(first)),
        nn.BatchNorm1d(math.prod(first)),
        nn.ReLU(),
        Reshape(first),
        nn.UpsamplingBilinear2d(scale_factor=2),
        nn.Conv2d(16, 8, 5, padding=2),
        nn.ReLU(),
        nn.UpsamplingBilinear2d(scale_factor=2),
        nn.Conv2d(8, 1, 5, padding=2),
        nn.Sigmoid(),
        FlatImages(),
    )


def feature_network(n_features, latent_sizes, image_shape):
    """Return the feature extractor for a kind of rows, and the length of its features.

    Parameters
    ----------
    n_features : int
    latent_sizes : tuple of int
        Layers for rows that are not images: (100, 100) and (100, 50) are those of VisDA and Office.
    image_shape : tuple or None
        Images get two convolutions of 32 and 20 filters.
    """
    if image_shape is not None:
        network = nn.Sequential(
            FirstChannels(image_shape),
            nn.Conv2d(channels_of(image_shape), 32, 5),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(32, 20, 5),
            nn.Sigmoid(),
            nn.MaxPool2d(2),
            nn.Flatten(),
        )
        with torch.no_grad():
            n_latent = network(torch.zeros(1, math.prod(image_shape))).shape[1]
        return network, n_latent
    layers = []
    for size in latent_sizes:
        layers += [nn.Linear(n_features, size), nn.ReLU()]
        n_features = size
    return nn.Sequential(*layers), n_features


def head_network(n_latent, n_classes):
    """Return the classifier on features: two fully connected layers."""
    return nn.Sequential(nn.Linear(n_latent, _HEAD), nn.ReLU(), nn.Linear(_HEAD, n_classes))


class ResidualMap(nn.Module):
    """A map of features that starts as the identity."""

    def __init__(self, n_latent):
        super().__init__()
        self.move = nn.Sequential(nn.Linear(n_latent, _HEAD), nn.ReLU(), nn.Linear(_HEAD, n_latent))
        nn.init.zeros_(self.move[-1].weight)
        nn.init.zeros_(self.move[-1].bias)

    def forward(self, features):
        """Return the moved features."""
        return features + self.move(features)


class SlicedQuantileLoss(torch.nn.Module):
    """Squared sliced Wasserstein distance of points to a release, differentiable in the points.

    The private side is what was released: directions, noisy quantiles and the size of their noise,
    held as buffers. No row is reachable from it, so gradients, training steps and everything that
    is learned from them are post-processing of that one release, and cost no budget.

    Parameters
    ----------
    released : DPSlicedWasserstein or SlicedSketch
        A fitted estimator with ``method="sketch"``, or one of its sketches.

    Attributes
    ----------
    classes : list
        Labels of the distributions, in the order of their codes.
    directions : Tensor of shape (n_features, n_directions)
    quantiles : Tensor of shape (n_classes, n_directions, n_quantiles)
    noise_variance : Tensor of shape (n_classes,)

    Notes
    -----
    The loss is the mean over directions and blocks of the squared difference between the block
    means of the points and the released ones, less the variance of the noise. It estimates, up to
    the rounding of the private rows, what :meth:`DPSlicedWasserstein.cost` does, and like that it
    is below zero now and then. Points outside the domain are compared where they are: clipping them
    would take their gradient away.

    Examples
    --------
    >>> import numpy as np
    >>> import torch
    >>> from skdp_bary import DPSlicedWasserstein
    >>> from skdp_bary.papers import SlicedQuantileLoss
    >>> private = 0.1 * np.random.default_rng(0).normal(size=(20000, 2)) + 0.5
    >>> loss = SlicedQuantileLoss(DPSlicedWasserstein(bounds=(-1, 1), n_min=10000).fit(private))
    >>> points = torch.zeros(50, 2, requires_grad=True)
    >>> loss(points).backward()
    >>> bool((points.grad < 0).all())
    True
    """

    def __init__(self, released: DPSlicedWasserstein | SlicedSketch) -> None:
        super().__init__()
        if isinstance(released, SlicedSketch):
            sketches, self.classes = [released], [0]
        elif isinstance(released, DPSlicedWasserstein):
            self.classes = released._labels().tolist()
            sketches = [released.sketch(label) for label in self.classes]
        else:
            raise TypeError(
                "released must be a fitted DPSlicedWasserstein or one of its sketches, got "
                f"{released!r}."
            )
        dtype = torch.get_default_dtype()
        self.register_buffer("directions", torch.tensor(sketches[0].directions, dtype=dtype))
        quantiles = [torch.tensor(sketch.quantiles, dtype=dtype) for sketch in sketches]
        self.register_buffer("quantiles", torch.stack(quantiles))
        variances = torch.tensor([sketch.noise_std**2 for sketch in sketches], dtype=dtype)
        self.register_buffer("noise_variance", variances)

    def forward(
        self,
        points: torch.Tensor,
        labels: torch.Tensor | None = None,
        weights: torch.Tensor | None = None,
        directions: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Return the loss of a batch.

        Parameters
        ----------
        points : Tensor of shape (n_points, n_features)
            Output of a generator.
        labels : int Tensor of shape (n_points,), default=None
            Codes of their classes, needed where there are several; the mean over the classes that
            occur is returned.
        weights : Tensor of shape (n_points,), default=None
            Non-negative masses of the points; equal by default.
        directions : int Tensor, default=None
            The directions to compare on, all by default. A random part of them gives a faster
            estimate of the same loss.

        Returns
        -------
        loss : Tensor without dimensions
        """
        chosen = slice(None) if directions is None else directions
        projections = points @ self.directions[:, chosen]
        if len(self.classes) == 1:
            return self._cost(0, projections, weights, chosen)
        if labels is None:
            raise ValueError(
                f"labels are needed: the release has {len(self.classes)} distributions."
            )
        costs = []
        for code in torch.unique(labels).tolist():
            members = labels == code
            some = None if weights is None else weights[members]
            costs.append(self._cost(code, projections[members], some, chosen))
        return torch.stack(costs).mean()

    def _cost(self, code, projections, weights, chosen):
        means = block_means(projections, self.quantiles.shape[2], weights)
        residuals = means - self.quantiles[code, chosen]
        return (residuals**2).mean() - self.noise_variance[code]


def block_means(projections, n_blocks, weights=None):
    """Return the means of sorted projections over blocks of equal mass.

    The integral of a quantile function is linear between the masses that sorted points reach, so
    its values at multiples of ``1 / n_blocks`` follow by interpolation, points on the border of two
    blocks by their share. Sums of many small numbers are made in double precision.

    Parameters
    ----------
    projections : Tensor of shape (n_points, n_directions)
    n_blocks : int
    weights : Tensor of shape (n_points,), default=None

    Returns
    -------
    means : Tensor of shape (n_directions, n_blocks)
    """
    values, order = torch.sort(projections.T.contiguous(), dim=1)
    values = values.double()
    if weights is None:
        masses = values.new_full(values.shape, 1.0 / values.shape[1])
    else:
        masses = (weights.double() / weights.double().sum())[order]
    reached = torch.cumsum(masses, dim=1)
    integral = torch.cumsum(masses * values, dim=1)
    ends = torch.arange(1, n_blocks + 1, device=values.device, dtype=values.dtype) / n_blocks
    ends = ends.expand(len(values), -1).contiguous()
    place = torch.searchsorted(reached.detach(), ends).clamp(max=values.shape[1] - 1)
    beyond = torch.gather(reached, 1, place) - ends
    below = torch.gather(integral, 1, place) - beyond * torch.gather(values, 1, place)
    means = torch.diff(below, dim=1, prepend=torch.zeros_like(below[:, :1])) * n_blocks
    return means.to(projections.dtype)


@dataclass(frozen=True)
class TrainingEvent:
    """What a callback is told after every epoch: public numbers only.

    Attributes
    ----------
    epoch : int
        Epochs done so far, over all calls.
    n_epochs : int
        Epochs after which this call ends.
    loss : float
        Mean of the training loss over the epoch.
    seconds : float
        Time since this call began.
    """

    epoch: int
    n_epochs: int
    loss: float
    seconds: float


class ProgressLine:
    """A callback that writes one line and overwrites it.

    Parameters
    ----------
    stream : text stream, default=None
        Where to write; the standard error stream by default.

    Examples
    --------
    >>> import sys
    >>> from skdp_bary.papers import ProgressLine, TrainingEvent
    >>> ProgressLine(sys.stdout)(TrainingEvent(epoch=5, n_epochs=5, loss=0.25, seconds=1.0))
    epoch 5 of 5, loss 0.25, 1 s
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self.stream = stream

    def __call__(self, event):
        """Write the event."""
        stream = sys.stderr if self.stream is None else self.stream
        last = event.epoch == event.n_epochs
        stream.write(
            f"\repoch {event.epoch} of {event.n_epochs}, loss {event.loss:.4g}, "
            f"{event.seconds:.0f} s" + ("\n" if last else "")
        )
        stream.flush()


class Training:
    """A network, its optimizer, its public randomness, and the loss of every epoch so far.

    Parameters
    ----------
    network : torch.nn.Module
    learning_rate : float
    seed : int
        Of the randomness of all epochs.
    """

    def __init__(self, network, learning_rate, seed):
        self.network = network
        self.optimizer = torch.optim.Adam(network.parameters(), lr=learning_rate)
        self.rng_state = torch.Generator().manual_seed(seed).get_state()
        self.losses = []

    def run(self, step, n_epochs, **settings):
        """Train for more epochs on what is public by now.

        Parameters
        ----------
        step : callable
            Takes a torch.Generator and returns the loss of a new batch.
        n_epochs : int
            Epochs of this call.
        **settings
            See `asking`.
        """

        def conversation(rng):
            yield from ()  # a step that asks nothing
            return step(rng)

        for _ in self.asking(conversation, n_epochs, **settings):
            pass

    def asking(self, step, n_epochs, *, n_steps, callback=None, patience=None, after_epoch=None):
        """Train for more epochs with questions in between: a generator of what the steps ask.

        Parameters
        ----------
        step : callable
            Takes a torch.Generator and returns a conversation that ends in the loss of a new batch.
        n_epochs, n_steps : int
            Epochs of this call, and steps of each.
        callback : callable or None
            Called with a TrainingEvent after every epoch; training stops where it returns True.
        patience : int or None
            Training stops after so many epochs without a new lowest loss.
        after_epoch : callable or None
            Called, without arguments, after every epoch.
        """
        rng = torch.Generator()
        rng.set_state(self.rng_state)
        started, last = time.monotonic(), len(self.losses) + n_epochs
        self.network.train()
        try:
            while len(self.losses) < last:
                total = 0.0
                for _ in range(n_steps):
                    self.optimizer.zero_grad(set_to_none=True)
                    loss = yield from step(rng)
                    loss.backward()
                    self.optimizer.step()
                    total += float(loss.detach())
                self.losses.append(total / n_steps)
                self.rng_state = rng.get_state()
                if after_epoch is not None:
                    after_epoch()
                seconds = time.monotonic() - started
                event = TrainingEvent(len(self.losses), last, self.losses[-1], seconds)
                if callback is not None and callback(event) is True:
                    return
                best = min(range(len(self.losses)), key=self.losses.__getitem__)
                if patience is not None and len(self.losses) - 1 - best >= patience:
                    return
        finally:
            self.network.eval()

    @contextmanager
    def kept_when_interrupted(self, n_epochs):
        """Let an interrupt from the keyboard end the training inside, and nothing else.

        What it learns from has been paid for, and an interrupt must not lose it.

        Parameters
        ----------
        n_epochs : int
            That will be trained inside.
        """
        last = len(self.losses) + n_epochs
        try:
            yield
        except KeyboardInterrupt:
            warnings.warn(
                f"Training was interrupted after {len(self.losses)} of {last} epochs. What was "
                "released and the network as it is are kept.",
                RuntimeWarning,
                stacklevel=4,
            )

    def state(self):
        """Return everything that the next epoch depends on, of plain types and tensors."""
        return {
            "network": self.network.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "rng": self.rng_state,
            "losses": list(self.losses),
        }

    def restore(self, state):
        """Go back to a state."""
        self.network.load_state_dict(state["network"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.rng_state = state["rng"]
        self.losses = list(state["losses"])
        self.network.eval()


def seeded_network(make, seed):
    """Return a network whose first weights follow from a seed; torch's global state stays."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return make()
