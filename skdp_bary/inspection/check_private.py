"""check_private: walk a pipeline and report for every step whether it keeps the guarantee."""

from __future__ import annotations

from dataclasses import dataclass, replace
from html import escape
from inspect import getattr_static

from sklearn.pipeline import Pipeline

from .._sklearn import BaseSearchCV, checksum
from ..estimators.base import BasePrivateEstimator
from ..estimators.notices import told_of_several
from ..estimators.scaling import PrivateStandardScaler
from ..exceptions import Estimator, LeakError, as_charged, in_digits, refuse_class
from ..geometry.bounds import check_domain, width_of
from ..geometry.domains import Ball, Box
from ..model_selection.search import PrivateSearchCV
from ..privacy.plans import SelectionPlan
from ..schema.schema import Schema
from ..transformers.linear import DomainScaler, JLTransformer
from ..transformers.public_steps import MISSING, RAW, REPLACED, join_names, public_fault, walk_steps
from ..transformers.step_rules import is_private, library_of, replaced_method, sklearn_name
from ..transformers.tables import RowByRow, SchemaTransformer

# check_private: walk a pipeline and say of every step whether it keeps the guarantee.


def check_private(estimator: Estimator, *, strict: bool = False) -> PrivacyReport:
    """Report whether fitting an estimator, or each step of a pipeline, is private.

    Parameters
    ----------
    estimator : estimator
        Fitted or not: an estimator, a ``Pipeline``, ``ColumnTransformer`` or ``FeatureUnion`` of
        them, or a search over one.
    strict : bool, default=False
        Whether to raise when a step leaks or nothing is known about it.

    Returns
    -------
    report : PrivacyReport

    Raises
    ------
    LeakError
        With ``strict=True``, when a step leaks or nothing is known about it.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from skdp_bary import PrivateMeasure, check_private
    >>> pipeline = make_pipeline(StandardScaler(), PrivateMeasure(bounds=(0, 1)))
    >>> report = check_private(pipeline)
    >>> [step.verdict for step in report.steps]
    ['leaks', 'private']
    """
    refuse_class(estimator, "estimator")
    if estimator is None or isinstance(estimator, str):  # as steps they are ones that do nothing
        raise TypeError(
            f"estimator must be an estimator, got {estimator!r}. For example "
            "check_private(make_pipeline(DomainScaler((0, 1)), PrivateKMeans(3)))."
        )
    steps = list(_walk("", estimator))
    report = PrivacyReport(tuple(_with_shared_budget(steps, bounds_advice("", estimator))))
    if strict and not report.ok:
        raise LeakError(f"Fitting this is not private, or not known to be:\n{report}")
    return report


def learning_steps(steps):
    """Return the verdicts on the steps of a pipeline that learn from its rows without noise."""
    judged = (
        _judge(path, step, before)[0]
        for path, step, before in walk_steps("", Pipeline(steps))
        if not is_private(step)
    )
    return [verdict for verdict in judged if verdict.verdict == LEAKS]


def _walk(name, estimator, form=RAW):
    """Yield (verdict, budget) of an estimator and all of its parts."""
    for path, step, before in walk_steps(name, estimator, form):
        if isinstance(step, BaseSearchCV):
            reason = "its scores are exact functions of held-out rows, and it chooses by them"
            advice = "choose with PrivateSearchCV, or keep scores and choice with the data owner"
            yield _verdict(path or "search", step, LEAKS, reason, advice), None
            yield from _walk(join_names(path, "estimator"), step.estimator, before)
        else:
            yield _judge(path, step, before)
            if isinstance(step, PrivateSearchCV) and isinstance(step.estimator, Pipeline):
                earlier = Pipeline(step.estimator.steps[:-1])
                yield from _walk(join_names(path, "estimator"), earlier, before)


def _judge(name, estimator, form):
    """Return the verdict on one step, and the budget it spends from."""

    def found(verdict, reason, advice="", budget=None):
        return _verdict(name, estimator, verdict, reason, advice), budget

    if replaced_method(estimator):
        return found(UNKNOWN, REPLACED.reason, REPLACED.advice)
    if type(estimator) is RowByRow and is_private(estimator.step):
        verdict, budget = _judge(name, estimator.step, form)
        return replace(verdict, estimator="RowByRow"), budget
    ours = isinstance(estimator, (BasePrivateEstimator, PrivateSearchCV))
    if ours:
        # code of others may take the place of the one fit, the charge or what they stand on
        kind = type(estimator)
        own = next(c for c in kind.__mro__ if library_of(c) == "skdp_bary")
        pairs = ((getattr_static(c, name, None) for c in (kind, own)) for name in _THE_FIT)
        ours = all(theirs is known for theirs, known in pairs)
    if ours:
        budget = estimator.accountant
        if form.kind == "rounded":
            return found(UNKNOWN, _ROUNDED, _APART, budget)
        if form.gaps and not hasattr(estimator, "schema"):  # tables have one of their own
            return found(UNKNOWN, _GAPS, MISSING.advice, budget)
        return found(*_private_verdict(estimator), budget)
    if library_of(type(estimator)) == "diffprivlib":
        budget = getattr(getattr(estimator, "accountant", None), "accountant", None)
        if budget is None:
            return found(UNKNOWN, _THEIRS, "give it a DiffprivlibAccountant on the shared budget")
        return found(PRIVATE, _THEIRS, budget=budget)
    fault = public_fault(estimator, form)
    if fault is None:
        kept = "; a row on which it fails becomes zeros" if type(estimator) is RowByRow else ""
        return found(PUBLIC, f"what it learns does not depend on the rows{kept}")
    if fault.reason:
        return found(LEAKS if fault.learns else UNKNOWN, fault.reason, fault.advice)
    if sklearn_name(estimator) is not None:
        advice = _ADVICE.get(type(estimator).__name__, _BEHIND)
        return found(LEAKS, "it learns from the rows without noise", advice)
    return found(UNKNOWN, "it is not known to this package", _LISTED)


_THE_FIT = (
    *("fit", "fit_transform", "fit_predict", "transform", "privacy_plan", "__getattribute__"),
    *("_plan", "_open", "_public_facts", "_choose_rows", "_before_charge", "_buy_facts", "_settle"),
    *("_conversation", "_rehearse", "_rehearsal_key"),
    *("_budget", "_relation", "_finished", "_guarantee"),
)


def _private_verdict(estimator):
    """Return verdict, reason and advice about an estimator of this package."""
    budget = estimator.accountant
    if estimator.random_state is not None:
        reason = "random_state is given, so anyone who knows it can subtract the noise"
        return LEAKS, reason, "leave random_state=None"
    epsilon, delta = as_charged(estimator.epsilon, estimator.delta)
    plan = getattr(estimator, "privacy_", None)
    searched = isinstance(plan, SelectionPlan) and not _changed(estimator)
    if searched:  # its own epsilon is what one trial had
        epsilon, delta = plan.epsilon, plan.delta
    cost = f"epsilon={in_digits(epsilon)}, delta={in_digits(delta)}"
    if searched:
        cost += f" for the whole search, {plan.scope}"
    if getattr(plan, "one_of_several", False):
        return LEAKS, f"{cost} for this fit alone, {told_of_several(estimator, plan)}", _SEVERAL
    if budget is None:
        advice = "pass one accountant to all private steps, so that repeated fits add up"
        return PRIVATE, f"{cost}, charged to a separate budget", advice
    unit = getattr(budget, "unit", None)
    kept = "" if unit is None else f", which protects every {unit}"
    return PRIVATE, f"{cost}, charged to the budget given{kept}", ""


def _changed(estimator):
    """Whether the best estimator of a search has other parameters than the search left it with."""
    found = getattr(estimator, "_searched_with", None)
    return found is not None and found != checksum(estimator.get_params())


_THEIRS = "its guarantee is that of diffprivlib, which is not checked here"
_BEHIND = "fit it on public rows in RowByRow, or use it only after a release"
_LISTED = "use steps of scikit-learn, alone in RowByRow where they are not listed"
_SEVERAL = (
    "choose with PrivateSearchCV, or on public or generated rows, and fit what was chosen once"
)
_ROUNDED = "the private step before it outputs rows whose last bits depend on other rows"
_GAPS = f"{MISSING.reason}, before it is charged"
_APART = (
    "put that step into RowByRow, or pass this one the rows themselves, next to the other step "
    "in a FeatureUnion or in a separate pipeline"
)


def _with_shared_budget(steps, bounds):
    """Return the verdicts; private steps whose costs are not added up are said to leak.

    Advice about bounds, by path, is added to steps that have nothing worse to hear.
    """
    apart = _not_added_up([budget for verdict, budget in steps if _spends(verdict)])
    for verdict, _ in steps:
        if apart and _spends(verdict):
            reason, advice = apart
            yield StepVerdict(
                verdict.name, verdict.estimator, LEAKS, f"{verdict.reason}; {reason}", advice
            )
        elif verdict.name in bounds and verdict.verdict in (PRIVATE, PUBLIC):
            both = [text for text in (verdict.advice, bounds[verdict.name]) if text]
            yield replace(verdict, advice="; ".join(both))
        else:
            yield verdict


def _spends(verdict):
    return verdict.verdict == PRIVATE or verdict.reason in (_ROUNDED, _GAPS)


def _not_added_up(budgets):
    """Return why the budgets of private steps do not add up and what to do, or None."""
    if len(budgets) < 2:
        return None
    ledgers = {id(getattr(budget, "_ledger", None)) for budget in budgets}
    if len(ledgers) > 1 or budgets[0] is None:
        return (
            "the private steps do not share one budget, so nothing adds up what they cost together",
            "give all private steps the same BudgetAccountant",
        )
    parts = {getattr(budget, "_part", "") for budget in budgets} - {""}
    if len(parts) > 1:
        return (
            f"the private steps see the same rows and are charged to different parts, "
            f"{', '.join(map(repr, sorted(parts)))}, of which the budget counts only the largest",
            "give all private steps the same part, or the whole budget",
        )
    return None


def _verdict(name, estimator, verdict, reason, advice=""):
    cls = type(estimator).__name__
    return StepVerdict(name or cls.lower(), cls, verdict, reason, advice)


_SCALE = (
    "use PrivateStandardScaler, which is charged, or scale by public bounds with DomainScaler, at "
    "no privacy cost. DomainScaler divides by the width of the bounds: a feature whose bounds are "
    "much wider than its values counts less than after StandardScaler"
)
_PROJECT = (
    "use PrivatePCA, which is charged, project with JLTransformer, or use an estimator that finds "
    "its own subspace"
)
_CLUSTER = "use PrivateKMeans"
_CHOOSE = "choose the columns by public knowledge, and name them in a ColumnTransformer"
_FILL = (
    'fill with a public value: SimpleImputer(strategy="constant", fill_value=0, '
    "keep_empty_features=True) after SchemaTransformer"
)
_LABELS = "give the public labels to the private step, in its parameter classes"
_STEPS_BY_ADVICE = {
    _SCALE: "StandardScaler MinMaxScaler MaxAbsScaler RobustScaler PowerTransformer "
    "QuantileTransformer",
    _PROJECT: "PCA IncrementalPCA TruncatedSVD SparsePCA MiniBatchSparsePCA FactorAnalysis FastICA "
    "KernelPCA NMF MiniBatchNMF Isomap LocallyLinearEmbedding TSNE FeatureAgglomeration",
    _CLUSTER: "KMeans MiniBatchKMeans BisectingKMeans Birch",
    _CHOOSE: "SelectKBest SelectPercentile SelectFpr SelectFdr SelectFwe SelectFromModel RFE RFECV "
    "GenericUnivariateSelect SequentialFeatureSelector VarianceThreshold",
    _FILL: "KNNImputer IterativeImputer MissingIndicator",
    _LABELS: "LabelBinarizer LabelEncoder MultiLabelBinarizer",
    "use OneHotEncoder with public categories": "KBinsDiscretizer TargetEncoder DictVectorizer",
    "use HashingVectorizer, which learns nothing": (
        "TfidfTransformer TfidfVectorizer CountVectorizer LatentDirichletAllocation"
    ),
    "use RBFSampler with gamma as a number, in RowByRow": "Nystroem",
}
_ADVICE = {name: advice for advice, names in _STEPS_BY_ADVICE.items() for name in names.split()}


# Bounds that one step of a pipeline hands on, and bounds that the next one was given.


def bounds_advice(name, estimator):
    """Return advice by path about steps whose bounds are not those that the step before hands on.

    Such bounds leak nothing: rows are clipped to whatever a step was given. But a wider domain
    makes the noise larger, a narrower one clips rows, and None pays for what is known already.
    """
    if not isinstance(estimator, Pipeline):
        return {}
    advice, before = {}, None
    for part, step in estimator.steps:
        path = join_names(name, part)
        advice |= bounds_advice(path, step)
        if step is None or step == "passthrough":
            continue
        if hasattr(step, "bounds") and before is not None:
            handed = handed_on(before, width_of(step.bounds, 1))
            # a projection has public bounds of its output as soon as it is fitted, not before
            waits = isinstance(before, JLTransformer) and not hasattr(before, "output_bounds_")
            if handed is None and waits and before.bounds is not None:
                advice[path] = (
                    f"bounds after {type(before).__name__} are unknown until it has been fitted: "
                    "fit it on np.zeros((1, n_features)) and pass its output_bounds_ to this "
                    "step"
                )
            elif handed is not None and not _same(step.bounds, handed):
                advice[path] = (
                    f"pass it the output bounds of {type(before).__name__}, {_in_words(handed)}, "
                    f"not {step.bounds!r}"
                )
                gives_box = isinstance(before, DomainScaler) and before.target != "ball"
                if gives_box and isinstance(step.bounds, Ball):
                    advice[path] += (
                        "; or let DomainScaler(target='ball') output the ball of radius 1 around 0"
                    )
        before = step
    return advice


def handed_on(step, width):
    """Return the domain of what a step puts out, or None where it is not known.

    `width` is the number of features for which it is wanted where all features have the same bounds
    and the step was not fitted.
    """
    if isinstance(step, SchemaTransformer):
        return _declared(step, width)
    if isinstance(step, PrivateStandardScaler):
        return Box([-step.clip] * width, [step.clip] * width)
    if not isinstance(step, (DomainScaler, JLTransformer)):
        return None
    if hasattr(step, "output_bounds_"):
        return step.output_bounds_
    if isinstance(step, JLTransformer):
        return _projected(step)
    if not step.clip:
        return None
    if step.target == "ball":
        return Ball([0.0] * width, 1.0)
    return Box([0.0] * width, [1.0] * width)


def _declared(step, width):
    """Ranges of the schema, where all columns have one."""
    try:
        schema = Schema(step.schema)
        ranges = schema.ranges(schema.n_columns or width)
        return None if ranges is None else Box(*ranges)
    except (TypeError, ValueError):
        return None  # the fit will say what is wrong, or the range is wider than bounds can be


def _projected(step):
    """Domain of the output of a projection whose dimensions are all known before the fit."""
    n_features = width_of(step.bounds, None)
    if n_features is None or isinstance(step.n_components, str):
        return None
    try:
        return Ball([0.0] * step.n_components, check_domain(step.bounds, n_features).radius)
    except (TypeError, ValueError):
        return None  # the fit will say what is wrong


def _same(bounds, handed):
    if bounds is None:
        return False
    try:
        return check_domain(bounds, handed.n_features) == handed
    except (TypeError, ValueError):
        return False


def _in_words(domain):
    if not isinstance(domain, Box):
        return repr(domain)
    sides = {tuple(domain.low.tolist()), tuple(domain.high.tolist())}
    if all(len(set(side)) == 1 for side in sides):
        return f"({domain.low[0]:g}, {domain.high[0]:g})"
    return repr(domain)


# What check_private found, as an object, as text and in notebooks.

PRIVATE, PUBLIC, LEAKS, UNKNOWN = "private", "public", "leaks", "unknown"
_MARKS = {PRIVATE: "ok", PUBLIC: "ok", LEAKS: "LEAKS", UNKNOWN: "?"}


@dataclass(frozen=True)
class StepVerdict:
    """Verdict about one step of a pipeline.

    Attributes
    ----------
    name : str
        Path of the step, as ``set_params`` would spell it.
    estimator : str
        Class of the step.
    verdict : {"private", "public", "leaks", "unknown"}
        "private": noise is added and paid for. "public": what it learns does not depend on the
        rows. "leaks": it learns from the rows without noise, or its noise or budget is undone.
        "unknown": nothing is known about it.
    reason : str
    advice : str
        Fix; empty if nothing is wrong.
    """

    name: str
    estimator: str
    verdict: str
    reason: str
    advice: str = ""


@dataclass(frozen=True)
class PrivacyReport:
    """Verdicts about every step, see :func:`check_private`.

    Attributes
    ----------
    steps : tuple of StepVerdict
    """

    steps: tuple

    @property
    def ok(self) -> bool:
        """Whether nothing leaks and nothing is unknown."""
        return all(step.verdict in (PRIVATE, PUBLIC) for step in self.steps)

    def _repr_html_(self):
        whole = "every step keeps the guarantee" if self.ok else "not private, or not known to be"
        return f'<p>{whole}</p><pre style="white-space: pre-wrap">{escape(str(self))}</pre>'

    def __str__(self):
        lines = []
        for step in self.steps:
            lines.append(
                f"{_MARKS[step.verdict]:>5}  {step.name} ({step.estimator}): {step.reason}"
            )
            if step.advice:
                lines.append(f"       do: {step.advice}")
        return "\n".join(lines)
