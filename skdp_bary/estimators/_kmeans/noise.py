"""How much noise private k-means has, by public facts."""

import math
from copy import copy
from dataclasses import dataclass

from .._clusters.plan import level_of
from .._face.remedies import cheapest, projections, proposed_delta, rounded_up

NOISY = 0.1  # noise level above which centers can be mostly noise


@dataclass(frozen=True)
class NoiseLevel:
    """Noise of the last round relative to the size of a cluster, see ``noise_level``.

    The level is ``d (k sd / n)**2``, the squared noise of a center whose rows lie at distance one:
    `sd` is the noise of one coordinate of a sum in the last round. In up to three features nothing
    is summed, and the level is a guide only: the last look is taken for such a round. Up to about
    0.07, measured costs were below 1.3 times those without noise; above 1 the centers were mostly
    noise.

    Attributes
    ----------
    current : float
        Level with the estimator's own delta.
    laplace, gaussian : float
        Levels of the two kinds of noise; Gaussian noise with the estimator's delta, or 1e-6.
    most_clusters : int
        Largest number of clusters whose level is at most 0.1; 0 when one cluster is above.
    delta : float
        Failure probability of the Gaussian noise.
    remedy : str, default=""
        The cheapest change of parameters that brings the level to 0.1, in words, and the level that
        it reaches.
    """

    current: float
    laplace: float
    gaussian: float
    most_clusters: int
    delta: float
    remedy: str = ""

    def __str__(self):
        text = (
            f"Noise level {self.current:.2g} (Laplace noise, delta=0: {self.laplace:.2g}; Gaussian "
            f"noise, delta={self.delta:g}: {self.gaussian:.2g}). "
        )
        if self.current <= NOISY:
            return text + "Below 0.1, most of a center is signal."
        text += f"Above {NOISY} the centers can be mostly noise. "
        if self.remedy:
            return text + self.remedy
        text += self._fewer_clusters()
        if self.gaussian <= min(NOISY, self.current / 4.0):
            text += f" With delta={self.delta:g} it is below {NOISY}."
        return text

    def _fewer_clusters(self):
        if self.most_clusters < 1:
            return (
                f"A single cluster is above {NOISY} too: that takes more rows or a larger epsilon."
            )
        some = "1 cluster" if self.most_clusters == 1 else f"up to {self.most_clusters} clusters"
        return f"With {some} the level is below {NOISY}."


def noise_level(estimator, n_features, n_rows):
    """Return the NoiseLevel of a fit of `n_rows` rows with `n_features` features."""
    delta = proposed_delta(estimator.delta)
    relation = estimator.privacy_plan(n_features).relation
    levels = []
    for d in (0.0, delta):
        candidate = _changed(estimator, delta=d, accountant=None, neighbors=relation)
        if d == 0.0 and isinstance(estimator.init, str):
            candidate.init = "grid"  # the way with Laplace noise
        last = candidate._plan(n_features).steps[-1].mechanism
        levels.append(level_of(last, relation, estimator.n_clusters, n_features, n_rows))
    current = levels[1] if estimator.delta > 0 else levels[0]
    most = int(estimator.n_clusters * math.sqrt(NOISY / current))
    remedy = ""
    if current > NOISY:
        more = rounded_up(n_rows * math.sqrt(current / NOISY))
        tries = _remedies(estimator, n_features, n_rows, relation, most, levels[1])
        remedy = cheapest(tries, lambda level: level <= NOISY, more)
    return NoiseLevel(current, *levels, most, delta, remedy)


def _remedies(estimator, n_features, n_rows, relation, most, gaussian):
    """Yield what could be changed, from the cheapest on, and the level that it reaches."""
    if estimator.delta == 0:
        yield f"delta={proposed_delta(0.0):g}", gaussian
    bare = _changed(estimator, accountant=None, neighbors=relation)
    looking = _changed(bare, max_iter="auto")
    if looking._plan(n_features).steps[-1].name.startswith("look"):  # rounds cost more than looks
        if bare.max_iter != "auto":
            yield 'max_iter="auto"', _level(looking, n_features, n_rows)
    else:
        for rounds in range(_rounds(bare, n_features) - 1, 0, -1):
            fewer = _changed(bare, max_iter=rounds)
            yield f"max_iter={rounds}", _level(fewer, n_features, n_rows)
    if not isinstance(bare.init, str):
        return  # public centers are of so many features and clusters
    projected = _changed(bare, bounds=(-1, 1))
    for width in projections(n_features):
        yield (
            f"JLTransformer(n_components={width}) before it, with its output_bounds_",
            _level(projected, width, n_rows),
        )
    if most >= 1:
        reached = _level(_changed(bare, n_clusters=most), n_features, n_rows)
        yield f"n_clusters={most}", reached


def _changed(estimator, **params):
    """Return a copy with other parameters that can be asked for its plan.

    Clones look at the signature of the class, which takes longer than a small fit.
    """
    candidate = copy(estimator)
    vars(candidate).update(params)
    return candidate


def _rounds(estimator, n_features):
    """Return a number of rounds that a fit does not exceed: each is a step of its plan."""
    n_steps = len(estimator._plan(n_features).steps)
    return n_steps if estimator.max_iter == "auto" else min(estimator.max_iter, n_steps)


def _level(estimator, n_features, n_rows):
    plan = estimator._plan(n_features)
    return level_of(
        plan.steps[-1].mechanism, plan.relation, estimator.n_clusters, n_features, n_rows
    )
