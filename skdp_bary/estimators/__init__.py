"""Private estimators: one public family a folder."""

from ._adapter.estimator import PrivateDomainAdapter
from ._barycenter.estimator import PrivateWassersteinBarycenter
from ._generator.estimator import PrivateGenerator
from ._heatmap.estimator import PrivateEMDHeatmap
from ._kmeans.curve import choose_n_clusters
from ._kmeans.estimator import PrivateKMeans
from ._kmeans.noise import NoiseLevel
from ._measure import PrivateMeasure
from ._sliced.cohorts import PrivateTwoSampleTest
from ._sliced.comparison import SampleComparison
from ._sliced.drift import PrivateDriftSketch
from ._sliced.estimator import DPSlicedWasserstein
from ._sliced.sketch import SlicedSketch
from ._table.answers import Marginal
from ._table.estimator import PrivateTable
from ._table.report import TableReport

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
    "choose_n_clusters",
]
