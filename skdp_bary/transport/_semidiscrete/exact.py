"""Exact solution of a semi-dual problem, by the engine or by POT, with a proof."""

import sys
import warnings
from pathlib import Path

from sklearn.exceptions import ConvergenceWarning

from .coincident import divide, merge_atoms
from .kept import is_kept
from .line import axis_of_line, solve_line
from .simplex import network_simplex

_TINY = 100_000  # points times atoms: POT needs a small part of what loading compiled code takes
_SMALL = 2_000_000  # and less than it takes to compile


def solve_problem(problem, potentials=None):
    """Return the exact Assignment of a SemidualProblem, by ever more careful means."""
    merged, potentials, group = merge_atoms(problem, potentials)
    for found in _attempts(merged, potentials):
        if found.proven:
            break
    else:
        warnings.warn(
            "optimal transport was not solved to a proven optimum: "
            f"cost {found.cost}, dual {found.dual} (in the unit frame of the points).",
            ConvergenceWarning,
            stacklevel=3,
        )
    return found if group is None else divide(found, problem.cloud.weights, problem.target, group)


def _attempts(problem, potentials):
    """Yield assignments: on a line, by the engine, warm and cold, and by network simplex."""
    axis = axis_of_line(problem)
    if axis is not None:
        yield solve_line(problem, axis)
    size = len(problem.cloud.points) * len(problem.target)
    small = size <= (_TINY if _is_compiled() else _SMALL)
    if small:
        yield network_simplex(problem)
    from .levels import solve_levels  # loads compiled code

    if potentials is not None:
        yield solve_levels(problem, potentials)
    yield solve_levels(problem, None)
    if not small:
        yield network_simplex(problem)


def _is_compiled():
    """Tell whether the compiled code is loaded, or on disk and newer than its source."""
    loaded = f"{__package__}.search" in sys.modules
    return loaded or is_kept(Path(__file__).with_name("search.py"), "balance")
