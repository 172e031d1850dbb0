"""PrivateDomainAdapter and the ways to adapt."""

from .estimator import PrivateDomainAdapter

__all__ = ["PrivateDomainAdapter"]
