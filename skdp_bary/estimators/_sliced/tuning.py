"""The tuned numbers of private slices, and what each of them trades."""

from dataclasses import dataclass


@dataclass(frozen=True)
class SlicedTuning:
    """Checked by the errors of ``benchmarks/sliced/rmse.py``, those of the test by its level.

    None of them changes what is guaranteed: they divide the budget, choose how many public numbers
    are asked for, and say how long is simulated.
    """

    sizes_share: float = 0.05  # of the budget, for sizes that are not given: those against slices
    size_sds: float = 2.5  # that a bought size is lowered by: noise against filled-up classes
    fewest_quantiles: int = 8  # wide blocks against noise
    most_quantiles: int = 128  # narrow blocks against noise and time

    # two cohorts
    cohort_share: float = 0.125  # of the budget, for sizes that are not given: they set the noise
    cohort_sds: float = 3.5  # that a bought size is lowered by: who is padded looks different
    look_share: float = 0.06  # of the budget, for the width of cells: against the distance
    law_share: float = 0.16  # ... for the law of the distance between equal cohorts
    widest: float = (
        0.5  # look in units of the half domain: cells of twice that serve a spread of 0.3
    )
    octaves: int = 7  # that cells may be narrower: narrow rows against what the look costs
    look_sds: float = 1.0  # of noise that the look must show before cells become narrower

    # released sketches
    scales: tuple = (2.0, 4.0, 8.0)  # frequencies in units of the half domain: what is seen
    few_features: int = 12  # up to which three scales pay; above it the middle one alone does
    scale_directions: int = 64  # of a scale at most: slices against noise and time
    plane_directions: int = 6  # of a scale in the plane: as many numbers as serve
    moment_weights: tuple = (2.0, 1.0, 2.0)  # noise of masses, means and their covariances
    noisy_mean: float = 0.1  # noise of a mean of waves, above which hardly any law is told


TUNED = SlicedTuning()
