"""Plots of releases and budgets. They need matplotlib (extra ``plot``)."""

from .curves import BudgetDisplay, NumbersDisplay
from .maps import HeatmapDisplay, MeasureDisplay
from .points import BarycenterDisplay, ClusterDisplay
from .slices import ContrastDisplay, SlicesDisplay

__all__ = [
    "BarycenterDisplay",
    "BudgetDisplay",
    "ClusterDisplay",
    "ContrastDisplay",
    "HeatmapDisplay",
    "MeasureDisplay",
    "NumbersDisplay",
    "SlicesDisplay",
]
