"""Releases and messages that were damaged on their way: refused in words, or as they were."""

import os
import pickle

import numpy as np

from skdp_bary import PrivateKMeans, PrivateMeasure, PrivateTable
from skdp_bary.papers import ShuffleAnalyzer, ShuffleClient, ShufflePlan
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
    bits = rng.integers(8 * len(written), size=_FLIPS).tolist()
    other = _read_in_a_process(_other_releases, written, bits, type(made), told)
    text = f"bits {other} of {made} made another release" if other else ""
    return Trial(count=_FLIPS, violation=text)


def _other_releases(written, bits, kind, told):
    """Yield the bits that make another release."""
    for bit in bits:
        flipped = bytearray(written)
        flipped[bit // 8] ^= 1 << bit % 8
        try:
            read = pickle.loads(bytes(flipped))
        except Exception:
            continue
        if type(read) is kind and checksum(vars(read)) != told:
            yield str(bit)


def _read_in_a_process(function, *arguments):
    """Return the words that a function yields; damaged bytes may end the process that reads."""
    source, sink = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # what damaged arrays and types say
            for word in function(*arguments):
                os.write(sink, f"{word} ".encode())
        finally:
            os._exit(0)
    os.close(sink)
    with open(source) as words:
        told = words.read().strip()
    os.waitpid(child, 0)
    return told


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
    "Damaged releases are refused or load unchanged, and damaged federated messages are refused",
    repeated(damage),
)
