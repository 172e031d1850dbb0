"""Optimal transport between public or released measures; no privacy word in it."""

from .barycenter import free_support_barycenter
from .barycenter_search import BarycenterEvent
from .measures import DiscreteMeasure, quantiles
from .semidiscrete import solve_semidiscrete

__all__ = [
    "BarycenterEvent",
    "DiscreteMeasure",
    "free_support_barycenter",
    "quantiles",
    "solve_semidiscrete",
]
