"""check_private: walk a pipeline and say of every step whether it keeps the guarantee."""

from __future__ import annotations

from dataclasses import replace
from inspect import getattr_static
from typing import TYPE_CHECKING

from sklearn.pipeline import Pipeline

from .._sklearn import BaseSearchCV
from ..estimators._base import BasePrivateEstimator
from ..estimators._face.guarantee import ONE_OF_SEVERAL
from ..exceptions import LeakError
from ..model_selection import PrivateSearchCV
from ..model_selection._public_steps import (
    MISSING,
    RAW,
    REPLACED,
    join_names,
    public_fault,
    walk_steps,
)
from ..model_selection._step_rules import sklearn_name
from ..privacy._checks import as_charged, in_digits, refuse_class
from ..privacy.accounting.selection_plan import SelectionPlan
from ..transformers import RowByRow
from ..transformers._known_code import is_private, library_of, replaced_method
from ._handed_on import bounds_advice
from ._report import LEAKS, PRIVATE, PUBLIC, UNKNOWN, PrivacyReport, StepVerdict

if TYPE_CHECKING:
    from .._types import Estimator


def check_private(estimator: Estimator, *, strict: bool = False) -> PrivacyReport:
    """Say of an estimator, or of every step of a pipeline, whether fitting it is private.

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
        raise TypeError(f"estimator must be an estimator, got {estimator!r}.")
    steps = list(_walk("", estimator))
    found = tuple(_with_shared_budget(steps, bounds_advice("", estimator)))
    report = PrivacyReport(found, estimator)
    if strict and not report.ok:
        raise LeakError(f"Fitting this is not private, or not known to be:\n{report}")
    return report


def _walk(name, estimator, form=RAW):
    """Yield (verdict, budget) of an estimator and all of its parts."""
    for path, step, before in walk_steps(name, estimator, form):
        if isinstance(step, BaseSearchCV):
            yield _search_verdict(path, step), None
            yield from _walk(join_names(path, "estimator"), step.estimator, before)
        else:
            yield _judge(path, step, before)
            if isinstance(step, PrivateSearchCV) and isinstance(step.estimator, Pipeline):
                earlier = Pipeline(step.estimator.steps[:-1])
                yield from _walk(join_names(path, "estimator"), earlier, before)


def _judge(name, estimator, form):
    if replaced_method(estimator):
        return _verdict(name, estimator, UNKNOWN, REPLACED.reason, REPLACED.advice), None
    if type(estimator) is RowByRow and is_private(estimator.step):
        verdict, budget = _judge(name, estimator.step, form)
        return replace(verdict, estimator="RowByRow"), budget
    if isinstance(estimator, (BasePrivateEstimator, PrivateSearchCV)) and not _fits_otherwise(
        estimator
    ):
        if form.kind == "rounded":
            return _verdict(name, estimator, UNKNOWN, _ROUNDED, _APART), estimator.accountant
        if form.gaps and not hasattr(estimator, "schema"):  # tables have one of their own
            verdict = _verdict(name, estimator, UNKNOWN, _GAPS, MISSING.advice)
            return verdict, estimator.accountant
        return _private_verdict(name, estimator)
    if library_of(type(estimator)) == "diffprivlib":
        return _diffprivlib_verdict(name, estimator)
    fault = public_fault(estimator, form)
    if fault is None:
        reason = "what it learns does not depend on the rows"
        return _verdict(name, estimator, PUBLIC, reason), None
    if fault.reason:
        verdict = LEAKS if fault.learns else UNKNOWN
        return _verdict(name, estimator, verdict, fault.reason, fault.advice), None
    if sklearn_name(estimator) is not None:
        return _verdict(
            name, estimator, LEAKS, "it learns from the rows without noise", _advice(estimator)
        ), None
    return _verdict(
        name, estimator, UNKNOWN, "it is not known to this package",
        "use steps of scikit-learn, alone in RowByRow where they are not listed",
    ), None  # fmt: skip


def _fits_otherwise(estimator):
    """Whether code of others takes the place of the one fit, the charge or what they stand on."""
    own = next(c for c in type(estimator).__mro__ if library_of(c) == "skdp_bary")
    return any(
        getattr_static(type(estimator), name, None) is not getattr_static(own, name, None)
        for name in _THE_FIT
    )


_THE_FIT = (
    *("fit", "fit_transform", "fit_predict", "transform", "privacy_plan", "__getattribute__"),
    *("_plan", "_open", "_public_facts", "_before_charge", "_buy_facts", "_settle"),
    *("_rehearse", "_rehearsal_key"),
    *("_budget", "_relation", "_finished", "_guarantee"),
)


def _private_verdict(name, estimator):
    budget = estimator.accountant
    if estimator.random_state is not None:
        reason = "random_state is given, so whoever knows it can subtract the noise"
        return _verdict(name, estimator, LEAKS, reason, "leave random_state=None"), budget
    epsilon, delta = as_charged(estimator.epsilon, estimator.delta)
    plan = getattr(estimator, "privacy_", None)
    searched = isinstance(plan, SelectionPlan)
    if searched:  # its own epsilon is what one trial had
        epsilon, delta = plan.epsilon, plan.delta
    cost = f"epsilon={in_digits(epsilon)}, delta={in_digits(delta)}"
    if searched:
        cost += f" for the whole search, {plan.scope}"
    if getattr(plan, "one_of_several", False):
        reason = f"{cost} for this fit alone, {ONE_OF_SEVERAL}"
        return _verdict(name, estimator, LEAKS, reason, _SEVERAL), budget
    kept = "charged to a budget of its own" if budget is None else "charged to the budget given"
    unit = getattr(budget, "unit", None)
    if unit is not None:
        kept = f"{kept}, which protects every {unit}"
    advice = "give all private steps one accountant, so that repeated fits add up"
    return _verdict(
        name, estimator, PRIVATE, f"{cost}, {kept}", advice if budget is None else ""
    ), budget


_SEVERAL = (
    "choose with PrivateSearchCV, or on public or generated rows, and fit what was chosen once"
)
_ROUNDED = "the private step before it hands on rows whose last bits depend on the rows beside them"
_GAPS = f"{MISSING.reason}, before it is charged"
_APART = (
    "put that step into RowByRow, or give this one the rows themselves, beside the other step in a "
    "FeatureUnion or in its own pipeline"
)


def _diffprivlib_verdict(name, estimator):
    budget = getattr(getattr(estimator, "accountant", None), "accountant", None)
    reason = "its guarantee is diffprivlib's, which nothing here checks"
    advice = "" if budget is not None else "give it a DiffprivlibAccountant on the shared budget"
    verdict = PRIVATE if budget is not None else UNKNOWN
    return _verdict(name, estimator, verdict, reason, advice), budget


def _search_verdict(name, search):
    return _verdict(
        name or "search", search, LEAKS,
        "its scores are exact functions of held-out rows, and it chooses by them",
        "choose with PrivateSearchCV, or keep scores and choice with the owner of the rows",
    )  # fmt: skip


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


def _advice(estimator):
    return _ADVICE.get(
        type(estimator).__name__, "fit it on public rows with RowByRow, or behind a release"
    )


_SCALE = (
    "scale by public bounds with DomainScaler, which divides by the width of the bounds and not by "
    "the spread of the rows: with bounds much wider than the rows a feature counts less, and "
    "clusters differ from those behind StandardScaler"
)
_PROJECT = "project with JLTransformer, or use an estimator that finds its own subspace"
_CLUSTER = "use PrivateKMeans"
_CHOOSE = "choose the columns by what is known in public, by name in a ColumnTransformer"
_FILL = (
    'fill with a public value: SimpleImputer(strategy="constant", fill_value=0, '
    "keep_empty_features=True) behind SchemaTransformer"
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
    "use SplineTransformer with knots that are given, or OneHotEncoder with public categories": (
        "KBinsDiscretizer"
    ),
    "use OneHotEncoder with public categories": "TargetEncoder DictVectorizer",
    "use HashingVectorizer, which learns nothing": (
        "TfidfTransformer TfidfVectorizer CountVectorizer LatentDirichletAllocation"
    ),
    "use RBFSampler with gamma as a number, in RowByRow": "Nystroem",
}
_ADVICE = {name: advice for advice, names in _STEPS_BY_ADVICE.items() for name in names.split()}
