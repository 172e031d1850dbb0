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
