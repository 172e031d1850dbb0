"""Optimal transport between public or released measures; no privacy word in it."""

from ._barycenter.free_support import free_support_barycenter
from ._barycenter.search import BarycenterEvent
from ._measures import DiscreteMeasure
from ._semidiscrete.solve import solve_semidiscrete
from ._univariate import quantiles

__all__ = [
    "BarycenterEvent",
    "DiscreteMeasure",
    "free_support_barycenter",
    "quantiles",
    "solve_semidiscrete",
]
