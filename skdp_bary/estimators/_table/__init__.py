"""PrivateTable: the release, the mixture that is fitted to it, and rows drawn from that."""

from .estimator import PrivateTable

__all__ = ["PrivateTable"]
