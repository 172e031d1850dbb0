"""Public shapes and maps, built without data."""

from ._ball import Ball
from ._domains import Box, Domain
from ._mask import Mask

__all__ = [
    "Ball",
    "Box",
    "Domain",
    "Mask",
]
