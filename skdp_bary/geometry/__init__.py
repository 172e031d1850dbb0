"""Public shapes and maps, built without data."""

from .domains import Ball, Box, Domain
from .mask import Mask

__all__ = ["Ball", "Box", "Domain", "Mask"]
