"""Public shapes and maps, built without data."""

from ._ball import Ball
from ._bounds import check_domain
from ._domains import Box, Domain
from ._lattice import CentredLattice
from ._mask import Mask
from ._projections import haar_frame, jl_matrix, tight_frame

__all__ = [
    "Ball",
    "Box",
    "CentredLattice",
    "Domain",
    "Mask",
    "check_domain",
    "haar_frame",
    "jl_matrix",
    "tight_frame",
]
