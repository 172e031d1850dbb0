"""The base class, queries and parameter rules for new private estimators.

An estimator inherits :class:`BasePrivateEstimator`, names its steps and asks queries:
``released = yield "step", query``. It never sees a row. :mod:`skdp_bary.testing` checks new
estimators. All names here follow the deprecation policy; the modules that define them may change.

=========================  ====================================================================
Query                      Answer
=========================  ====================================================================
:class:`Count`             how many people there are
:class:`ClippedSum`        the sum of the rows in a ball about the origin, and their mass
:class:`Moments`           masses, sums and second moments about public centers, class by class
:class:`Gram`              outer products of rows in a frame that was released before
:class:`Histogram`         masses of the cells of a grid in a frame
:class:`LevelCounts`       masses of the cells of a :class:`CellTree`, on chosen levels
:class:`ClippedMeans`      clipped sums of the rows nearest to each of several centers
=========================  ====================================================================

For other answers, write a :class:`Query`: exact integers that add up over rows, and a
:class:`Sensitivity` that states how much one person can change them.
"""

from .desk.query import Query, Release
from .estimators.base import BasePrivateEstimator, Facts
from .geometry.cells import CellTree
from .parameters import PRIVACY_RULES, Flag, Integer, Number, Option
from .privacy.mechanisms import Sensitivity
from .queries.cells import LevelCounts
from .queries.clusters import ClippedMeans
from .queries.frames import Axes, Frame, Gram, Histogram
from .queries.sizes import ClippedSum, Count, Moments, symmetric
from .rows.opening import warn
from .rows.persons import Chunk

__all__ = [
    "Axes",
    "BasePrivateEstimator",
    "CellTree",
    "Chunk",
    "ClippedMeans",
    "ClippedSum",
    "Count",
    "Facts",
    "Flag",
    "Frame",
    "Gram",
    "Histogram",
    "Integer",
    "LevelCounts",
    "Moments",
    "Number",
    "Option",
    "PRIVACY_RULES",
    "Query",
    "Release",
    "Sensitivity",
    "symmetric",
    "warn",
]
