"""Pictures of releases and of budgets; they need matplotlib, the extra ``plot``."""

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
