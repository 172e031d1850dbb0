"""Synthetic rows as a dataframe, with the names of the columns that a fit has seen."""

from ..._optional import import_optional


def as_dataframe(estimator, X):
    """Return rows as a pandas DataFrame, with the feature names of a fitted estimator, if any."""
    pandas = import_optional("pandas", "cli", f"{type(estimator).__name__}.sample(as_frame=True)")
    return pandas.DataFrame(X, columns=getattr(estimator, "feature_names_in_", None))
