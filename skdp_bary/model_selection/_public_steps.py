"""The steps of a pipeline, and which of them make of a row what does not depend on other rows.

A step is public if it is on the list, its parameters let it treat every row by itself, and the rows
reach it in a form that is declared in public. The form is followed through the pipeline: "raw"
rows have whatever types one row gave them; behind a ``SchemaTransformer`` they are a "table"
(float64 and objects), "numbers" (float64) or "csr"; a table that other steps put together anew is
"mixed", because libraries choose types for it. What private steps and those of other libraries hand
on is "rounded": the last bits of a row depend on the rows beside it.
"""

from dataclasses import dataclass, replace

from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.pipeline import FeatureUnion, Pipeline

from ..schema import Schema
from ..transformers import DomainScaler, JLTransformer, RowByRow, SchemaTransformer
from ._step_rules import RULES, Fault, sklearn_name


@dataclass(frozen=True)
class Form:
    """What rows are known to be in front of a step.

    Parameters
    ----------
    kind : {"raw", "table", "numbers", "csr", "mixed", "rounded"}
    non_negative : bool
        Whether no number is below zero.
    """

    kind: str
    non_negative: bool = False


RAW = Form("raw")
_UNDECLARED = Fault(
    "it reads all rows by one common type, which a single row can change",
    "put SchemaTransformer with a public Schema in front of it",
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
    if isinstance(estimator, Pipeline):
        for part, step in estimator.steps:
            yield from walk_steps(join_names(name, part), step, form)
            form = form_after(step, form)
        return
    parts = _branches(estimator)
    if parts is None:
        if estimator is not None and not isinstance(estimator, str):
            yield name, estimator, form
        return
    if public_fault(estimator, form) is not None:
        yield name, estimator, form
    for part, step in parts:
        yield from walk_steps(join_names(name, part), step, form)


def join_names(name, part):
    """Return the path of a part of a step."""
    return f"{name}__{part}" if name else part


def form_after(step, form):
    """Return the form of what a step makes of rows of a form, "raw" where nothing is known."""
    if step is None or isinstance(step, str) or form.kind == "rounded":
        return form
    if hasattr(step, "privacy_plan") or type(step).__module__.split(".")[0] == "diffprivlib":
        return Form("rounded")
    if isinstance(step, Pipeline):
        for _, part in step.steps:
            form = form_after(part, form)
        return form
    branches = _branches(step)
    if branches is not None:
        return _joined([_branch_form(part, form) for _, part in branches if part != "drop"], step)
    if type(step) is SchemaTransformer:
        return _declared(step.schema)
    if type(step) is DomainScaler:
        return Form("numbers", non_negative=step.clip and step.target == "box")
    if type(step) in (JLTransformer, RowByRow):
        return Form("numbers")
    rule = RULES.get(sklearn_name(step))
    return RAW if rule is None else replace(form, **rule.gives(step, form.kind))


def public_fault(step, form):
    """Return None where a step is public behind rows of a form, else what is wrong with it.

    Nothing is known of a step that is not on the list: ``Fault("", "")``.
    """
    if isinstance(step, ColumnTransformer):
        return _column_fault(step, form)
    if isinstance(step, (Pipeline, FeatureUnion)):
        return None
    if type(step) in (DomainScaler, JLTransformer, RowByRow, SchemaTransformer):
        return None
    rule = RULES.get(sklearn_name(step))
    if rule is None:
        return Fault("", "")
    fault = rule.fault(step)
    if fault is not None:
        return fault
    if form.kind in rule.takes or (form.kind == "rounded" and "mixed" in rule.takes):
        non_negative = form.non_negative or not rule.non_negative
        return None if non_negative else rule.negative_fault
    return _UNDECLARED if form.kind == "raw" else _ONLY_TABLES


def _column_fault(step, form):
    """What is wrong with a ColumnTransformer itself.

    scikit-learn's own selector by names is public. By types it is not: one row with a fraction, or
    a missing value, makes another type of a column of integers. And where the number of zeros
    decides whether rows are returned sparse, their refusal is a free answer about rows.
    """
    if any(callable(columns) and not _by_name(columns) for _, _, columns in step.transformers):
        return Fault("it calls a function of yours", "name the columns")
    parts = [_branch_form(part, form).kind for _, part in _branches(step) if part != "drop"]
    if "csr" in parts and step.sparse_threshold != 0:
        return Fault(
            "whether it returns sparse rows, which are refused, depends on all rows",
            "set sparse_threshold=0",
        )
    return _UNDECLARED if form.kind == "raw" else None


def _by_name(columns):
    return (
        isinstance(columns, make_column_selector)
        and columns.dtype_include is None
        and columns.dtype_exclude is None
    )


def _branches(step):
    """Return the named branches of what hands the same rows to several steps, or None."""
    if isinstance(step, ColumnTransformer):
        parts = [(part, branch) for part, branch, _ in step.transformers]
        return [*parts, ("remainder", step.remainder)]
    return list(step.transformer_list) if isinstance(step, FeatureUnion) else None


def _branch_form(step, form):
    """Form that a branch returns; what it passes through is put beside others anew."""
    form = form_after(step, form)
    return replace(form, kind="mixed") if form.kind == "table" else form


def _joined(forms, step):
    kinds = {form.kind for form in forms}
    non_negative = all(form.non_negative for form in forms)
    if "rounded" in kinds:
        return Form("rounded")
    if "raw" in kinds or not kinds:
        return RAW
    if "csr" in kinds and isinstance(step, FeatureUnion):
        return Form("csr", non_negative)
    return Form("mixed" if "mixed" in kinds else "numbers", non_negative)


def _declared(schema):
    try:
        schema = schema if isinstance(schema, Schema) else Schema(schema)
    except (TypeError, ValueError):
        return RAW  # its fit will say what is wrong
    ranges = schema.ranges(1)
    kind = "csr" if schema.sparse else "numbers" if schema.numeric else "table"
    return Form(kind, non_negative=ranges is not None and bool((ranges[0] >= 0).all()))
