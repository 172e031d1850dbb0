"""All neighbors of small worlds: the largest change is the stated one."""

from dataclasses import replace
from itertools import product

from tests.small_worlds import explore, small_worlds, world_size

from .promises import Promise, Trial


def enumerate_neighbors(rng):
    """Yield what every world shows, in random order; an end is reached after some minutes."""
    worlds = small_worlds()
    slices = [
        (world, kind, relation)
        for world in worlds
        for kind, relation in product(world.kinds, world.relations)
    ]
    for place in rng.permutation(len(slices)):
        world, kind, relation = slices[place]
        alone = replace(world, kinds=(kind,), relations=(relation,))
        for finding in explore(alone, **world_size(world)):
            yield Trial("", finding.ratio, finding.violation or "", finding.n_pairs)


PROMISE = Promise(
    "enumeration",
    "All neighbors of small worlds together move an answer as far as stated, and not further",
    enumerate_neighbors,
)
