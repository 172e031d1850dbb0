"""check_private: walk a pipeline and say of every step whether it keeps the guarantee."""

from dataclasses import dataclass

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import FeatureUnion, Pipeline

from .._sklearn import BaseSearchCV
from ..estimators._base import BasePrivateEstimator
from ..exceptions import LeakError
from ..model_selection import PrivateSearchCV
from ..transformers import DomainScaler, JLTransformer

PRIVATE, PUBLIC, LEAKS, UNKNOWN = "private", "public", "leaks", "unknown"
_MARKS = {PRIVATE: "ok", PUBLIC: "ok", LEAKS: "LEAKS", UNKNOWN: "?"}


@dataclass(frozen=True)
class StepVerdict:
    """What was found about one step.

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
    mend : str
        What to do instead; empty where there is nothing to mend.
    """

    name: str
    estimator: str
    verdict: str
    reason: str
    mend: str = ""


@dataclass(frozen=True)
class PrivacyReport:
    """Verdicts about every step, see :func:`check_private`.

    Attributes
    ----------
    steps : tuple of StepVerdict
    """

    steps: tuple

    @property
    def ok(self):
        """Whether nothing leaks and nothing is unknown."""
        return all(step.verdict in (PRIVATE, PUBLIC) for step in self.steps)

    def __str__(self):
        lines = []
        for step in self.steps:
            lines.append(
                f"{_MARKS[step.verdict]:>5}  {step.name} ({step.estimator}): {step.reason}"
            )
            if step.mend:
                lines.append(f"       mend: {step.mend}")
        return "\n".join(lines)


def check_private(estimator, *, strict=False):
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
    steps = list(_walk("", estimator))
    report = PrivacyReport(tuple(_with_shared_budget(steps)))
    if strict and not report.ok:
        raise LeakError(f"Fitting this is not private, or not known to be:\n{report}")
    return report


def _walk(name, estimator):
    """Yield (verdict, budget) of an estimator and all of its parts."""
    if isinstance(estimator, Pipeline):
        for part, step in estimator.steps:
            yield from _walk(_join(name, part), step)
    elif isinstance(estimator, ColumnTransformer):
        for part, step, _ in estimator.transformers:
            yield from _walk(_join(name, part), step)
        yield from _walk(_join(name, "remainder"), estimator.remainder)
    elif isinstance(estimator, FeatureUnion):
        for part, step in estimator.transformer_list:
            yield from _walk(_join(name, part), step)
    elif isinstance(estimator, BaseSearchCV):
        yield _search_verdict(name, estimator), None
        yield from _walk(_join(name, "estimator"), estimator.estimator)
    elif estimator is not None and not isinstance(estimator, str):
        yield _judge(name, estimator)


def _join(name, part):
    return f"{name}__{part}" if name else part


def _judge(name, estimator):
    if isinstance(estimator, (BasePrivateEstimator, PrivateSearchCV)):
        return _private_verdict(name, estimator)
    if type(estimator).__module__.split(".")[0] == "diffprivlib":
        return _diffprivlib_verdict(name, estimator)
    if _is_public(estimator):
        reason = "what it learns does not depend on the rows"
        return _verdict(name, estimator, PUBLIC, reason), None
    if _is_given_function(estimator):
        return _verdict(
            name, estimator, UNKNOWN, "it calls a function of yours",
            "make sure that the function treats every row by itself, and keeps nothing of it",
        ), None  # fmt: skip
    if type(estimator).__module__.split(".")[0] == "sklearn":
        return _verdict(
            name, estimator, LEAKS, "it learns from the rows without noise", _mend(estimator)
        ), None
    return _verdict(
        name, estimator, UNKNOWN, "it is not known to this package",
        "fit it on public rows beforehand, or put it behind a private release",
    ), None  # fmt: skip


def _private_verdict(name, estimator):
    budget = estimator.accountant
    if estimator.random_state is not None:
        reason = "random_state is given, so whoever knows it can subtract the noise"
        return _verdict(name, estimator, LEAKS, reason, "leave random_state=None"), budget
    cost = f"epsilon={estimator.epsilon:g}, delta={estimator.delta:g}"
    kept = "charged to a budget of its own" if budget is None else "charged to the budget given"
    advice = "give all private steps one accountant, so that repeated fits add up"
    return _verdict(
        name, estimator, PRIVATE, f"{cost}, {kept}", advice if budget is None else ""
    ), budget


def _diffprivlib_verdict(name, estimator):
    budget = getattr(getattr(estimator, "accountant", None), "accountant", None)
    reason = "its guarantee is diffprivlib's, which nothing here checks"
    mend = "" if budget is not None else "give it a DiffprivlibAccountant on the shared budget"
    verdict = PRIVATE if budget is not None else UNKNOWN
    return _verdict(name, estimator, verdict, reason, mend), budget


def _search_verdict(name, search):
    return _verdict(
        name or "search", search, LEAKS,
        "its scores are exact functions of held-out rows, and it chooses by them",
        "choose with PrivateSearchCV, or keep scores and choice with the owner of the rows",
    )  # fmt: skip


def _with_shared_budget(steps):
    """Return the verdicts; private steps that do not share one budget are said to leak."""
    budgets = [budget for verdict, budget in steps if verdict.verdict == PRIVATE]
    ledgers = {id(getattr(budget, "_ledger", None)) for budget in budgets}
    shared = len(budgets) < 2 or (len(ledgers) == 1 and budgets[0] is not None)
    for verdict, _ in steps:
        if shared or verdict.verdict != PRIVATE:
            yield verdict
        else:
            yield StepVerdict(
                verdict.name,
                verdict.estimator,
                LEAKS,
                f"{verdict.reason}; the private steps do not share one budget, so what they cost "
                "together is nowhere written",
                "give all private steps the same BudgetAccountant",
            )


def _is_public(estimator):
    """Whether fitting depends on nothing but parameters and the number of columns."""
    if isinstance(estimator, (DomainScaler, JLTransformer)):
        return True
    rule = _PUBLIC_WHEN.get(_sklearn_name(estimator))
    return rule is not None and rule(estimator)


def _is_given_function(estimator):
    return _sklearn_name(estimator) == "FunctionTransformer"


def _sklearn_name(estimator):
    """Name of a scikit-learn class itself; a subclass may do anything."""
    cls = type(estimator)
    return cls.__name__ if cls.__module__.split(".")[0] == "sklearn" else None


def _verdict(name, estimator, verdict, reason, mend=""):
    cls = type(estimator).__name__
    return StepVerdict(name or cls.lower(), cls, verdict, reason, mend)


def _mend(estimator):
    return _MENDS.get(type(estimator).__name__, "fit it on public rows, or behind a release")


def _always(estimator):
    return True


def _has_categories(estimator):
    no_threshold = getattr(estimator, "min_frequency", None) is None
    listed = not isinstance(estimator.categories, str)
    return listed and no_threshold and getattr(estimator, "max_categories", None) is None


def _has_components(estimator):
    return estimator.n_components != "auto"  # "auto" takes the number of rows


def _has_classes(estimator):
    return estimator.classes is not None


# Steps of scikit-learn that learn nothing from rows, and under which parameters.
_PUBLIC_WHEN = {
    "AdditiveChi2Sampler": _always,
    "Binarizer": _always,
    "FeatureHasher": _always,
    "FunctionTransformer": lambda estimator: estimator.func is None,
    "GaussianRandomProjection": _has_components,
    "HashingVectorizer": _always,
    "MultiLabelBinarizer": _has_classes,
    "Normalizer": _always,
    "OneHotEncoder": _has_categories,
    "OrdinalEncoder": _has_categories,
    "PolynomialCountSketch": _always,
    "PolynomialFeatures": _always,
    "RBFSampler": lambda estimator: estimator.gamma != "scale",  # "scale" takes the variance
    "SkewedChi2Sampler": _always,
    "SparseRandomProjection": _has_components,
    "SplineTransformer": lambda estimator: isinstance(estimator.knots, np.ndarray),
}

_MENDS = {
    "StandardScaler": "scale by public bounds with DomainScaler",
    "MinMaxScaler": "scale by public bounds with DomainScaler",
    "MaxAbsScaler": "scale by public bounds with DomainScaler",
    "RobustScaler": "scale by public bounds with DomainScaler",
    "PCA": "project with JLTransformer, or use an estimator that buys its own subspace",
    "KMeans": "use PrivateKMeans",
    "MiniBatchKMeans": "use PrivateKMeans",
    "OneHotEncoder": "name the public categories in its parameter categories",
    "OrdinalEncoder": "name the public categories in its parameter categories",
    "GaussianRandomProjection": "give n_components as a number, or use JLTransformer",
    "SparseRandomProjection": "give n_components as a number, or use JLTransformer",
    "SimpleImputer": "fill with a public value beforehand",
}
