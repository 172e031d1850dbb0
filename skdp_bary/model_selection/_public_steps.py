"""The steps of a pipeline, and which of them learn nothing from the rows."""

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
    if chooses_columns_itself(estimator):
        yield name, estimator
    for part, step in parts:
        yield from walk_steps(join_names(name, part), step)


def join_names(name, part):
    """Return the path of a part of a step."""
    return f"{name}__{part}" if name else part


def chooses_columns_itself(estimator):
    """Whether a ColumnTransformer asks a function of the user which columns it takes.

    scikit-learn's own selector looks at names and types of columns, which are public.
    """
    return isinstance(estimator, ColumnTransformer) and any(
        callable(columns) and not isinstance(columns, make_column_selector)
        for _, _, columns in estimator.transformers
    )


def is_public(step):
    """Whether fitting a step depends on nothing but parameters and the number of columns."""
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
    return listed and no_threshold and getattr(step, "max_categories", None) is None


def _has_components(step):
    return step.n_components != "auto"  # "auto" takes the number of rows


def _has_classes(step):
    return step.classes is not None


# Steps of scikit-learn that learn nothing from rows, and under which parameters.
_PUBLIC_WHEN = {
    "AdditiveChi2Sampler": _always,
    "Binarizer": _always,
    "FeatureHasher": _always,
    "FunctionTransformer": lambda step: step.func is None,
    "GaussianRandomProjection": _has_components,
    "HashingVectorizer": _always,
    "MultiLabelBinarizer": _has_classes,
    "Normalizer": _always,
    "OneHotEncoder": _has_categories,
    "OrdinalEncoder": _has_categories,
    "PolynomialCountSketch": _always,
    "PolynomialFeatures": _always,
    "RBFSampler": lambda step: step.gamma != "scale",  # "scale" takes the variance
    "SkewedChi2Sampler": _always,
    "SparseRandomProjection": _has_components,
    "SplineTransformer": lambda step: isinstance(step.knots, np.ndarray),
}
