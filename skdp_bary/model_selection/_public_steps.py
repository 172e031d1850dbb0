"""The steps of a pipeline, and which of them make of a row what does not depend on other rows."""

import numpy as np
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.pipeline import FeatureUnion, Pipeline

from ..transformers import DomainScaler, JLTransformer


def walk_steps(name, estimator):
    """Yield (path, step) of an estimator and of all parts of what is put together.

    A path is spelled as ``set_params`` would. Steps that do nothing, None and words such as
    "passthrough", are left out.
    """
    if isinstance(estimator, Pipeline):
        parts = estimator.steps
    elif isinstance(estimator, ColumnTransformer):
        parts = [(part, step) for part, step, _ in estimator.transformers]
        parts.append(("remainder", estimator.remainder))
    elif isinstance(estimator, FeatureUnion):
        parts = estimator.transformer_list
    else:
        if estimator is not None and not isinstance(estimator, str):
            yield name, estimator
        return
    if chooses_columns_itself(estimator) or may_be_sparse(estimator):
        yield name, estimator
    for part, step in parts:
        yield from walk_steps(join_names(name, part), step)


def join_names(name, part):
    """Return the path of a part of a step."""
    return f"{name}__{part}" if name else part


def chooses_columns_itself(estimator):
    """Whether a ColumnTransformer asks a function which columns it takes.

    scikit-learn's own selector by names is public. By types it is not: one row with a fraction, or
    a missing value, makes another type of a column of integers.
    """
    return isinstance(estimator, ColumnTransformer) and any(
        callable(columns) and not _selects_by_name(columns)
        for _, _, columns in estimator.transformers
    )


def _selects_by_name(columns):
    return (
        isinstance(columns, make_column_selector)
        and columns.dtype_include is None
        and columns.dtype_exclude is None
    )


def may_be_sparse(estimator):
    """Whether the number of zeros among the rows decides how a ColumnTransformer returns them.

    Sparse rows are refused before anything is charged, so that would be a free answer about rows.
    """
    if not isinstance(estimator, ColumnTransformer) or estimator.sparse_threshold == 0:
        return False
    steps = [step for part in estimator.transformers for _, step in walk_steps("", part[1])]
    return any(getattr(s, "sparse_output", sklearn_name(s) in _SPARSE) for s in steps)


def rounds_rows_together(step):
    """Whether a step learns nothing, but computes the last bits of a row beside other rows.

    Products of whole matrices add up the first and the last rows in another order than those
    between. A row that leaves then changes others by a rounding error, and each of them may cross
    the border of a cell: more than a sensitivity allows for.
    """
    rule = _ROUNDS_TOGETHER_WHEN.get(sklearn_name(step))
    return rule is not None and rule(step)


def is_public(step):
    """Whether what a step makes of a row depends on the row, parameters and names of columns."""
    if isinstance(step, (DomainScaler, JLTransformer)):
        return True
    rule = _PUBLIC_WHEN.get(sklearn_name(step))
    return rule is not None and rule(step)


def sklearn_name(step):
    """Name of a scikit-learn class itself, or None; a subclass may do anything."""
    cls = type(step)
    return cls.__name__ if cls.__module__.split(".")[0] == "sklearn" else None


def _always(step):
    return True


def _has_categories(step):
    no_threshold = getattr(step, "min_frequency", None) is None
    listed = not isinstance(step.categories, str)
    # with a category left out, others than those listed are warned of: a free answer about rows
    silent = getattr(step, "drop", None) is None and step.handle_unknown != "warn"
    return listed and silent and no_threshold and getattr(step, "max_categories", None) is None


def _has_components(step):
    return step.n_components != "auto"  # "auto" takes the number of rows


def _has_classes(step):
    return step.classes is not None


# Steps of scikit-learn that treat every row by itself, and under which parameters.
_PUBLIC_WHEN = {
    "AdditiveChi2Sampler": _always,
    "Binarizer": _always,
    "FeatureHasher": _always,
    "FunctionTransformer": lambda step: step.func is None,
    "HashingVectorizer": _always,
    "MultiLabelBinarizer": _has_classes,
    "OneHotEncoder": _has_categories,
    "OrdinalEncoder": _has_categories,
    "PolynomialCountSketch": _always,
    "PolynomialFeatures": _always,
    "SparseRandomProjection": _has_components,
    "SplineTransformer": lambda step: isinstance(step.knots, np.ndarray),
}
_ROUNDS_TOGETHER_WHEN = {
    "GaussianRandomProjection": _has_components,
    "Normalizer": _always,
    "RBFSampler": lambda step: step.gamma != "scale",  # "scale" takes the variance
    "SkewedChi2Sampler": _always,
}
_SPARSE = {"FeatureHasher", "HashingVectorizer"}
