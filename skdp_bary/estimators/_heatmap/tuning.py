"""The tuned numbers of heatmaps, and what each of them trades."""

from dataclasses import dataclass


@dataclass(frozen=True)
class HeatmapTuning:
    """Chosen on the populations of ``benchmarks/heatmap/quality.py``.

    None of them changes what is guaranteed: they choose which cells are asked about, and how finely
    is computed with the answers.
    """

    # the coarse look and the fine one
    coarse: int = 3  # level of the first look: cells that hold enough against detail
    small: float = 60.0  # persons times epsilon below which it is one level coarser
    large: float = 2000.0  # ... and above which it is one level finer
    threshold: float = 3.0  # scales of noise for which a cell is split: detail against noise
    fine_share: float = 2.0  # of the fine look, where the coarse one gets 1

    # one look
    cells_a_person: float = 2.0  # of the finer level, for each epsilon: detail against noise
    finest_level: int = 8  # detail against time
    apart: int = 2  # levels between the two that are asked for

    # posterior
    step: float = 0.35  # of the grid of masses, in scales of the noise: precision against time
    least_step: float = 0.2  # ... and in persons
    sharpest: float = 100.0  # rate of noise that is believed: that grid rounds parts of persons
    learned: float = 50.0  # scales of noise in the total from which splits teach a prior
    learning_steps: float = 3.0  # of that grid, in one step where only the prior is learned: time
    rakes: int = 2  # of a density to the masses of its cells: agreement against time


TUNED = HeatmapTuning()
