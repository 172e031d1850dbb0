"""Generated data, collected from nobody, and public data sets: readers of files, and downloads."""

from ._checkins import CITY_BOUNDS, make_city_checkins
from ._fetch_census import fetch_census_tracts
from ._fetch_digits import fetch_digits_images
from ._fetch_snap import fetch_snap_checkins
from ._gaze import GAZE_BOUNDS, make_gaze
from ._population import COUNTRY_BOUNDS, make_population
from ._snap import load_snap_checkins

__all__ = [
    "CITY_BOUNDS",
    "COUNTRY_BOUNDS",
    "GAZE_BOUNDS",
    "fetch_census_tracts",
    "fetch_digits_images",
    "fetch_snap_checkins",
    "load_snap_checkins",
    "make_city_checkins",
    "make_gaze",
    "make_population",
]
