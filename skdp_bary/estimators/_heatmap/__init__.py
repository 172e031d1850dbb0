"""PrivateEMDHeatmap, what it measures and what can be done with a map."""

from .estimator import PrivateEMDHeatmap

__all__ = ["PrivateEMDHeatmap"]
