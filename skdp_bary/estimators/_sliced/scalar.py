"""One number: the sliced cost to a public reference, with Laplace noise."""

from dataclasses import dataclass

import numpy as np
from sklearn.utils.validation import check_array

from ...geometry._directions import direction_count
from ...summaries.slices.cost import ProjectedCost, most_persons
from ...summaries.slices.histogram import ClassSizes
from ...summaries.slices.quantiles import ProjectedQuantiles
from .mechanisms import SlicedMechanism, SlicedRelease
from .sketch import padding, persons_counted, require_sizes, size_shares, slice_lattice


class ScalarMechanism(SlicedMechanism):
    """The cost from each class to the reference, the best there is for a single distance."""

    def check(self, estimator, relation, n_features):
        """Laplace noise on one number needs no delta, and the number needs a reference."""
        if estimator.delta != 0:
            raise ValueError(
                "delta must be 0 for method='scalar', which has pure privacy, "
                f"got {estimator.delta!r}."
            )
        if np.ndim(estimator.reference) != 2 or np.shape(estimator.reference)[1] != n_features:
            raise ValueError(
                "reference must be public rows of shape (n_rows, n_features) for "
                f"method='scalar' and n_features={n_features}, got "
                f"{type(estimator.reference).__name__} of shape {np.shape(estimator.reference)}."
            )
        _public_reference(estimator)
        if estimator.n_min is not None:
            _require_fit("n_min", int(np.max(estimator.n_min)), estimator, n_features)

    def check_facts(self, estimator, facts):
        """Sizes must be known, and small enough for one 64-bit number."""
        require_sizes(estimator, facts)
        if facts.total_public and estimator.n_hint is None:
            _require_fit("The number of persons", facts.size, estimator, facts.n_features)

    def shares(self, estimator, relation, n_features):
        """Return the cost, and before it the sizes of the classes where they are needed."""
        return size_shares(estimator, relation) | {"cost": 1.0}

    def query(self, estimator, step_name, facts):
        """Return the query of a step."""
        if step_name == "sizes":
            return ClassSizes(facts.n_classes, facts.units)
        lattice = slice_lattice(estimator, facts)
        reference = _public_reference(estimator)
        return ProjectedCost(
            lattice,
            padding(estimator, facts, _most_persons(estimator, facts.n_features)),
            facts.n_classes,
            facts.units,
            ProjectedQuantiles(lattice).public_histogram(reference),
            estimator.p,
        )

    def finish(self, estimator, facts):
        """Return the cost of every class."""
        released = facts.released["cost"]
        query = released.query
        return [
            SlicedCost(
                query.lattice.directions,
                float(query.cost(released.values[-1][code, 0], persons)),
                float(query.cost(released.noise_sd[-1], persons)),
                query.p,
            )
            for code, persons in enumerate(persons_counted(released, facts))
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

    def smoothed_cost(self, Y, p):
        """Raise: there is no smoothed distance here."""
        raise ValueError("method='scalar' releases one number and no smoothed distance.")


def _public_reference(estimator):
    return check_array(estimator.reference, dtype=np.float64, input_name="reference")


def _most_persons(estimator, n_features):
    given = not isinstance(estimator.directions, str)
    count = (
        np.shape(estimator.directions)[1]
        if given
        else direction_count(estimator.n_projections, n_features)
    )
    return most_persons(count, estimator.p)


def _require_fit(name, persons, estimator, n_features):
    """Raise where a cost could leave 64-bit integers: whether it does would depend on the rows."""
    most = _most_persons(estimator, n_features)
    if persons > most:
        raise ValueError(
            f"{name} must be at most {most} for method='scalar' with p={estimator.p} and so "
            f"many directions, got {persons}. Lower it, or n_projections."
        )
