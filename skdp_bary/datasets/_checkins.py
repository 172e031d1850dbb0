"""Check-ins of people in an invented city."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from sklearn.utils import check_random_state

from ..privacy._checks import check_integer, check_real

if TYPE_CHECKING:
    from .._types import RandomState

CITY_BOUNDS = ((0.0, 0.0), (20.0, 20.0))

_CENTER = np.array([9.5, 10.5])
_BLOCK = 0.4  # km between two streets of the center
_DISTRICTS = np.array(
    [[5.0, 14.0], [13.5, 14.5], [15.5, 8.5], [4.5, 6.0], [10.5, 4.0], [17.0, 17.5], [2.5, 17.0]]
)
_DISTRICT_SPREAD = np.array([1.1, 0.9, 1.2, 0.8, 1.0, 0.6, 0.5])
_DISTRICT_SHARE = np.array([0.22, 0.2, 0.18, 0.14, 0.14, 0.07, 0.05])
_INSIDE, _NEARBY = 0.08, 0.7  # km: at a place, or somewhere around it
_NEARBY_SHARE = 0.4
_RIVER_HALF_WIDTH = 0.35


def make_city_checkins(
    n_people: int = 2000,
    *,
    mean_visits: float = 10.0,
    n_places: int = 400,
    random_state: RandomState | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Generate check-ins of people at the places of a city of 20 by 20 kilometers.

    The city has a center with a street grid, seven districts, and a river in which nobody checks
    in. Every person lives in a district and visits places near home and in the center. How often
    people check in varies a lot: most a few times, a few very often, as on real platforms. That is
    why ``groups`` matters when such rows are protected.

    Parameters
    ----------
    n_people : int, default=2000
        Number of persons.
    mean_visits : float, default=10.0
        Mean number of check-ins of a person, at least 1.
    n_places : int, default=400
        Number of places where people check in.
    random_state : int, RandomState instance or None, default=None
        Seed of the generator.

    Returns
    -------
    X : ndarray of shape (n_checkins, 2)
        Positions in kilometers, inside ``CITY_BOUNDS``.
    people : ndarray of int of shape (n_checkins,)
        Who checked in; give it to ``fit`` as ``groups``.

    Examples
    --------
    >>> from skdp_bary.datasets import make_city_checkins
    >>> X, people = make_city_checkins(n_people=500, random_state=0)
    >>> X.shape[1], len(set(people.tolist()))
    (2, 500)
    """
    n_people = check_integer(n_people, "n_people", low=1)
    n_places = check_integer(n_places, "n_places", low=20)
    mean_visits = check_real(mean_visits, "mean_visits", low=1.0)
    rng = check_random_state(random_state)
    places, home_of = _make_places(n_places, rng)
    homes = rng.choice(len(_DISTRICTS), size=n_people, p=_DISTRICT_SHARE)
    # log-normal numbers of visits: their mean is mean_visits, and few people make many of them
    spread = 1.0
    scale = np.log(mean_visits) - spread**2 / 2
    visits = np.maximum(1, np.rint(rng.lognormal(scale, spread, size=n_people))).astype(int)
    people = np.repeat(np.arange(n_people), visits)
    goes_home = rng.random_sample(len(people)) < 0.6
    district = np.where(goes_home, homes[people], -1)
    X = np.empty((len(people), 2))
    for area in range(-1, len(_DISTRICTS)):
        here, candidates = district == area, np.flatnonzero(home_of == area)
        popularity = 1.0 / np.arange(1, len(candidates) + 1) ** 0.7
        chosen = rng.choice(candidates, size=here.sum(), p=popularity / popularity.sum())
        X[here] = places[chosen]
    nearby = rng.random_sample(len(people)) < _NEARBY_SHARE
    X += rng.normal(size=X.shape) * np.where(nearby, _NEARBY, _INSIDE)[:, None]
    return np.clip(_off_the_river(X), *CITY_BOUNDS), people


def _make_places(n_places, rng):
    """Return places and the district of each; -1 is the center."""
    area = rng.choice(len(_DISTRICTS) + 1, size=n_places, p=[0.35, *(0.65 * _DISTRICT_SHARE)]) - 1
    area[: len(_DISTRICTS) + 1] = np.arange(-1, len(_DISTRICTS))  # no area is left without a place
    points = np.empty((n_places, 2))
    center = area == -1
    corners = _CENTER + rng.normal(scale=1.3, size=(center.sum(), 2))
    points[center] = np.round(corners / _BLOCK) * _BLOCK
    for district, middle in enumerate(_DISTRICTS):
        here = area == district
        points[here] = middle + rng.normal(scale=_DISTRICT_SPREAD[district], size=(here.sum(), 2))
    return np.clip(_off_the_river(points), 0.3, 19.7), area


def _off_the_river(points):
    """Move points in the river to the nearer bank."""
    middle = 9.0 + 1.5 * np.sin(points[:, 0] / 4.0)
    offset = points[:, 1] - middle
    bank = middle + np.where(offset < 0, -_RIVER_HALF_WIDTH, _RIVER_HALF_WIDTH)
    wet = np.abs(offset) < _RIVER_HALF_WIDTH
    return np.column_stack([points[:, 0], np.where(wet, bank, points[:, 1])])
