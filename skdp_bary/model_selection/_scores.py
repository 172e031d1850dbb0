"""How a trial of a private search is scored: what is asked of the rows, and what it costs.

A trial is one private release: the fit and what its score asks for compose, and the law of the
number of trials covers both.
"""

import numpy as np

from ..estimators import PrivateMeasure
from ..geometry._bounds import check_domain
from ..privacy.accounting.plans import Step
from ..summaries.asking.desk import Desk, PaidSteps
from ..summaries.asking.release import require_noise
from ..transport import DiscreteMeasure, univariate_cost

_MANY_PERSONS = 1 << 24  # are taken to be there where n_hint does not say: a score need not be fine
_DRAWN = 256  # points of a distribution that can only be drawn from
_ANGLES, _DIRECTIONS = 16, 64  # public, in the plane and above


class NearestScore:
    """Minus the noisy sum of the clipped squared distances of rows to the nearest point."""

    @staticmethod
    def judges(estimator):
        """Whether an estimator represents rows by points."""
        return hasattr(estimator, "predict") and hasattr(estimator, "transform")

    def stderr(self, payer, trial, domain):
        """Return the standard deviation of the noise of a score, a public number."""
        return trial.score_stderr(payer._relation(), domain)

    def advice(self, payer, trial, n_features):
        """Say which candidates can be told apart."""
        stderr = self.stderr(payer, trial, check_domain(payer.bounds, n_features))
        return (
            f"The noise of a score has standard deviation {stderr:.3g}. Candidates are told apart "
            f"where n rows differ by more than {stderr:.3g} / n in their mean squared distance to "
            "the nearest point; the others are chosen among by chance."
        )

    def rehearse(self, payer, trial, rows):
        """Raise, before the charge, what would make scoring fail."""
        domain = check_domain(payer.bounds, rows.n_features, rows.names)
        units = rows.units_for(payer.n_hint or _MANY_PERSONS)
        query = trial.score_query(domain.center[None], domain, units)
        require_noise(query, Step("score", trial.score_mechanism), payer._relation())

    def score(self, fitted, trial, noise, rows, given):
        """Return the noisy score of a fitted candidate."""
        domain = check_domain(fitted.bounds, rows.n_features, rows.names)
        points = fitted.cluster_centers_ if hasattr(fitted, "cluster_centers_") else fitted.support_
        units = rows.units_for(fitted.n_hint or _MANY_PERSONS)
        query = trial.score_query(points, domain, units)
        paid = PaidSteps(fitted.privacy_.relation, (Step("score", trial.score_mechanism),))
        released = Desk(rows, paid, noise, charge=None).ask("score", query)
        return -float(released.values[0][0]) * query.unit


class TransportScore:
    """Minus the sliced Wasserstein distance of what was released to a noisy measure of the rows.

    The measure is a :class:`PrivateMeasure` of its own, bought anew in every trial with what a
    trial may spend on its score; the distance between two releases is post-processing.
    """

    @staticmethod
    def judges(estimator):
        """Whether an estimator represents rows by a distribution."""
        return hasattr(estimator, "sample") or hasattr(estimator, "to_measure")

    def stderr(self, payer, trial, domain):
        """Return None: no number is known for it."""
        return None

    def advice(self, payer, trial, n_features):
        """Say what a candidate is compared with."""
        judge = self._judge(payer, trial, None)
        return (
            "A score is minus the sliced Wasserstein distance to a PrivateMeasure that every trial "
            f"buys with epsilon={judge.epsilon:.3g}, delta={judge.delta:g}. Candidates that differ "
            "by less than the noise of that measure are chosen among by chance."
        )

    def rehearse(self, payer, trial, rows):
        """Raise, before the charge, what would make scoring fail."""
        judge = self._judge(payer, trial, 0)
        plan = judge.privacy_plan(rows.n_features)
        trial.check_score(plan)
        judge._rehearse(plan, judge._public_facts(plan, rows))

    def score(self, fitted, trial, noise, rows, given):
        """Return the noisy score of a fitted candidate."""
        seed = noise.uniform_integer(1 << 31) if noise.seeded else None
        judge = self._judge(fitted, trial, seed)
        X, beside = given
        judge.fit(X, **beside)
        return -sliced_distance(released_measure(fitted), judge.to_measure())

    def _judge(self, payer, trial, seed):
        return PrivateMeasure(
            trial.score_epsilon,
            trial.score_delta,
            payer.bounds,
            n_hint=payer.n_hint,
            neighbors=payer._relation(),
            random_state=seed,
        )


def score_of(estimator):
    """Return how trials of an estimator are scored, or None where no private score is known."""
    return next((kind() for kind in (NearestScore, TransportScore) if kind.judges(estimator)), None)


def released_measure(fitted):
    """Return a fitted distribution as a discrete measure, post-processing of its release."""
    if hasattr(fitted, "to_measure"):
        return fitted.to_measure()
    if hasattr(fitted, "cells_"):
        cells = fitted.cells_
        return DiscreteMeasure((cells.low + cells.high) / 2.0, cells.mass)
    drawn = fitted.sample(_DRAWN, random_state=0)
    return DiscreteMeasure(drawn[0] if isinstance(drawn, tuple) else drawn)


def sliced_distance(first, second):
    """Return the sliced Wasserstein distance of order 2 on public directions."""
    costs = [
        univariate_cost(_projected(first, direction), _projected(second, direction))
        for direction in _directions(first.n_features)
    ]
    return float(np.sqrt(np.mean(costs)))


def _projected(measure, direction):
    return DiscreteMeasure(measure.support @ direction[:, None], measure.weights)


def _directions(n_features):
    """Return unit vectors, the same for all data."""
    if n_features == 1:
        return np.ones((1, 1))
    if n_features == 2:
        angles = np.arange(_ANGLES) * np.pi / _ANGLES
        return np.stack([np.cos(angles), np.sin(angles)], axis=1)
    drawn = np.random.default_rng(0).standard_normal((_DIRECTIONS, n_features))
    return drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
