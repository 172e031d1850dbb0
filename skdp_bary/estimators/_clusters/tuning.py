"""The tuned numbers of private k-means, and what each of them trades."""

from dataclasses import dataclass


@dataclass(frozen=True)
class BlockShares:
    """What differs between the two kinds of noise, in more than three features.

    Attributes
    ----------
    moments : tuple of float
        Shares of the first step's precision for mass, sum and spread of all rows.
    mass, spread : float
        ... of later steps, where sums get 1.
    ambient_radius : float
        Clipping radius of a cluster, with all features, relative to its spread.
    """

    moments: tuple
    mass: float
    spread: float
    ambient_radius: float


@dataclass(frozen=True)
class KMeansTuning:
    """Chosen by the costs of ``benchmarks/kmeans/quality.py``, without its last two sets.

    Those of the max cover were chosen by ``benchmarks/kmeans/cover.py``. None of them changes what
    is guaranteed: they divide the budget, and say where rows are clipped and how long is searched.
    """

    # up to three features: looks
    look_shares: tuple = (0.10, 0.15, 0.25, 0.50)  # the first looks find, the last one measures
    look_scales: tuple = (4.0, 2.0, 2.0, 1.0)  # of noise, that a cell should hold: size or noise
    line_scales: tuple = (4.0, 4.0, 4.0, 1.0)  # ... on a line, where small cells hide tails
    look_depth: tuple = (20, 14, 9)  # halvings of an axis in 1 to 3 features, at most
    first_halvings: tuple = (4, 7, 5)  # ... in the first look: memory and noise
    most_halvings: tuple = (8, 5, 3)  # ... from one look to the next
    most_cells: float = 2.0**14  # of a look, about: detail against time
    cells_a_cluster: float = 64.0  # ... and beside these
    cut_sds: float = 2.0  # a cell holds this much of its noise before it is cut
    false_cut: float = 0.5  # empty cells of the grid that are cut: small clusters against far noise
    alive_sds: float = 2.5  # ... before its parts keep what they hold: far cells against small ones
    false_alive: float = 1.0  # ... empty cells of a look whose parts do all the same
    rest_sds: float = 3.0  # ... that such cells hold together to keep it: tails against far noise
    far_sds: tuple = (2.0, 4.5, 4.5)  # of its noise that a far cluster holds in 1 to 3 features
    false_sure: float = 0.05  # empty cells that are thought to be a cluster of one cell
    far_reach: float = 6.0  # squared distance that is far, over that of all cells from their mean
    far_share: float = 0.3  # of an equal share of all: lighter clusters are far the nearer
    far_mass: float = 0.1  # of all that may be left out: little signal against far noise
    far_searches: int = 8  # again without what was left out, at most: centers against time

    # up to three features: levels and rounds, where max_iter is given
    counts_share: float = 0.7  # of the budget: good starts against precise centers
    deepest: tuple = (14, 9, 6)  # halvings of an axis in 1 to 3 features: detail against memory
    most_levels: int = 4  # of the hierarchy: sums of few noisy cells against noisier cells
    level_ratio: float = 1.5  # of the shares of two levels: large clusters against small ones
    low_radius: float = 1.5  # of a cluster over its root mean square: clipped rows against noise
    low_mass: float = 0.3  # precision of clip factors, where sums get 1
    sure_sds: float = 2.0  # of a cell a lost center may go to: small clusters against noise
    tried_cells: int = 64  # for a lost center: cost against time
    relocated_rounds: int = 2  # of Lloyd's algorithm on the cells, after that: fit against overfit
    search_cells: int = 4000  # on which starts are compared: detail against time
    beside: float = 0.002  # of the mass may lie beside the grid of these cells, on each side
    fine_rounds: tuple = (2, 30)  # on all cells after that, at least and at most: time
    fine_distances: int = 1 << 26  # that these look at, above the least

    # more than three features: shares of the steps, rounds in the subspace, bits of the grid
    few_features: tuple = (  # for little and for much signal, persons a cluster times mu of both
        ((0.02, 0.15, 0.20, 0.18, 0.25, 0.20), 1, 10),
        ((0.02, 0.12, 0.12, 0.14, 0.32, 0.28), 3, 12),
        (100.0, 600.0),
    )
    more_features: tuple = (  # the same from `many_features` on
        ((0.02, 0.14, 0.12, 0.12, 0.15, 0.45), 1, 10),
        ((0.02, 0.15, 0.03, 0.12, 0.36, 0.32), 5, 12),
        (40.0, 100.0),
    )
    many_features: int = 30  # the axes cost more, and tell more
    middle: float = 0.5  # the mixture that is announced where the signal is not known yet
    pure: tuple = ((0.04, 0.0, 0.10, 0.13, 0.29, 0.44), 2, 12)  # Laplace noise: no axes
    detail: tuple = (600.0, 2500.0)  # persons a cluster times mu: where the grid gets finer
    pure_detail: tuple = (240.0, 1000.0)  # ... persons a cluster times epsilon / (2 sqrt(2 d))
    many_rows: tuple = (30_000.0, 200_000.0)  # between which less and less of that: time
    place_share: float = 0.25  # of what moments get, for a first mean: wide bounds against few rows
    reach_share: float = 0.04  # of the budget, at most: wide bounds against bounds that fit
    most_reach: float = 0.12  # ... where the place they are taken from is known well enough
    place_error: float = 0.3  # ... its squared error over the squared radius of the domain
    least_reach: float = 0.01  # ... at least, where distances are asked for
    ample_reach: float = 3.0  # times the share that suffices, where that is little
    sure_reach: float = 10.0  # rows over the noise of a distance's count, from which it is asked
    reach_edges: int = 14  # distances that are told apart, two in an octave: how wide bounds may be
    detailed_bits: float = 3.0  # of the finest grid: detail against time
    detailed_rounds: float = 3.0  # in the subspace: fit against noise
    detailed_kept: float = 4.0  # times as many cells
    detailed_filled: float = 8.0  # ... groups of them
    ambient_rounds: int = 2  # with all features: better radii against noisier rounds
    residual_share: float = 0.03  # of what these get: radii against means
    least_share: float = 1e-3  # of the budget, for that too: less needs noise wider than is drawn
    wide_features: int = 100  # from which the mean gets at least `wide_mean` of a pure budget
    wide_mean: float = 0.2  # a good origin against good centers
    most_mean: float = 0.96  # ... at most, where noise would drown the mean
    mean_error: float = 0.025  # wanted of the mean, relative to the squared radius of the domain
    gaussian_mean: float = 1.25 / 0.015  # ... Gaussian: share times (n mu)**2 over the features
    costly_mean: float = 0.1  # share from which the mean's sum gets most of it
    costly_parts: tuple = (0.22, 1.0, 0.2)
    pure_last_round: float = 0.22 / 1.25  # of what moments leave: what a last round's sums get
    noisy_round: float = 0.1  # noise level above which a pure fit has fewer rounds, at least one
    hopeless: tuple = (1.0, 4.0)  # noise levels of centers between which the mean gets more
    mostly_mean: float = 0.5  # share from which a fit is after the mean, first of all
    mostly_mass: float = (
        16.0  # the less its mass gets then: a mean aside from the center against sums
    )
    mostly_spread: float = 0.02  # ... precision of the spread, where sums get 1
    mean_doubt: float = 0.5  # standard deviations that a gain over the mean is doubted by
    gaussian: BlockShares = BlockShares((1.0, 1.0, 1.0), 0.3, 0.4, 1.0)
    laplace: BlockShares = BlockShares((0.25, 1.0, 0.25), 0.25, 0.25, 0.9)
    detected: float = 1.05  # times the edge of the noise, from which an axis counts
    most_axes: int = 64  # detail against noise in every step of the subspace
    fewest_axes: int = 8  # that may be kept, however few the clusters
    pure_axes: int = 16  # of the random rotation: detail against noise
    most_bits: int = 5  # of one axis of the grid: leave some for the others
    kept_sds: float = 3.0  # from which a cell stands out: small clusters against noise
    kept_factor: int = 8  # cells kept at most, relative to the clusters: detail against time
    filled_factor: int = 2  # ... after grouping: detail against noise
    fill_reach: float = 1.5  # clipping radius about cells over the spread of all rows, at most
    fill_radius: float = 2.0  # ... over the spread within a cell: clipped rows against noise
    first_radius: float = 2.0  # of a cluster over its spread, in the first round
    later_radius: float = 1.4  # ... in later rounds of the subspace
    residual_reach: float = 2.0  # clipping radius of the residual total over what is left
    least_left: float = 0.05  # of the rows' spread that clusters are thought to leave
    least_residual: float = 0.02  # of the released residual that is off the subspace, at least
    spread_prior: float = 0.5  # relative deviation of the clusters' spreads from the pooled one
    least_spread: float = 0.02  # of a cluster, relative to the pooled one
    tight: float = 0.75  # of the squared radius: a spread above it says the clip was too tight
    swap_gain: float = 1.3  # of a split over the loss of a merge: better fits against noise
    split_gain: float = 0.3  # of a cluster's spread along one axis that a split is thought to gain
    excess_gain: float = 0.8  # ... of its spread beyond twice the median one
    least_left_ambient: float = 0.05  # of a spread after a round with all features

    # max cover
    cover_share: float = 0.1  # of mu**2: what a race at a fifth of mu takes from the other steps
    cover_cells: float = 0.4  # of the rest in up to three features: starts against rounds
    cover_rounds: int = 3  # in up to three features
    cover_plan: tuple = ((0.02, 0.15, 0.03, 0.12, 0.36, 0.32), 5, 0)  # in more; no grid
    radius_ratio: float = 1.5  # of two radii that follow each other: clusters of all sizes
    most_radii: int = 8  # time and memory against small clusters
    picks: int = 2  # at a radius, relative to the number of clusters: they cost no privacy
    fewest_picks: int = 32
    covered_axes: int = 3  # of the released ones: grids grow with each
    cover_reach: float = 2.0  # of the grids, in standard deviations of an axis

    # plain rounds from public centers, for comparison
    lloyd_rounds: int = 5
    lloyd_blocks: tuple = (0.5, 1.0, 0.1)  # precision of masses, sums and spreads


TUNED = KMeansTuning()
