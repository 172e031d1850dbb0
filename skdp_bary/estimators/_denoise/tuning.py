"""The tuned numbers of trees of cells and of noisy means, and what each of them trades."""

from dataclasses import dataclass


@dataclass(frozen=True)
class TreeTuning:
    """Chosen on generated rows: uniform, skewed, near a line, and clusters of two widths.

    ``benchmarks/measure/accuracy.py`` shows what comes of them. None of them changes what is
    guaranteed: they divide the noise, and say which differences are taken for noise.
    """

    total_share: float = 0.09  # of the loss of a tree, for the number of persons against its cells
    prune: float = 0.1  # standard deviations of noise below which a measure's cell is not split
    deepest: int = 20  # halvings of a measure's domain: detail against time and memory


@dataclass(frozen=True)
class MeansTuning:
    """Chosen by the costs of ``benchmarks/kmeans/quality.py``; they act after the noise."""

    sure: float = 2.0  # standard deviations of noise from which a cluster's mass is known
    first_block: int = 4  # axes that share one prior variance: blocks grow by half
    largest_block: int = 128  # ... up to this many: few noisy variances against many equal ones
    moment_rounds: int = 20  # of the search for a prior variance: precision against time


TREES, MEANS = TreeTuning(), MeansTuning()


@dataclass(frozen=True)
class PyramidTuning:
    """Chosen on maps and mixtures other than those of ``benchmarks/measure/regimes.py``.

    That shows what comes of them. None of them changes what is guaranteed.
    """

    shares: tuple = (0.06, 0.24, 0.15, 0.55)  # of two full levels, of cells refined once, and twice
    cells_a_person: float = 0.25  # for each epsilon, that signal would fill: detail against noise
    levels: tuple = (1 / 3, 0.57)  # powers of that number of cells, for the two full levels
    once: float = 3.0  # scales of the noise to come for which a cell is split the first time
    crowd: float = 0.75  # ... and power of the number of cells that may hold an equal share each
    twice: float = 1.5  # ... the second time
    most_features: int = 4  # up to which it was measured, and is ahead of trees
    most_cells: int = 2**14  # detail against time
    extra: int = 4  # halvings below cells that one person's noise would fill
    of_a_side: int = 4  # halvings of each side at least: shapes that are small in the domain
    deepest: int = 20  # halvings: detail against time and memory
    prior: tuple = ((0.5, 0.08), (0.3, 0.8), (0.2, 12.0))  # sparse, any, and even splits
    own: float = 4.0  # splits for which the prior counts against all splits that were seen
    level: float = 20.0  # ... and all levels against one
    step: float = 0.35  # of the grid of masses, in scales of least noise: precision against time
    faint: float = 0.5  # scales of noise below which a cell counts as empty: far mass, tails
    faint_left: float = 0.02  # of such a cell's mass that stays there: distances, likelihoods
    width: float = 5.0  # of windows, in standard deviations


@dataclass(frozen=True)
class LineTuning(PyramidTuning):
    """Of one feature, where distances and ranges are mostly those of coarse cells."""

    # a line
    shares: tuple = (0.1, 0.45, 0.2, 0.25)  # more for full levels than in other dimensions
    twice: float = 2.0  # scales of the noise to come for which a cell is split the second time


PYRAMID, LINE = PyramidTuning(), LineTuning()


def pyramid_tuning(n_features):
    """Return the settings of a pyramid in so many dimensions."""
    return LINE if n_features == 1 else PYRAMID
