"""Looks at an invented picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from sklearn.utils import check_random_state

from ..privacy._checks import check_integer, check_real

if TYPE_CHECKING:
    from .._types import RandomState

GAZE_BOUNDS = ((0.0, 0.0), (640.0, 480.0))

_HILLS = 150.0  # pixels from the lower border
# what there is to see: middle, radius, color, and how much of the looking it gets
_THINGS = (
    ((500.0, 90.0), 38.0, (1.0, 0.85, 0.3), 0.10),
    ((180.0, 300.0), 55.0, (0.75, 0.2, 0.2), 0.40),
    ((330.0, 335.0), 30.0, (0.9, 0.9, 0.95), 0.22),
    ((545.0, 350.0), 22.0, (0.2, 0.2, 0.25), 0.13),
)
_CENTER_SHARE = 0.15  # people look at the middle of any picture


def make_gaze(
    n_people: int = 50, *, mean_looks: float = 20.0, random_state: RandomState | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Generate where people look at a picture of 640 by 480 pixels.

    The picture, always the same, shows a sun over hills and three things before them. Every person
    has a taste of their own for what there is to see, and looks around it; how often people look
    varies.

    Parameters
    ----------
    n_people : int, default=50
        Number of persons.
    mean_looks : float, default=20.0
        Mean number of looks of a person, at least 1.
    random_state : int, RandomState instance or None, default=None
        Seed of the generator.

    Returns
    -------
    image : ndarray of shape (480, 640, 3)
        The picture.
    X : ndarray of shape (n_looks, 2)
        Where people looked, in pixels to the right of and below the upper left corner, inside
        ``GAZE_BOUNDS``.
    people : ndarray of int of shape (n_looks,)
        Who looked; give it to ``fit`` as ``groups``.

    Examples
    --------
    >>> from skdp_bary.datasets import make_gaze
    >>> image, X, people = make_gaze(n_people=30, random_state=0)
    >>> image.shape, X.shape[1], len(set(people.tolist()))
    ((480, 640, 3), 2, 30)
    """
    n_people = check_integer(n_people, "n_people", low=1)
    mean_looks = check_real(mean_looks, "mean_looks", low=1.0)
    rng = check_random_state(random_state)
    width, height = (int(side) for side in GAZE_BOUNDS[1])
    middles = np.array([thing[0] for thing in _THINGS] + [(width / 2, height / 2)])
    spreads = np.array([0.5 * thing[1] for thing in _THINGS] + [90.0])
    shares = np.array([thing[3] for thing in _THINGS] + [_CENTER_SHARE])
    looks = 1 + rng.poisson(rng.gamma(3.0, (mean_looks - 1.0) / 3.0, size=n_people))
    people = np.repeat(np.arange(n_people), looks)
    tastes = rng.gamma(4.0 * shares, size=(n_people, len(shares))) + 1e-12
    limits = np.cumsum(tastes / tastes.sum(axis=1, keepdims=True), axis=1)
    at = (rng.random_sample(len(people))[:, None] > limits[people, :-1]).sum(axis=1)
    X = middles[at] + rng.normal(size=(len(people), 2)) * spreads[at, None]
    return _draw(width, height), np.clip(X, *GAZE_BOUNDS), people


def _draw(width, height):
    """Return the picture, row 0 at the top."""
    rows, columns = np.indices((height, width), dtype=float)
    depth = (rows / height)[..., None]
    image = (1.0 - depth) * np.array([0.45, 0.65, 0.9]) + depth * np.array([0.85, 0.9, 0.95])
    hills = height - _HILLS + 30.0 * np.sin(columns / 90.0) + 14.0 * np.sin(columns / 31.0)
    image[rows > hills] = (0.35, 0.55, 0.3)
    for (x, y), radius, color, _ in _THINGS:
        image[(columns - x) ** 2 + (rows - y) ** 2 < radius**2] = color
    return image
