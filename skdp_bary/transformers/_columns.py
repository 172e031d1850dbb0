"""Signs in the names of columns that they are ids and no features; names are public."""

import warnings
from collections.abc import Mapping

from .._sklearn import search_has_groups
from .._values import names_somebody
from ..exceptions import PrivacyWarning


def warn_of_ids(names, bounds):
    """Warn where a column is read as a number whose name is one of an id.

    Parameters
    ----------
    names : list of str or None
        Of the columns that are features; None where they have none.
    bounds : object
        Where they name the columns, somebody has said in public that all of them are features.
    """
    if isinstance(bounds, Mapping):
        return
    ids = [name for name in names or () if names_somebody(name)]
    if ids:
        warnings.warn(
            f"The column {ids[0]!r} is read as a feature, and its name is one of an id: drop it, "
            f"or pass it as groups={ids[0]!r}. Bounds by name say that it is a feature.",
            PrivacyWarning,
            stacklevel=3,
        )


def warn_of_unread_ids(y):
    """Warn where a fit without groups may have been given ids in another place.

    That is as labels, or as the groups of a search of scikit-learn, which its fits do not see.

    Parameters
    ----------
    y : object
        Series, or anything else.
    """
    name = getattr(y, "name", None)
    if name and names_somebody(name):
        warnings.warn(
            f"y is named {name!r}, as an id is, and is not read as one: every row counts as a "
            "person. Pass person ids as groups.",
            PrivacyWarning,
            stacklevel=3,
        )
    if search_has_groups():
        warnings.warn(
            "groups given to a search or a cross-validation divide its folds, and this fit does "
            "not see them: every row counts as a person. Where they are person ids, set "
            "sklearn.set_config(enable_metadata_routing=True) and "
            "estimator.set_fit_request(groups=True).",
            PrivacyWarning,
            stacklevel=3,
        )
