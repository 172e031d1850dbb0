"""Probabilities of the noise that is drawn, and how far two distributions are apart."""

import math

import numpy as np
from scipy.special import ndtr


def laplace_pmf(k, scale):
    q = math.exp(-1.0 / scale)
    return (1 - q) / (1 + q) * q ** np.abs(k)


def gaussian_pmf(k, sigma):
    far = -np.abs(k)  # both ends on the left, where ndtr keeps its digits
    return ndtr((far + 0.5) / sigma) - ndtr((far - 0.5) / sigma)


def hockey_stick(p, q, epsilon):
    return float(np.maximum(p - math.exp(epsilon) * q, 0.0).sum())
