"""Signs in the names of columns that they are no features; names are public."""

import warnings

from ..._values import names_somebody
from ...exceptions import PrivacyWarning


def warn_of_ids(names):
    """Warn where a column is read as a number whose name is one of an id.

    Parameters
    ----------
    names : list of str or None
        Of the columns that are features; None where they have none.
    """
    ids = [name for name in names or () if names_somebody(name)]
    if ids:
        warnings.warn(
            f"The column {ids[0]!r} is read as a feature, and its name is one of an id: drop it, "
            f"or pass it as groups={ids[0]!r}. Bounds by name say that it is a feature.",
            PrivacyWarning,
            stacklevel=3,
        )
