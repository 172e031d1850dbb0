"""Pictures of releases and of budgets; they need matplotlib, the extra ``plot``."""

from ._barycenter import BarycenterDisplay
from ._budget import BudgetDisplay
from ._clusters import ClusterDisplay
from ._contrast import ContrastDisplay
from ._heatmap import HeatmapDisplay
from ._measure import MeasureDisplay
from ._slices import SlicesDisplay
from ._utility import PrivacyUtilityDisplay

__all__ = [
    "BarycenterDisplay",
    "BudgetDisplay",
    "ClusterDisplay",
    "ContrastDisplay",
    "HeatmapDisplay",
    "MeasureDisplay",
    "PrivacyUtilityDisplay",
    "SlicesDisplay",
]
