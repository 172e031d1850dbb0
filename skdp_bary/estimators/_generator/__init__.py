"""PrivateGenerator: the release, and the mixture that is read from it."""

from .estimator import PrivateGenerator

__all__ = ["PrivateGenerator"]
