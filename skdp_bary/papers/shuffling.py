"""Heatmaps without anyone who holds the rows: people send messages through a shuffler.

B. Ghazi and others. Differentially private heatmaps. AAAI 2023, Appendix F. The protocol is that of
B. Balle, J. Bell, A. Gascon, K. Nissim. Private summation in the multi-message shuffle model. CCS
2020.

Claimed: people who each add a share of the noise and split their numbers into shuffled shares get
the guarantee of a trusted curator. Wrong: the shares of noise suffice only if no one drops out, and
rounding down loses mass. Here noise is made for a guaranteed number of honest people, below which
the analyzer stops, integers keep all mass, and the number of messages is counted exactly.

*How many messages hide a sum.* Every one of n people splits an integer modulo q into m shares, all
uniform but for their sum, and all shares are shuffled together. Give the observer more: the first
share of each person stays unshuffled. Then what is left for each person to send in m - 1 shuffled
shares is uniform, and two runs look alike when a permutation of the (m - 1) n slots maps one onto
the other. The second moment of the likelihood ratio of what is seen, against a simulator that sees
only the sum, is E[q**(c - 1)], with c the number of connected components of people under a
random permutation of the slots. So the total variation distance is at most
``sqrt(E[q**(c - 1)] - 1) / 2``.

*Noise that people contribute.* If n people draw from Polya(1/n, a), whose law is
``P(k) = C(k + 1/n - 1, k) a**k (1 - a)**(1/n)``, their sum is geometric, ``P(k) = a**k (1 - a)``,
and the difference of two such sums is discrete Laplace. A draw compares a uniform word of 64 bits
with the distribution function, computed with 300 bits; where the word does not decide, 192 more
bits are drawn.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from .._sklearn import VersionedPickle
from ..base import PRIVACY_RULES, Integer, Number
from ..estimators.heatmap import AdaptiveMethod, HeatmapCells, HeatmapSetting, fit_posterior
from ..estimators.heatmap_views import HeatmapViews
from ..estimators.noisy_trees import Measurement
from ..exceptions import PrivacyWarning, RandomState, Rows, check_integer, exact, float_below, plain
from ..geometry.bounds import check_domain
from ..geometry.rowwise import as_table
from ..parameters import Cells, Having, Integers, PlainParameters, PublicDomain, check_parameters
from ..privacy.noise import noise_generator, public_generator
from ..privacy.plans import split_epsilon
from ..queries.cells import Partition, QuadGrid
from ..rows.persons import encode_persons, encode_weights, person_spans
from ..values import as_floats, check_floats
from .subsampling import random_order

_ROUNDING = 1.0 + 1e-6  # of sums of floats whose logs are off by up to 1e-8
_BITS = 300
_LEFT = 2.0**-280  # of the distribution function, where computing it further means nothing
_WORD = 64
MAX_DEPTH = 10
_MOST_PEOPLE = 20_000
_LARGEST_MODULUS = 62
_LARGEST_EPSILON = 100.0
_LEAST_RATE = 2.0**-14  # of the noise on a cell: tables of its law have 44 entries over the rate
_TAIL = 60.0  # scales of the noise within which sums stay, for the modulus; not for privacy
_MANY_SHARES = 100  # of which none has a bit set with probability 2**-100
_SEEDED = (
    "random_state is given, so what is sent can be reproduced and is not private. Leave "
    "random_state=None for rows of people."
)
_METHOD = AdaptiveMethod()


def shuffle_distance(n_people: int, n_messages: int, modulus: int) -> np.ndarray:
    """Return a bound on what shuffled shares reveal beyond their sum, for 1 to n people.

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
        Entry ``n - 1`` bounds the total variation distance for n people, all honest, of the
        shuffled shares from what a simulator makes of their sum alone.

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
    >>> from skdp_bary.papers import shuffle_distance
    >>> bool(shuffle_distance(50, 18, 2**26)[-1] < 2.0**-41)
    True
    """
    if not 1 <= n_people <= _MOST_PEOPLE:
        raise ValueError(f"n_people must be in [1, {_MOST_PEOPLE}], got {n_people!r}.")
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


class PolyaSampler:
    """Draws from Polya(r, exp(-rate)).

    Parameters
    ----------
    r : Fraction
        Share of one person, in (0, 1].
    rate : Fraction
        Rate of the discrete Laplace noise of all together.
    """

    def __init__(self, r, rate):
        import mpmath

        self.r, self.rate = r, rate
        with mpmath.workprec(_BITS):
            bounds = self._distribution(2.0**-_WORD)
            table = [int(mpmath.floor(mpmath.ldexp(bound, _WORD))) for bound in bounds]
        self._table = np.array([min(t, 2**_WORD - 1) for t in table], dtype=np.uint64)

    def draw(self, shape, noise):
        """Return an int64 array; `noise` is a NoiseSource."""
        words = noise.words(int(np.prod(shape)))
        values = np.searchsorted(self._table, words, side="right").astype(np.int64)
        # a word equal to the first bits of a boundary, or past the table, does not decide
        unsure = np.searchsorted(self._table, words, side="left") != values
        for i in np.flatnonzero(unsure | (values == len(self._table))):
            values[i] = self.locate([int(words[i]), *map(int, noise.words(3))])
        return values.reshape(shape)

    def locate(self, words):
        """Return the value at the uniform number whose binary digits are these words."""
        import mpmath

        number = 0
        for word in words:
            number = (number << _WORD) | word
        with mpmath.workprec(_BITS):
            mark = mpmath.ldexp(mpmath.mpf(number), -_WORD * len(words))
            for value, bound in enumerate(self._distribution(0.0)):
                if mark < bound:
                    return value
        raise FloatingPointError("A uniform number is past the end of the distribution.")

    def _distribution(self, tail):
        """Yield P(K <= k) for k = 0, 1, ... until at most `tail` is left, at mpmath's precision."""
        import mpmath

        r = mpmath.mpf(self.r.numerator) / self.r.denominator
        rate = mpmath.mpf(self.rate.numerator) / self.rate.denominator
        ratio, total, k = mpmath.exp(-rate), mpmath.mpf(0), 0
        mass = mpmath.power(1 - ratio, r)
        while 1 - total > max(tail, _LEFT):
            total += mass
            k += 1
            mass *= ratio * (k - 1 + r) / k
            yield total


polya_sampler = lru_cache(maxsize=8)(PolyaSampler)  # its table takes longer than many draws


class PublicPlan:
    """A frozen plan that holds plain numbers, and is pickled as its parameters alone.

    All else follows from them: who sent a plan may not say how few messages are enough.
    """

    def __post_init__(self):
        for name in self._parameter_rules:
            object.__setattr__(self, name, plain(getattr(self, name)))
        check_parameters(self)
        check_integer(self.n_max, "n_max", low=self.n_guaranteed)

    def __reduce__(self):
        return type(self), tuple(getattr(self, part.name) for part in fields(self) if part.init)


@dataclass(frozen=True)
class ShufflePlan(PublicPlan):
    """Public settings that all agree on before one round of messages.

    Parameters
    ----------
    bounds : (low, high), Box, Ball or Mask
        Public map.
    epsilon, delta : float
        The guarantee of the round.
    n_guaranteed : int
        Number of honest participants that can be relied on: who add their noise, send all their
        messages and tell no one. With fewer there is no guarantee, and the analyzer stops.
    n_max : int
        Largest number of participants that the modulus has room for.
    levels : tuple of int, default=(2, 4)
        Levels of the quadtree that are measured whole, each with an equal part of epsilon.
    units : int, default=256
        A person's mass of one is rounded to multiples of one part in `units`.
    cells : tuple of (int, int), default=None
        Measure these cells instead of whole levels: level and Morton code of each, none inside
        another. They share all of epsilon.

    Attributes
    ----------
    grid : QuadGrid
    partitions : tuple of Partition
        The cells to count.
    modulus : int
        Shares are integers below it.
    n_messages : int
        Shares of each person for each cell: the fewest that the bound allows.

    Notes
    -----
    *Guarantee.* (epsilon, delta) against whoever sees the shuffled messages, for neighbors in which
    one person's rows are replaced by no rows: that person still sends noise and all messages. The
    shuffler is trusted to mix the messages of all participants, and at least `n_guaranteed` of them
    are honest.

    *Proof.* A person adds non-negative integers of sum at most `units` to each partition. The
    Polya differences of the honest participants add up, cell by cell, to discrete Laplace noise of
    rate epsilon / (partitions * units), and independent noise if there are more of them: the noisy
    sums are epsilon-private. Given these sums, the shuffled messages of one cell are within
    distance t of what a simulator makes of the sum (`shuffle_distance`), those of all N cells
    within N t. So an event has probability at most ``exp(epsilon) (p + N t) + N t`` if it has
    probability p for the neighbor, and delta is at least ``(1 + exp(epsilon)) N t``.
    """

    bounds: object
    epsilon: float
    delta: float
    n_guaranteed: int
    n_max: int
    levels: tuple = (2, 4)
    units: int = 256
    cells: tuple | None = None
    grid: QuadGrid = field(init=False, repr=False)
    partitions: tuple = field(init=False, repr=False)
    modulus: int = field(init=False)
    n_messages: int = field(init=False)

    _parameter_rules = {
        "bounds": PublicDomain(),
        "epsilon": Number(0.0, _LARGEST_EPSILON, open_low=True),
        "delta": Number(0.0, 1.0, open_low=True, open_high=True),
        "n_guaranteed": Integer(2, _MOST_PEOPLE),
        "n_max": Integer(2, _MOST_PEOPLE),
        "levels": Integers(Integer(0, MAX_DEPTH), most=MAX_DEPTH + 1),
        "units": Integer(1, 2**20),
        "cells": Cells(MAX_DEPTH) | None,
    }

    def __post_init__(self):
        super().__post_init__()
        if self.cells is None:
            depth = check_integer(int(max(self.levels)), "levels", low=1)
            parts = tuple(Partition.complete(depth, level) for level in self.levels)
        else:
            levels, codes = np.array(self.cells, dtype=np.int64).reshape(-1, 2).T
            depth = check_integer(int(levels.max(initial=0)), "cells", low=1, high=MAX_DEPTH)
            parts = (Partition(depth, levels, codes),)
        object.__setattr__(self, "grid", QuadGrid(check_domain(self.bounds, 2), depth))
        object.__setattr__(self, "partitions", parts)
        if self.rate < _LEAST_RATE:
            raise ValueError(
                f"epsilon is too small for these units: a unit has noise of rate "
                f"{float(self.rate):.3g}, and at least {_LEAST_RATE:.3g} can be drawn."
            )
        people = Fraction(self.n_max, self.n_guaranteed)
        reach = self.n_max * self.units + _TAIL * float(people / self.rate)
        bits = math.ceil(math.log2(2.0 * reach + 2.0))
        if bits > _LARGEST_MODULUS:
            raise ValueError(
                "units, n_max or 1 / epsilon must be smaller: sums exceed 62 bits. Pass for "
                "example units=256."
            )
        object.__setattr__(self, "modulus", 1 << bits)
        allowed = self.delta / (self.n_cells * (1.0 + math.exp(self.epsilon)))
        enough = (n for n in range(3, 200) if self.distance(n) <= allowed)
        object.__setattr__(self, "n_messages", next(enough, None))
        if self.n_messages is None:
            raise ValueError(
                f"delta must be larger, got {self.delta}: fewer than 200 messages do not reach it. "
                "Pass for example delta=1e-6, or a larger n_guaranteed."
            )

    @property
    def n_cells(self) -> int:
        """Number of cells of all partitions."""
        return sum(len(p) for p in self.partitions)

    @property
    def rate(self) -> Fraction:
        """Rate of the discrete Laplace noise on a cell, a fraction per unit."""
        return exact(self.epsilon) / (len(self.partitions) * self.units)

    @property
    def bytes_per_person(self) -> int:
        """Bytes that one participant sends: a cell and a share in each message."""
        bits = math.ceil(math.log2(self.n_cells)) + self.modulus.bit_length() - 1
        return math.ceil(bits / 8) * self.n_messages * self.n_cells

    def distance(self, n_messages: int) -> float:
        """Return the largest distance from the simulator, for any number of honest participants.

        Parameters
        ----------
        n_messages : int
            Shares of each person for each cell.
        """
        distances = shuffle_distance(self.n_max, n_messages, self.modulus)
        return float(distances[self.n_guaranteed - 1 :].max())


class ShuffleClient:
    """One participant, who turns rows into messages and stores nothing.

    Parameters
    ----------
    plan : ShufflePlan
    random_state : int or RandomState, default=None
        None draws from the operating system. Anything else makes the messages reproducible, for
        tests and simulations; they then protect nothing.

    Examples
    --------
    >>> from skdp_bary.papers import ShuffleClient, ShufflePlan
    >>> plan = ShufflePlan((0, 1), 1.0, 1e-6, n_guaranteed=40, n_max=60, levels=(1, 2))
    >>> ShuffleClient(plan).messages([[0.3, 0.4], [0.31, 0.4]]).shape[1]
    2
    """

    _parameter_rules = {
        "plan": Having("a ShufflePlan", ("n_messages",)),
        "random_state": PRIVACY_RULES["random_state"],
    }

    def __init__(self, plan: ShufflePlan, random_state: RandomState | None = None) -> None:
        self.plan = plan
        self.random_state = random_state

    def messages(self, X: ArrayLike, sample_weight: ArrayLike | None = None) -> np.ndarray:
        """Return the messages of one round: all of them must be sent, whatever the rows are.

        Parameters
        ----------
        X : array-like of shape (n_rows, 2)
            Own rows; there may be none.
        sample_weight : array-like of shape (n_rows,), default=None
            Weights in [0, 1].

        Returns
        -------
        messages : ndarray of int64 of shape (n_cells * n_messages, 2)
            Cell and share of each message.
        """
        check_parameters(self)
        warn_if_seeded(self.random_state)
        return self._messages(X, sample_weight)

    def _messages(self, X, sample_weight=None):
        plan, noise = self.plan, noise_generator(self.random_state)
        counts = self._counts(X, sample_weight)
        sampler = polya_sampler(Fraction(1, plan.n_guaranteed), plan.rate)
        counts += sampler.draw(counts.shape, noise) - sampler.draw(counts.shape, noise)
        keep = np.uint64(plan.modulus - 1)  # a power of two: the low bits of a word are uniform
        words = noise.words(plan.n_cells * (plan.n_messages - 1)) & keep
        shares = words.astype(np.int64).reshape(plan.n_cells, -1)
        with np.errstate(over="ignore"):
            last = (counts - shares.sum(axis=1)) & np.int64(plan.modulus - 1)
        shares = np.column_stack([shares, last])
        cells = np.repeat(np.arange(plan.n_cells), plan.n_messages)
        return np.column_stack([cells, shares.ravel()])

    def _counts(self, X, sample_weight):
        """Units of the person in every cell of every partition."""
        X, plan = as_floats(X), self.plan
        if not X.size:
            return np.zeros(plan.n_cells, dtype=np.int64)
        X = as_table(check_floats(X[None] if X.shape == (2,) else X), 2)  # one place is one row
        inside = plan.grid.domain.contains(X)
        weights = inside.astype(np.int64)
        if sample_weight is not None:
            weights *= encode_weights(sample_weight, len(X))
        person = np.zeros(len(X), dtype=np.int64)
        _, masses = person_spans(X, None, person, weights, plan.units)
        codes = plan.grid.codes(X)
        counts = []
        for partition in plan.partitions:
            # place 0 is for rows that are in no cell
            place = partition.locate(codes) + 1
            sums = np.bincount(place, weights=masses, minlength=len(partition) + 1)
            counts.append(sums[1:].astype(np.int64))
        return np.concatenate(counts)


def shuffle_messages(
    batches: Iterable[np.ndarray], random_state: RandomState | None = None
) -> np.ndarray:
    """Mix the messages of all participants, as the trusted shuffler does.

    Parameters
    ----------
    batches : iterable of ndarray
        Messages of the clients.
    random_state : int or RandomState, default=None
        None draws the order from the operating system, as the guarantee needs: an order that can
        be guessed hides no one. Anything else makes it reproducible, for tests and simulations.

    Returns
    -------
    messages : ndarray of int64 of shape (n_messages, 2)
    """
    warn_if_seeded(random_state)
    return mixed(batches, noise_generator(random_state))


def as_messages(messages):
    """Return messages as an array of integers, or raise."""
    try:
        messages = np.asarray(messages)
    except (TypeError, ValueError, OverflowError):
        messages = np.empty(0)
    if messages.ndim != 2 or messages.shape[1] != 2 or messages.dtype.kind not in "iu":
        raise ValueError(
            "messages must be integers of shape (n_messages, 2): pass what "
            "shuffle_messages(batches) returns."
        )
    return messages


def mixed(batches, noise):
    """Return the messages of all in an order that no one can guess."""
    messages = np.concatenate([as_messages(batch) for batch in batches])
    return messages[random_order(len(messages), noise)]


def warn_if_seeded(random_state):
    """Say that what is drawn from a seed protects no one."""
    if random_state is not None:
        warnings.warn(_SEEDED, PrivacyWarning, stacklevel=3)


class ShuffleAnalyzer(PlainParameters, VersionedPickle, HeatmapViews, BaseEstimator):
    """Adds up shuffled messages and rebuilds the heatmap. It never sees who sent what.

    After `fit` it has the attributes and methods of a fitted
    :class:`~skdp_bary.PrivateEMDHeatmap`: ``heatmap_``, ``cells_``, ``sample``, ``count_persons``
    and so on, but for ``privacy_``: nothing is charged here. `plan` states the guarantee.

    Parameters
    ----------
    plan : ShufflePlan
    bandwidth : float, default=1/32
        Blur of the heatmap, in units of the side of the map.
    earlier : ShuffleAnalyzer, default=None
        Fitted to an earlier round with the same participants, whose masses count as well.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp_bary.papers import (
    ...     ShuffleAnalyzer, ShuffleClient, ShufflePlan, shuffle_messages)
    >>> plan = ShufflePlan((0, 1), 1.0, 1e-6, n_guaranteed=40, n_max=60, levels=(1, 2))
    >>> places = np.random.default_rng(0).random((50, 2)) ** 2
    >>> batches = [ShuffleClient(plan).messages([place]) for place in places]
    >>> analyzer = ShuffleAnalyzer(plan).fit(shuffle_messages(batches))
    >>> analyzer.render(16).shape
    (16, 16)
    """

    _parameter_rules = {
        "plan": Having("a ShufflePlan", ("n_messages",)),
        "bandwidth": Number(2.0**-24, 1.0),
        "earlier": Having("a fitted ShuffleAnalyzer", ("measurements_",)) | None,
    }

    def __init__(
        self, plan: ShufflePlan, bandwidth: float = 1 / 32, earlier: ShuffleAnalyzer | None = None
    ) -> None:
        self.plan = plan
        self.bandwidth = bandwidth
        self.earlier = earlier

    def fit(self, messages: np.ndarray, y: Rows | None = None) -> Self:
        """Rebuild the heatmap from the messages of one round.

        Parameters
        ----------
        messages : ndarray of int64 of shape (n_messages, 2)
            Output of the shuffler.
        y : None
            Ignored.

        Returns
        -------
        self : object
        """
        check_parameters(self)
        plan = self.plan
        if self.earlier is not None and self.earlier.grid_.domain != plan.grid.domain:
            raise ValueError(
                "earlier must be an analyzer of a round on the same map, or pass earlier=None."
            )
        messages = as_messages(messages)
        self.n_participants_ = self._count_participants(messages)
        masses = self._add_up(messages.astype(np.int64, copy=False)) / plan.units
        # every participant adds noise, of which the guarantee counts on that of some
        rate = float(plan.rate * plan.units) * math.sqrt(plan.n_guaranteed / self.n_participants_)
        sizes = np.cumsum([len(p) for p in plan.partitions])[:-1]
        self.measurements_ = [] if self.earlier is None else list(self.earlier.measurements_)
        self.measurements_ += [
            Measurement(p.levels, p.codes, part, rate)
            for p, part in zip(plan.partitions, np.split(masses, sizes), strict=True)
        ]
        fit = fit_posterior(self.measurements_, whole=False)
        self._posterior = fit.posterior
        self.total_ = float(fit.mass.sum())
        mass = fit.mass if self.total_ > 0 else np.exp2(-2.0 * fit.level)
        self.grid_, self.domain_, self.n_features_in_ = plan.grid, plan.grid.domain, 2
        self.cells_ = HeatmapCells(
            fit.level, fit.code, *self.grid_.corners(fit.level, fit.code), mass
        )
        return self

    def _stated_guarantee(self):
        stated = {"epsilon": self.plan.epsilon, "delta": self.plan.delta}
        if self.earlier is not None:  # rounds add up
            before = self.earlier._stated_guarantee()
            stated = {name: amount + before[name] for name, amount in stated.items()}
        return stated | {"relation": "a person's rows become no rows"}

    def _count_participants(self, messages):
        """Number of participants, or raise where the guarantee does not hold."""
        plan = self.plan
        people, rest = divmod(len(messages), plan.n_cells * plan.n_messages)
        if people > plan.n_max:
            raise ValueError(
                f"messages must be of at most {plan.n_max} participants, for whom the plan has "
                f"room, got those of {people}."
            )
        cells = messages[:, 0]
        if len(cells) and not 0 <= cells.min() <= cells.max() < plan.n_cells:
            raise ValueError(
                f"messages must name cells in [0, {plan.n_cells}), got one of another plan, or a "
                "damaged one."
            )
        self._require_whole_shares(messages[:, 1])
        received = np.bincount(cells.astype(np.int64, copy=False), minlength=plan.n_cells)
        if rest or (received != people * plan.n_messages).any():
            raise ValueError(
                "messages must hold all messages of every participant: "
                f"{plan.n_messages} for each of {plan.n_cells} cells."
            )
        if people < plan.n_guaranteed:
            raise ValueError(
                f"Only {people} took part, but the guarantee needs {plan.n_guaranteed} honest "
                "participants: the round is void, and nothing is computed from it."
            )
        return people

    def _require_whole_shares(self, shares):
        """Raise where shares lost bits on their way: their sums would mean nothing.

        Whole shares are uniform below the modulus, so every bit is set in some of many.
        """
        modulus = self.plan.modulus
        whole = len(shares) == 0 or (shares.min() >= 0 and shares.max() < modulus)
        if whole and len(shares) >= _MANY_SHARES:
            whole = int(np.bitwise_or.reduce(shares)) == modulus - 1
        if not whole:
            raise ValueError(
                f"messages must hold whole shares, integers in [0, {modulus}): these were cut to "
                "fewer bits, or belong to another plan."
            )

    def _add_up(self, messages):
        """Return the noisy sum of each cell, between plus and minus half the modulus."""
        modulus = np.int64(self.plan.modulus)
        sums = np.zeros(self.plan.n_cells, dtype=np.int64)
        with np.errstate(over="ignore"):  # sums wrap modulo 2**64, which the modulus divides
            np.add.at(sums, messages[:, 0], messages[:, 1])
        sums &= modulus - 1
        return np.where(sums >= modulus // 2, sums - modulus, sums)


@dataclass(frozen=True)
class ShuffleRounds(PublicPlan):
    """Plans of two rounds: coarse cells, then finer cells where the first round showed mass.

    The first round has one third of epsilon, the second the rest, and each has half of delta.

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
    >>> from skdp_bary.papers import ShuffleRounds, simulate_shuffle
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

    def _plan(self, name, **cells):
        return ShufflePlan(
            self.bounds,
            self._budget()[name],
            float_below(exact(self.delta) / 2, digits=40),
            n_guaranteed=self.n_guaranteed,
            n_max=self.n_max,
            units=self.units,
            **cells,
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
        Person IDs. None: every row is a participant.
    random_state : int or RandomState, default=None
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
