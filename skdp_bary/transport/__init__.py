"""Optimal transport between public or released measures. It does not protect its input."""

from .barycenter import free_support_barycenter
from .measures import DiscreteMeasure
from .semidiscrete import solve_semidiscrete

__all__ = ["DiscreteMeasure", "free_support_barycenter", "solve_semidiscrete"]
