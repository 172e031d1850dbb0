"""Private estimators: one public family a file."""

from ._barycenter import PrivateWassersteinBarycenter
from ._cluster_curve import ClusterCurve, choose_n_clusters
from ._heatmap import PrivateEMDHeatmap
from ._kmeans import PrivateKMeans
from ._measure import PrivateMeasure
from ._sliced import DPSlicedWasserstein

__all__ = [
    "ClusterCurve",
    "DPSlicedWasserstein",
    "PrivateEMDHeatmap",
    "PrivateKMeans",
    "PrivateMeasure",
    "PrivateWassersteinBarycenter",
    "choose_n_clusters",
]
