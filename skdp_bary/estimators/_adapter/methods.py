"""The interface of the ways to adapt, and the simplest of them."""

from abc import ABC, abstractmethod

import numpy as np

from ...privacy._neighbors import ADD_REMOVE
from ...summaries.moments.moments import Moments
from ...summaries.networks.row_features import FeaturesOf
from .._denoise.shrinkage import shrink_rows
from .head import Head

_QUANTILE = 0.95
_ROOM = 1.25


class AdapterMethod(ABC):
    """A way to adapt: what is released of the private rows, and the head computed from it.

    Methods see public facts and releases, never a row.
    """

    needs_gaussian = False
    default_steps = 1

    def steps(self, estimator):
        """Return how many steps or rounds there are."""
        return self.default_steps if estimator.max_iter is None else estimator.max_iter

    def check(self, estimator):
        """Raise for parameters that this method cannot use."""
        if self.needs_gaussian and estimator.delta == 0:
            raise ValueError(
                f"delta must be above zero for method={estimator.method!r}, which adds Gaussian "
                "noise; method='class_means' has pure privacy too."
            )

    @abstractmethod
    def shares(self, estimator):
        """Return the steps, in order, and the share of the budget of each."""

    @abstractmethod
    def query(self, estimator, source, step_name, facts):
        """Return the query of a step."""

    @abstractmethod
    def finish(self, estimator, source, facts):
        """Return the adapted head."""

    def frequencies(self, source, facts):
        """Return the released shares of the predicted classes, or None."""
        return None


class MeanShift(AdapterMethod):
    """Move the source by the difference of the means, shrunken: what is done without views."""

    needs_gaussian = True

    def shares(self, estimator):
        """Return the one step."""
        return {"mean": 1.0}

    def query(self, estimator, source, step_name, facts):
        """Ask for the sum of the features."""
        return moments_query(source, source.axes, facts, "none", (0.33, 1.0, 1.0))

    def finish(self, estimator, source, facts):
        """Shift every feature of the source, which is what other offsets of the head do."""
        released = facts.released["mean"]
        mass = counted_mass(released, facts)
        unit = released.query.query.step / facts.units / mass
        step = released.values[1].astype(np.float64) * unit
        here = (source.tables[0].astype(np.float64) @ source.axes.T).mean(axis=0)
        shift = shrink_rows(step - here, (released.noise_sd[1] * unit) ** 2) @ source.axes
        head = source.head
        offsets = head.offsets - head.inner @ shift[0]
        return Head(head.inner, offsets, head.outer, head.biases)


def moments_query(source, axes, facts, second, weights):
    """Return the query of the moments of the features along some axes."""
    lengths = np.sqrt(((source.tables[0].astype(np.float64) @ axes.T) ** 2).sum(axis=1))
    radius = max(_ROOM * float(np.quantile(lengths, _QUANTILE)), 1e-9)
    return FeaturesOf(
        source.features,
        axes,
        Moments(
            np.zeros((1, len(axes))),
            radius,
            second=second,
            block_weights=weights,
            units=facts.units,
            total_public=facts.total_public,
        ),
    )


def counted_mass(released, facts):
    """Return the number of persons that released moments are about."""
    if facts.relation == ADD_REMOVE or not facts.mass_public:
        return float(max(facts.size, 1))
    return max(float(released.values[0][0]) / facts.units, 1.0)
