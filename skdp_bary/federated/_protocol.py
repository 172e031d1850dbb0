"""The shuffle protocol: a public plan, clients who send shares, an analyzer who adds them up."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from fractions import Fraction
from typing import TYPE_CHECKING, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from .._parameter_rules import Having, Integer, Number, Option
from .._parameters import (
    PRIVACY_RULES,
    Cells,
    Integers,
    PlainParameters,
    PublicDomain,
    check_parameters,
)
from .._pickles import VersionedPickle
from .._plain import plain
from .._values import as_floats
from ..estimators._denoise.measurements import Measurement
from ..estimators._heatmap.fit import HeatmapCells, fit_l1, fit_posterior
from ..estimators._heatmap.views import HeatmapViews
from ..exceptions import PrivacyWarning
from ..geometry._bounds import check_domain
from ..geometry._rowwise import as_table
from ..privacy._checks import check_integer, exact
from ..privacy.noise.sampler import noise_generator
from ..summaries.rows.persons import check_floats, encode_weights, person_masses
from ..summaries.rows.sampling import random_order
from ..summaries.trees.partition import Partition, QuadGrid
from ._bounds import shuffle_distance
from ._polya import polya_sampler

if TYPE_CHECKING:
    from .._types import RandomState, Rows

MAX_DEPTH = 10
_MOST_PEOPLE = 20_000
_LARGEST_MODULUS = 62
_LARGEST_EPSILON = 100.0
_LEAST_RATE = 2.0**-14  # of the noise on a cell: tables of its law have 44 entries over the rate
_TAIL = 60.0  # scales of the noise within which sums stay, for the modulus; not for privacy
_MANY_SHARES = 100  # of which none has a bit set with probability 2**-100
_SEEDED = (
    "random_state is given, so what is sent can be reproduced and protects nobody. Leave "
    "random_state=None for rows of people."
)


def keep_plain(plan):
    """Keep the numbers of a frozen plan as plain numbers of Python."""
    for name in plan._parameter_rules:
        object.__setattr__(plan, name, plain(getattr(plan, name)))


def rebuilt(plan):
    """Return what a pickle holds of a public plan: its parameters, from which all else follows.

    Who sent it may not say how few messages are enough.
    """
    return type(plan), tuple(getattr(plan, part.name) for part in fields(plan) if part.init)


@dataclass(frozen=True)
class ShufflePlan:
    """What everybody agrees on before one round of messages. It is public.

    Parameters
    ----------
    bounds : (low, high), Box, Ball or Mask
        Public map.
    epsilon, delta : float
        The guarantee of the round.
    n_guaranteed : int
        Number of honest participants that can be relied on: who add their noise, send all their
        messages and tell nobody. With fewer there is no guarantee, and the analyzer stops.
    n_max : int
        Largest number of participants that the modulus has room for.
    levels : tuple of int, default=(2, 4)
        Levels of the quadtree that are measured whole, each with an equal part of epsilon.
    units : int, default=256
        A person's mass of one is rounded to multiples of one part in `units`.
    cells : tuple of (int, int) or None, default=None
        Measure these cells in place of whole levels: level and Morton code of each, none inside
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
        keep_plain(self)
        check_parameters(self)
        check_integer(self.n_max, "n_max", low=self.n_guaranteed, high=_MOST_PEOPLE)
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
        object.__setattr__(self, "modulus", self._find_modulus())
        object.__setattr__(self, "n_messages", self._find_messages())

    def __reduce__(self):
        return rebuilt(self)

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

    def _find_modulus(self):
        people = Fraction(self.n_max, self.n_guaranteed)
        reach = self.n_max * self.units + _TAIL * float(people / self.rate)
        bits = math.ceil(math.log2(2.0 * reach + 2.0))
        if bits > _LARGEST_MODULUS:
            raise ValueError("units, n_max or 1 / epsilon are too large: sums exceed 62 bits.")
        return 1 << bits

    def _find_messages(self):
        allowed = self.delta / (self.n_cells * (1.0 + math.exp(self.epsilon)))
        for n_messages in range(3, 200):
            if self.distance(n_messages) <= allowed:
                return n_messages
        raise ValueError(f"delta={self.delta} is out of reach with fewer than 200 messages.")


class ShuffleClient:
    """One participant: turns own rows into messages, and keeps nothing.

    Parameters
    ----------
    plan : ShufflePlan
    random_state : None, int or RandomState, default=None
        None draws from the operating system. Anything else makes the messages reproducible, for
        tests and simulations; they then protect nothing.

    Examples
    --------
    >>> from skdp_bary.federated import ShuffleClient, ShufflePlan
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
        weights = encode_weights(sample_weight, len(X))
        weights = inside.astype(np.int64) if weights is None else weights * inside
        person = np.zeros(len(X), dtype=np.int64)
        masses = person_masses(X, None, person, weights, plan.units)
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
        What the clients send.
    random_state : None, int or RandomState, default=None
        None draws the order from the operating system, as the guarantee needs: an order that can
        be guessed hides nobody. Anything else makes it reproducible, for tests and simulations.

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
        raise ValueError("messages must be integers of shape (n_messages, 2).")
    return messages


def mixed(batches, noise):
    """Return the messages of all in an order that nobody can guess."""
    messages = np.concatenate([as_messages(batch) for batch in batches])
    return messages[random_order(len(messages), noise)]


def warn_if_seeded(random_state):
    """Say that what is drawn from a seed protects nobody."""
    if random_state is not None:
        warnings.warn(_SEEDED, PrivacyWarning, stacklevel=3)


class ShuffleAnalyzer(PlainParameters, VersionedPickle, HeatmapViews, BaseEstimator):
    """Adds up shuffled messages and rebuilds the heatmap. It never sees who sent what.

    After `fit` it has the attributes and methods of a fitted
    :class:`~skdp_bary.PrivateEMDHeatmap`: ``heatmap_``, ``cells_``, ``sample`` and so on.

    Parameters
    ----------
    plan : ShufflePlan
    bandwidth : float, default=1/32
        Blur of the heatmap, in units of the side of the map.
    reconstruction : {"posterior", "l1"}, default="posterior"
    earlier : ShuffleAnalyzer or None, default=None
        Fitted to an earlier round with the same participants, whose masses count as well.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp_bary.federated import (
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
        "reconstruction": Option(("posterior", "l1")),
        "earlier": Having("a fitted ShuffleAnalyzer", ("measurements_",)) | None,
    }

    def __init__(
        self,
        plan: ShufflePlan,
        bandwidth: float = 1 / 32,
        reconstruction: Literal["posterior", "l1"] = "posterior",
        earlier: ShuffleAnalyzer | None = None,
    ) -> None:
        self.plan = plan
        self.bandwidth = bandwidth
        self.reconstruction = reconstruction
        self.earlier = earlier

    def fit(self, messages: np.ndarray, y: Rows | None = None) -> Self:
        """Rebuild the heatmap from the messages of one round.

        Parameters
        ----------
        messages : ndarray of int64 of shape (n_messages, 2)
            What the shuffler hands over.
        y : None
            Ignored.

        Returns
        -------
        self : object
        """
        check_parameters(self)
        plan = self.plan
        if self.earlier is not None and self.earlier.grid_.domain != plan.grid.domain:
            raise ValueError("earlier must be an analyzer of a round on the same map.")
        messages = as_messages(messages)
        self.n_participants_ = self._count_participants(messages)
        masses = self._add_up(messages.astype(np.int64, copy=False)) / plan.units
        rate = float(plan.rate * plan.units)
        sizes = np.cumsum([len(p) for p in plan.partitions])[:-1]
        self.measurements_ = [] if self.earlier is None else list(self.earlier.measurements_)
        self.measurements_ += [
            Measurement(p.levels, p.codes, part, rate)
            for p, part in zip(plan.partitions, np.split(masses, sizes), strict=True)
        ]
        if self.reconstruction == "posterior":
            fit = fit_posterior(self.measurements_, whole=False)
        else:
            fit = fit_l1(self.measurements_)
        self._posterior = fit.posterior
        mass = fit.mass if fit.mass.sum() > 0 else np.exp2(-2.0 * fit.level)
        self.grid_, self.domain_, self.n_features_in_ = plan.grid, plan.grid.domain, 2
        self.cells_ = HeatmapCells(
            fit.level, fit.code, *self.grid_.corners(fit.level, fit.code), mass
        )
        return self

    def _count_participants(self, messages):
        """Return how many took part; stop where the guarantee does not hold."""
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
