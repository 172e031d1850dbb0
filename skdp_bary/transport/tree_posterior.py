"""Posterior of the masses of a tree of cells given noisy measurements."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..exceptions import check_real
from .tree_fits import make_consistent, project_nonnegative
from .tree_messages import Split
from .trees import Grid, Tree

DIRICHLET_PRIOR = ((0.7, 0.1), (0.3, 1.0))
_MAX_PASSES = 20
_ROUNDING = 1e-9  # of probabilities added up over all cells of a level


def infer_masses(
    tree, measurements, *, prior=DIRICHLET_PRIOR, step=None, width=9.0, gaussian=False, start=None
):
    """Posterior distribution of the mass of every cell listed in a tree.

    Parameters
    ----------
    tree : Tree
        Chosen cells of all levels but the last split into their children.
    measurements : sequence of (values, rates)
        Independent rounds of measurement. `values` and `rates` hold one array (or one number)
        per level, None for a level that was not measured; a rate of 0 marks a cell that was not.
        Together they must determine the masses of the first level.
    prior : sequence of (weight, concentration), or one such sequence a step
        The mixture of the splits: weights and Dirichlet parameters per child, for all steps from
        level to level or for each of them.
    step : float, default=None
        Grid of the masses; None for ``max(0.35 / rate, 0.2)`` with the largest rate.
    width : float, default=9.0
        Half-width of the windows in standard deviations of the least-squares estimate.
    gaussian : bool, default=False
        Whether errors are Gaussian, with standard deviation 1 / rate, instead of Laplace.
    start : TreePosterior, default=None
        Result of :func:`glance` for the same measurements: the first windows are made about its
        means instead of the masses of least squares.

    Returns
    -------
    posterior : TreePosterior

    Raises
    ------
    FloatingPointError
        When no windows are found, because the measurements contradict each other by hundreds of
        times what their rates allow.

    Notes
    -----
    Belief propagation (Pearl 1982), exact on a tree: one pass up and one down, each O(n log n)
    for n places of all windows. A window has about ``2 * width * sd / step`` points: for cells
    measured thousands of times less accurately than the best one, choose a larger step.
    """
    model = _Model.of(tree, measurements, prior, step, width, gaussian)
    windows = model.windows if start is None else model.windows.moved(start.mean)
    for _ in range(_MAX_PASSES):
        posterior = model.posterior(windows)
        # The means of exact marginals add up on any grids; where they do not, rounding is large.
        levels = zip(posterior.mean[1:], tree.branching, strict=True)
        sums = [mass.reshape(-1, b).sum(axis=1) for mass, b in levels]
        levels = zip(sums, posterior.mean[:-1], tree.chosen[:-1], strict=True)
        adds_up = all((np.abs(s - x[mask]) <= model.step).all() for s, x, mask in levels)
        if adds_up and windows.span(posterior.mean):
            return posterior
        windows = windows.moved(posterior.mean)
    raise FloatingPointError(
        "`measurements` contradict each other by far more than their rates allow. Rates are one "
        "over the scale of the noise, for example 1 / 2.5."
    )


def glance(tree, measurements, *, prior, step, width):
    """Return the posterior on the windows of least squares, right or not.

    A first pass of :func:`infer_masses`, whose parameters it has: on a coarse grid it teaches in a
    fraction of the time how cells split and where to look for their masses.
    """
    model = _Model.of(tree, measurements, prior, step, width, gaussian=False)
    return model.posterior(model.windows)


@dataclass(frozen=True, eq=False)
class _Model:
    """What is measured and believed of the masses of a tree, and where to look for them first."""

    tree: Tree
    rounds: list
    priors: list
    step: float
    gaussian: bool
    windows: object

    @classmethod
    def of(cls, tree, measurements, prior, step, width, gaussian):
        """Check what is given."""
        priors = np.array(prior, dtype=float)
        if not (tree.depth and priors.ndim == 3):  # one mixture for all steps
            priors = np.repeat(priors[None], tree.depth, axis=0)
        priors[:, :, 0] /= priors[:, :, 0].sum(axis=1, keepdims=True)
        rounds = [_check_round(tree, *measurement) for measurement in measurements]
        largest = max((r.max(initial=0) for _, rates in rounds for r in rates), default=0)
        if largest == 0:
            raise ValueError(
                "`measurements` needs at least one cell with a positive rate, for example "
                "[([total, None], [0.4, None])]."
            )
        step = max(0.35 / largest, 0.2) if step is None else step
        step = check_real(step, "step", low=0, open_low=True)
        width = check_real(width, "width", low=0, open_low=True)
        estimates, deviations = _least_squares(tree, rounds, 1.0 if gaussian else 2.0)
        reaches = [width * sd for sd in deviations]
        windows = _Windows(tree, estimates, project_nonnegative(tree, estimates), reaches, step)
        return cls(tree, rounds, priors, step, gaussian, windows)

    def posterior(self, windows):
        """Return the posterior on some windows."""
        grids = windows.grids()
        own = []
        for k, grid in enumerate(grids):  # log density of the level's own measurements
            log = np.zeros(len(grid.units))
            for values, rates in self.rounds:
                if not rates[k].any():
                    continue
                off = np.abs(self.step * grid.units - grid.spread(values[k]))
                off *= grid.spread(rates[k])
                log -= off**2 / 2 if self.gaussian else off
                highest = rates[k] / (np.sqrt(2 * np.pi) if self.gaussian else 2.0)
                log += grid.spread(np.log(np.where(rates[k] > 0, highest, 1.0)))
            own.append(log)
        return _propagate(self.tree, own, grids, windows.centers, self.step, self.priors)


@dataclass(frozen=True, eq=False)
class _Windows:
    """Where masses are looked for: between two guesses, and so far below and above them.

    `centers` are non-negative and add up.
    """

    tree: Tree
    guesses: list
    centers: list
    reaches: list
    step: float

    def grids(self):
        """Return the windows in units of the step.

        Sums over nested cells are totally unimodular: `centers` have a rounding to whole units
        that adds up and moves no cell by a unit. So a margin of one leaves masses in all windows.
        """
        lo, hi = [], []
        for low, high, reach in self._between():
            lo.append(np.maximum(np.floor((low - reach) / self.step) - 1, 0))
            hi.append(np.ceil((high + reach) / self.step) + 1)
        for k, b in enumerate(self.tree.branching):  # also bounds cells of which nothing is known
            hi[k + 1] = np.minimum(hi[k + 1], np.repeat(hi[k][self.tree.chosen[k]], b))
        # without what no masses in the other windows can add up to
        for k in reversed(range(self.tree.depth)):
            mask, b = self.tree.chosen[k], self.tree.branching[k]
            lo[k][mask] = np.maximum(lo[k][mask], lo[k + 1].reshape(-1, b).sum(axis=1))
            hi[k][mask] = np.minimum(hi[k][mask], hi[k + 1].reshape(-1, b).sum(axis=1))
        for k, b in enumerate(self.tree.branching):
            mask = self.tree.chosen[k]
            low, high = lo[k + 1].reshape(-1, b), hi[k + 1].reshape(-1, b)
            siblings_low = low.sum(axis=1, keepdims=True) - low
            siblings_high = high.sum(axis=1, keepdims=True) - high
            lo[k + 1] = np.maximum(low, lo[k][mask, None] - siblings_high).ravel()
            hi[k + 1] = np.minimum(high, hi[k][mask, None] - siblings_low).ravel()
        return [Grid(a.astype(np.int64), z.astype(np.int64)) for a, z in zip(lo, hi, strict=True)]

    def span(self, masses):
        """Whether masses are at least half a reach inside the windows, or these go down to 0."""
        return all(near.all() for near in self._near(masses))

    def moved(self, masses):
        """Return windows about these masses, and where they are far out, from the old ones on."""
        levels = zip(masses, self.centers, self._near(masses), strict=True)
        guesses = [np.where(near, x, c) for x, c, near in levels]
        centers = project_nonnegative(self.tree, masses)
        return replace(self, guesses=guesses, centers=centers)

    def _between(self):
        for guess, center, reach in zip(self.guesses, self.centers, self.reaches, strict=True):
            yield np.minimum(guess, center), np.maximum(guess, center), reach

    def _near(self, masses):
        for x, (low, high, reach) in zip(masses, self._between(), strict=True):
            to_zero = low - reach <= self.step
            yield (to_zero | (x >= low - reach / 2)) & (x <= high + reach / 2)


@dataclass(frozen=True, eq=False)
class TreePosterior:
    """Marginal posterior distributions of the masses of the cells of a tree.

    Attributes
    ----------
    tree : Tree
    step : float
        Masses are multiples of it.
    grids : tuple of Grid
        The windows of the cells in units of `step`, one entry per level.
    probabilities : tuple of ndarray
        Probabilities on these windows, cell after cell.
    parts : tuple of ndarray of shape (n_parts, n_chosen)
        For each step from level to level, the probability that a chosen cell was split by each
        part of the prior.
    """

    tree: Tree
    step: float
    grids: tuple
    probabilities: tuple
    parts: tuple = ()

    @cached_property
    def mean(self):
        """Posterior means, one array per level; a chosen cell has the sum of its children's."""
        found = []
        for grid, p in zip(self.grids, self.probabilities, strict=True):
            found.append(self.step * (grid.lo + grid.sum(p * (grid.units - grid.spread(grid.lo)))))
        return tuple(found)

    def quantile(self, q):
        """Return the smallest masses with posterior probability at least `q` at or below them."""
        q = check_real(q, "q", low=0, high=1, open_low=True, open_high=True)
        quantiles = []
        for grid, p in zip(self.grids, self.probabilities, strict=True):
            below = np.cumsum(p)
            below -= grid.spread(below[grid.starts] - p[grid.starts])
            rank = grid.sum((below < q).astype(np.int64))
            quantiles.append(self.step * (grid.lo + np.minimum(rank, grid.sizes - 1)))
        return tuple(quantiles)

    def interval(self, coverage=0.9):
        """Return lower and upper ends of intervals with at least this posterior probability.

        They are the shortest ones, except for cells that are more likely empty than not: those
        have intervals from 0 to the quantile ``(1 + coverage) / 2``, because the shortest would be
        as short as the prior believes in empty cells.
        """
        coverage = check_real(coverage, "coverage", low=0, high=1, open_low=True, open_high=True)
        low, high = [], []
        median, upper = self.quantile(0.5), self.quantile(0.5 + coverage / 2)
        levels = zip(self.grids, self.probabilities, median, upper, strict=True)
        for grid, p, middle, end in levels:
            first, last = _shortest_windows(grid, p, coverage)
            low.append(np.where(middle > 0, self.step * (grid.lo + first), 0.0))
            high.append(np.where(middle > 0, self.step * (grid.lo + last), end))
        return tuple(low), tuple(high)


def _shortest_windows(grid, p, coverage):
    """Return the first and the last place of the shortest run of each cell with `coverage` in it.

    Of several as short the most probable one is taken.
    """
    if not p.size:
        return grid.lo, grid.lo
    total = np.cumsum(p)
    before = total - p
    # for every first place the nearest last one with enough in between; the excess breaks ties
    last = np.searchsorted(total, before + coverage * (1 - _ROUNDING))
    places, ends = np.arange(len(p)), grid.spread(grid.starts + grid.sizes - 1)
    inside = np.minimum(last, ends)
    length = np.where(last <= ends, inside - places - (total[inside] - before), np.inf)
    best = np.minimum.reduceat(length, grid.starts)
    first = np.flatnonzero(length == grid.spread(best))
    first = first[np.searchsorted(first, grid.starts)]
    return first - grid.starts, inside[first] - grid.starts


def _check_round(tree, values, rates):
    """Values and rates of one round as full levels, with rate 0 where nothing was measured."""
    full = []
    for name, levels in (("values", values), ("rates", rates)):
        levels = [np.asarray(0.0 if x is None else x) for x in levels]
        pairs = zip(levels, tree.sizes, strict=True)
        levels = [np.broadcast_to(x, n) if x.ndim == 0 else x for x, n in pairs]
        full.append(tree.check(levels, name))
    values, rates = full
    if not all(((r >= 0) & (r < np.inf)).all() for r in rates):
        raise ValueError(
            "`rates` must be non-negative and finite: 0 for a cell that was not measured."
        )
    values = tuple(np.where(r > 0, v, 0.0) for v, r in zip(values, rates, strict=True))
    if not all(np.isfinite(v).all() for v in values):
        raise ValueError("`values` must be finite wherever their rate is positive.")
    return values, rates


def _least_squares(tree, rounds, spread):
    """Least-squares masses and their standard deviations; an error has variance spread/rate²."""
    values, variances = [], []
    for k in range(tree.depth + 1):
        precisions = [rates[k] ** 2 / spread for _, rates in rounds]
        precision = sum(precisions)
        weighted = sum(p * v[k] for p, (v, _) in zip(precisions, rounds, strict=True))
        measured = precision > 0
        divisor = np.where(measured, precision, 1.0)
        values.append(weighted / divisor)
        variances.append(np.where(measured, 1 / divisor, np.inf))
    estimates, variances = make_consistent(tree, values, variances)
    if not np.isfinite(variances[0]).all():
        raise ValueError(
            "`measurements` must determine the masses of the first level: measure it, or all of "
            "what is below one of its cells."
        )
    return estimates, [np.sqrt(v) for v in variances]


def _propagate(tree, own, grids, centers, step, priors):
    """One pass up and one pass down with logs of messages; exact for masses on the grids.

    `own` are the logs of the likelihoods of the cells' own measurements.
    """
    # up: what lies below a cell tells of its mass; down: what all other cells tell
    below, splits = list(own), [None] * tree.depth
    for k in reversed(range(tree.depth)):
        chosen, b = np.flatnonzero(tree.chosen[k]), tree.branching[k]
        targets = centers[k] / step
        splits[k] = Split(chosen, b, grids[k], grids[k + 1], priors[k], below[k + 1], targets)
        below[k] = own[k] + splits[k].convolve(own[k])
    above, probabilities = np.zeros(len(grids[0].units)), []
    for k, grid in enumerate(grids):
        p, log_sums = grid.normalize(above + below[k])
        probabilities.append(p)
        if k < tree.depth:
            above = splits[k].correlate(above + own[k], log_sums)
    parts = tuple(split.parts for split in splits)
    return TreePosterior(tree, step, tuple(grids), tuple(probabilities), parts)
