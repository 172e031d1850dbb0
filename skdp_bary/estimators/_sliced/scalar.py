"""One number: the sliced cost to a public reference, with Laplace noise."""

from dataclasses import dataclass

import numpy as np
from sklearn.utils.validation import check_array

from ...summaries.slices.cost import ProjectedCost, most_persons
from ...summaries.slices.quantiles import ProjectedQuantiles
from .methods import SlicedMethod, SlicedRelease
from .sizes import padded_sizes, persons_counted, size_shares


class ScalarMethod(SlicedMethod):
    """The cost from each class to the reference, the best there is for a single distance."""

    def shares(self, setting):
        """Return the cost, and before it the sizes of the classes where they are needed.

        Laplace noise on one number needs no delta, and the number needs a reference.
        """
        if setting.delta != 0:
            raise ValueError(
                "delta must be 0 for method='scalar', which has pure privacy, "
                f"got {setting.delta!r}."
            )
        _public_reference(setting)
        if setting.n_min is not None:
            _require_fit("n_min", max(setting.n_min), setting)
        return size_shares(setting) | {"cost": 1.0}

    def check(self, setting, facts):
        """Sizes must be known, and small enough for one 64-bit number."""
        super().check(setting, facts)
        if facts.total_public and setting.n_hint is None:
            _require_fit("The number of persons", facts.size, setting)

    def questions(self, setting, facts):
        """Ask for sizes that are not known, then for the cost of every class."""
        n_min = yield from padded_sizes(
            setting, facts, most_persons(setting.n_directions, setting.p)
        )
        lattice = setting.lattice(facts.domain)
        reference = ProjectedQuantiles(lattice).public_histogram(_public_reference(setting))
        query = ProjectedCost(lattice, n_min, facts.n_classes, facts.units, reference, setting.p)
        released = yield "cost", query
        return [
            SlicedCost(
                lattice.directions,
                float(query.cost(released.values[-1][code, 0], persons)),
                float(query.cost(released.noise_sd[-1], persons)),
                setting.p,
            )
            for code, persons in enumerate(persons_counted(released, n_min, facts))
        ]


@dataclass(frozen=True, eq=False)
class SlicedCost(SlicedRelease):
    """The noisy p-th power of the distance of one distribution to the reference.

    Attributes
    ----------
    directions : ndarray of shape (n_features, n_directions)
    value : float
    noise_std : float
        Standard deviation of the noise on it.
    p : int
    """

    directions: np.ndarray
    value: float
    noise_std: float
    p: int

    quantiles = None  # none are released

    def cost(self, Y, p):
        """Return the released number, which speaks about the reference alone."""
        if Y is not None:
            raise ValueError(
                "Y must be None for method='scalar': the one number that was released is about "
                "the reference. method='sketch' answers about any rows."
            )
        return self.value, self.noise_std


def _public_reference(setting):
    """Return the rows of the reference, or raise where there are none."""
    shape = np.shape(setting.reference)
    if len(shape) != 2 or shape[1] != setting.n_features:
        raise ValueError(
            "reference must be public rows of shape (n_rows, n_features) for method='scalar' and "
            f"n_features={setting.n_features}, got {type(setting.reference).__name__} of shape "
            f"{shape}."
        )
    return check_array(setting.reference, dtype=np.float64, input_name="reference")


def _require_fit(name, persons, setting):
    """Raise where a cost could leave 64-bit integers: whether it does would depend on the rows."""
    most = most_persons(setting.n_directions, setting.p)
    if persons > most:
        raise ValueError(
            f"{name} must be at most {most} for method='scalar' with p={setting.p} and so "
            f"many directions, got {persons}. Lower it, or n_projections."
        )
