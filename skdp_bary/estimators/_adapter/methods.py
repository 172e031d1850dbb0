"""The interface of the ways to adapt, and the simplest of them."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from ...privacy._neighbors import ADD_REMOVE
from ...summaries.moments.moments import Moments
from ...summaries.networks.row_features import FeaturesOf
from .._denoise.shrinkage import shrink_rows
from .head import Head
from .source import Source
from .tuning import TUNED


@dataclass(frozen=True, eq=False)
class AdapterSetting:
    """Public facts that a method may use.

    Attributes
    ----------
    method : str
    align : float
    max_iter : int or None
    delta : float
    source : Source or None
        None where only the plan is asked for.
    """

    method: str
    align: float
    max_iter: int | None
    delta: float
    source: Source | None = None


@dataclass(frozen=True, eq=False)
class Adapted:
    """What a method learned.

    Attributes
    ----------
    head : Head
    frequencies : ndarray of shape (n_classes,) or None
        Released shares of the predicted classes.
    """

    head: Head
    frequencies: np.ndarray | None = None


class AdapterMethod(ABC):
    """A way to adapt: what is released of the private rows, and the head computed from it.

    Methods see public facts and releases, never a row.
    """

    needs_gaussian = False

    def check(self, setting):
        """Raise for parameters that this method cannot use."""
        if self.needs_gaussian and setting.delta == 0:
            raise ValueError(
                f"delta must be above zero for method={setting.method!r}, which adds Gaussian "
                "noise; method='class_means' has pure privacy too."
            )

    @abstractmethod
    def shares(self, setting):
        """Return the steps, in order, and the share of the budget of each."""

    @abstractmethod
    def questions(self, setting, facts):
        """Ask the steps, and return what was Adapted."""


class MeanShift(AdapterMethod):
    """Move the source by the difference of the means, shrunken: what is done without views."""

    needs_gaussian = True

    def shares(self, setting):
        """Return the one step."""
        return {"mean": 1.0}

    def questions(self, setting, facts):
        """Ask for the sum of the features, and shift all of them: other offsets of the head do."""
        source, axes = setting.source, setting.source.axes
        here = source.tables[0].astype(np.float64) @ axes.T
        query = moments_query(clipping_radius(here), axes, facts, "none", TUNED.shift_shares)
        released = yield "mean", FeaturesOf(source.features, axes, query)
        unit = query.step / facts.units / counted_mass(released, facts)
        step = released.values[1].astype(np.float64) * unit
        noise = (released.noise_sd[1] * unit) ** 2
        shift = shrink_rows(step - here.mean(axis=0), noise) @ axes
        head = source.head
        offsets = head.offsets - head.inner @ shift[0]
        return Adapted(Head(head.inner, offsets, head.outer, head.biases))


def clipping_radius(here):
    """Return the length that private features are clipped to, from source features."""
    lengths = np.sqrt((here**2).sum(axis=1))
    return max(TUNED.room * float(np.quantile(lengths, TUNED.quantile)), 1e-9)


def moments_query(radius, axes, facts, second, weights):
    """Return the query of the moments of features along some axes."""
    return Moments(
        np.zeros((1, len(axes))),
        radius,
        second=second,
        block_weights=weights,
        units=facts.units,
        total_public=facts.total_public,
    )


def counted_mass(released, facts):
    """Return the number of persons that released moments are about."""
    if facts.relation == ADD_REMOVE or not facts.mass_public:
        return float(max(facts.size, 1))
    return max(float(released.values[0][0]) / facts.units, 1.0)
