"""Generated data, collected from no one, and public datasets: readers of files, and downloads."""

from .downloads import fetch_census_tracts, fetch_digits_images, fetch_snap_checkins
from .generated import (
    CITY_BOUNDS,
    COUNTRY_BOUNDS,
    GAZE_BOUNDS,
    make_city_checkins,
    make_gaze,
    make_population,
)

__all__ = [
    "CITY_BOUNDS",
    "COUNTRY_BOUNDS",
    "GAZE_BOUNDS",
    "fetch_census_tracts",
    "fetch_digits_images",
    "fetch_snap_checkins",
    "make_city_checkins",
    "make_gaze",
    "make_population",
]
