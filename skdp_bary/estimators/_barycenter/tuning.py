"""The tuned numbers of private barycenters, and what each of them trades."""

from dataclasses import dataclass


@dataclass(frozen=True)
class BarycenterTuning:
    """Chosen on generated mixtures of four Gaussians, and for "subspace" on Fashion-MNIST and USPS.

    The same mixtures are behind ``benchmarks/barycenter/perturbation.py`` and ``methods.py``;
    ``mnist.py`` beside them shows the choices on other digits. None of them changes what is
    guaranteed: they divide the budget, and say where rows are clipped and how long is searched.
    """

    # "auto"
    many_features: int = 4  # from which sums say more than trees, where there is no box
    # least persons times mu, for each root of a feature, for moments, by few_rows.py
    gaussian_signal: float = 30.0
    pure_signal: float = 500.0  # persons times epsilon below which a quote speaks of noise
    pure_pyramid: int = 6  # features to which, in a box, cells show more of few persons than sums
    few_persons: float = 10.0  # ... fewer than so many times that signal

    # trees
    prune: float = 0.5  # of a noise standard deviation: smaller cells are not split, for less noise
    deepest: int = 20  # halvings: detail against time
    gaussian_rate: float = 6.0  # epsilon of Laplace noise that allows the same depth, over mu

    # pyramids
    place_share: float = 0.06  # of the budget, for a mean: wide bounds against thin shapes
    distances_share: float = 0.06  # ... and for distances from it
    place_parts: tuple = (0.3, 1.0)  # precision of the mean's mass and sum, for each other
    most_cells: int = 2**11  # detail against time, by thin_shapes.py

    # every search
    single_starts: int = 10  # of one distribution, where searches end in several places: cost, time
    starts: int = 2  # of several, which hardly differ

    # "perturbation" and "projected"
    start_share: float = 0.2  # of the budget, for trees: a good start against good rounds
    block_weights: tuple = (4.0, 1.0, 2.0)  # noise of masses, sums and squares, for each other
    reach: float = 2.0  # clipping radius of residuals over their root mean square: bias, noise
    least_reach: float = 1e-3  # ... and over the domain
    start_spread: float = 0.1  # least spread after trees, whose cells are wider than they look
    least_mass: float = 0.2  # of the mean cell; lighter cells move as if they had it
    hardly: float = 1e-3  # of the mean cell, that no cell is thought to be lighter than
    least_size: float = 0.1  # of the mean class; one lost in noise would outweigh all
    square_range: tuple = (0.1, 3.0)  # of a cell's squared spread over the mean one
    least_square: float = 0.05  # of the released squares that is spread, not steps, at least
    model_points: int = 2000  # of the model of every class: precision against time
    points_per_atom: tuple = (100, 250)  # ... least and most

    # "subspace"
    mean_share: float = 0.04  # of mu**2: the origin of all that follows
    reach_share: float = 0.01  # the clipping radius of the scatter
    axes_share: float = 0.24  # more and truer axes
    models_share: float = 0.13  # the first models
    round_share: float = 0.07  # of each round: models that follow the rows against the lift
    lift_share: float = 0.44  # atoms off the subspace
    rounds: int = 2  # truer models against noisier ones
    round_noise: tuple = (1.5, 1.0, 3.0)  # of masses, sums and squares of a round, for each other
    mass_noise: float = 8.0  # of masses over that of sums, in units of one person's reach
    covered: float = 0.9  # of the rows are within the clipping radius of the scatter
    most_axes: int = 12  # detail against noise
    detected: float = 1.5  # times the edge of the noise, from which an axis counts
    model_reach: float = 1.5  # clipping radius in the subspace over the root mean square there
    round_reach: float = 1.5  # ... of residuals in the subspace
    residual_reach: float = 1.3  # ... of residuals with all features
    least_radius: float = 0.05  # of any of them over the clipping radius of the scatter
    least_variance: float = 0.02  # of a model along an axis, over the mean one
    least_class: float = 0.25  # of the mean class or cell; lighter ones are taken as if they had it
    drawn: int = 2000  # points of every model: precision against time
    drawn_per_atom: int = 50  # ... at least
    most_starts: int = 2  # of a search among models: the rounds search again, with better ones
    kept_values: int = 4_000_000  # of all private measures together: detail against memory
    least_kept: float = 0.01  # of a model's mass in a cell, that a correction leaves there
    scale_range: tuple = (0.05, 2.0)  # of the width of a cell's part of a model in a correction


TUNED = BarycenterTuning()
