"""Probabilities from scores."""

import numpy as np


def softmax(scores):
    """Return the probabilities that the scores in each row stand for."""
    masses = np.exp(scores - scores.max(axis=1, keepdims=True))
    return masses / masses.sum(axis=1, keepdims=True)
