"""Free-support Wasserstein barycenters with exact, certified transport plans."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from .._checks import check_count, check_positive
from .._newton import approach, settle
from .._semidiscrete.exact import solve_problem
from .._threads import threads
from .arguments import BarycenterArguments
from .received import ExactPull, SmoothPull
from .search import Level, Search
from .small import MORE_STARTS, best_descent, is_small

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..._types import RandomState
    from ...transport._measures import DiscreteMeasure
    from ...transport._result import BarycenterResult
    from .search import BarycenterEvent

_WARMTHS = (0.03, 0.4)
_MANY = 500  # atoms, which starts at random places differ little for
_GRAIN, _GRAIN_POWER = 0.8, -0.4  # warmth at one point an atom, and how it falls with more
_FEW = 20_000  # points times atoms that an exact plan takes a few milliseconds for
_POLISHED_POINTS = 20_000  # points times steps that exact plans may take at the end
_POLISH_STEPS = 60
_POLISH_GAIN = 1e-5  # relative; a step that gains less is the last


def free_support_barycenter(
    measures: Sequence[DiscreteMeasure],
    n_atoms: int,
    *,
    measure_weights: ArrayLike | None = None,
    atom_weights: ArrayLike | None = None,
    p: float = 2,
    init: ArrayLike | None = None,
    n_init: int | None = None,
    n_keep: int | None = None,
    max_iter: int = 5,
    tol: float = 5e-4,
    n_jobs: int | None = None,
    random_state: RandomState | None = None,
    callback: Callable[[BarycenterEvent], object] | None = None,
) -> BarycenterResult:
    """Find a few weighted atoms whose mean transport cost to the measures is small.

    Minimises ``sum_i measure_weights[i] * W_p(measures[i], atoms)**p`` over the positions of the
    atoms: they are pulled by the points they receive, over-relaxed, on a coarse sample of the
    measures, on a finer one, and on all points. The problem is not convex: the result is a local
    minimum, the best over the starts. The plans at the end are exact.

    Parameters
    ----------
    measures : sequence of DiscreteMeasure
        In one space; masses are normalised to one.
    n_atoms : int
        Number of atoms.
    measure_weights : array-like of shape (n_measures,), default=None
        Importance of the measures; ``None`` weighs them equally.
    atom_weights : array-like of shape (n_atoms,), default=None
        Masses of the atoms; ``None`` makes them equal.
    p : {1, 2}, default=2
        Power of the distance: 2 gives means, 1 geometric medians.
    init : array-like of shape (n_atoms, n_features), default=None
        Atoms to start from, instead of random balanced splits.
    n_init : int, default=None
        Number of random starts on the coarse sample; ``None`` makes two for a single measure and
        up to 500 atoms, and otherwise one: the cost then hardly depends on the start. Few points
        (up to 1500 points times atoms, p = 2) take three times as many, by exact plans.
    n_keep : int, default=None
        How many of them continue on the finer sample; ``None`` keeps one in up to three
        dimensions and two beyond, where the coarse costs hardly tell the starts apart.
    max_iter : int, default=5
        Most steps of the atoms on all points.
    tol : float, default=5e-4
        Stop when the p-th power of the distance from the atoms to where they are pulled is below
        this fraction of that of the points to the center of their cell, on average.
    n_jobs : int, default=None
        Threads over the measures.
    random_state : None, int or numpy.random.Generator, default=None
        Draws the starts.
    callback : callable, default=None
        Called with a BarycenterEvent after every step.

    Returns
    -------
    BarycenterResult

    Examples
    --------
    >>> from skdp_bary.transport import DiscreteMeasure, free_support_barycenter
    >>> left = DiscreteMeasure([[0.0], [1.0]])
    >>> right = DiscreteMeasure([[2.0], [3.0]])
    >>> result = free_support_barycenter([left, right], 2, random_state=0)
    >>> sorted(result.support.ravel().round(6).tolist())
    [1.0, 2.0]
    """
    arguments = BarycenterArguments.of(measures, n_atoms, measure_weights, atom_weights, p, init)
    if n_init is None:
        n_init = 2 if len(arguments.measures) == 1 and len(arguments.target) <= _MANY else 1
    n_init = check_count(n_init, "n_init")
    if n_keep is None:
        n_keep = 1 if arguments.measures[0].n_features <= 3 else 2
    n_keep = check_count(n_keep, "n_keep")
    levels = _levels(check_count(max_iter, "max_iter"), check_positive(tol, "tol"))
    with threads(n_jobs, len(arguments.measures)) as run:
        prepared = arguments.prepare(run)
        clouds = [each.cloud for each in prepared]
        if is_small(arguments):
            starts = arguments.starts(prepared, MORE_STARTS * n_init, random_state)
            best = best_descent(arguments, clouds, starts, callback)
        else:
            search = Search(arguments, clouds, run, _respond, callback)
            best = search.refine(arguments.starts(prepared, n_init, random_state), levels, n_keep)
        return _polish(arguments, prepared, best, tol, run)


def _polish(arguments, prepared, iterate, tol, run):
    """Move the atoms to the means of what exact plans send them, while that lowers the cost.

    The search works on smoothed plans, which matter where a cell holds few points; exact plans are
    cheap just there. Returns the result with the exact transports.
    """
    steps = 0
    if arguments.p == 2:
        n_points = sum(len(each.cloud.points) for each in prepared)
        steps = int(np.clip(_POLISHED_POINTS // n_points, 0, _POLISH_STEPS))
    best = arguments.result(iterate, _exact_transports(arguments, prepared, iterate, run), tol)
    for _ in range(steps):
        means = sum(
            share * transport.projections
            for share, transport in zip(arguments.shares, best.transports, strict=True)
        )
        potentials = tuple(
            transport.potentials / arguments.frame.scale**2 for transport in best.transports
        )
        iterate = replace(iterate, atoms=arguments.frame.inward(means), potentials=potentials)
        moved = arguments.result(iterate, _exact_transports(arguments, prepared, iterate, run), tol)
        if not moved.cost < best.cost:
            return best
        gain, best = best.cost - moved.cost, moved
        if gain <= _POLISH_GAIN * best.cost:
            return best
    return best


def _exact_transports(arguments, prepared, iterate, run):
    atoms = arguments.atoms(iterate)
    tasks = zip(prepared, iterate.potentials, strict=True)
    return run(_certified, [(atoms, arguments.p, *task) for task in tasks])


def _levels(max_iter, tol):
    # Most of what a start can gain is cheap to get on the middle level, and stays on all points.
    # Plans are as warm as the density of the points asks for.
    return (
        Level(40, warmth=0.0, max_iter=40, imbalance=0.01, tol=10.0 * tol),
        Level(200, warmth=0.0, max_iter=25, imbalance=0.01, tol=0.4 * tol),
        Level(np.inf, warmth=0.0, max_iter=max_iter, imbalance=0.004, tol=tol),
    )


def _respond(level, problem, potentials, last):
    """Return what the atoms receive of one measure, from potentials of zero if there are none.

    Where parts of the atoms are loosely connected, smoothed plans that are in balance take far
    longer than exact ones of few points; the level stays with those.
    """
    few = problem.p == 2 and len(problem.cloud.points) * len(problem.target) <= _FEW
    if few and last is not None and last.exact:
        return ExactPull(problem)
    if potentials is None:
        potentials = np.zeros(len(problem.target))
    find, labels = approach if few else settle, None if last is None else last.labels
    warmth = max(level.warmth, _warmth(problem))
    state = find(problem, potentials, warmth, level.imbalance, labels)
    if few and not state.settled(level.imbalance):
        return ExactPull(problem)
    return SmoothPull(problem, state)


def _warmth(problem):
    """Return the least warmth of plans: where points are few or heavy, masses jump otherwise."""
    density = problem.cloud.effective_size / len(problem.target)
    return float(np.clip(_GRAIN * density**_GRAIN_POWER, *_WARMTHS))


def _certified(atoms, p, prepared, potentials):
    """Solve one measure's transport to the final atoms exactly."""
    problem, columns = prepared.problem(atoms, p)
    return prepared.result(atoms, columns, p, solve_problem(problem, potentials))
