"""Two rounds of messages: where to look closely follows from a coarse look. And simulations."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from .._parameter_rules import Number
from .._parameters import check_parameters
from .._values import as_floats
from ..estimators._heatmap.adaptive import AdaptiveMethod
from ..estimators._heatmap.methods import HeatmapSetting
from ..privacy._checks import check_integer, exact, float_below
from ..privacy.accounting.plans import split_epsilon
from ..privacy.noise.sampler import noise_generator, public_generator
from ..summaries.rows.persons import encode_persons
from ._protocol import (
    MAX_DEPTH,
    ShuffleAnalyzer,
    ShuffleClient,
    ShufflePlan,
    keep_plain,
    mixed,
    rebuilt,
    warn_if_seeded,
)

if TYPE_CHECKING:
    from .._types import RandomState

_METHOD = AdaptiveMethod()


@dataclass(frozen=True)
class ShuffleRounds:
    """Plans of two rounds: a coarse look, then cells as fine as the masses that it showed.

    The first round has a third of epsilon, the second the rest, and each has half of delta.

    Parameters
    ----------
    bounds : (low, high), Box, Ball or Mask
        Public map.
    epsilon, delta : float
        The guarantee of both rounds together.
    n_guaranteed : int
        Number of honest participants that can be relied on in each round.
    n_max : int
        Largest number of participants.
    bandwidth : float, default=1/32
        Blur of the heatmap, in units of the side of the map; much smaller cells are not measured.
    units : int, default=256
        A person's mass of one is rounded to multiples of one part in `units`.

    Notes
    -----
    *Guarantee.* (epsilon, delta) against whoever sees the shuffled messages of both rounds, for
    neighbors in which one person's rows are replaced by no rows in both. Who takes part in a round
    must not depend on the rows.

    *Proof.* The second plan is a function of what the first round let out, and each round has the
    guarantee of its :class:`ShufflePlan` whatever its cells are. Guarantees of mechanisms that are
    chosen one after another add up: the epsilons and the deltas.

    Examples
    --------
    >>> from skdp_bary.datasets import CITY_BOUNDS, make_city_checkins
    >>> from skdp_bary.federated import ShuffleRounds, simulate_shuffle
    >>> rounds = ShuffleRounds(CITY_BOUNDS, 5.0, 1e-6, n_guaranteed=40, n_max=60)
    >>> X, people = make_city_checkins(50, random_state=0)
    >>> simulate_shuffle(rounds, X, people).render(64).shape
    (64, 64)
    """

    bounds: object
    epsilon: float
    delta: float
    n_guaranteed: int
    n_max: int
    bandwidth: float = 1 / 32
    units: int = 256

    _parameter_rules = {
        name: rule
        for name, rule in ShufflePlan._parameter_rules.items()
        if name not in ("levels", "cells")
    } | {"bandwidth": Number(2.0**-24, 1.0)}

    def __post_init__(self):
        keep_plain(self)
        check_parameters(self)
        check_integer(self.n_max, "n_max", low=self.n_guaranteed)

    def __reduce__(self):
        return rebuilt(self)

    @cached_property
    def first(self) -> ShufflePlan:
        """Plan of the first round: all cells of one level."""
        return self._plan("coarse", levels=(_METHOD.first_level(self._method_setting()),))

    def second(self, analyzer: ShuffleAnalyzer) -> ShufflePlan:
        """Return the plan of the second round.

        Parameters
        ----------
        analyzer : ShuffleAnalyzer
            Fitted to the messages of the first round.

        Returns
        -------
        plan : ShufflePlan
        """
        check_is_fitted(analyzer)
        rate = self._budget()["fine"]
        fine = _METHOD.fine_cells(self._method_setting(), analyzer.measurements_, rate)
        cells = zip(fine.levels.tolist(), fine.codes.tolist(), strict=True)
        return self._plan("fine", cells=tuple(cells))

    def _plan(self, name, levels=(2, 4), cells=None):
        return ShufflePlan(
            self.bounds,
            self._budget()[name],
            float_below(exact(self.delta) / 2, digits=40),
            n_guaranteed=self.n_guaranteed,
            n_max=self.n_max,
            levels=levels,
            units=self.units,
            cells=cells,
        )

    def _budget(self):
        return split_epsilon(self.epsilon, _METHOD.shares(self._method_setting()))

    def _method_setting(self):
        finest = min(MAX_DEPTH, max(1, math.ceil(math.log2(1.0 / self.bandwidth)) + 2))
        return HeatmapSetting(
            depth=finest,
            finest=finest,
            epsilon=self.epsilon,
            size=self.n_guaranteed,
            n_kept=1,
            top_share=1.0,
            whole=False,
            reach=1,
        )


def simulate_shuffle(
    plan: ShufflePlan | ShuffleRounds,
    X: ArrayLike,
    groups: ArrayLike | None = None,
    *,
    random_state: RandomState | None = None,
) -> ShuffleAnalyzer:
    """Run the protocol with all participants in one process, with real messages.

    Parameters
    ----------
    plan : ShufflePlan or ShuffleRounds
        One round, or two.
    X : array-like of shape (n_rows, 2)
        Rows of all participants.
    groups : array-like of shape (n_rows,), default=None
        Person ids. None: every row is a participant.
    random_state : None, int or RandomState, default=None
        None draws noise and shares from the operating system, as clients do.

    Returns
    -------
    analyzer : ShuffleAnalyzer
        Fitted to the messages of the last round.
    """
    warn_if_seeded(random_state)
    X = as_floats(X)
    persons = np.arange(len(X)) if groups is None else encode_persons(groups, len(X))
    order = np.argsort(persons, kind="stable")
    rows = np.split(X[order], np.flatnonzero(np.diff(persons[order])) + 1)
    rng = None if random_state is None else public_generator(random_state)
    if isinstance(plan, ShufflePlan):
        return _one_round(plan, rows, rng)
    first = _one_round(plan.first, rows, rng, bandwidth=plan.bandwidth)
    return _one_round(plan.second(first), rows, rng, bandwidth=plan.bandwidth, earlier=first)


def _one_round(plan, rows, rng, bandwidth=1 / 32, earlier=None):
    seeds = [None] * (len(rows) + 1)
    if rng is not None:
        seeds = rng.integers(2**31, size=len(rows) + 1).tolist()
    batches = [
        ShuffleClient(plan, random_state=seed)._messages(own)
        for own, seed in zip(rows, seeds[1:], strict=True)
    ]
    messages = mixed(batches, noise_generator(seeds[0]))
    return ShuffleAnalyzer(plan, bandwidth=bandwidth, earlier=earlier).fit(messages)
