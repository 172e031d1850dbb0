"""The public parameters of an estimator, as its methods see them."""

from dataclasses import fields


def setting_of(kind, estimator, **others):
    """Return a setting whose fields are parameters of the estimator, but for those given.

    Parameters
    ----------
    kind : type
        A dataclass; a field that is not among `others` has the name of a parameter.
    estimator : BasePrivateEstimator
    **others
        Fields that are no parameters, or not as they were given.
    """
    names = {field.name for field in fields(kind)} - others.keys()
    return kind(**{name: getattr(estimator, name) for name in names}, **others)
