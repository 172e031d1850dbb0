"""Private estimators: one family a prefix."""

from .adapter import PrivateDomainAdapter
from .barycenter import PrivateWassersteinBarycenter
from .comparison import SampleComparison
from .drift import PrivateDriftSketch
from .generator import PrivateGenerator
from .heatmap import PrivateEMDHeatmap
from .kmeans import NoiseLevel, PrivateKMeans
from .measure import PrivateMeasure
from .sliced import DPSlicedWasserstein
from .sliced_methods import SlicedSketch
from .table import PrivateTable
from .table_mixture import Marginal
from .table_views import TableReport
from .two_sample import PrivateTwoSampleTest

__all__ = [
    "DPSlicedWasserstein",
    "Marginal",
    "NoiseLevel",
    "PrivateDomainAdapter",
    "PrivateDriftSketch",
    "PrivateEMDHeatmap",
    "PrivateGenerator",
    "PrivateKMeans",
    "PrivateMeasure",
    "PrivateTable",
    "PrivateTwoSampleTest",
    "PrivateWassersteinBarycenter",
    "SampleComparison",
    "SlicedSketch",
    "TableReport",
]
