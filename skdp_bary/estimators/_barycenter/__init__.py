"""PrivateWassersteinBarycenter and its methods."""

from .estimator import PrivateWassersteinBarycenter

__all__ = ["PrivateWassersteinBarycenter"]
