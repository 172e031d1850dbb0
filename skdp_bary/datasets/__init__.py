"""Generated data, collected from nobody, and readers of the files of two public data sets."""

from ._checkins import CITY_BOUNDS, make_city_checkins
from ._gaze import GAZE_BOUNDS, make_gaze
from ._population import COUNTRY_BOUNDS, make_population
from ._salicon import load_salicon_fixations
from ._snap import load_snap_checkins

__all__ = [
    "CITY_BOUNDS",
    "COUNTRY_BOUNDS",
    "GAZE_BOUNDS",
    "load_salicon_fixations",
    "load_snap_checkins",
    "make_city_checkins",
    "make_gaze",
    "make_population",
]
