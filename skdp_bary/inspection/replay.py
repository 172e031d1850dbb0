"""Sensitivity by replay: how far neighbors move the exact answers when nothing else changes."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction
from math import inf

import numpy as np
from sklearn.base import clone

from ..desk.tape import AllAnswered, Tape, use_tape
from ..exceptions import Estimator, PrivacyWarning, Rows, exact
from ..model_selection.search import PrivateSearchCV
from ..privacy.mechanisms import Sensitivity
from ..privacy.noise import public_generator
from ..transformers.step_rules import library_of

# Sensitivity by replay: how far neighbors move the exact answers when nothing else changes.

_HALF = 1 << 63


@dataclass(frozen=True)
class StepReplay:
    """Finding of a replay about one release.

    Attributes
    ----------
    name : str
        Name of the release.
    mechanism : object
        The mechanism that the plan names for it.
    allowed : float
        Privacy loss that was paid for: epsilon, ``mu**2`` for Gaussian noise, the rate of picks.
    realized : float
        Loss between the two datasets, from the exact answers and the scales of the noise; of
        picks, the largest change of what one of them chose from.
    ratio : float
        ``realized / allowed``.
    l1, l2_squared : tuple of int
        Distance that each block of the answer moved.
    violations : tuple of str
        What contradicts the guarantee, in words; empty when nothing does.
    """

    name: str
    mechanism: object
    allowed: float
    realized: float
    ratio: float
    l1: tuple
    l2_squared: tuple
    violations: tuple


@dataclass(frozen=True)
class ReplayReport:
    """Result of a replay, see :func:`replay_sensitivity`.

    Attributes
    ----------
    steps : tuple of StepReplay
        One per release that both runs made, in order.
    fit_violations : tuple of str
        What contradicts the guarantee outside the single releases: their number or order, the
        plan, or an error on one of the two datasets only.
    """

    steps: tuple
    fit_violations: tuple

    @property
    def violations(self) -> tuple[str, ...]:
        """Everything that contradicts the guarantee, in words."""
        own = [f"{step.name}: {text}" for step in self.steps for text in step.violations]
        return self.fit_violations + tuple(own)

    @property
    def holds(self) -> bool:
        """Whether nothing on these two datasets contradicts the guarantee."""
        return not self.violations

    @property
    def tightness(self) -> float:
        """Largest ratio of realized to allowed loss over the steps; 0 without steps."""
        return max((step.ratio for step in self.steps), default=0.0)

    def __str__(self):
        lines = [f"{'release':<20} {'allowed':>12} {'realized':>12} {'ratio':>10}"]
        for step in self.steps:
            numbers = f"{step.allowed:>12.6g} {step.realized:>12.6g} {step.ratio:>10.4g}"
            lines.append(f"{step.name:<20} {numbers}")
        return "\n".join([*lines, *(f"violation: {text}" for text in self.violations)])


def replay_sensitivity(estimator: Estimator, data: Rows, neighbor: Rows) -> ReplayReport:
    """Measure how much exact answers of a fit differ between two neighboring datasets.

    A clone of the estimator is fitted on `data` and its releases are recorded. Another clone is
    fitted on `neighbor` and gets the recorded releases back instead of noise. For every release the
    exact answers of the two runs are compared, block by block, with the noise that was added and
    with the loss that the plan paid for.

    Parameters
    ----------
    estimator : estimator
        A private estimator of this package or built on it, not a search, or a Pipeline that ends in
        one. It is not changed and its budget is not touched: the clones pay from budgets of their
        own under the same neighboring relation.
    data, neighbor : array-like, dataframe or chunks, or dict
        Two datasets that are neighbors under that relation, each as ``X`` or as a dict of the
        arguments of ``fit``; the function cannot know whether they are. The rows that both have
        must come in the same order, by which releases about single rows are compared.

    Returns
    -------
    report : ReplayReport
        ``report.holds`` says whether the two datasets contradict the guarantee,
        ``report.tightness`` how close they come to the allowed loss. ``print(report)`` shows a
        table.

    Notes
    -----
    The comparison is exact: answers are integers and losses are fractions. A replay sees only the
    two datasets it is given, so it can refute a guarantee and cannot prove one. Try neighbors that
    are meant to hurt: rows far outside the bounds, on borders of cells, alone in their part of the
    domain, many times the same.

    The report is computed from rows without noise and is itself not private.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp_bary import PrivateMeasure
    >>> from skdp_bary.inspection import replay_sensitivity
    >>> X = np.random.default_rng(0).random((100, 2))
    >>> measure = PrivateMeasure(epsilon=1.0, bounds=(0, 1), n_hint=100)
    >>> report = replay_sensitivity(measure, X, X[:-1])
    >>> report.holds
    True
    >>> round(report.tightness, 6)
    1.0
    """
    last = estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator
    if isinstance(last, PrivateSearchCV):  # two of them try different candidates
        raise TypeError(
            "estimator must make one fit, got a PrivateSearchCV, which makes a random number. Pass "
            "the estimator that it searches, search.estimator."
        )
    arguments, neighbor_arguments = fit_arguments(data), fit_arguments(neighbor)
    if arguments.keys() != neighbor_arguments.keys():
        raise ValueError(
            "data and neighbor must hold the same arguments of fit, got "
            f"{sorted(arguments)} and {sorted(neighbor_arguments)}. Pass for example y in both."
        )
    return replay(estimator, arguments, neighbor_arguments)


def fit_arguments(data):
    """Return the arguments of ``fit`` from a dict of them, or from the rows alone."""
    return dict(data) if isinstance(data, Mapping) else {"X": data}


def replay(estimator, arguments, neighbor_arguments):
    """Record a fit, repeat it on the neighbor, and compare; both get a dict of fit arguments.

    Where ``random_state`` is None both draw alike: questions may use starts that were drawn at
    random, and those of two fits would differ although the rows do not matter.
    """
    seed = int(public_generator().integers(2**32))
    unset = [
        name
        for name, value in estimator.get_params(deep=True).items()
        if value is None and name.rpartition("__")[2] == "random_state"
    ]
    estimator = clone(estimator).set_params(**dict.fromkeys(unset, seed))
    return replay_after(record_fit(estimator, arguments), estimator, neighbor_arguments)


def replay_after(before, estimator, neighbor_arguments, *, answers_only=False):
    """Repeat a recorded fit on the neighbor, and compare; chance has to fall as it did then.

    With `answers_only` the fit on the neighbor ends with its last release: what is compared is
    known then.
    """
    if before.error is not None:
        raise before.error
    after = record_fit(
        estimator, neighbor_arguments, script=before.records, answers_only=answers_only
    )
    pairs = list(zip(before.records, after.records, strict=False))
    planned = {step.name: step.mechanism for step in before.plan.steps} if before.plan else {}
    return ReplayReport(
        tuple(_compare(old, new, planned) for old, new in pairs),
        tuple(_fit_violations(before, after)),
    )


def _fit_violations(before, after):
    if after.error is not None:
        yield f"the fit on the neighbor failed: {type(after.error).__name__}: {after.error}"
    names, replayed = (tuple(r.released.name for r in run.records) for run in (before, after))
    if names != replayed:
        yield f"the releases are {list(names)} on one data set and {list(replayed)} on the other"
    if before.plan is None:
        return
    planned = tuple(step.name for step in before.plan.steps)
    if names != planned:
        yield f"the releases are {list(names)}, but the plan names {list(planned)}"
    if after.error is None and after.plan != before.plan:
        yield "the plan depends on the rows"


def _compare(before, after, planned):
    old, new = before.released, after.released
    mechanism = planned.get(old.name, old.mechanism)
    violations = []
    if old.mechanism != mechanism:
        violations.append(f"released with {old.mechanism}, but the plan names {mechanism}")
    if not _same(before.query, after.query):
        violations.append("the question depends on the rows")
    if (old.scales, before.sensitivity) != (new.scales, after.sensitivity):
        violations.append("the sensitivity or the noise scale depends on the rows")
    if old.query.picks:  # which are compared by what each of them chose from
        *sizes, moved, found = mechanism.compare(before, after)
        moves = (moved,), (moved**2,)
        return StepReplay(old.name, mechanism, *sizes, *moves, (*violations, *found))
    shapes, replayed = ([block.shape for block in r.exact] for r in (before, after))
    allowed = Fraction(mechanism.mu) ** 2 if mechanism.is_gaussian else exact(mechanism.epsilon)
    if shapes != replayed:
        violations.append(f"the blocks have shapes {shapes} and {replayed}")
        return StepReplay(old.name, mechanism, float(allowed), inf, inf, (), (), tuple(violations))
    moved = [_changes(a, b) for a, b in zip(before.exact, after.exact, strict=True)]
    l1 = tuple(sum(map(abs, changes)) for changes in moved)
    l2 = tuple(sum(change * change for change in changes) for changes in moved)
    # the loss is written out here, so that it does not trust the mechanism's own sum
    if mechanism.is_pure or mechanism.is_gaussian:
        changes, power = (l1, 1) if mechanism.is_pure else (l2, 2)
        realized = sum(per_noise(c, s, power) for c, s in zip(changes, old.scales, strict=True))
    else:
        realized = mechanism.loss(Sensitivity((l1,), (l2,)), old.scales)
    if realized > allowed:
        violations.append(f"loses {float(realized)}, more than the {float(allowed)} paid for")
    violations += _beyond_stated(before.sensitivity, l1, l2, old.scales)
    ratio = float(realized / allowed)
    sizes = float(allowed), float(realized), ratio
    return StepReplay(old.name, mechanism, *sizes, l1, l2, tuple(violations))


def _changes(old, new):
    """Return the entries of ``new - old`` that are not zero, as Python integers.

    Answers are sums modulo ``2**64``, and so are releases; what they differ by is the number
    nearest to zero among those that are equal modulo ``2**64``.
    """
    changes = (int(b) - int(a) for a, b in zip(old[old != new], new[old != new], strict=True))
    return [(change + _HALF) % (2 * _HALF) - _HALF for change in changes]


def per_noise(change, scale, power=1):
    """Return the loss of a change under noise of this scale, as a fraction."""
    if not change:
        return Fraction(0)
    return change / Fraction(scale) ** power if scale else inf


def _beyond_stated(sensitivity, l1, l2_squared, scales):
    """Yield the weightings of the blocks under which the change exceeds the stated sensitivity.

    With several rows a person can mix the cases of a sensitivity, so a change need not lie within
    one case block by block. For any weighting of the blocks it stays below the largest case,
    because the weighted norm of a mixture does.
    """
    inverse = [1 / Fraction(scale) if scale else Fraction(0) for scale in scales]
    weightings = [("all blocks", [1] * len(scales)), ("blocks by their noise", inverse)]
    for b in range(len(scales)):
        weightings.append((f"block {b}", [int(b == other) for other in range(len(scales))]))
    for norm, moved, cases, power in (
        ("L1", l1, sensitivity.l1, 1),
        ("squared L2", l2_squared, sensitivity.l2_squared, 2),
    ):
        for what, weights in weightings:
            change = _weighted(moved, weights, power)
            stated = max(_weighted(case, weights, power) for case in cases)
            if change > stated:
                yield f"{what} moved by {float(change)} in {norm}, stated is {float(stated)}"
                break


def _weighted(numbers, weights, power):
    return sum(number * weight**power for number, weight in zip(numbers, weights, strict=True))


def _same(first, second):
    """Whether two frozen questions are equal, arrays and nested dataclasses included."""
    if type(first) is not type(second):
        return False
    if is_dataclass(first):
        return all(_same(getattr(first, f.name), getattr(second, f.name)) for f in fields(first))
    if isinstance(first, np.ndarray):
        floats = first.dtype.kind == "f"  # the center of a class without rows is NaN
        return first.dtype == second.dtype and np.array_equal(first, second, equal_nan=floats)
    if isinstance(first, (tuple, list)):
        return len(first) == len(second) and all(map(_same, first, second))
    return bool(first == second)


# Fits under a tape: what the audit sees of one run of an estimator.


@dataclass(frozen=True)
class Recording:
    """One fit under a tape, with its exact answers: private to no one.

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
    accountant : BudgetAccountant, default=None
        Pays for the fit. None: its own budget does.
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
    """Return a clone whose parts pay from budgets of their own under the relations of these."""
    params = estimator.get_params(deep=True)
    changes = {}
    for name in sorted(params, key=len, reverse=True):  # the budget of a part before that of all
        prefix, _, last = name.rpartition("accountant")
        other = last or (prefix and not prefix.endswith("__"))
        if other or library_of(type(params[name])) == "diffprivlib":  # whose clones have copies
            continue
        changes[name] = None
        for key in params:
            under = key.startswith(prefix) and key.rpartition("__")[2] == "neighbors"
            if under and (params[key] or changes.get(key)) is None:
                changes[key] = getattr(params[name], "neighbors", None)
    return clone(estimator).set_params(**changes)


def quiet():
    """Return a context without privacy warnings: nothing that is recorded gets published."""
    return warnings.catch_warnings(action="ignore", category=PrivacyWarning)
