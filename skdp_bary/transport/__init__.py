"""Optimal transport between public or released measures; no privacy word in it."""

from ._barycenter.free_support import free_support_barycenter
from ._barycenter.search import BarycenterEvent
from ._measures import DiscreteMeasure
from ._result import BarycenterResult, TransportResult
from ._semidiscrete.solve import solve_semidiscrete
from ._univariate import quantiles, univariate_cost

__all__ = [
    "BarycenterEvent",
    "BarycenterResult",
    "DiscreteMeasure",
    "TransportResult",
    "free_support_barycenter",
    "quantiles",
    "solve_semidiscrete",
    "univariate_cost",
]
