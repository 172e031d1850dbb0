"""PrivateKMeans and the ways in which it clusters."""

from .curve import ClusterCurve, choose_n_clusters
from .estimator import PrivateKMeans

__all__ = ["ClusterCurve", "PrivateKMeans", "choose_n_clusters"]
