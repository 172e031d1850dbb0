"""Private estimators: one public family a file."""

from ._adapter import PrivateDomainAdapter
from ._barycenter import PrivateWassersteinBarycenter
from ._cluster_curve import ClusterCurve, choose_n_clusters
from ._generator import PrivateGenerator
from ._heatmap import PrivateEMDHeatmap
from ._kmeans import PrivateKMeans
from ._measure import PrivateMeasure
from ._sliced import DPSlicedWasserstein

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
