"""Releases and messages that were damaged on their way: refused in words, or as they were."""

import pickle

import numpy as np

from skdp_bary import PrivateKMeans, PrivateMeasure, PrivateTable
from skdp_bary.federated import ShuffleAnalyzer, ShuffleClient, ShufflePlan
from skdp_bary.schema import Number
from tests.world import checksum

from .promises import Promise, Trial, repeated

_FLIPS = 20  # of one release
_PLAN = ShufflePlan((0, 1), 1.0, 1e-6, n_guaranteed=3, n_max=5, levels=(1,), units=16)
_ODD = (-1, 1 << 20, 1 << 40, (1 << 62) + 1, -(1 << 63), (1 << 63) - 1)
_KINDS = (
    PrivateKMeans(2, bounds=(0, 1), n_init=1),
    PrivateMeasure(bounds=(0, 1), depth=3, delta=1e-6),
    PrivateTable(Number(0, 1), max_iter=1),
)


def damage_releases(rng):
    """Flip bits of a pickled release, one at a time."""
    made = _KINDS[int(rng.integers(len(_KINDS)))].fit(rng.random((30, 2)))
    written, told = pickle.dumps(made), checksum(vars(made))
    for bit in rng.integers(8 * len(written), size=_FLIPS).tolist():
        flipped = bytearray(written)
        flipped[bit // 8] ^= 1 << bit % 8
        try:
            read = pickle.loads(bytes(flipped))
        except Exception:
            continue
        if type(read) is type(made) and checksum(vars(read)) != told:
            return Trial(violation=f"bit {bit} of {made} made another release")
    return Trial(count=_FLIPS)


def damage_messages(rng):
    """Change some of the messages of a round."""
    places = rng.random((4, 1, 2))
    messages = np.concatenate([ShuffleClient(_PLAN).messages(place) for place in places])
    spoiled = messages.copy()
    for _ in range(int(rng.integers(1, 4))):
        value = _ODD[int(rng.integers(len(_ODD)))]
        spoiled[rng.integers(len(messages)), rng.integers(2)] = value
    try:
        ShuffleAnalyzer(_PLAN).fit(spoiled)
    except ValueError as error:
        text = "" if str(error).startswith("messages must") else str(error)
    else:
        text = "damaged messages were added up"
    return Trial(violation=text)


def damage(rng):
    """Damage a release, or messages."""
    return (damage_releases if rng.random() < 0.5 else damage_messages)(rng)


PROMISE = Promise(
    "damage",
    "Damaged releases and federated messages are refused in words, or are as they were",
    repeated(damage),
)
