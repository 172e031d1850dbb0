"""What the front door offers, for tests that run over all of it."""

from inspect import isclass

from sklearn.base import BaseEstimator

import skdp_bary
from skdp_bary import papers as papers
from skdp_bary.estimators.base import BasePrivateEstimator
from skdp_bary.papers import _HOMES, _WITH_TORCH, __all__


def public_estimators():
    """Return the public classes that follow scikit-learn's interface, by name."""
    found = [getattr(skdp_bary, name) for name in skdp_bary.__all__]
    found = [cls for cls in found if isclass(cls) and issubclass(cls, BaseEstimator)]
    published = [getattr(papers, name) for name in __all__ if _HOMES[name] not in _WITH_TORCH]
    found += [cls for cls in published if isclass(cls) and issubclass(cls, BasePrivateEstimator)]
    return {cls.__name__: cls for cls in sorted(found, key=lambda cls: cls.__name__)}


def private_estimators():
    """Return the public estimators that spend a budget, by name."""
    return {name: cls for name, cls in public_estimators().items() if hasattr(cls, "privacy_plan")}
