"""The bound on what shuffled shares tell, against enumeration."""

import itertools
import math
from collections import Counter

import pytest

from skdp_bary.papers import shuffle_distance
from tests.cases import every


def moment(n_people, slots, modulus):
    """E[q**(c - 1)] over all permutations of the slots."""
    total = 0
    for permutation in itertools.permutations(range(n_people * slots)):
        parent = list(range(n_people))

        def root(i, parent=parent):
            while parent[i] != i:
                i = parent[i]
            return i

        for a, b in enumerate(permutation):
            parent[root(a // slots)] = root(b // slots)
        components = len({root(i) for i in range(n_people)})
        total += modulus ** (components - 1)
    return total / math.factorial(n_people * slots)


@every("n_people, slots", [(2, 1), (2, 2), (2, 3), (3, 2), (4, 2), (2, 4)])
@every("modulus", [2, 16, 2**10])
def test_bound_is_above_the_exact_moment_and_close(n_people, slots, modulus):
    exact = math.sqrt(moment(n_people, slots, modulus) - 1.0) / 2
    bound = shuffle_distance(n_people, slots + 1, modulus)[-1]
    assert min(exact, 1.0) <= bound * (1 + 1e-12)
    if exact < 0.5 and modulus > 2:
        assert bound < 1.5 * exact


def views(inputs, n_messages, modulus):
    """Law of the shuffled messages of people with these inputs."""
    laws = []
    for value in inputs:
        law = Counter()
        for shares in itertools.product(range(modulus), repeat=n_messages - 1):
            law[tuple(sorted((*shares, (value - sum(shares)) % modulus)))] += 1
        laws.append(law)
    joint = Counter()
    for (a, na), (b, nb) in itertools.product(laws[0].items(), laws[1].items()):
        joint[tuple(sorted(a + b))] += na * nb
    total = sum(joint.values())
    return {view: count / total for view, count in joint.items()}


@every("n_messages, modulus", [(3, 4), (4, 4), (3, 5), (4, 3), (5, 3)])
def test_two_inputs_of_the_same_sum_look_alike(n_messages, modulus):
    """Two laws within t of one simulator are within 2 t of each other."""
    bound = shuffle_distance(2, n_messages, modulus)[-1]
    laws = [views((x, -x % modulus), n_messages, modulus) for x in range(modulus)]
    for p, q in itertools.combinations(laws, 2):
        distance = sum(abs(p.get(v, 0) - q.get(v, 0)) for v in {*p, *q}) / 2
        assert distance <= min(2 * bound, 1.0)


def test_numbers_of_messages():
    """18 messages for 50 people, modulus 2**26 and 40 bits; the published corollary says 28."""
    allowed = 2.0**-41
    assert shuffle_distance(50, 18, 2**26)[-1] <= allowed < shuffle_distance(50, 17, 2**26)[-1]


@every("arguments", [(0, 5, 16), (20_001, 5, 16), (5, 1, 16)])
def test_bad_arguments_are_refused(arguments):
    with pytest.raises(ValueError, match="n_people|n_messages"):
        shuffle_distance(*arguments)
