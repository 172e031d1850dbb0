"""The steps of a pipeline, and which of them make of a row what no other row changes."""

from dataclasses import dataclass, replace
from inspect import signature

import numpy as np
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.pipeline import FeatureUnion, Pipeline

from .._sklearn import branches_of
from ..schema.kinds import Category, Text
from ..schema.schema import Schema
from .linear import DomainScaler, JLTransformer
from .step_rules import (
    FITTED_BEFORE,
    KEEPS_IN_FUNCTION,
    LARGEST,
    RULES,
    Fault,
    faults_alone,
    faults_held,
    is_private,
    keeps_fit,
    keeps_rows_apart,
    largest_behind,
    may_overflow,
    projected,
    replaced_method,
    scaled,
    sklearn_name,
)
from .tables import RowByRow, SchemaTransformer

# The steps of a pipeline, and which of them make of a row what does not depend on other rows.


@dataclass(frozen=True)
class Form:
    """What rows are known to be in front of a step.

    Parameters
    ----------
    kind : {"raw", "table", "numbers", "csr", "mixed", "rounded"}
    words : bool
        Whether there may be values that are not numbers.
    texts : bool
        Whether all values are texts.
    missing : bool
        Whether numbers may be missing.
    unlisted : bool
        Whether categories may be None, which imputers of NaN leave.
    largest : float
        Largest size of a number; that of all floats where nothing is declared.
    schema : Schema or None
        The columns, directly behind it.
    """

    kind: str
    words: bool = False
    texts: bool = False
    missing: bool = False
    unlisted: bool = False
    largest: float = LARGEST
    schema: Schema | None = None

    @property
    def gaps(self):
        """Whether what reads numbers may find NaN."""
        return self.missing or self.unlisted


RAW = Form("raw")
_UNDECLARED = Fault(
    "it reads all rows by one common type, which a single row can change",
    "put SchemaTransformer with a public Schema in front of it",
)
_WORDS = Fault(
    "its errors name values of columns that hold no numbers, before anything is charged",
    "pass it only numeric columns, in a ColumnTransformer, or encode the others before",
)
_NO_TEXTS = Fault(
    "it raises on values that are not text, which reveals them without a charge",
    "pass it columns of Text, or of categories of text without missing values",
)
MISSING = Fault(
    "it raises on missing numbers, which reveals them without a charge",
    'put SimpleImputer(strategy="constant", fill_value=..., keep_empty_features=True) in front of '
    "it, or declare the columns without missing=True; of categories, also those that are not "
    "listed are missing: encode them before",
)
_PRIVATE = Fault("it is private", "fit it first, and pass on the rows that it returns")
REPLACED = Fault(
    "one of its methods was replaced by something that this package does not know",
    "create it again, and leave its methods as they are",
)
_OVERFLOW = Fault(
    "its output may be too large for floats, by the declared or unknown size of its input, "
    "which raises",
    "declare a smaller range in the Schema in front of it, or put DomainScaler with public bounds "
    "there",
)
_KEPT = Fault(
    "memory= writes the rows of its steps to disk, and a private step is charged only if its "
    "rows differ from those of an earlier fit",
    "leave memory=None",
    learns=True,
)
_ONLY_TABLES = Fault(
    "the types of what it is given were chosen by looking at all rows",
    "put it directly behind SchemaTransformer, alone or in a ColumnTransformer",
)


def walk_steps(name, estimator, form=RAW):
    """Yield (path, step, form before it) of an estimator and of all parts of what is put together.

    A path is spelled as ``set_params`` would. Steps that do nothing, None and words such as
    "passthrough", are left out.
    """
    if type(estimator) is Pipeline:
        if public_fault(estimator, form) is not None:
            yield name, estimator, form
        for part, step in estimator.steps:
            yield from walk_steps(join_names(name, part), step, form)
            form = form_after(step, form)
        return
    parts = _branches(estimator, form)
    if parts is None:
        if estimator is not None and not isinstance(estimator, str):
            yield name, estimator, form
        return
    if public_fault(estimator, form) is not None:
        yield name, estimator, form
    for part, step, before in parts:
        yield from walk_steps(join_names(name, part), step, before)


def join_names(name, part):
    """Return the path of a part of a step."""
    return f"{name}__{part}" if name else part


def form_after(step, form):
    """Return the form of what a step makes of rows of a form, "raw" where nothing is known."""
    if step is None or isinstance(step, str) or form.kind == "rounded":
        return form
    if is_private(step):
        return Form("numbers" if keeps_rows_apart(step) else "rounded")
    if type(step) is Pipeline:
        for _, part in step.steps:
            form = form_after(part, form)
        return form
    branches = _branches(step, form)
    if branches is not None:
        return _joined(_branch_forms(branches), step)
    if type(step) is SchemaTransformer:
        return _declared(step.schema)
    if type(step) is DomainScaler:
        return Form("numbers", largest=largest_behind(step, scaled, form.largest))
    if type(step) is JLTransformer:
        return Form("numbers", largest=largest_behind(step, projected, form.largest))
    if type(step) is RowByRow:
        return Form("numbers")
    rule = RULES.get(sklearn_name(step))
    if rule is None:
        return RAW
    largest = rule.largest(step, form.largest)
    form = replace(form, **rule.gives(step, form.kind), largest=largest, schema=None)
    if form.kind in ("raw", "mixed"):
        return form
    return replace(form, words=False, texts=False, unlisted=False)


def public_fault(step, form):
    """Return None where a step is public behind rows of a form, else what is wrong with it.

    Nothing is known of a step that is not on the list: ``Fault("", "")``.
    """
    if replaced_method(step):
        return REPLACED
    if keeps_fit(step):
        return FITTED_BEFORE
    if type(step) is RowByRow and is_private(step.step):
        return _PRIVATE
    if type(step) in (DomainScaler, JLTransformer, RowByRow) and form.gaps:
        return MISSING
    if type(step) is RowByRow:
        return next(faults_alone(step.step), None)
    if type(step) in (DomainScaler, JLTransformer, SchemaTransformer):
        return None
    rule = RULES.get(sklearn_name(step))
    composed = type(step) in (ColumnTransformer, FeatureUnion, Pipeline)
    if rule is None and not composed:
        return Fault("", "")
    known = KNOWN[type(step).__name__]
    given = signature(type(step)).parameters.items()
    changed = [name for name, p in given if not _same(getattr(step, name), p.default)]
    unknown = [name for name in changed if name not in known]
    if unknown:
        return Fault(
            "this package does not know some of its parameters",
            f"leave at their defaults: {', '.join(unknown)}",
        )
    if composed:
        return _composed_fault(step, form)
    fault = rule.fault(step)
    if fault is not None:
        return fault
    for name in changed:
        # functions that rows meet are of the rule above; others make names of columns
        fault = next((f for f in faults_held(getattr(step, name)) if f != KEEPS_IN_FUNCTION), None)
        if fault is not None:
            return fault
    if form.kind not in rule.takes and not (form.kind == "rounded" and "mixed" in rule.takes):
        return _UNDECLARED if form.kind == "raw" else _ONLY_TABLES
    if rule.numeric and form.words:
        return _WORDS
    if rule.texts and not form.texts:
        return _NO_TEXTS
    if rule.numeric and may_overflow(form.largest, rule.largest(step, form.largest)):
        return _OVERFLOW
    if form.missing:
        return MISSING if rule.numeric else rule.missing_fault(step)
    return None


def _composed_fault(step, form):
    """What is wrong with a Pipeline, ColumnTransformer or FeatureUnion itself.

    scikit-learn's own selector by names is public. By types it is not: one row with a fraction, or
    a missing value, makes another type of a column of integers. And where the number of zeros
    decides whether rows are returned sparse, their refusal is a free answer about rows.
    """
    if type(step) is Pipeline:
        return _KEPT if step.memory is not None else None
    forms = _branch_forms(_branches(step, form))
    if type(step) is ColumnTransformer:
        if any(callable(columns) and not _by_name(columns) for _, _, columns in step.transformers):
            return Fault("it calls a function of yours", "name the columns")
        if step.sparse_threshold != 0 and any(part.kind == "csr" for part in forms):
            return Fault(
                "whether it returns sparse rows, which are refused, depends on all rows",
                "set sparse_threshold=0",
            )
        if form.kind == "raw":
            return _UNDECLARED
    before = max((part.largest for part in forms), default=0.0)
    fault = next(faults_held(step.transformer_weights), None)
    grown = before <= LARGEST and not before * _largest(_weights(step)) <= LARGEST
    return fault or (_OVERFLOW if grown else None)


def _weights(step):
    """The weights of a union, which may be one a column, and 1."""
    try:
        weights = (step.transformer_weights or {}).values()
        return np.concatenate([[1.0], *map(np.ravel, weights)]).astype(np.float64)
    except (TypeError, ValueError, AttributeError):  # its fit will say what is wrong
        return np.array([np.inf])


def _largest(weights):
    return float(np.abs(weights).max())


def _by_name(columns):
    return (
        type(columns) is make_column_selector
        and columns.dtype_include is None
        and columns.dtype_exclude is None
    )


def _branches(step, form):
    """Return (name, step, form of its rows) of what one step hands rows to, or None."""
    if type(step) is FeatureUnion:
        return [(part, branch, form) for part, branch, _ in branches_of(step)]
    if type(step) is not ColumnTransformer:
        return None
    places = [_places(form.schema, columns) for _, _, columns in step.transformers]
    rest = None
    if places and None not in places:
        rest = sorted(set(range(form.schema.n_columns)).difference(*places))
    found = []
    for (part, branch, _), chosen in zip(branches_of(step), [*places, rest], strict=True):
        before = form  # where it cannot be seen which columns they are
        if chosen is not None:
            kinds = form.schema.kinds(form.schema.n_columns)
            before = replace(form, schema=None, **_values_of([kinds[place] for place in chosen]))
        found.append((part, branch, before))
    return found


def _branch_forms(branches):
    """Forms that branches return; what one passes through is put next to others anew."""
    forms = [form_after(step, before) for _, step, before in branches if step != "drop"]
    return [replace(f, kind="mixed", schema=None) if f.kind == "table" else f for f in forms]


def _places(schema, columns):
    """Return the positions of named columns of a table, or None where they cannot be seen."""
    if schema is None or schema.n_columns is None:
        return None
    names = schema.names or ()
    places = []
    for column in columns if type(columns) is list else [columns]:
        if isinstance(column, str) and column in names:
            places.append(names.index(column))
        elif type(column) is int and abs(column) < schema.n_columns:
            places.append(column % schema.n_columns)
        else:
            return None
    return places


def _values_of(kinds):
    """What is known of values of some kinds of columns."""
    texts = [
        isinstance(kind, Text)
        or (isinstance(kind, Category) and all(isinstance(level, str) for level in kind.levels))
        for kind in kinds
    ]
    return {
        "words": not all(kind.numeric for kind in kinds),
        "texts": all(texts),
        "missing": any(kind.numeric and kind.missing for kind in kinds),
        "unlisted": any(isinstance(kind, Category) and None in kind.levels for kind in kinds),
        "largest": max((abs(b) for kind in kinds if kind.numeric for b in kind.range), default=0.0),
    }


def _joined(forms, step):
    kinds = {form.kind for form in forms}
    if "rounded" in kinds:
        return Form("rounded")
    if "raw" in kinds or not kinds:
        return RAW
    weights = _weights(step)
    largest = max(form.largest for form in forms) * _largest(weights)
    words, missing = any(f.words for f in forms), any(f.missing for f in forms)
    if "csr" in kinds and type(step) is FeatureUnion:
        return Form("csr", missing=missing, largest=largest)
    kind = "mixed" if "mixed" in kinds else "numbers"
    unlisted = any(form.unlisted for form in forms)
    return Form(kind, words, False, missing, unlisted, largest)


def _declared(schema):
    try:
        schema = Schema(schema)
    except (TypeError, ValueError):
        return RAW  # its fit will say what is wrong
    kind = "numbers" if schema.numeric else "table"
    found = _values_of(schema.kinds(1))
    return Form(kind, schema=schema if kind == "table" else None, **found)


# Parameters of the listed steps of scikit-learn that were looked at.

_PROJECTION = "n_components eps compute_inverse_components random_state"
_TOGETHER = "n_jobs transformer_weights verbose verbose_feature_names_out"
_NAMES = {
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
    "PolynomialFeatures": "degree interaction_only include_bias order",
    "RBFSampler": "gamma n_components random_state",
    "SimpleImputer": "missing_values strategy fill_value copy add_indicator keep_empty_features",
    "SparseRandomProjection": f"density dense_output {_PROJECTION}",
}
KNOWN = {name: frozenset(names.split()) for name, names in _NAMES.items()}


def _same(value, default):
    if value is default:
        return True
    return (
        type(value) in (bool, int, float, str) and type(value) is type(default) and value == default
    )
