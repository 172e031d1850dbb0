"""Points in an order that keeps neighbors together, and the semi-dual from them to few atoms."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import splu

from .costs import SOFT, Totals, fold, pairwise_cost, two_cheapest

# Weighted points in an order that keeps neighbors together, and coarser versions of them.

_AXES = 3  # principal axes that enter the order
_SAMPLE = 4000  # points from which those are read
_ITERATIONS = 4
_AXIS_BITS = 11
_HASH_BITS = 64 - _AXES * _AXIS_BITS
_BLOCK = (1024, 4096)  # least and most points of a block
_PART = 2**18  # numbers of which there are copies on the way into order


@dataclass(frozen=True)
class OrderedPoints:
    """Distinct points, with weights that sum to one, along a space-filling curve.

    Consecutive points form blocks; the box around a block bounds which atoms can serve it.

    Attributes
    ----------
    points : ndarray of shape (n_points, n_features)
    weights : ndarray of shape (n_points,)
    n_origin : int
        Number of points that these are a sample of, or all.
    """

    points: np.ndarray
    weights: np.ndarray
    n_origin: int = 0

    @cached_property
    def starts(self):
        """Where each block starts, and the end."""
        size = int(np.clip(len(self.points) // 64, *_BLOCK))
        return np.append(np.arange(0, len(self.points), size), len(self.points))

    @cached_property
    def _corners(self):
        starts = self.starts[:-1]
        return np.minimum.reduceat(self.points, starts), np.maximum.reduceat(self.points, starts)

    @cached_property
    def centers(self):
        """Center of each block's box, of shape (n_blocks, n_features)."""
        return (self._corners[0] + self._corners[1]) / 2

    @cached_property
    def widths(self):
        """Half the side lengths of each block's box, of shape (n_blocks, n_features)."""
        return (self._corners[1] - self._corners[0]) / 2

    @property
    def effective_size(self):
        """Number of points of equal weight that would lie as densely."""
        return 1.0 / (self.weights @ self.weights)

    def coarse(self, size):
        """Return about `size` of the points with equal weights, by systematic sampling.

        Every stretch of the curve with mass ``1 / size`` gives one point, so that a region's mass
        is off by its border only. Everything comes back when there are no more points than that.
        """
        if len(self.points) <= size:
            return self
        size, cumulated = round(size), np.cumsum(self.weights)
        levels = (np.arange(size) + 0.5) * (cumulated[-1] / size)
        found = np.searchsorted(cumulated[:-1], levels)  # so that the last point is the last
        first = np.flatnonzero(np.append(True, found[1:] != found[:-1]))
        counts = np.diff(np.append(first, len(found)))
        return OrderedPoints(self.points[found[first]], counts / size, self.n_origin)


def order_points(points, weights, inward=np.asarray):
    """Merge equal points and put them along a space-filling curve.

    The curve is a Z-order over the leading principal axes, with a hash to tell the rows of one cell
    apart: equal rows become neighbors, and only rows equal in full are merged.

    Parameters
    ----------
    points : ndarray of shape (n_points, n_features)
    weights : ndarray of shape (n_points,)
    inward : callable
        Maps points, some at a time, to those that are put in order.

    Returns
    -------
    ordered : OrderedPoints
    inverse : ndarray of shape (n_points,)
        Position of every given point in `ordered`.
    """
    order = np.argsort(_curve_keys(points, inward))
    ranked = np.empty(points.shape)
    for part in _parts(points):
        ranked[part] = inward(points[order[part]])
    first = np.zeros(len(points), dtype=bool)
    first[0] = True
    for column in ranked.T:
        first[1:] |= column[1:] != column[:-1]
    inverse = np.empty(len(points), dtype=index_type(len(points)))
    if first.all():
        distinct, masses = ranked, weights[order]
        inverse[order] = np.arange(len(points), dtype=inverse.dtype)
    else:
        position = np.cumsum(first) - 1
        distinct, masses = ranked[first], np.bincount(position, weights[order])
        inverse[order] = position
    return OrderedPoints(distinct, masses / masses.sum(), len(distinct)), inverse


def index_type(size):
    """Return the shortest integer type that can count that far."""
    return np.int32 if size < 2**31 else np.int64


def _parts(points):
    """Yield slices of points of which copies are small."""
    size = max(1, _PART // points.shape[1])
    yield from (slice(start, start + size) for start in range(0, len(points), size))


def _curve_keys(points, inward):
    axes = _leading_axes(points, inward)
    low, high = np.inf, -np.inf
    for part in _parts(points):
        along = _along(inward(points[part]), axes)
        low, high = np.minimum(low, along.min(axis=0)), np.maximum(high, along.max(axis=0))
    cells = (2**_AXIS_BITS - 1) / np.where(high > low, high - low, 1.0)
    keys, spread = np.zeros(len(points), dtype=np.uint64), _spread_bits(len(low))
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 2**63, points.shape[1], dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    for part in _parts(points):
        moved = inward(points[part])
        places = ((_along(moved, axes) - low) * cells).astype(np.int16)
        for axis, column in enumerate(places.T):
            keys[part] |= (spread << np.uint64(axis))[column]
        keys[part] <<= np.uint64(_HASH_BITS)
        # integer products wrap, so equal rows have equal hashes; + 0.0 turns -0.0 into 0.0
        hashes = np.ascontiguousarray(moved + 0.0).view(np.uint64) @ factors
        keys[part] |= hashes >> np.uint64(64 - _HASH_BITS)
    return keys


def _leading_axes(points, inward):
    """Return a few directions in which the points vary most, or nearly so; None for all axes."""
    if points.shape[1] <= _AXES or len(points) == 1:  # one point varies in no direction
        return None
    some = inward(points[:: max(1, len(points) // _SAMPLE)])
    centered = some - some.mean(axis=0)
    directions = np.random.default_rng(0).standard_normal((points.shape[1], 2 * _AXES))
    # subspace iteration from a random start (Halko, Martinsson and Tropp 2011, algorithm 4.4)
    for _ in range(_ITERATIONS):
        directions, _ = np.linalg.qr(centered.T @ (centered @ directions))
    _, vectors = np.linalg.eigh(np.cov(centered @ directions, rowvar=False))
    return directions @ vectors[:, -_AXES:]


def _along(points, axes):
    return points[:, :_AXES] if axes is None else points @ axes


def _spread_bits(n_axes):
    """Return every cell number with `n_axes` - 1 zero bits put between its bits."""
    cells = np.arange(2**_AXIS_BITS, dtype=np.uint64)
    # bit b goes to place b * n_axes, so that the bits of all axes interleave (Morton 1966)
    spread = np.zeros_like(cells)
    for bit in range(_AXIS_BITS):
        spread |= ((cells >> np.uint64(bit)) & np.uint64(1)) << np.uint64(bit * n_axes)
    return spread


# The semi-dual of optimal transport to few atoms, exact or with soft minima, block by block.

_WORTH_IT = 10_000  # points from which compiled loops are loaded, which takes half a second once
_TRUSTED = 8.0  # temperatures over which the quadratic model is good for a loose mode
_LEAST_SCALE = 1e-30  # in the unit frame; keeps temperatures away from zero
_SEMIDUAL_SAMPLE = 20  # points per atom from which the scales of the cells are read
_BOXED = 3  # most features in which boxes tell near atoms from far ones
_LARGE = 2_000_000  # points times atoms from which code that does so is loaded, or compiled once
_LOOSE = 8  # a Hessian with fewer than one in so many entries is solved as a sparse matrix
_MANY = 128  # atoms from which that pays


@dataclass(frozen=True)
class SemidualProblem:
    """Points against atoms with target masses that sum to one."""

    cloud: OrderedPoints
    atoms: np.ndarray
    target: np.ndarray
    p: float

    @property
    def compiled(self):
        """Whether compiled loops, which are for p = 2, run over the points.

        That depends on the whole cloud, so that all its samples are treated alike.
        """
        return self.p == 2 and self.cloud.n_origin >= _WORTH_IT

    @property
    def boxed(self):
        """Whether points are compared with the atoms near them only, as all samples are alike."""
        few = self.atoms.shape[1] <= _BOXED
        large = self.cloud.n_origin * len(self.atoms) >= _LARGE
        return few and large and self.compiled

    def coarse(self, points_per_atom):
        """Return the problem with a sample of the points."""
        return replace(self, cloud=self.cloud.coarse(points_per_atom * len(self.atoms)))

    def candidates(self, potentials, reach):
        """Tell which atoms may come within `reach` of the cheapest one somewhere in a block.

        Parameters
        ----------
        potentials : ndarray of shape (n_atoms,)
        reach : ndarray of shape (n_blocks,)

        Returns
        -------
        ndarray of bool of shape (n_blocks, n_atoms)
        """
        cloud, atoms = self.cloud, self.atoms
        if self.p != 2:
            far = np.sqrt(np.einsum("ij,ij->i", cloud.widths, cloud.widths))[:, None]
            distance = pairwise_cost(cloud.centers, atoms, 1)
            lowest = np.maximum(distance - far, 0.0) ** self.p - potentials
            highest = (distance + far) ** self.p - potentials
            return lowest <= highest.min(axis=1, keepdims=True) + reach[:, None]
        # The difference of two squared distances is affine in the point, so its least value over
        # the box is known exactly.
        least = pairwise_cost(cloud.centers, atoms, 2) - potentials
        winner = least.argmin(axis=1)
        least -= least[np.arange(len(least)), winner][:, None]
        for axis in range(atoms.shape[1]):
            apart = np.abs(atoms[:, axis] - atoms[winner, axis][:, None])
            least -= 2.0 * cloud.widths[:, axis, None] * apart
        return least <= reach[:, None]

    def blocks(self, potentials, reach):
        """Yield (start, stop, atoms that matter, costs less potentials) of every block.

        For p = 2 the entries leave out the point's own squared norm, the same for all atoms.
        """
        starts, matters = self.cloud.starts, self.candidates(potentials, reach)
        for start, stop, mine in zip(starts[:-1], starts[1:], matters, strict=True):
            atoms = np.flatnonzero(mine)
            yield start, stop, atoms, self.entries(self.cloud.points[start:stop], potentials, atoms)

    def entries(self, points, potentials, rows=slice(None)):
        """Return costs less potentials of any points at some atoms, as in :meth:`blocks`."""
        atoms = self.atoms[rows]
        if self.p != 2:
            return pairwise_cost(atoms, points, self.p) - potentials[rows, None]
        entries = (-2.0 * atoms) @ points.T
        entries += (np.einsum("ij,ij->i", atoms, atoms) - potentials[rows])[:, None]
        return entries

    def cheapest(self, potentials):
        """Yield (start, stop, a cheapest atom of every point) of every block."""
        reach = np.zeros(len(self.cloud.centers))
        for start, stop, atoms, entries in self.blocks(potentials, reach):
            yield start, stop, atoms[two_cheapest(entries)[0]]

    def labels(self, potentials):
        """Return a cheapest atom of every point."""
        labels = np.empty(len(self.cloud.points), dtype=np.intp)
        for start, stop, found in self.cheapest(potentials):
            labels[start:stop] = found
        return labels

    @cached_property
    def _sample(self):
        return self.cloud.coarse(_SEMIDUAL_SAMPLE * len(self.atoms)).points

    def scales(self, potentials):
        """Return the mean margin of the points of every atom, read from a sample."""
        if self.boxed:
            from .compiled_shares import two_cheapest as two_near  # loads compiled code

            labels, _, margins = two_near(self._sample, self.atoms, potentials)
        else:
            costs = pairwise_cost(self.atoms, self._sample, self.p) - potentials[:, None]
            labels, lowest, second = two_cheapest(costs)
            margins = second - lowest
        if not np.isfinite(margins).all():
            return np.ones(len(self.atoms))
        counts = np.bincount(labels, minlength=len(self.atoms))
        means = np.bincount(labels, margins, len(self.atoms)) / np.maximum(counts, 1)
        typical = max(margins.mean(), _LEAST_SCALE)
        means[counts == 0] = typical
        return np.maximum(means, 1e-6 * typical)


class Smoothed:
    """The smoothed semi-dual of a SemidualProblem at some potentials, and its derivatives.

    Attributes
    ----------
    potentials : ndarray of shape (n_atoms,)
    temperatures : ndarray of shape (n_points,)
    value : float
        For p = 2 without the mean squared norm of the points.
    dual : float
        The same without smoothing: a lower bound of the cost at any warmth.
    gradient : ndarray of shape (n_atoms,)
        Target masses less masses received when soft points are shared.
    hessian : ndarray of shape (n_atoms, n_atoms)
        Negated, hence positive semi-definite.
    shared : float
        Mass of the soft points, each counted by how evenly it is shared.
    blur : float
        The same with every point counted by its temperature, too.
    labels, margins : ndarrays of shape (n_points,)
        Cheapest atom, and how much dearer the next one is where that is less than the soft range.
    soft_counts : ndarray of shape (n_atoms,)
    soft_sums : ndarray of shape (n_atoms, n_features)
        Sum of weights, and weighted sum, of the soft points each atom receives. For p other than
        2 a point counts by mass times :func:`attraction`.
    """

    def __init__(self, problem, potentials, temperatures):
        weights, target = problem.cloud.weights, problem.target
        total = _totals(problem, potentials, temperatures)
        self.potentials, self.temperatures = potentials, temperatures
        self.labels, self.margins, self.hessian = total.labels, total.margins, total.hessian
        self.shared, self.blur = total.shared, total.blur
        self.soft_counts, self.soft_sums = total.counts, total.sums
        self.dual = float(weights @ total.cheapest + target @ potentials)
        self.value = self.dual - total.softness
        hard = np.bincount(total.labels, total.hard, len(target))
        self.gradient = target - total.masses - hard

    @property
    def imbalance(self):
        """Twice the mass in the wrong place after sharing."""
        return np.abs(self.gradient).sum()

    @property
    def soft(self):
        """Index of the points that are shared among atoms."""
        return np.flatnonzero(self.margins < SOFT * self.temperatures)

    def newton_step(self, longest, gradient=None):
        """Return the change of potentials that removes a gradient, in the quadratic model.

        Where two parts of the atoms share hardly any soft point the Hessian has a mode near zero
        and the step along it overshoots; a ridge keeps every mode below `longest` temperatures.
        """
        gradient = self.gradient if gradient is None else gradient
        size = len(gradient)
        scale = self.hessian.trace() / size + 1e-300
        typical = self.blur / self.shared if self.shared > 0 else 1.0
        ridge = max(np.sqrt(gradient @ gradient) / (longest * typical), 1e-9 * scale)
        if self._sparse is not None:
            matrix = self._sparse + ridge * sparse.eye_array(size, format="csc")
            options = {"SymmetricMode": True}
            factors = splu(matrix, "MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=options)
            step = factors.solve(gradient - gradient.mean())  # constants change no plan
        else:
            # The Hessian vanishes on constants; a rank-one term and the ridge make it definite.
            matrix = self.hessian + scale / size
            matrix[np.diag_indices(size)] += ridge
            step = np.linalg.solve(matrix, gradient)
        return step - step.mean()

    @cached_property
    def _sparse(self):
        """The Hessian of many atoms, few of which share points; otherwise None."""
        size = len(self.gradient)
        if size < _MANY or np.count_nonzero(self.hessian) * _LOOSE > size**2:
            return None
        # Twice as fast as leaving it to SciPy; a symmetric matrix is its own transpose.
        flat = np.flatnonzero(self.hessian)
        starts = np.searchsorted(flat, np.arange(0, size**2 + 1, size))
        entries = self.hessian.ravel()[flat], flat % size, starts
        return sparse.csc_array(entries, shape=(size, size))

    def settled(self, tol):
        """Whether at most `tol` mass is out of place, and moving it would gain little.

        The second condition sees potentials of loosely connected atoms that are far off although
        hardly any mass says so.
        """
        if self.imbalance <= 1e-13 or self.shared == 0.0:
            return self.imbalance <= max(tol, 1e-13)
        if self.imbalance > tol:
            return False
        gain = self.gradient @ self.newton_step(_TRUSTED)
        return gain * self.shared <= tol * self.blur


def _totals(problem, potentials, temperatures):
    """Sums over the points."""
    if problem.boxed:
        from .compiled_shares import totals  # loads compiled code

        return totals(problem, potentials, temperatures)
    add = fold
    if problem.compiled:
        from .compiled_shares import fold_block as add  # loads compiled code
    cloud, p = problem.cloud, problem.p
    total = Totals(len(cloud.points), len(problem.target), cloud.points.shape[1])
    farthest = np.maximum.reduceat(SOFT * temperatures, cloud.starts[:-1])
    for start, stop, atoms, entries in problem.blocks(potentials, farthest):
        block = slice(start, stop)
        add(total, block, atoms, entries, cloud, temperatures, p, potentials)
    if problem.compiled:
        total.mirror()
    return total


# Newton's method on the smoothed semi-dual, with the temperatures lowered step by step.

_COOLING = 5.0
_COLD_START = 2.0  # warmth at which the smoothed dual is nearly quadratic from anywhere
_OWN_SCALE = 0.02  # warmth below which every cell has its own scale
_HOTTER = 2.0  # coolings by which loosely connected atoms are warmed up

_FREE = 1e3  # longest step along any mode, in temperatures, where the model is trusted
_WARY = 30.0  # where atoms have moved and it is not
_SHORTEST = 0.5
_TRUST_FACTOR = 5.0

_MAX_SETTLING = 8
_NEWTON_SAMPLE = 200  # points per atom on which loosely connected atoms are put right
_ADRIFT = 0.03  # imbalance beyond what a sample of that size leaves


def settle(problem, potentials, warmth, tol, labels=None):
    """Climb at one warmth until `tol` mass is out of place.

    Damped Newton on the entropic semi-dual (Genevay, Cuturi, Peyre and Bach 2016): a step costs
    O(n_points n_atoms) where boxes do not rule atoms out, and O(n_atoms**3) for the Hessian.

    Where that fails, parts of the atoms are loosely connected and far from balance; they are
    warmed up, where they are connected, and cooled again, on a sample of the points.
    """
    state = approach(problem, potentials, warmth, tol, labels)
    sample = problem.coarse(_NEWTON_SAMPLE)
    noise = _ADRIFT if len(sample.cloud.points) < len(problem.cloud.points) else 0.0
    if state.settled(tol) or state.imbalance < noise:
        return state
    potentials = state.potentials
    for warmer in warmth * _COOLING ** np.arange(_HOTTER, -1.0, -1.0):
        potentials = _climb_on(sample, heat(sample, potentials, warmer), tol).potentials
    other = _climb_on(problem, heat(problem, potentials, warmth), tol)
    return min(state, other, key=lambda each: each.imbalance)


def approach(problem, potentials, warmth, tol, labels=None):
    """Climb at one warmth until `tol` mass is out of place or steps no longer help."""
    return _climb_on(problem, heat(problem, potentials, warmth, labels), tol)


def _climb_on(problem, state, tol):
    longest = _WARY
    for _ in range(_MAX_SETTLING):
        if state.settled(tol):
            break
        while longest >= _SHORTEST:  # a Newton step, shortened until it helps
            step = state.newton_step(longest)
            trial = Smoothed(problem, state.potentials + step, state.temperatures)
            gained = trial.value >= state.value + 0.1 * (state.gradient @ step)
            if gained or trial.imbalance < 0.6 * state.imbalance:
                break
            longest /= _TRUST_FACTOR
        else:
            break
        state, longest = trial, min(longest * _TRUST_FACTOR, _FREE)
    return state


def heat(problem, potentials, warmth, labels=None):
    """Evaluate with every point's temperature taken from the scale of its cell.

    `labels` are those of potentials nearby; ``None`` finds them first.
    """
    labels = problem.labels(potentials) if labels is None else labels
    scales = problem.scales(potentials)
    # Far from balance the cells are not yet those of the solution, nor are their scales.
    trust = np.clip(np.log(_COLD_START / warmth) / np.log(_COLD_START / _OWN_SCALE), 0.0, 1.0)
    scales = scales.mean() ** (1.0 - trust) * scales**trust
    return Smoothed(problem, potentials, warmth * scales[labels])
