"""Generated data about no real people."""

from __future__ import annotations

import numpy as np
from sklearn.utils import check_random_state

from .exceptions import RandomState, check_integer, check_real

__all__ = [
    "CITY_BOUNDS",
    "COUNTRY_BOUNDS",
    "GAZE_BOUNDS",
    "make_city_checkins",
    "make_gaze",
    "make_population",
]

# Check-ins of people in an invented city.

CITY_BOUNDS = ((0.0, 0.0), (20.0, 20.0))

_CENTER = np.array([9.5, 10.5])
_BLOCK = 0.4  # km between two streets of the center
_DISTRICTS = np.array(
    [[5.0, 14.0], [13.5, 14.5], [15.5, 8.5], [4.5, 6.0], [10.5, 4.0], [17.0, 17.5], [2.5, 17.0]]
)
_DISTRICT_SPREAD = np.array([1.1, 0.9, 1.2, 0.8, 1.0, 0.6, 0.5])
_DISTRICT_SHARE = np.array([0.22, 0.2, 0.18, 0.14, 0.14, 0.07, 0.05])
_INSIDE, _NEARBY = 0.08, 0.7  # km: at a place, or somewhere around it
_N_PLACES, _NEARBY_SHARE = 400, 0.4
_RIVER_HALF_WIDTH = 0.35


def make_city_checkins(
    n_people: int = 2000, *, mean_visits: float = 10.0, random_state: RandomState | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Generate check-ins of people at the places of a city of 20 by 20 kilometers.

    The city has a center with a street grid, seven districts, and a river in which no one checks
    in. Every person lives in a district and visits places near home and in the center. How often
    people check in varies a lot: most a few times, a few very often, as on real platforms. That is
    why ``groups`` matters when such rows are protected.

    Parameters
    ----------
    n_people : int, default=2000
        Number of people.
    mean_visits : float, default=10.0
        Mean number of check-ins of a person, at least 1.
    random_state : int or RandomState instance, default=None
        Seed of the generator.

    Returns
    -------
    X : ndarray of shape (n_checkins, 2)
        Positions in kilometers, inside ``CITY_BOUNDS``.
    people : ndarray of int of shape (n_checkins,)
        People who checked in; pass it to ``fit`` as ``groups``.

    Examples
    --------
    >>> from skdp_bary.datasets import make_city_checkins
    >>> X, people = make_city_checkins(n_people=500, random_state=0)
    >>> X.shape[1], len(set(people.tolist()))
    (2, 500)
    """
    n_people = check_integer(n_people, "n_people", low=1)
    mean_visits = check_real(mean_visits, "mean_visits", low=1.0)
    rng = check_random_state(random_state)
    # places, and the district of each; -1 is the center
    home_of = (
        rng.choice(len(_DISTRICTS) + 1, size=_N_PLACES, p=[0.35, *(0.65 * _DISTRICT_SHARE)]) - 1
    )
    home_of[: len(_DISTRICTS) + 1] = np.arange(-1, len(_DISTRICTS))  # none is left without a place
    places, center = np.empty((_N_PLACES, 2)), home_of == -1
    corners = _CENTER + rng.normal(scale=1.3, size=(center.sum(), 2))
    places[center] = np.round(corners / _BLOCK) * _BLOCK
    for district, middle in enumerate(_DISTRICTS):
        here = home_of == district
        places[here] = middle + rng.normal(scale=_DISTRICT_SPREAD[district], size=(here.sum(), 2))
    places = np.clip(_off_the_river(places), 0.3, 19.7)
    homes = rng.choice(len(_DISTRICTS), size=n_people, p=_DISTRICT_SHARE)
    # log-normal numbers of visits: their mean is mean_visits, and few people make many of them
    spread = 1.0
    scale = np.log(mean_visits) - spread**2 / 2
    visits = np.maximum(1, np.rint(rng.lognormal(scale, spread, size=n_people))).astype(int)
    people = np.repeat(np.arange(n_people), visits)
    goes_home = rng.random_sample(len(people)) < 0.6
    visited = np.where(goes_home, homes[people], -1)
    X = np.empty((len(people), 2))
    for area in range(-1, len(_DISTRICTS)):
        here, candidates = visited == area, np.flatnonzero(home_of == area)
        popularity = 1.0 / np.arange(1, len(candidates) + 1) ** 0.7
        chosen = rng.choice(candidates, size=here.sum(), p=popularity / popularity.sum())
        X[here] = places[chosen]
    nearby = rng.random_sample(len(people)) < _NEARBY_SHARE
    X += rng.normal(size=X.shape) * np.where(nearby, _NEARBY, _INSIDE)[:, None]
    return np.clip(_off_the_river(X), *CITY_BOUNDS), people


def _off_the_river(points):
    """Move points in the river to the nearer bank."""
    middle = 9.0 + 1.5 * np.sin(points[:, 0] / 4.0)
    offset = points[:, 1] - middle
    bank = middle + np.where(offset < 0, -_RIVER_HALF_WIDTH, _RIVER_HALF_WIDTH)
    wet = np.abs(offset) < _RIVER_HALF_WIDTH
    return np.column_stack([points[:, 0], np.where(wet, bank, points[:, 1])])


# Looks at an invented picture.

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
    """Generate fixations of people on a picture of 640 by 480 pixels.

    The picture, always the same, shows a sun over hills and three things before them. Every person
    has a taste of their own for what there is to see, and looks around it; how often people look
    varies.

    Parameters
    ----------
    n_people : int, default=50
        Number of people.
    mean_looks : float, default=20.0
        Mean number of looks of a person, at least 1.
    random_state : int or RandomState instance, default=None
        Seed of the generator.

    Returns
    -------
    image : ndarray of shape (480, 640, 3)
        The picture.
    X : ndarray of shape (n_looks, 2)
        Where people looked, in pixels to the right of and below the upper left corner, inside
        ``GAZE_BOUNDS``.
    people : ndarray of int of shape (n_looks,)
        People who looked; pass it to ``fit`` as ``groups``.

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


# A population in an invented country, with public classes.

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
    random_state : int or RandomState instance, default=None
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
    # middles, spreads and sizes of the metropolitan areas, and the tastes of the classes
    of_map = np.random.RandomState(_MAP_SEED)
    width, height = COUNTRY_BOUNDS[1]
    middles = of_map.uniform((3.0, 3.0), (width - 3.0, height - 3.0), size=(_N_METROS, 2))
    n_coast = round(_COAST_SHARE * _N_METROS)
    coast = np.where(np.arange(n_coast) % 3 > 0, width - 4.0, 4.0)
    middles[:n_coast, 0] = coast + of_map.normal(scale=1.5, size=n_coast)
    sizes = 1.0 / np.arange(1, _N_METROS + 1)
    spreads = 0.4 + 1.2 * np.sqrt(sizes)
    tastes = np.exp(contrast * of_map.normal(size=(n_classes, _N_METROS)) / 2)
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
