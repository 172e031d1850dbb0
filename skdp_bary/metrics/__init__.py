"""How close two heatmaps or two discrete measures are."""

from ._heatmaps import (
    earth_mover_distance,
    kl_divergence,
    pearson_correlation,
    similarity,
)

__all__ = [
    "earth_mover_distance",
    "kl_divergence",
    "pearson_correlation",
    "similarity",
]
