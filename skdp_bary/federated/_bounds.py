"""How many messages hide a sum: an exact bound by counting connected people.

Every one of n people splits an integer modulo q into m shares, all uniform but for their sum, and
all shares are shuffled together. Give the observer more: the first share of each person stays
unshuffled. Then what is left for each person to send in m - 1 shuffled shares is uniform, and two
runs look alike when a permutation of the (m - 1) n slots maps one onto the other. The second moment
of the likelihood ratio of what is seen, against a simulator that sees nothing but the sum, is
E[q**(c - 1)], with c the number of connected components of people under a random permutation of
the slots. So the total variation distance is at most ``sqrt(E[q**(c - 1)] - 1) / 2``.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import gammaln

_ROUNDING = 1.0 + 1e-6  # of sums of floats whose logs are off by up to 1e-8
_MAX_PEOPLE = 20_000


def shuffle_distance(n_people: int, n_messages: int, modulus: int) -> np.ndarray:
    """Return a bound on what shuffled shares tell beyond the sum, for 1 to n people.

    Parameters
    ----------
    n_people : int
        Up to 20000.
    n_messages : int
        Shares of each person, at least 2.
    modulus : int

    Returns
    -------
    distance : ndarray of shape (n_people,)
        Entry ``n - 1`` bounds the total variation distance for n people, all honest.

    Notes
    -----
    Let ``e(n) = E[q**c]`` and sort by the component of the first person. The number of connected
    permutations of k people is at most that of all permutations, so ``e(n) <= q * (1 + X(n))``
    with ``X(n) = sum_{k<n} C(n-1, k-1) / C((m-1) n, (m-1) k) * q * (1 + X(n-k))``, a bound of
    ``E[q**(c - 1)] - 1``; it is what is computed.

    References
    ----------
    B. Balle, J. Bell, A. Gascon, K. Nissim. Private summation in the multi-message shuffle model.
    CCS 2020.

    Examples
    --------
    >>> from skdp_bary.federated import shuffle_distance
    >>> bool(shuffle_distance(50, 18, 2**26)[-1] < 2.0**-41)
    True
    """
    if not 1 <= n_people <= _MAX_PEOPLE:
        raise ValueError(f"n_people must be in [1, {_MAX_PEOPLE}], got {n_people!r}.")
    if n_messages < 2:
        raise ValueError(f"n_messages must be at least 2, got {n_messages!r}.")
    slots = n_messages - 1
    people = np.arange(n_people + 1, dtype=float)
    log_slots, log_people = gammaln(slots * people + 1.0), gammaln(people + 1.0)
    excess = np.zeros(n_people)  # X(n) at n - 1
    for n in range(2, n_people + 1):
        k = np.arange(1, n)
        log_choices = log_people[n - 1] - log_people[k - 1] - log_people[n - k]
        log_slot_choices = log_slots[n] - log_slots[k] - log_slots[n - k]
        log_terms = log_choices - log_slot_choices + math.log(modulus) + np.log1p(excess[n - k - 1])
        with np.errstate(over="ignore"):
            excess[n - 1] = np.exp(np.minimum(log_terms, 700.0)).sum() * _ROUNDING
    return np.minimum(np.sqrt(excess) / 2.0, 1.0)
