"""Exact optimal transport from many points to few atoms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from .._checks import check_measure, check_points, check_power
from .exact import solve_problem
from .frame import FlatFrame, Prepared, UnitFrame

if TYPE_CHECKING:
    from ...transport._measures import DiscreteMeasure
    from ...transport._result import TransportResult

_WIDE = 2  # features an atom from which transport takes place on the flat through the atoms


def solve_semidiscrete(
    measure: DiscreteMeasure,
    atoms: DiscreteMeasure,
    *,
    p: float = 2,
    potentials: ArrayLike | None = None,
) -> TransportResult:
    """Transport a measure to a few atoms at least cost, with a proof of optimality.

    Parameters
    ----------
    measure : DiscreteMeasure
        The points. Masses are normalised to one.
    atoms : DiscreteMeasure
        Where they go; meant for far fewer atoms than points. Masses are normalised to one.
    p : float, default=2
        The cost of a unit of mass is the distance to the power `p`, at least one.
    potentials : array-like of shape (n_atoms,), default=None
        Potentials of a similar problem, to start from.

    Returns
    -------
    TransportResult

    Warns
    -----
    ConvergenceWarning
        If cost and dual differ by more than 1e-9 of the cost, after every fallback: the plan is
        not proven optimal, but ``gap`` still bounds what it loses.

    Examples
    --------
    >>> from skdp_bary.transport import DiscreteMeasure, solve_semidiscrete
    >>> points = DiscreteMeasure([[0.0], [1.0], [2.0], [3.0]])
    >>> float(solve_semidiscrete(points, DiscreteMeasure([[0.0], [3.0]])).cost)
    0.5
    """
    check_measure(measure, "measure")
    check_measure(atoms, "atoms")
    p = check_power(p)
    if measure.n_features != atoms.n_features:
        raise ValueError(
            "measure and atoms must have the same number of features, "
            f"got {measure.n_features} and {atoms.n_features}."
        )
    if potentials is not None:
        potentials = check_points(potentials, (atoms.n_points,), "potentials")
    prepared = Prepared.of(measure, _frame(measure.support, atoms.support, p))
    problem, columns = prepared.problem(atoms, p)
    start = None if potentials is None else potentials[columns] / prepared.frame.scale**p
    return prepared.result(atoms, columns, p, solve_problem(problem, start))


def _frame(points, atoms, p):
    """Return where transport takes place."""
    if p == 2 and points.shape[1] >= _WIDE * len(atoms):
        return FlatFrame.of(atoms)
    return UnitFrame.of(points)
