"""Private estimators: one family a prefix."""

from .adapter import PrivateDomainAdapter
from .barycenter import PrivateWassersteinBarycenter
from .drift import PrivateDriftSketch
from .generator import PrivateGenerator
from .generator_pca import PrivatePCA
from .heatmap import PrivateEMDHeatmap
from .kmeans import PrivateKMeans
from .measure import PrivateMeasure
from .scaling import PrivateStandardScaler
from .sliced import DPSlicedWasserstein
from .table import PrivateTable
from .two_sample import PrivateTwoSampleTest

__all__ = [
    "DPSlicedWasserstein",
    "PrivateDomainAdapter",
    "PrivateDriftSketch",
    "PrivateEMDHeatmap",
    "PrivateGenerator",
    "PrivateKMeans",
    "PrivateMeasure",
    "PrivatePCA",
    "PrivateStandardScaler",
    "PrivateTable",
    "PrivateTwoSampleTest",
    "PrivateWassersteinBarycenter",
]
