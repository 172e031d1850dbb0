"""The tuned numbers of PrivateGenerator, and what each of them trades."""

from dataclasses import dataclass


@dataclass(frozen=True)
class GeneratorTuning:
    """Chosen on 50,000 training rows of MNIST and Fashion-MNIST by classifiers on 10,000 others.

    ``benchmarks/generator/images.py`` repeats that on the test rows. None of them changes what is
    guaranteed: they divide the budget, and say where rows are clipped and what is taken for noise.
    """

    # shares of mu**2
    means_share: float = 0.05  # good origins and clipping lengths against all that follows
    scatter_share: float = 0.20  # what all classes have in common against what each has
    cells_share: float = 0.15  # of all rounds: good cells against good moments of them
    grams_share: float = 0.60
    tied_means_share: float = 0.15  # where all classes share one covariance: flat from .1 to .2

    # cells
    n_cells: int = 5  # of a class: shapes that are no Gaussian against noise in each
    signal: float = 5000.0  # mu times persons of a class, from which several beat one
    most_entries: int = 1 << 25  # of all matrices, where nobody asks for more: 256 MB
    limit: int = 1 << 28  # ... and where somebody does: 2 GB
    rounds: int = 3  # of Lloyd's algorithm: better cells against noisier rounds
    most_axes: int = 30  # in which cells are found: detail against noise
    drawn: int = 4000  # points of a Gaussian on which the first cells are found: time
    least_mass: float = 1.0 / 6.0  # of a cell over the mean one: smaller ones are mostly noise
    mass_share: float = 0.3  # of the precision of masses in the rounds, where sums get 1

    # where rows are clipped: clipped rows against noise
    least_reach: float = 0.1  # of the root mean square distance over the radius of the domain
    least_square: float = 0.25  # of that distance in a class over the one in all, squared
    scatter_reach: float = 1.05  # of the pooled scatter, over that distance of all rows
    gram_reach: float = 0.95  # of the grams, over that distance in a class
    cell_reach: float = 1.5  # of the rounds, over the spread along the leading axes
    other_noise: float = 8.0  # of masses and sums beside the scatter, where they are not used
    tied_sums: float = 2.0  # of the sums beside the scatter, where they move the means

    # where all classes share one covariance
    tied_floor: float = 0.15  # of the edge of the noise: the least variance along an axis
    gram_shares: tuple = (1.0, 0.3)  # squared radius and squared constant: scatters against masses

    # what is taken for noise
    fewest_axes: int = 16  # of the pooled scatter that are kept, whatever the noise
    detected: float = 1.02  # times the edge of the noise, from which an axis counts
    own_axes: int = 256  # along which cells have covariances of their own: detail against time
    least_share: float = 1e-4  # of the variance, along such an axis
    least_trace: float = 0.1  # of a class over the pooled one

    # images
    largest_lag: int = 4  # of pixels that vary together: smoothness against detail
    least_variance: float = 1e-4  # of a pixel over the squared width of the bounds
    largest_ratio: float = 4.0  # of the variance of a pixel in a class to that in all
    # Mean over the bounds, below which a pixel is dark in all images. Dark pixels are constant, and
    # classifiers would tell classes by the noise in the means of constant ones, so they are few.
    dark: float = 0.005
    largest_share: float = 0.6  # of the variance of a black or white pixel with this mean


TUNED = GeneratorTuning()
