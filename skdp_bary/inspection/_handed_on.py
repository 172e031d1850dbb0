"""Bounds that one step of a pipeline hands on, and bounds that the next one was given."""

from sklearn.pipeline import Pipeline

from ..geometry import Ball, Box
from ..geometry._bounds import check_domain, width_of
from ..model_selection._public_steps import join_names
from ..schema import Schema
from ..transformers import DomainScaler, JLTransformer, SchemaTransformer


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
            if handed is None and _will_hand_on(before):
                advice[path] = (
                    f"bounds after {type(before).__name__} are unknown until it has been fitted: "
                    "fit it on np.zeros((1, n_features)) and give this step its output_bounds_"
                )
            elif handed is not None and not _same(step.bounds, handed):
                advice[path] = (
                    f"give it the bounds that {type(before).__name__} hands on, "
                    f"{_in_words(handed)}, and not {step.bounds!r}{_for_a_ball(before, step)}"
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


def _will_hand_on(step):
    """Whether a step has public bounds of its output as soon as it is fitted, and not before."""
    waits = isinstance(step, JLTransformer) and not hasattr(step, "output_bounds_")
    return waits and step.bounds is not None


def _declared(step, width):
    """Ranges of the schema, where all columns have one."""
    try:
        schema = step.schema if isinstance(step.schema, Schema) else Schema(step.schema)
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


def _for_a_ball(before, step):
    """Return what else would do where a ball is wanted and a box is handed on."""
    wants_ball = isinstance(step.bounds, Ball) and isinstance(before, DomainScaler)
    if not wants_ball or before.target == "ball":
        return ""
    return "; or let DomainScaler(target='ball') hand on the ball of radius 1 around 0"


def _in_words(domain):
    if not isinstance(domain, Box):
        return repr(domain)
    sides = {tuple(domain.low.tolist()), tuple(domain.high.tolist())}
    if all(len(set(side)) == 1 for side in sides):
        return f"({domain.low[0]:g}, {domain.high[0]:g})"
    return repr(domain)
