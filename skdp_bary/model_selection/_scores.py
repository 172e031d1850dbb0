"""How a trial of a private search is scored: what is asked of the rows, and what it costs.

A trial is one private release: the fit and what its score asks for compose, and the law of the
number of trials covers both.
"""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from ..estimators import PrivateMeasure, PrivateTable
from ..geometry._bounds import check_domain
from ..privacy.accounting.plans import Step
from ..summaries.asking.desk import Desk, PaidSteps
from ..summaries.asking.release import require_noise
from ..summaries.networks.hits import HitCount, LinearClassifier
from ..summaries.rows.persons import encode_labels
from ..transport import DiscreteMeasure
from ..transport._univariate import univariate_cost

_MANY_PERSONS = 1 << 24  # are taken to be there where n_hint does not say: a score need not be fine
_DRAWN = 256  # points of a distribution that can only be drawn from
_TAUGHT, _ROUNDS = 2000, 50  # drawn rows that train a classifier, and the steps of its training
_ANGLES, _DIRECTIONS = 16, 64  # public, in the plane and above


class NearestScore:
    """Minus the noisy sum of the clipped squared distances of rows to the nearest point."""

    @staticmethod
    def judges(estimator):
        """Whether an estimator represents rows by points."""
        return hasattr(estimator, "predict") and hasattr(estimator, "transform")

    def stderr(self, payer, trial, n_features, names=None):
        """Return the standard deviation of the noise of a score, a public number."""
        return trial.score_stderr(payer._relation(), check_domain(payer.bounds, n_features, names))

    def advice(self, payer, trial, n_features):
        """Say which candidates can be told apart."""
        stderr = self.stderr(payer, trial, n_features)
        return (
            f"The noise of a score has standard deviation {stderr:.3g}. Candidates are told apart "
            f"where n rows differ by more than {stderr:.3g} / n in their mean squared distance to "
            "the nearest point; the others are chosen among by chance."
        )

    def rehearse(self, payer, trial, rows):
        """Raise, before the charge, what would make scoring fail."""
        domain = check_domain(payer.bounds, rows.n_features, rows.names)
        query = trial.score_query(domain.center[None], domain, _units(payer, rows))
        require_noise(query, Step("score", trial.score_mechanism), payer._relation())

    def score(self, fitted, trial, noise, rows, given):
        """Return the noisy score of a fitted candidate."""
        domain = check_domain(fitted.bounds, rows.n_features, rows.names)
        points = fitted.cluster_centers_ if hasattr(fitted, "cluster_centers_") else fitted.support_
        query = trial.score_query(points, domain, _units(fitted, rows))
        return -_asked(query, fitted, trial, noise, rows) * query.unit


class TransportScore:
    """Minus the sliced Wasserstein distance of what was released to a noisy measure of the rows.

    The measure is a :class:`PrivateMeasure` of its own, bought anew in every trial with what a
    trial may spend on its score; the distance between two releases is post-processing.
    """

    @staticmethod
    def judges(estimator):
        """Whether an estimator represents rows by a distribution."""
        return hasattr(estimator, "sample") or hasattr(estimator, "to_measure")

    def stderr(self, payer, trial, n_features, names=None):
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


class AccuracyScore:
    """The noisy number of rows whose class is told by a classifier that was trained on drawn rows.

    The classifier is post-processing of what the trial released. That drawn rows train it, and all
    private rows test it, is no test on rows that were trained on: what was released depends on no
    row by more than its epsilon.
    """

    @staticmethod
    def judges(estimator):
        """Whether an estimator draws rows with labels."""
        return hasattr(estimator, "sample") and "classes" in estimator.get_params(deep=False)

    def stderr(self, payer, trial, n_features, names=None):
        """Return the standard deviation of the noise of a score, a public number."""
        domain = check_domain(payer.bounds, n_features, names)
        return trial.noise_of(HitCount(_undecided(domain, 2)), payer._relation())

    def advice(self, payer, trial, n_features):
        """Say which candidates can be told apart."""
        stderr = self.stderr(payer, trial, n_features)
        return (
            "A score is the number of rows that a linear classifier, trained on drawn rows, is "
            f"right about. Its noise has standard deviation {stderr:.3g}: candidates are told "
            f"apart where n rows differ by more than {stderr:.3g} / n in the share of right answers"
        )

    def rehearse(self, payer, trial, rows):
        """Raise, before the charge, what would make scoring fail."""
        if rows.classes is None or len(rows.classes) < 2:
            raise ValueError(
                'scoring="accuracy" needs an estimator with two classes at least, and y.'
            )
        domain = check_domain(payer.bounds, rows.n_features, rows.names)
        query = HitCount(_undecided(domain, len(rows.classes)), _units(payer, rows))
        require_noise(query, Step("score", trial.score_mechanism), payer._relation())

    def score(self, fitted, trial, noise, rows, given):
        """Return the noisy score of a fitted candidate."""
        domain = check_domain(fitted.bounds, rows.n_features, rows.names)
        query = HitCount(learned(fitted, domain, rows.classes), _units(fitted, rows))
        return _asked(query, fitted, trial, noise, rows) / query.units


class MisfitScore:
    """Minus the noisy number of rows of a table that would have to move.

    What a fitted table expects in every pair of columns is post-processing of its release; how far
    all pairs together are from it is one question, of bins that follow from the schema alone.
    """

    @staticmethod
    def judges(estimator):
        """Whether an estimator models a table."""
        return isinstance(estimator, PrivateTable)

    def stderr(self, payer, trial, n_features, names=None):
        """Return the standard deviation of the noise of a score, a public number."""
        judge = payer._judge(n_features)
        query = judge.query()
        return judge.rows_apart(query, trial.noise_of(query, payer._relation()))

    def advice(self, payer, trial, n_features):
        """Say which candidates can be told apart."""
        stderr = self.stderr(payer, trial, n_features)
        return (
            "A score is minus the number of rows that would have to move for pairs of columns to "
            f"be as the candidate expects. Its noise has standard deviation {stderr:.3g}: "
            f"candidates are told apart where n rows differ by more than {stderr:.3g} / n in that "
            "share."
        )

    def rehearse(self, payer, trial, rows):
        """Raise, before the charge, what would make scoring fail."""
        query = payer._judge(rows.n_features).query(_units(payer, rows))
        require_noise(query, Step("score", trial.score_mechanism), payer._relation())

    def score(self, fitted, trial, noise, rows, given):
        """Return the noisy score of a fitted candidate."""
        judge = fitted._judge(rows.n_features)
        query = judge.query(_units(fitted, rows), fitted.mixture_, fitted.total_)
        return -judge.rows_apart(query, _asked(query, fitted, trial, noise, rows))


def score_of(estimator, scoring=None):
    """Return how trials of an estimator are scored, or None where no private score is known."""
    kinds = (MisfitScore, NearestScore, TransportScore) if scoring is None else (AccuracyScore,)
    return next((kind() for kind in kinds if kind.judges(estimator)), None)


def learned(fitted, domain, classes):
    """Return a linear classifier that was trained on rows drawn from a fitted estimator."""
    X, labels = fitted.sample(_TAUGHT, random_state=0)
    codes = encode_labels(labels, classes, len(X))
    present = np.unique(codes)
    spread = X.std(axis=0)
    scale = np.where(spread > 0.0, spread, 1.0)
    slopes, offsets = np.zeros((len(classes), X.shape[1])), np.full(len(classes), -np.inf)
    offsets[present] = 0.0
    if len(present) > 1:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = LogisticRegression(max_iter=_ROUNDS).fit((X - X.mean(axis=0)) / scale, codes)
        several = len(present) > 2
        slopes[present] = (model.coef_ if several else [-model.coef_[0], model.coef_[0]]) / scale
        offsets[present] = model.intercept_ if several else [-1, 1] * model.intercept_
        offsets -= slopes @ X.mean(axis=0)
    # a class that was never drawn is never told: its score is below all others in the domain
    reach = np.linalg.norm(slopes, axis=1).max() * domain.radius
    floor = (offsets + slopes @ domain.center)[present].min() - 2.0 * reach - 1.0
    return LinearClassifier(domain, slopes, np.where(np.isinf(offsets), floor, offsets))


def _undecided(domain, n_classes):
    return LinearClassifier(domain, np.zeros((n_classes, domain.n_features)), np.zeros(n_classes))


def _units(payer, rows):
    """Return the largest mass of a person, which public facts tell."""
    return rows.units_for(payer.n_hint or _MANY_PERSONS)


def _asked(query, fitted, trial, noise, rows):
    """Return the answer to the question that scores a trial, with its noise."""
    paid = PaidSteps(fitted.privacy_.relation, (Step("score", trial.score_mechanism),))
    return float(Desk(rows, paid, noise, charge=None).ask("score", query).values[0][0])


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
