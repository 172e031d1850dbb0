"""How cells split among their children, learned from counts that were released."""

from __future__ import annotations

import numpy as np


def learned_priors(parts, tuning):
    """Return a prior of each step, and of deeper ones, from how cells were split.

    Parameters
    ----------
    parts : sequence of ndarray of shape (n_parts, n_splits)
        Of each step, how likely each part of the prior made each split.
    tuning : PyramidTuning
        With the prior, and for how many splits it counts.
    """
    weights, concentrations = np.array(tuning.prior).T
    sums = np.array([part.sum(axis=1) for part in parts]).reshape(-1, len(weights))
    together = (sums.sum(axis=0) + tuning.own * weights) / (sums.sum() + tuning.own)
    own = sums + tuning.level * together
    rows = [*(own / own.sum(axis=1, keepdims=True)), together]
    return [np.stack([np.maximum(row, 1e-6), concentrations], axis=1) for row in rows]
