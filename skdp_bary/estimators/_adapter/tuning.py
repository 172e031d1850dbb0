"""The tuned numbers of PrivateDomainAdapter, and what each of them trades."""

from dataclasses import dataclass


@dataclass(frozen=True)
class AdapterTuning:
    """Chosen on public stand-ins for private rows.

    ``benchmarks/adapter/adaptation.py`` measures what comes of them. None of them changes what is
    guaranteed: they divide the budget, say how the source is trained, and where it is trusted.
    """

    # the source
    good_source: float = 0.9  # accuracy below which a fit warns
    held_out: int = 10  # one source row in so many tells how good the model is
    n_views: int = 2  # of a private row; the source has as many more: agreement against time
    length: float = 10.0  # of typical scaled features
    reach: float = 2.0  # of the ball of features, over the longest source row: clipping, range

    # training of the head: fit against time
    batch: int = 128
    epochs: int = 20
    refit_epochs: int = 4  # of a head that was trained before
    fewest_steps: int = 400
    rate: float = 0.05
    refit_rate: float = 0.01
    momentum: float = 0.9
    decay: float = 1e-4

    # means and moments of features
    quantile: float = 0.95  # of the norms of source rows,
    room: float = 1.25  # ... times this: where features are clipped, against noise
    shift_shares: tuple = (0.33, 1.0, 1.0)  # relative noise of mass and sum, without views
    leading_axes: int = 30  # of the features, that moments and slices are of: detail against noise
    mean_share: float = 0.3  # of mu**2; the second moment has the rest
    floor: float = 0.05  # of the source variance: noise may leave less along an axis, or none
    sweeps: int = 30  # along the released slices: fit against time
    fewest_blocks: int = 8  # of sorted projections
    most_blocks: int = 128

    # class means
    rounds: int = 6  # better places against noisier rounds
    class_radius: float = 6.0  # where rows are clipped; classes have unit covariance
    class_shares: tuple = (0.3, 1.0)  # of the precision: masses and sums
    least_class_mass: float = 0.2  # of an equal share: smaller masses are mostly noise
    ridge: float = 1e-3  # of the mean variance, added to the covariance of the classes

    # self-training
    steps: int = 150  # fit against noisier steps
    look_every: int = 25  # steps between two looks at the predicted classes
    look_share: float = 0.05  # of mu**2, of all looks: balanced classes against gradients
    least_class: float = 0.1  # of an equal share of the rows
    private_momentum: float = 0.9
    source_rows: int = 2048  # of a public gradient: precision against time
    probed_rows: int = 4096  # that axes and the clipping norm are found on: time
    clip_quantile: float = 0.8  # of the norms of gradients: clipped rows against noise
    some_gradient: float = 1e-3  # shorter ones say that the network is sure
    hidden_room: float = 2.0  # over the largest hidden value of the source
    # mu times persons from which on: trained hidden axes, feature axes, how far noise may carry
    sizes: tuple = ((10_000.0, 100, 64, 3.3), (3_500.0, 16, 64, 2.0), (0.0, 16, 32, 2.0))


TUNED = AdapterTuning()
