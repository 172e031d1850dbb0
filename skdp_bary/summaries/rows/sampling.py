"""Random batches of persons, drawn from the source of the noise.

Amplification by sampling is a statement about who is in the batch, so the choice has to be as
secret as the noise, and exactly of the law that the statement is about.
"""

import numpy as np

from ...privacy._checks import exact


def draw_batch(strata, rate, sampling, noise):
    """Return which persons are in the batch.

    Parameters
    ----------
    strata : ndarray of int of shape (n_persons,)
        Class of every person: 0, 1 and so on. Where it matters it is public.
    rate : float
        In (0, 1].
    sampling : {"poisson", "without_replacement"}
    noise : NoiseSource
    """
    if rate == 1.0:
        return np.ones(len(strata), dtype=bool)
    return {"poisson": _poisson, "without_replacement": _without_replacement}[sampling](
        strata, rate, noise
    )


def _poisson(strata, rate, noise):
    """Keep each person independently, with probability `rate` rounded down to a multiple of
    2**-64."""
    limit = int(exact(rate) * 2**64)
    return noise.words(len(strata)) < np.uint64(limit)


def _without_replacement(strata, rate, noise):
    """Keep the same share, rounded down, of the persons of every class.

    A person outside the batch can take the place of one inside only when nothing public tells the
    two apart. Labels are public under this relation, so the choice is made class by class.
    """
    kept = np.zeros(len(strata), dtype=bool)
    for stratum in range(int(strata.max(initial=0)) + 1):
        members = np.flatnonzero(strata == stratum)
        size = int(exact(rate) * len(members))
        kept[members[random_order(len(members), noise)[:size]]] = True
    return kept


def random_order(count, noise):
    """Return the numbers below `count` in a uniformly random order.

    Random words in order of size are a uniform permutation given that no two are equal.
    """
    while True:
        words = noise.words(count)
        order = np.argsort(words, kind="stable")
        words = words[order]
        if not (words[1:] == words[:-1]).any():
            return order
