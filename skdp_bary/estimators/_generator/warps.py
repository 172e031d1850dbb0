"""Random turns, shears, scalings and shifts of drawn images: a public prior, not a release."""

from collections.abc import Mapping

import numpy as np

from ...privacy._checks import check_real
from .images import full_shape

LARGEST = {"turn": 180.0, "shear": 2.0, "scale": 2.0, "shift": 1.0}
_ROWS = 1000  # at once


def check_warps(warps, image_shape):
    """Return how far images are warped at most, by kind; raise unless it is a good dict.

    Parameters
    ----------
    warps : dict or None
    image_shape : tuple or None
    """
    if warps is None:
        return None
    if image_shape is None:
        raise ValueError("warps are for images: give image_shape to PrivateGenerator.")
    if not isinstance(warps, Mapping) or not warps or not warps.keys() <= LARGEST.keys():
        raise ValueError(f"warps must be a dict by some of {list(LARGEST)}, got {warps!r}.")
    given = {
        kind: check_real(reach, f"warps[{kind!r}]", low=0.0, high=LARGEST[kind])
        for kind, reach in warps.items()
    }
    return dict.fromkeys(LARGEST, 0.0) | given


def warped(rows, image_shape, reach, rng):
    """Return images of the unit box, each warped at random; what comes in at the border is 0.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_pixels)
    image_shape : tuple
    reach : dict
        By kind, see `check_warps`.
    rng : Generator
    """
    height, width, channels = full_shape(image_shape)
    found = np.empty_like(rows)
    for start in range(0, len(rows), _ROWS):
        part = slice(start, start + _ROWS)
        images = rows[part].reshape(-1, height, width, channels)
        matrices, shifts = affine_maps(len(images), (height, width), reach, rng)
        found[part] = read_along(images, matrices, shifts).reshape(len(images), -1)
    return found


def affine_maps(n, sides, reach, rng):
    """Return random matrices of shape (n, 2, 2) and shifts (n, 2), in pixels."""
    angle, shear, tall, wide, down, right = rng.uniform(-1.0, 1.0, size=(6, n))
    angle = np.deg2rad(reach["turn"]) * angle
    cos, sin = np.cos(angle), np.sin(angle)
    turns = np.stack([np.stack([cos, -sin], 1), np.stack([sin, cos], 1)], 1)
    shapes = np.zeros((n, 2, 2))
    shapes[:, 0, 0], shapes[:, 1, 1] = np.exp(reach["scale"] * np.stack([tall, wide]))
    shapes[:, 1, 0] = reach["shear"] * shear
    return turns @ shapes, reach["shift"] * np.stack([down, right], 1) * np.array(sides)


def read_along(images, matrices, shifts):
    """Return images read at affine images of their pixels, about the middle, bilinearly."""
    n, height, width, channels = images.shape
    middle = (np.array([height, width]) - 1.0)[:, None] / 2.0
    at = np.stack(np.meshgrid(np.arange(height), np.arange(width), indexing="ij")).reshape(2, -1)
    places = matrices @ (at - middle) + middle + shifts[:, :, None]
    places = np.clip(places, -1.0, np.array([height, width])[:, None])
    low = np.floor(places).astype(np.int64)
    parts = (places - low)[..., None]
    padded = np.pad(images, ((0, 0), (1, 2), (1, 2), (0, 0)))
    rows, (down, right) = np.arange(n)[:, None], low.transpose(1, 0, 2) + 1
    upper, lower = (
        padded[rows, y, right] * (1.0 - parts[:, 1]) + padded[rows, y, right + 1] * parts[:, 1]
        for y in (down, down + 1)
    )
    mixed = upper * (1.0 - parts[:, 0]) + lower * parts[:, 0]
    return mixed.reshape(n, height, width, channels)
