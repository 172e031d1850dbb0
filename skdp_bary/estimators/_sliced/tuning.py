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
    smooth_points: int = 64  # that stand for a Gaussian in smoothed distances: precision and time

    # two-sample tests
    test_rows: int = 5000  # public rows that stand for the law, at most: level against time
    test_points: int = 1000  # drawn from the release that do, at least: level against time
    test_points_a_block: int = 8  # ... and for each block
    test_rounds: int = 20  # of their fit: ranks settle long before places do


TUNED = SlicedTuning()
