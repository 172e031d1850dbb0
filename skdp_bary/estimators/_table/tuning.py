"""The tuned numbers of PrivateTable, and what each of them trades."""

from dataclasses import dataclass


@dataclass(frozen=True)
class TableTuning:
    """Chosen on Adult, diamonds and a health insurance table, which ``benchmarks/table`` marks.

    None of them changes what is guaranteed: they divide the budget, and say what is made of
    released numbers.
    """

    # shares of mu**2 (Gaussian), or of epsilon (pure)
    histograms_share: float = 0.35
    pure_histograms_share: float = 0.35
    pure_ranking_share: float = 0.10  # which pairs: the better ones against all less exactly
    pairs_per_column: float = 1.5  # that pure noise measures: many against few with less noise

    # histograms of numbers: what stands above their noise
    kept_above: float = 4.0  # standard deviations, from which a cell stays as it is
    pure_kept_above: float = 6.0
    half_above: float = 2.0  # ... below which a count is that of nobody
    pure_half_above: float = 2.5
    least_likely: float = 0.01  # of a neighborhood that a mass is spread over
    split_cost: float = 3.0  # variances that a split at the top of the tree must explain,
    split_deeper: float = 0.7  # ... how many more on each level below
    deep_cost: float = 6.0  # ... and at most

    # bins: detail against noise and time
    most_bins: int = 16  # of a line
    most_values: int = 24  # of a category with bins of their own
    value_above: float = 4.0  # standard deviations, from which a value has one
    bin_above: float = 4.0  # ... of an entry of a pair, from which a line is cut
    joined_below: float = 0.3  # of a bin, below which the last one joins its neighbor
    most_all_bins: int = 1000  # of all columns: those of lines have fewer where there are many
    fewest_bins: int = 4

    # pairs
    together_noise: float = 0.8  # of it, that all classes together are shrunk by: the fit does too

    # mixture
    rate: float = 0.05  # of Adam, falling to zero over the second half
    first_moment: float = 0.9
    second_moment: float = 0.99
    spread: float = 0.7  # of the first components around the histograms
    label_spread: float = 0.5
    penalty: float = 0.2  # first level of the pull to independence
    least_penalty: float = 0.03
    least_penalty_shrunk: float = 0.2  # ... where all noise was taken out of the pairs before
    most_penalty: float = 1.5
    misfit: float = 0.9  # mean squared residual over the noise at which the level rests
    patience: float = 0.3  # of the steps, before the level moves
    interval: int = 10  # steps between its moves
    gain: float = 0.5
    largest_move: float = 0.15
    least_share: float = 0.1  # standard deviations, to which a bin is raised before its logarithm


TUNED = TableTuning()
