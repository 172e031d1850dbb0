"""Public networks in front of a release, applied to one row at a time."""

from __future__ import annotations

import copy
import math
from contextlib import contextmanager

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import nn

from .._values import as_numbers
from ..summaries.rows.persons import check_floats
from ._networks import FirstChannels, channels_of

_CHUNK_ROWS = 4096
_LARGEST = float(np.finfo(np.float32).max)


class RowForward:
    """A frozen network as a function of one row, bit for bit.

    Batches may be added up in another order than single rows, batch normalization in training mode
    looks at all of them, and threads share the work differently. So the network runs in evaluation
    mode, on one row, by one thread: what a row becomes depends on that row alone, which is what a
    sensitivity counts on. A copy is taken, so later training steps do not change it. Numbers beyond
    float32 become its largest ones, and rows that the network has no finite answer for, or fails
    on, become zero: an error would be an answer about one row.
    Networks that give one public row two images, or change a buffer, are refused: they draw at
    random (dropout in evaluation mode), or count rows.

    Parameters
    ----------
    network : torch.nn.Module
        Public: built without private rows, or from what was released about them.
    """

    def __init__(self, network):
        self._network = _frozen_copy(network)
        self._tried = None

    def __call__(self, row):
        """Return the image of an array of shape (1, n_features)."""
        row = np.asarray(row)
        if self._tried != row.shape:
            self._none = np.zeros_like(self._require_same_image_twice(row.shape))
            self._tried = row.shape
        try:
            image = self._image(row)
        except Exception:
            image = None
        return image if image is not None and image.shape == self._none.shape else self._none

    def _require_same_image_twice(self, shape):
        """Return the image of a public row, encoded twice; images and buffers must agree."""
        probe = np.random.default_rng(0).random(shape)
        before = [buffer.clone() for buffer in self._network.buffers()]
        first, second = self._image(probe), self._image(probe)
        same = first.shape == second.shape and first.tobytes() == second.tobytes()
        unchanged = all(map(torch.equal, before, self._network.buffers()))
        if not (same and unchanged):
            raise ValueError(
                "network must be a function of one row: it gives the same row two images, or "
                "changes its buffers. In evaluation mode it must neither draw nor count."
            )
        return first

    def _image(self, row):
        with torch.no_grad(), _one_thread():
            image = self._network(torch.from_numpy(_as_float32(row)))
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
    >>> from skdp_bary.torch import encode_rows
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
        for chunk in X() if callable(X) else _slices_of(X):
            yield encode_rows(network, chunk)

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
    >>> from skdp_bary.torch import fixed_image_encoder
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


def _as_float32(row):
    """Return a new array; what float32 cannot hold becomes the largest number that it can."""
    return np.clip(row, -_LARGEST, _LARGEST).astype(np.float32)


def _slices_of(X):
    X = as_numbers(X)
    return (X[first : first + _CHUNK_ROWS] for first in range(0, len(X), _CHUNK_ROWS))


def _frozen_copy(network):
    """Return a copy on the processor, in evaluation mode, that shares nothing with the original."""
    return copy.deepcopy(network).cpu().float().eval().requires_grad_(False)


@contextmanager
def _one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
