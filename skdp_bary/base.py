"""What a new private estimator is written with: the base class, its questions and its rules.

An estimator inherits :class:`BasePrivateEstimator`, names its steps and asks questions:
``released = yield "step", query``. It never sees a row. :mod:`skdp_bary.testing` judges what was
written. Everything here is documented and follows the deprecation policy; where the classes live
inside the package does not matter and may change.

=========================  ====================================================================
A question                 What comes back
=========================  ====================================================================
:class:`Count`             how many people there are
:class:`ClippedSum`        the sum of the rows in a ball about the origin, and their mass
:class:`Moments`           masses, sums and second moments about public centers, class by class
:class:`Gram`              outer products of rows in a frame that was released before
:class:`Histogram`         masses of the cells of a grid in a frame
:class:`LevelCounts`       masses of the cells of a :class:`CellTree`, on chosen levels
:class:`ClippedMeans`      clipped sums of the rows nearest to each of several centers
=========================  ====================================================================

Whoever needs another question writes a :class:`Query`: exact integers that add up over rows, and a
:class:`Sensitivity` that says how far one person can move them.
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
