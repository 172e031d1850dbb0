"""Which loops run: those in NumPy or the compiled ones.

Both do the same arithmetic and differ by rounding only. Which one runs depends on the number of
points alone, so that a problem has one result however often it is solved.
"""

from functools import cache

from ._kernels import PLAIN

_WORTH_IT = 10_000  # points from which compiled loops are loaded, which takes half a second once


def kernel_for(n_points):
    """Return the kernel for a problem with that many points."""
    return (_compiled() if n_points >= _WORTH_IT else None) or PLAIN


@cache
def _compiled():
    try:
        from ._compiled import CompiledKernel
    except ImportError:
        return None
    return CompiledKernel()
