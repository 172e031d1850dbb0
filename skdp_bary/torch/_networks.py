"""Networks of the paper on private sliced distances, and one for tables.

Generators take codes with the one-hot label behind them, and give rows with values in [0, 1].
Feature extractors and heads are those of the domain adaptation experiments. Images are rows in the
order (height, width, channel).

Reference: A. Rakotomamonjy, L. Ralaivola. Differentially private sliced Wasserstein distance. ICML
2021, Section 8.5 with Tables 3 and 5.
"""

import math

import torch
from torch import nn

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
        return _table_network(n_inputs, n_outputs)
    if channels_of(image_shape) == 1:
        return _digit_network(n_inputs, image_shape)
    return _photo_network(n_inputs, image_shape)


def _table_network(n_inputs, n_outputs):
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


def _photo_network(n_inputs, image_shape):
    """Table 5: transposed convolutions that double the side, from 4 x 4 to the image."""
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


def feature_network(n_features, latent_sizes, image_shape):
    """Return the feature extractor for a kind of rows, and the length of its features.

    Parameters
    ----------
    n_features : int
    latent_sizes : tuple of int
        Layers for rows that are no images: (100, 100) and (100, 50) are those of VisDA and Office.
    image_shape : tuple or None
        Images get two convolutions of 32 and 20 filters.
    """
    if image_shape is not None:
        return _digit_features(image_shape)
    layers = []
    for size in latent_sizes:
        layers += [nn.Linear(n_features, size), nn.ReLU()]
        n_features = size
    return nn.Sequential(*layers), n_features


def _digit_features(image_shape):
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
