"""A population in an invented country, with public classes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from sklearn.utils import check_random_state

from ..privacy._checks import check_integer, check_real

if TYPE_CHECKING:
    from .._types import RandomState

COUNTRY_BOUNDS = ((0.0, 0.0), (57.0, 25.0))

_N_METROS = 24
_MAP_SEED = 1776  # the map is part of the definition; random_state draws the people
_RURAL_SHARE = 0.25
_COAST_SHARE = 0.6


def make_population(
    n_samples: int = 10_000,
    *,
    n_classes: int = 3,
    contrast: float = 2.0,
    random_state: RandomState | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Generate the positions of people in a country of 57 by 25 degrees, in public classes.

    The map is always the same: metropolitan areas of very different sizes, most of them along the
    coasts in the east and the west, and a thinly populated plain between. Each class of people has
    preferences of its own among the areas, so classes differ in where they live, and their
    barycenter is not the distribution of the largest one.

    Parameters
    ----------
    n_samples : int, default=10000
        Number of people.
    n_classes : int, default=3
        Number of classes. The first is the largest; sizes fall like 1, 1/2, 1/3, ...
    contrast : float, default=2.0
        How strongly the preferences of the classes differ; 0 means not at all.
    random_state : int, RandomState instance or None, default=None
        Seed of the generator.

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
        Positions in degrees, inside ``COUNTRY_BOUNDS``.
    y : ndarray of int of shape (n_samples,)
        Class of each person, from 0 to ``n_classes - 1``.

    Examples
    --------
    >>> from skdp_bary.datasets import make_population
    >>> X, y = make_population(1000, n_classes=2, random_state=0)
    >>> X.shape, sorted(set(y.tolist()))
    ((1000, 2), [0, 1])
    """
    n_samples = check_integer(n_samples, "n_samples", low=1)
    n_classes = check_integer(n_classes, "n_classes", low=1)
    contrast = check_real(contrast, "contrast", low=0.0)
    rng = check_random_state(random_state)
    middles, spreads, sizes, tastes = _make_map(n_classes, contrast)
    shares = 1.0 / np.arange(1, n_classes + 1)
    y = rng.choice(n_classes, size=n_samples, p=shares / shares.sum())
    X = np.empty((n_samples, 2))
    for label in range(n_classes):
        here = y == label
        weights = sizes * tastes[label]
        metro = rng.choice(_N_METROS, size=here.sum(), p=weights / weights.sum())
        X[here] = middles[metro] + rng.normal(size=(here.sum(), 2)) * spreads[metro, None]
    rural = rng.random_sample(n_samples) < _RURAL_SHARE
    X[rural] = rng.uniform(*COUNTRY_BOUNDS, size=(rural.sum(), 2))
    return np.clip(X, *COUNTRY_BOUNDS), y


def _make_map(n_classes, contrast):
    """Return middle, spread and size of the metropolitan areas, and the tastes of the classes."""
    rng = np.random.RandomState(_MAP_SEED)
    width, height = COUNTRY_BOUNDS[1]
    middles = rng.uniform((3.0, 3.0), (width - 3.0, height - 3.0), size=(_N_METROS, 2))
    n_coast = round(_COAST_SHARE * _N_METROS)
    east = np.arange(n_coast) % 3 > 0
    middles[:n_coast, 0] = np.where(east, width - 4.0, 4.0) + rng.normal(scale=1.5, size=n_coast)
    sizes = 1.0 / np.arange(1, _N_METROS + 1)
    spreads = 0.4 + 1.2 * np.sqrt(sizes)
    tastes = np.exp(contrast * rng.normal(size=(n_classes, _N_METROS)) / 2)
    return middles, spreads, sizes, tastes
