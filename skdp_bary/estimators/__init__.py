"""Private estimators: one public family a folder."""

from ._adapter.estimator import PrivateDomainAdapter
from ._barycenter.estimator import PrivateWassersteinBarycenter
from ._generator.estimator import PrivateGenerator
from ._heatmap.estimator import PrivateEMDHeatmap
from ._kmeans.curve import ClusterCurve, choose_n_clusters
from ._kmeans.estimator import PrivateKMeans
from ._measure import PrivateMeasure
from ._sliced.estimator import DPSlicedWasserstein

__all__ = [
    "ClusterCurve",
    "DPSlicedWasserstein",
    "PrivateDomainAdapter",
    "PrivateEMDHeatmap",
    "PrivateGenerator",
    "PrivateKMeans",
    "PrivateMeasure",
    "PrivateWassersteinBarycenter",
    "choose_n_clusters",
]
