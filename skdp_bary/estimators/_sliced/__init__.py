"""DPSlicedWasserstein and the mechanisms behind it."""

from .estimator import DPSlicedWasserstein

__all__ = ["DPSlicedWasserstein"]
