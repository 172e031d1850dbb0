"""Ways to measure a tree of cells, masses made of noisy counts, and one adaptive pyramid."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from ..geometry.cells import CellTree
from ..geometry.domains import Box, Domain
from ..privacy.mechanisms import ADD_REMOVE
from ..queries.cells import DisjointCounts, HaarDifferences, LevelCounts, RunDivision
from ..transport.tree_fits import CellMasses, make_consistent, project_nonnegative, rebuild_masses
from ..transport.tree_posterior import infer_masses
from ..transport.trees import Tree, refine
from .noisy_means import PYRAMID, TREES, pyramid_tuning

# Ways to measure a tree of cells: which numbers are released, and how masses are made of them.


class HaarMethod:
    """Noisy differences of halves, each drawn towards what a public prior expects.

    The best exponent for a bound on the p-th power of the Wasserstein error is ``(1 - p/d) / 2``.
    For p = 1, equal noise on all levels measured better once splits are drawn to a prior.

    Parameters
    ----------
    power : float, default=None
        The power p of the Wasserstein distance that matters; deeper levels then get less noise, by
        two thirds of the exponent above. None: equal noise on all levels.
    """

    query_class = HaarDifferences

    def __init__(self, power=None):
        self.power = power

    def query(self, tree, n_classes, units, total_public):
        """Return the query of this method."""
        # equal scales, or scales that shrink by 2**((1 - p/d) / 3) a level
        p_by_d = 1.0 if self.power is None else self.power / tree.domain.n_features
        scales = 2.0 ** (-np.arange(tree.depth) * ((1.0 - p_by_d) / 3.0))
        loss = (1.0 / scales).sum() if tree.depth else 1.0
        total_scale = (1.0 - TREES.total_share) / (TREES.total_share * loss)
        weights = (total_scale, *scales.tolist())
        return self.query_class(tree, n_classes, units, total_public, weights)

    def masses(self, tree, blocks, noise_sd):
        """Return the masses of the cells of every level, from one class's noisy blocks.

        Parameters
        ----------
        tree : CellTree
        blocks : list of ndarray
            The noisy total, then one array per level, in people.
        noise_sd : list of float
            Standard deviation of the noise of each block, in people.
        """
        return rebuild_masses(tree, blocks[0][0], blocks[1:], noise_sd[1:], tree.prior)

    def split_noise(self, tree, noise_sd):
        """Return the standard deviation of what is known of the splits of each level."""
        return noise_sd[1:]

    def depth(self, signal, finest):
        """Number of halvings that are worth their noise, not rounded.

        Parameters
        ----------
        signal : float
            Logarithm to base 2 of the people in a distribution times epsilon.
        finest : float
            Halvings after which cells of even masses are small next to what is asked of them.
        """
        return min(signal - 3.0, finest)


class BlockCountsMethod:
    """Noisy counts on every few levels; differences of halves are read inside the blocks between.

    Pure noise costs what its levels add up to, so few levels have much less noise each. A
    difference of halves some levels above the counts is one of sums of independent counts: its
    noise variance doubles with every level, which is the price. The depth was chosen on the US and
    on a generated population, with 48 atoms and epsilon times people from 4000 to 200000, and for
    fewer on mixtures in two to four dimensions.

    Parameters
    ----------
    step : int
        Levels between two levels of counts, about.
    """

    def __init__(self, step):
        self.step = step

    def levels(self, depth):
        """Return the levels of counts: evenly spaced, the last one the depth."""
        blocks = max(1, round(depth / self.step))
        return tuple(math.ceil(depth * (block + 1) / blocks) for block in range(blocks))

    def depth(self, signal, finest):
        """Return more halvings than differences afford where the signal is strong."""
        return min(max(signal - 3.0, 1.5 * signal - 8.6), finest + 2.0)

    def query(self, tree, n_classes, units, total_public):
        """Return the query: a total that no one can change is free, another one is not asked."""
        levels = self.levels(tree.depth)
        levels = (0, *levels) if total_public and tree.depth else levels
        weights = (1.0,) * len(levels)
        return LevelCounts(tree, n_classes, units, total_public, weights, levels=levels)

    def masses(self, tree, blocks, noise_sd):
        """Return the masses rebuilt from the root down."""
        differences, top = [], 0
        for low, sums in self._counted(tree, blocks):
            for level in reversed(range(top, low)):
                first, second = tree.halves(sums, level)
                differences.insert(top, first - second)  # from the counts up: before those below
                sums = first + second
            top = low
        noise_sd = self.split_noise(tree, noise_sd)
        return rebuild_masses(tree, blocks[0].sum(), differences, noise_sd, tree.prior)

    def split_noise(self, tree, noise_sd):
        """Return the standard deviations of sums of the counts below."""
        split_sd = []
        for low, sd in self._counted(tree, noise_sd):
            split_sd.extend(sd * 2.0 ** ((low - level) / 2) for level in range(len(split_sd), low))
        return split_sd

    def _counted(self, tree, blocks):
        """Pair the levels of counts with their entries; an exact total comes before them."""
        levels = self.levels(tree.depth)
        return zip(levels, blocks[-len(levels) :], strict=True)


def cell_support(tree, cells):
    """Return one point of the domain for each cell of a partition."""
    support = np.empty((len(cells.mass), tree.domain.n_features))
    for level, rows, index in by_level(cells.level, cells.index):
        tree.centroids(level, index, out=support[rows])
    return support


def by_level(levels, index):
    """Yield each of the sorted `levels`, the slice of its cells and their indices."""
    changes = np.flatnonzero(levels[1:] != levels[:-1]) + 1
    for start, end in pairwise((0, *changes.tolist(), len(levels))):
        yield int(levels[start]), slice(start, end), index[start:end]


# Noisy counts of cells that were cut in several looks: least squares, and masses that add up.


def least_squares(parents, values, variances):
    """Return the best estimate of every cell's mass from all looks, and its variance.

    Exact for independent noise: one pass from the last look to the first, one back.
    """
    values, variances, sums = list(values), list(variances), [None] * len(parents)
    for i in reversed(range(len(parents))):
        n_cells = len(values[i])
        below = np.bincount(parents[i], values[i + 1], n_cells)
        noise = np.bincount(parents[i], variances[i + 1], n_cells)
        sums[i] = below, noise
        own = variances[i] / (variances[i] + noise)
        values[i] = values[i] + own * (below - values[i])
        variances[i] = own * noise
    for i, parent in enumerate(parents):
        below, noise = sums[i]
        share = variances[i + 1] / noise[parent]
        values[i + 1] = values[i + 1] + share * (values[i] - below)[parent]
        left = variances[i + 1] * (1.0 - share)
        variances[i + 1] = left + share**2 * variances[i][parent]
    return values, variances


def nonnegative(parents, estimates, alive=None, doubts=None):
    """Return masses of at least zero that add up, the nearest ones from the first look down.

    Parameters
    ----------
    parents : list of ndarray
    estimates : list of ndarray
    alive : list of ndarray of bool, default=None
        The other parts of a cell count together. They share what they hold where it is beyond
        doubt, or no part is alive; else those that are alive get it. In the first look no one does:
        the few that are alive would get the noise of all.
    doubts : list of ndarray, default=None
        Squares of what a cell that is not alive may hold of noise; they add up.
    """
    if alive is None:
        alive = [np.ones(len(values), dtype=bool) for values in estimates]
        doubts = [np.zeros(len(values)) for values in estimates]
    masses, parents = [], [np.zeros(len(estimates[0]), dtype=np.int64), *parents]
    for parent, values, lives, doubt in zip(parents, estimates, alive, doubts, strict=True):
        group, n_groups = 2 * parent + lives, 2 * (parent[-1] + 1)
        rest, held = np.bincount(group, values, n_groups).reshape(-1, 2).T
        none = np.bincount(parent, lives) == 0
        sure = none | (rest > np.sqrt(np.bincount(group, doubt, n_groups)[::2]))
        rest = np.where(sure, rest, 0.0)
        whole = masses[-1] if masses else np.maximum(rest + held, 0.0)
        rest = np.where(none, whole, np.clip(rest, 0.0, whole))
        masses.append(_divided(values, group, np.stack([rest, whole - rest], axis=1).ravel()))
    return masses


def _divided(values, group, totals):
    """Project the values of every group onto the non-negative vectors of the group's total."""
    # the nearest point of a simplex is a shift and a cut at zero (Held, Wolfe and Crowder, 1974)
    order = np.lexsort((-values, group))
    ordered, group = values[order], group[order]
    starts = np.flatnonzero(np.r_[True, group[1:] != group[:-1]])
    sizes = np.diff(np.r_[starts, len(group)])
    first = np.repeat(np.arange(len(starts)), sizes)
    sums = np.cumsum(ordered)
    sums -= np.r_[0.0, sums[starts[1:] - 1]][first]
    rank = np.arange(len(group)) - starts[first] + 1
    excess = sums - totals[group]
    support = np.maximum(np.add.reduceat(ordered * rank > excess, starts, dtype=np.int64), 1)
    shift = excess[starts + support - 1] / support
    found = np.empty(len(values))
    found[order] = np.where(totals[group] > 0, np.maximum(ordered - shift[first], 0.0), 0.0)
    return found


# Noisy masses of disjoint cells of a tree.


@dataclass(frozen=True, eq=False)
class Measurement:
    """Released masses of disjoint cells, with noise of one scale.

    Attributes
    ----------
    level, code : ndarray of int
        The cells: level in a tree, and code at that level; Morton codes of a quadtree.
    mass : ndarray
        Noisy masses, in people.
    rate : float
        The noise on a mass has density proportional to ``exp(-rate * abs(noise))``; Gaussian noise,
        to ``exp(-(rate * noise)**2 / 2)``.
    """

    level: np.ndarray
    code: np.ndarray
    mass: np.ndarray
    rate: float

    def on_tree(self, tree):
        """Return masses and rates for every cell of a tree, with rate 0 where nothing is known."""
        values = [np.zeros(n) for n in tree.sizes]
        rates = [np.zeros(n) for n in tree.sizes]
        for k, codes in enumerate(tree.codes):
            here = self.level == tree.top + k
            place = np.searchsorted(codes, self.code[here])
            values[k][place] = self.mass[here]
            rates[k][place] = self.rate
        return values, rates


def noisy_total(measurements):
    """Return the mass of the map before it is made non-negative, and its standard deviation.

    Every measurement that covers the map has a sum of its own. They count by their precision:
    Laplace noise of some rate has a variance of 2 / rate**2 on every cell.
    """
    total = precision = 0.0
    for measured in measurements:
        covered = np.exp2(-2.0 * measured.level).sum()
        if covered == 1.0:
            weight = measured.rate**2 / (2.0 * len(measured.mass))
            total += weight * measured.mass.sum()
            precision += weight
    return (total / precision, precision**-0.5) if precision else (math.nan, math.inf)


# One adaptive pyramid of counts: looks, splits, and the posterior of the masses.

WHOLE, ONCE, TWICE = "levels", "cells", "finer_cells"
_SHARPEST = 100.0  # rate of noise: what is narrower changes a count once in exp(100) draws


def pyramid_shares(tuning=PYRAMID):
    """Return the steps of a pyramid and their shares of the budget."""
    first, second, once, twice = tuning.shares
    return {WHOLE: first + second, ONCE: once, TWICE: twice}


def is_box(bounds):
    """Whether bounds are a box, given or found."""
    return not isinstance(bounds, Domain) or isinstance(bounds, Box)


def suits_pyramid(bounds, n_features):
    """Whether a pyramid was measured for such a domain, by public facts alone."""
    given = bounds is not None and is_box(bounds)
    return given and n_features <= pyramid_tuning(n_features).most_features


@dataclass(frozen=True, eq=False)
class Pyramid:
    """The questions of a pyramid on a domain, and what is made of the answers.

    Parameters
    ----------
    facts : Facts
        With the mechanisms of the steps of :func:`pyramid_shares`.
    depth : int or None
        Halvings of the domain at most; None: as many as the signal fills.
    tuning : PyramidTuning
    """

    facts: object
    depth: int | None = None
    tuning: object = PYRAMID

    @cached_property
    def signal(self):
        """People, times how well one of them is seen with the whole budget."""
        rates = [self.rate(step) for step in (WHOLE, ONCE, TWICE)]
        # steps compose: squares of the rates of Gaussian noise add up, rates of Laplace noise do
        whole = math.hypot(*rates) if self.is_gaussian else sum(rates)
        return self._persons * whole

    @property
    def is_gaussian(self):
        """Whether noise is Gaussian."""
        return self.facts.mechanisms[WHOLE].is_gaussian

    @cached_property
    def tree(self):
        """The cells there may be."""
        depth = self.depth
        if depth is None:
            depth = math.ceil(math.log2(max(self.signal, 1.0))) + self.tuning.extra
            sides = self.tuning.of_a_side * self.facts.domain.n_features
            depth = min(max(depth, sides), self.tuning.deepest)
        return CellTree(self.facts.domain, depth)

    @cached_property
    def branching(self):
        """Children of a cell of each step: two halvings, and one more where their number is odd."""
        return (4,) * (self.tree.depth // 2) + (2,) * (self.tree.depth % 2)

    def rate(self, step):
        """Return the rate of Laplace noise as wide as that of a count in its own step."""
        mechanism = self.facts.mechanisms[step]
        reach = 1 if self.facts.relation == ADD_REMOVE else 2  # cells that a neighbor changes
        if mechanism.is_gaussian:
            return mechanism.mu * math.sqrt(2.0 / reach)
        return mechanism.epsilon / reach

    def questions(self):
        """Ask for the counts; return the masses of the cells of each class, and the totals."""
        # one or two full levels, from public numbers alone
        bits = np.concatenate([[0], np.cumsum(np.log2(self.branching))])
        coarse, fine = (power * math.log2(self._most) for power in self.tuning.levels)
        first = int(np.argmin(np.abs(bits - max(coarse, 2.0))))
        second = int(np.searchsorted(bits, min(fine - 0.05, bits[-1])))
        trees = [full_tree(self.branching[:level]) for level in sorted({first, second})]
        kept, totals = yield from self._whole(trees)
        n_classes = self.facts.n_classes
        trees, priors = [trees[-1]] * n_classes, [[self.tuning.prior]] * n_classes
        once, twice = self.tuning.once / self.rate(ONCE), self.tuning.twice / self.rate(TWICE)
        once = max(once, self._persons / self._most**self.tuning.crowd)
        for step, least in ((ONCE, once), (TWICE, twice)):
            for c, tree in enumerate(trees):
                masses, priors[c] = self.posterior(tree, kept[c], priors[c])
                trees[c] = self._split(tree, masses, least)
            released = yield step, self._query([[cells_of(tree) for tree in trees]])
            for c, measurement in enumerate(self._read(released, 0, trees)):
                kept[c].append(measurement)
        found = []
        for c, tree in enumerate(trees):
            masses, _ = self.posterior(tree, kept[c], priors[c])
            total = masses[0][0] if totals is None else totals[c]
            masses = self._with_faint_lowered(tree, masses, kept[c])
            spread = 1.0 if self.is_gaussian else 2.0
            masses = with_rest_kept(tree, masses, kept[c], spread)
            found.append((self._cells(tree, masses), max(float(total), 0.0)))
        return found

    def posterior(self, tree, measurements, priors):
        """Return the expected masses on a tree, and the priors that its splits teach."""
        tuning, best = self.tuning, max(m.rate for m in measurements if m.rate < np.inf)
        step = tuning.step / best * (math.sqrt(0.5) if self.is_gaussian else 1.0)
        step = max(1.0, round(step)) if self.facts.units == 1 else max(0.2, step)
        rounds = [m.on_tree(tree) for m in measurements]
        for measurement, (_, rates) in zip(measurements, rounds, strict=True):
            if measurement.rate == np.inf:  # an exact total: off by less than a step
                rates[0] = np.full(1, 2.0 / step)
        prior = [priors[min(k, len(priors) - 1)] for k in range(tree.depth)] or priors[0]
        try:
            posterior = infer_masses(
                tree, rounds, prior=prior, step=step, width=tuning.width, gaussian=self.is_gaussian
            )
        except FloatingPointError:  # noise beyond all odds: what was paid for is delivered
            return _least_squares(tree, rounds), priors
        return posterior.mean, learned_priors(posterior.parts, self.tuning)

    @property
    def _persons(self):
        """People of one class, about."""
        return self.facts.size / self.facts.n_classes

    @property
    def _most(self):
        """Cells that the signal would fill."""
        cells = self.signal * self.tuning.cells_a_person
        return min(max(cells, 8.0), float(self.tree.n_cells))

    def _whole(self, trees):
        """Ask for full levels, and for the totals where they are public."""
        partitions = [[cells_of(tree)] * self.facts.n_classes for tree in trees]
        shares = self.tuning.shares[:2] if len(trees) == 2 else (1.0,)
        power = 0.5 if self.is_gaussian else 1.0
        weights = [share**-power for share in shares]
        public = self.facts.total_public
        if public:
            root = [cells_of(full_tree(()))] * self.facts.n_classes
            partitions, weights = [root, *partitions], [1.0, *weights]
        released = yield WHOLE, self._query(partitions, tuple(weights))
        kept = [[] for _ in range(self.facts.n_classes)]
        for block, tree in enumerate(trees, start=int(public)):
            every = [tree] * self.facts.n_classes
            for c, measurement in enumerate(self._read(released, block, every)):
                kept[c].append(measurement)
        if not public:
            return kept, None
        totals = [int(total) / self.facts.units for total in released.values[0]]
        root = np.zeros(1, dtype=int)
        for c, total in enumerate(totals):
            kept[c].append(Measurement(root, root, np.array([total]), np.inf))
        return kept, totals

    def _query(self, partitions, weights=None):
        depth = self.tree.depth
        edges = tuple(tuple(edges_of(*cells, depth) for cells in block) for block in partitions)
        cells, facts = RunDivision(self.tree, edges), self.facts
        return DisjointCounts(cells, facts.units, facts.total_public, weights)

    def _read(self, released, block, trees):
        """Yield the measurement of each class out of one block of a release."""
        units, sd = self.facts.units, released.noise_sd[block] / self.facts.units
        scale = 1.0 if self.is_gaussian else math.sqrt(2.0)
        rate = scale / max(sd, scale / _SHARPEST)  # one whole cell has a public count
        start, values = 0, released.values[block]
        for tree in trees:
            levels, codes = cells_of(tree)
            order = np.argsort(paths_of(levels, codes, self.tree.depth))
            mass = values[start : start + len(codes)] / units
            start += len(codes)
            yield Measurement(levels[order], codes[order], mass, rate)

    def _split(self, tree, masses, least):
        """Return the tree split where masses are at least `least`, and not too many of them are."""
        while True:
            finer = refine(tree, masses, least, self.branching)
            n_cells = sum(np.count_nonzero(outer) for outer in finer.outer)
            if n_cells <= self.tuning.most_cells or least > masses[0].sum():
                return finer
            least *= 1.2

    def _with_faint_lowered(self, tree, masses, measurements):
        """Return masses where cells that may well be empty give most of theirs to their siblings.

        A person too many in each of many empty cells hardly moves a count, but far from all others
        it moves distances.
        """
        # squared rates at which cells are known, from their own counts and those below
        precisions = [np.zeros(size) for size in tree.sizes]
        for measurement in measurements:
            for own, rates in zip(precisions, measurement.on_tree(tree)[1], strict=True):
                own += rates**2
        for k in reversed(range(tree.depth)):
            with np.errstate(divide="ignore"):
                variances = (1.0 / precisions[k + 1]).reshape(-1, tree.branching[k]).sum(axis=1)
                precisions[k][tree.chosen[k]] += 1.0 / variances
        found = [masses[0]]
        for k, b in enumerate(tree.branching):
            rows = np.asarray(masses[k + 1]).reshape(-1, b)
            least = self.tuning.faint * precisions[k + 1].reshape(-1, b) ** -0.5
            rows = np.where(rows < least, self.tuning.faint_left * rows, rows)
            sums = rows.sum(axis=1, keepdims=True)
            shares = np.where(sums > 0, rows / np.where(sums > 0, sums, 1.0), 1.0 / b)
            found.append((shares * found[k][tree.chosen[k]][:, None]).ravel())
        return found

    def _cells(self, tree, masses):
        """Return the cells of the domain that have mass, or all by the public prior if none has."""
        levels, codes, mass = tree.leaves(masses)
        bits = np.minimum(2 * levels, self.tree.depth)
        index = np.empty(len(codes), dtype=np.int64)
        for level in np.unique(bits):
            here = bits == level
            index[here] = self.tree.index_of_paths(codes[here], int(level))
        order = np.lexsort((index, bits))
        bits, index, mass = bits[order], index[order], mass[order]
        is_box, total = isinstance(self.facts.domain, Box), mass[mass > 0].sum()
        if not is_box:
            mass = np.where(self._shares(bits, index) > 0, mass, 0.0)  # no row can be in the others
        if not mass.any():  # noise outweighs the data
            mass = self._shares(bits, index)
            total = mass[mass > 0].sum()
        held = mass > 0
        bits, index, mass = bits[held], index[held], mass[held]
        return CellMasses(bits, index, mass if is_box else mass * (total / mass.sum()))

    def _shares(self, bits, index):
        """Return the public shares of cells."""
        share = np.empty(len(bits))
        for level in np.unique(bits):
            here = bits == level
            share[here] = self.tree.share(int(level))[index[here]]
        return share


def full_tree(branching):
    """Return the tree of all cells down to the last level."""
    sizes = np.cumprod([1, *branching]).astype(int)
    chosen = [np.ones(size, dtype=bool) for size in sizes[:-1]]
    return Tree((*chosen, np.zeros(sizes[-1], dtype=bool)), tuple(branching))


def cells_of(tree):
    """Return level and code of the cells that are not split."""
    levels, codes, _ = tree.leaves([np.zeros(size) for size in tree.sizes])
    return levels, codes


def paths_of(levels, codes, depth):
    """Return the first leaf of every cell, in the order of paths."""
    return codes << (depth - np.minimum(2 * levels, depth))


def edges_of(levels, codes, depth):
    """Start of each cell of a partition, and the end of the last one."""
    return np.append(np.sort(paths_of(levels, codes, depth)), 1 << depth)


def _least_squares(tree, rounds):
    """Return non-negative masses of least squares."""
    return project_nonnegative(tree, make_consistent(tree, *_averages(tree, rounds))[0])


def _averages(tree, rounds):
    """Return the mean count of every cell and its variance, in that of a count of rate 1."""
    precision = [sum(rates[k] ** 2 for _, rates in rounds) for k in range(tree.depth + 1)]
    sums = [sum(rates[k] ** 2 * v[k] for v, rates in rounds) for k in range(tree.depth + 1)]
    with np.errstate(divide="ignore"):
        variances = [1.0 / p for p in precision]
    return [s / np.where(p > 0, p, 1.0) for s, p in zip(sums, precision, strict=True)], variances


def with_rest_kept(tree, masses, measurements, spread=2.0):
    """Return masses of which cells that do not stand out keep what they surely hold together.

    A prior that expects empty cells takes a little mass in each of many cells for noise, also
    where the least-squares estimate of their sum down to some level is beyond doubt. They get
    more than half of it, and the others what is left. With all but its noise, W1 was larger.

    Parameters
    ----------
    tree : Tree
    masses : sequence of ndarray
        Of the cells of every level; they add up.
    measurements : sequence of Measurement
    spread : float, default=2.0
        Variance of the noise of a count of rate 1.
    """
    values, variances = _averages(tree, [m.on_tree(tree) for m in measurements if m.rate < np.inf])
    levels = zip(tree.outer, masses, variances, strict=True)
    shows = [outer & (m > PYRAMID.alone * np.sqrt(spread * v)) for outer, m, v in levels]
    for k, b in reversed(list(enumerate(tree.branching))):
        shows[k][tree.chosen[k]] = shows[k + 1].reshape(-1, b).any(axis=1)
    if not shows[0].any():  # the rest is all there is
        return masses
    variances = [np.where(clear, np.inf, v) for clear, v in zip(shows, variances, strict=True)]
    estimates, variances = make_consistent(tree, values, variances)
    first = [~shows[0]]  # the largest cells of which no part stands out
    for k, b in enumerate(tree.branching):
        first.append(np.repeat(shows[k][tree.chosen[k]], b) & ~shows[k + 1])
    levels = zip(first, estimates, variances, masses, strict=True)
    sums = [(e[new].sum(), spread * v[new].sum(), m[new].sum()) for new, e, v, m in levels]
    own, (estimate, variance, rest) = np.array(sums)[:, 2], np.cumsum(sums, axis=0).T
    least = np.where(estimate > PYRAMID.known * np.sqrt(variance), PYRAMID.rest_left * estimate, 0)
    growth, total = np.ones(len(first)), masses[0].sum()
    for level in reversed(range(len(first))):
        held = (growth * own)[: level + 1].sum()
        if 0 < held < least[level]:
            growth[: level + 1] *= least[level] / held
    if (growth == 1.0).all():
        return masses
    growth *= min(total / (growth * own).sum(), 1.0)
    left = max(total - (growth * own).sum(), 0.0) / (total - rest[-1])
    found, factor = [], np.full(len(first[0]), left)
    for k, (new, mass) in enumerate(zip(first, masses, strict=True)):
        if k:
            factor = np.repeat(factor[tree.chosen[k - 1]], tree.branching[k - 1])
        factor = np.where(new, growth[k], factor)
        found.append(mass * factor)
    for k, b in reversed(list(enumerate(tree.branching))):
        found[k][tree.chosen[k]] = found[k + 1].reshape(-1, b).sum(axis=1)
    return found


# How cells split among their children, learned from counts that were released.


def learned_priors(parts, tuning):
    """Return a prior of each step, and of deeper ones, from how cells were split.

    Parameters
    ----------
    parts : sequence of ndarray of shape (n_parts, n_splits)
        Of each step, how likely each part of the prior made each split.
    tuning : PyramidTuning
        With the prior, and for how many splits it counts.
    """
    weights, concentrations = np.array(tuning.prior).T
    sums = np.array([part.sum(axis=1) for part in parts]).reshape(-1, len(weights))
    together = (sums.sum(axis=0) + tuning.own * weights) / (sums.sum() + tuning.own)
    own = sums + tuning.level * together
    rows = [*(own / own.sum(axis=1, keepdims=True)), together]
    return [np.stack([np.maximum(row, 1e-6), concentrations], axis=1) for row in rows]
