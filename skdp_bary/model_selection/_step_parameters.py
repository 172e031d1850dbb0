"""Parameters of the listed steps of scikit-learn that were looked at.

A later version may give a step another one. What that does to rows is not known here, so it is
taken at its default only.
"""

from inspect import signature

_PROJECTION = "n_components eps compute_inverse_components random_state"
_TOGETHER = "n_jobs transformer_weights verbose verbose_feature_names_out"
_NAMES = {
    "AdditiveChi2Sampler": "sample_steps sample_interval",
    "Binarizer": "threshold copy",
    "ColumnTransformer": "transformers remainder sparse_threshold force_int_remainder_cols "
    + _TOGETHER,
    "FeatureHasher": "n_features input_type dtype alternate_sign",
    "FeatureUnion": f"transformer_list {_TOGETHER}",
    "FunctionTransformer": "func inverse_func validate accept_sparse check_inverse "
    "feature_names_out kw_args inv_kw_args",
    "GaussianRandomProjection": _PROJECTION,
    "HashingVectorizer": "input encoding decode_error strip_accents lowercase preprocessor "
    "tokenizer stop_words token_pattern ngram_range analyzer n_features binary norm "
    "alternate_sign dtype",
    "Normalizer": "norm copy",
    "OneHotEncoder": "categories drop sparse_output dtype handle_unknown min_frequency "
    "max_categories feature_name_combiner",
    "OrdinalEncoder": "categories dtype handle_unknown unknown_value encoded_missing_value "
    "min_frequency max_categories",
    "Pipeline": "steps transform_input memory verbose",
    "PolynomialCountSketch": "gamma degree coef0 n_components random_state",
    "PolynomialFeatures": "degree interaction_only include_bias order",
    "RBFSampler": "gamma n_components random_state",
    "SimpleImputer": "missing_values strategy fill_value copy add_indicator keep_empty_features",
    "SkewedChi2Sampler": "skewedness n_components random_state",
    "SparseRandomProjection": f"density dense_output {_PROJECTION}",
    "SplineTransformer": "n_knots degree knots extrapolation include_bias order handle_missing "
    "sparse_output",
}
KNOWN = {name: frozenset(names.split()) for name, names in _NAMES.items()}


def unknown_parameters(step):
    """Return the names of parameters, not at their defaults, that nobody has looked at."""
    known = KNOWN[type(step).__name__]
    return [
        name
        for name, given in signature(type(step)).parameters.items()
        if name not in known and not _same(getattr(step, name), given.default)
    ]


def _same(value, default):
    if value is default:
        return True
    return (
        type(value) in (bool, int, float, str) and type(value) is type(default) and value == default
    )
