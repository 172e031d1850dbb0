"""Released sketches in files, and what two of them say of each other."""

import zipfile

import numpy as np

from ..estimators import PrivateDriftSketch
from ..estimators._sliced.wave_test import WaveMoments
from ._outputs import arrays

_NUMBERS = ("persons", "mass_sd", "mean_sd", "second_sd")


def sketch_content(estimator, columns):
    """Return a released sketch as the content of a file."""
    moments, plan, domain = estimator.moments_, estimator.privacy_, estimator.domain_
    return arrays(
        columns=np.array(columns),
        bounds=np.array([domain.low, domain.high]),
        epsilon=plan.epsilon,
        delta=plan.delta,
        relation=plan.relation,
        mean=moments.mean,
        second=moments.second,
        **{name: getattr(moments, name) for name in _NUMBERS},
    )


def read_sketch(path):
    """Return the released sketch in a file, and the names of its columns."""
    try:
        with np.load(path, allow_pickle=False) as file:
            found = dict(file)
        sketch = PrivateDriftSketch(
            float(found["epsilon"]),
            float(found["delta"]),
            tuple(found["bounds"]),
            neighbors=str(found["relation"]),
        )
        columns = found["columns"].tolist()
        moments = WaveMoments(
            mean=found["mean"],
            second=found["second"],
            **{name: float(found[name]) for name in _NUMBERS},
        )
        return sketch._restored(moments, len(columns)), columns
    except (KeyError, TypeError, ValueError, EOFError, zipfile.BadZipFile):
        raise ValueError(f"{path} is no sketch made by skdp-bary sketch, or is damaged.") from None


def compare_sketches(first, second):
    """Return the outcome of the test whether two released sketches have one law."""
    (ours, own), (theirs, others) = read_sketch(first), read_sketch(second)
    if own != others:
        raise ValueError(f"{first} has the columns {own}, and {second} has {others}.")
    return ours.test(theirs)
