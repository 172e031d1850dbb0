"""What a private search searches over: an estimator of this package, and public steps before it."""

from dataclasses import dataclass

from sklearn.base import clone
from sklearn.pipeline import Pipeline

from ..estimators import PrivateDomainAdapter
from ..estimators._base import BasePrivateEstimator
from ..summaries.rows.arrays import ArraySource
from ..summaries.rows.opening import source_for
from ._public_steps import MISSING, RAW, form_after, public_fault, walk_steps
from ._scores import score_of


@dataclass(frozen=True)
class SearchParts:
    """The private estimator of a search and the public steps in front of it.

    The public steps are the same for all trials: they are fitted once, and learn nothing from the
    rows, so neighboring rows come out of them as neighboring rows.

    Attributes
    ----------
    private : BasePrivateEstimator
    name : str
        Name of the private step; "" without a pipeline.
    public : Pipeline or None
    """

    private: BasePrivateEstimator
    name: str = ""
    public: Pipeline | None = None

    def own_params(self, params):
        """Return the parameters of the private estimator that a candidate sets."""
        if not self.name:
            return params
        prefix = f"{self.name}__"
        others = sorted(name for name in params if not name.startswith(prefix))
        if others:
            raise ValueError(
                f"param_grid may vary parameters of the last step, {prefix}..., got {others}: "
                "trials are scored on what the public steps make of the rows, so trials with "
                "other public steps could not be compared."
            )
        return {name.removeprefix(prefix): value for name, value in params.items()}

    def before(self, X):
        """Return fitted public steps, or None, and the rows that the private estimator sees."""
        if self.public is None:
            return None, X
        if source_for(X) is not ArraySource:
            raise ValueError(
                "A search over a pipeline needs X as one array or dataframe: the public steps "
                "take neither chunks nor Dask collections."
            )
        public = clone(self.public).fit(X)
        return public, public.transform(X)

    def whole(self, public, fitted):
        """Return the estimator that takes rows as the search does."""
        if public is None:
            return fitted
        return Pipeline([*public.steps, (self.name, fitted)])


def search_parts(estimator, scoring=None):
    """Split what a search was given, or raise when it cannot be searched privately."""
    if not isinstance(estimator, Pipeline):
        return SearchParts(_check_private(estimator, scoring))
    public = Pipeline(estimator.steps[:-1]) if len(estimator.steps) > 1 else None
    steps = [] if public is None else walk_steps("", public)
    for path, step, form in steps:
        fault = public_fault(step, form)
        if fault is not None:
            raise ValueError(
                "All steps of the pipeline before the last one must learn nothing from the rows, "
                f"and treat each alone, which is not known of {path!r} ({type(step).__name__}): "
                f"{fault.advice or 'see check_private'}."
            )
    name, last = estimator.steps[-1]
    last = _check_private(last, scoring)
    if form_after(public, RAW).gaps and not hasattr(last, "schema"):  # as of check_private
        raise ValueError(f"The last step of the pipeline: {MISSING.reason}; {MISSING.advice}.")
    return SearchParts(last, name, public)


def _check_private(estimator, scoring):
    if not isinstance(estimator, BasePrivateEstimator):
        raise TypeError(
            "estimator must be one of this package, or a pipeline that ends in one, got "
            f"{estimator!r}."
        )
    if score_of(estimator) is None or isinstance(estimator, PrivateDomainAdapter):
        raise TypeError(
            "estimator must represent rows by points (have predict, and distances from them as "
            "transform) or by a distribution (have sample or to_measure), so that trials can be "
            f"scored, got {estimator!r}."
        )
    if score_of(estimator, scoring) is None:
        raise TypeError(f"scoring={scoring!r} needs a PrivateGenerator, got {estimator!r}.")
    if estimator.accountant is not None:
        raise ValueError("Give the accountant to the search: it is charged once for all fits.")
    if estimator.get_params(deep=False).get("bounds", ()) is None:
        raise ValueError("estimator must have public bounds, so that scores can be compared.")
    return estimator
