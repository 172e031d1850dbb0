"""Search for the worst neighbors of every question: what moves must stay below what is stated.

A search starts from pairs that are meant to hurt, changes rows at random and keeps what moved an
answer further. Both fits of a pair get the same earlier releases, so what is searched over are the
exact answers to fixed questions.
"""

import time

from sklearn.base import clone

from skdp_bary.papers import MaxCoverKMeans
from tests import world
from tests.estimators import PRIVATE

from .neighbors import Mutations, Neighbors
from .promises import Promise, Trial, spawn

_SECONDS = 5.0  # of one search
_MOST_TRIALS = 300
_STARTS = 0.3  # share of the trials of a search that try the pairs to start from
_KINDS = ("rows", "persons", "weights")
# Rows that come out as rows do so in another order on a neighbor; a replay cannot pair them.
REPLAYED = [each for each in PRIVATE if getattr(each, "method", None) != "rows"]
REPLAYED += [
    MaxCoverKMeans(
        2,
        n_init=1,
        max_iter=2,
        bounds=([-1.0] * n_features, [1.0] * n_features),
        n_hint=60,
        epsilon=100.0,
    )
    for n_features in (2, 4)
]


class Search:
    """A search for the worst neighbors of the questions of one fit, which is seeded."""

    def __init__(self, estimator, kind, rng):
        self.estimator, self.rng = estimator, rng
        arguments = world.make_arguments(estimator, kind=kind)
        recording = world.record_fit(estimator, arguments)
        self.refused = recording.error
        self.script = recording.records
        self.best = {}
        self._mutations = Mutations(estimator, arguments["X"].shape[1], rng)
        self._starts = [] if self.refused else self._hostile(kind)

    def _hostile(self, kind):
        pairs = list(world.hostile_pairs(self.estimator, kind))
        for record in self.script:
            pairs += world.worst_pairs(self.estimator, kind, record.query)
        return [pairs[i] for i in self.rng.permutation(len(pairs))]

    def next(self):
        """Try one more pair and return a Trial for every question, or nothing if it is refused."""
        steps = list(self.best)
        if self._starts and (not steps or self.rng.random() < _STARTS):
            neighbors = Neighbors.of(self._starts.pop())
        else:
            aim = min(steps, key=lambda step: self.best[step][0] * self.rng.random())
            neighbors = self._mutations.mutated(self.best[aim][1])
        data, neighbor = neighbors.data()
        before = world.record_fit(self.estimator, data, self.script)
        if before.error is not None:  # such rows are refused
            return []
        report = world.replay_after(before, self.estimator, neighbor)
        for step in report.steps:
            if step.ratio >= self.best.get(step.name, (0.0,))[0]:
                self.best[step.name] = step.ratio, neighbors
        return list(self._trials(before.records, report))

    def _trials(self, records, report):
        for record, step in zip(records, report.steps, strict=False):
            found = "; ".join(f"{self.estimator!r}: {step.name}: {v}" for v in step.violations)
            yield Trial(_question(record.query), step.ratio, found)
        for text in report.fit_violations:
            yield Trial("order of questions", None, f"{self.estimator!r}: {text}")


def _question(query):
    """Return the name of what is asked, without what it is wrapped in."""
    if isinstance(query, world.FeaturesOf):
        query = query.query
    if isinstance(query, world.ByClass):
        query = query.queries[0]
    return type(query).__name__


def searches(rng, estimators=REPLAYED):
    """Yield the trials of one short search after the other, each of a random setting."""
    while True:
        own = spawn(rng)
        estimator = estimators[own.integers(len(estimators))]
        candidates = world.settings(estimator)
        candidate = candidates[own.integers(len(candidates))]
        kind = _KINDS[own.integers(len(_KINDS))]
        search = Search(clone(candidate).set_params(random_state=0), kind, own)
        if search.refused is not None:
            continue
        deadline = time.perf_counter() + _SECONDS
        for _ in range(_MOST_TRIALS):
            yield from search.next()
            if time.perf_counter() > deadline:
                break


PROMISE = Promise(
    "sensitivity",
    "No neighboring dataset changes an exact answer by more than the noise is calibrated for",
    searches,
    shares=3.0,
)
