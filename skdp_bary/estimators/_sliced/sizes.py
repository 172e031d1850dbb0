"""How many persons noise on slices is made for: a public, a given or a bought number a class."""

import math

import numpy as np

from ...privacy._neighbors import ADD_REMOVE, REPLACE_ANY
from ...privacy.noise.mechanisms import DiscreteLaplace
from ...summaries.slices.histogram import MOST_PERSONS, ClassSizes
from .comparison import NoisyNumber
from .tuning import TUNED


def given_sizes(n_min, n_classes):
    """Return the public lower bounds of the sizes of the classes as integers."""
    if n_min is None:
        return None
    if np.ndim(n_min) == 0:
        return (int(n_min),) * n_classes
    if len(n_min) != n_classes:
        raise ValueError(f"n_min must be one number or {n_classes} of them, got {n_min!r}.")
    return tuple(int(size) for size in n_min)


def size_shares(setting, share=TUNED.sizes_share):
    """Return the step that estimates sizes of classes, where they are private and not given."""
    several = setting.n_classes > 1
    private = setting.relation == ADD_REMOVE or (setting.relation == REPLACE_ANY and several)
    return {"sizes": share} if private and setting.n_min is None else {}


def require_sizes(setting, facts):
    """Raise where nothing says how many persons noise should be made for."""
    if not facts.total_public and setting.n_min is None and not size_shares(setting):
        raise ValueError(
            "n_min is needed with sample_weight: weights are private, and so is how much mass they "
            "leave to a class."
        )


def padded_sizes(setting, facts, most=MOST_PERSONS):
    """Return the number of persons that each class is padded to; None where sizes are public.

    Sizes that are not given are asked for, and lowered by some standard deviations of their noise.
    They are cut at `most`; fewer are always allowed.
    """
    padded, _ = yield from padded_and_bought(setting, facts, TUNED.size_sds, most)
    return padded


def padded_and_bought(setting, facts, sds, most=MOST_PERSONS):
    """Return what :func:`padded_sizes` does, and the release of the sizes, None where none is."""
    if facts.total_public:
        return None, None
    if setting.n_min is not None:
        return setting.n_min, None
    released = yield "sizes", ClassSizes(facts.n_classes, facts.units)
    lowered = (released.values[0] - sds * released.noise_sd[0]) / facts.units
    most = min(most, MOST_PERSONS)
    return tuple(min(max(1, math.floor(size)), most) for size in lowered.tolist()), released


def persons_counted(released, n_min, facts):
    """Return the number of persons that the answer about each class counts, at least one unit."""
    if n_min is not None:
        return [float(size) for size in n_min]
    return [max(float(mass), 1.0) / facts.units for mass in released.values[0]]


def sizes_behind(persons, bought):
    """Return what is known of the sizes of cohorts: bought ones as they were before padding."""
    if bought is None:
        return tuple(NoisyNumber(count) for count in persons)
    units, scale = bought.query.units, bought.scales[0]
    pure = isinstance(bought.mechanism, DiscreteLaplace)
    masses = bought.values[0].tolist()
    return tuple(NoisyNumber(mass / units, scale / units, pure) for mass in masses)
