"""DPSlicedWasserstein and the methods behind it."""

from .estimator import DPSlicedWasserstein

__all__ = ["DPSlicedWasserstein"]
