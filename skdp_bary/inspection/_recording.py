"""Fits under a tape: what the audit sees of one run of an estimator."""

import warnings
from dataclasses import dataclass

from sklearn.base import clone

from ..exceptions import PrivacyWarning
from ..privacy.noise.sampler import public_generator
from ..summaries.asking.tape import AllAnswered, Tape, use_tape


@dataclass(frozen=True)
class Recording:
    """One fit under a tape, with its exact answers: private to nobody.

    Attributes
    ----------
    fitted : estimator
    records : tuple of Record
        Every release in order, with the question asked, the exact answer and what came out.
    error : Exception or None
        What stopped the fit.
    plan : Plan or None
        What the fit says it released and charged.
    """

    fitted: object
    records: tuple
    error: Exception | None
    plan: object


def record_fit(estimator, arguments, script=(), *, accountant=None, answers_only=False):
    """Fit a detached clone under a tape.

    Parameters
    ----------
    estimator : estimator
    arguments : dict
        Arguments of ``fit``.
    script : sequence of Record, default=()
        Releases of an earlier fit, handed back instead of drawing noise.
    accountant : BudgetAccountant or None, default=None
        Pays for the fit. None: a budget of its own does.
    answers_only : bool, default=False
        Whether the fit may end with its last release, and leave the estimator unfitted: for
        comparisons of answers, which do not look at what is computed from the releases.
    """
    fitted = detached(estimator)
    if accountant is not None:
        fitted.set_params(accountant=accountant)
    return record(fitted, arguments, script, answers_only=answers_only)


def record(fitted, arguments, script=(), *, answers_only=False):
    """Fit an estimator itself under a tape, paid by the accountant it has; see `record_fit`."""
    error = plan = None
    with use_tape(Tape(script, answers_only=answers_only)) as tape, quiet():
        try:
            fitted.fit(**arguments)
        except AllAnswered as end:
            plan = end.plan
        except Exception as caught:
            error = caught
    plan = getattr(fitted, "privacy_", plan)
    return Recording(fitted, tuple(tape.records), error, plan)


def detached(estimator):
    """Return a clone that pays from a budget of its own under the relation of the estimator."""
    params = estimator.get_params(deep=True)
    changes = {}
    for name in params:
        prefix, _, last = name.rpartition("accountant")
        if last or (prefix and not prefix.endswith("__")):
            continue
        relation = params.get(f"{prefix}neighbors")
        changes[name] = None
        changes[f"{prefix}neighbors"] = relation or getattr(params[name], "neighbors", None)
    return clone(estimator).set_params(**changes)


def with_same_chance(estimator):
    """Return a clone whose fits all draw alike where ``random_state`` is None.

    Questions may use starts that were drawn at random; those of two fits would differ although
    the rows do not matter.
    """
    seed = int(public_generator().integers(2**32))
    unset = [
        name
        for name, value in estimator.get_params(deep=True).items()
        if value is None and name.rpartition("__")[2] == "random_state"
    ]
    return clone(estimator).set_params(**dict.fromkeys(unset, seed))


def quiet():
    """Return a context without privacy warnings: nothing that is recorded gets published."""
    return warnings.catch_warnings(action="ignore", category=PrivacyWarning)
