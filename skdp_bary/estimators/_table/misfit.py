"""A sign in a release that the schema does not fit the table. Post-processing: it costs nothing."""

import warnings

from ...exceptions import PrivacyWarning
from ...schema._cells import ListCells
from .._face.misfit import ENOUGH

_MOST = 0.95  # of the rows


def warn_of_others(columns, measured, epsilon):
    """Warn where nearly all values of a column are none of its list.

    Parameters
    ----------
    columns : dict
        Cells of all columns, by name, in order.
    measured : Measured
    epsilon : float
    """
    found = measured.histograms
    if found.raw_sizes.sum() * epsilon < ENOUGH:  # as released: small totals are raised
        return
    for place, (name, cells) in enumerate(columns.items()):
        clean = found.clean.get(place)
        if clean is None or not isinstance(cells, ListCells) or not cells.has_others:
            continue
        if clean[len(cells.values)] > _MOST * clean.sum():
            warnings.warn(
                f"Nearly all values of {name!r} are 'other' in the release: none of the values of "
                "its schema. Check their spelling and type, and the order of the columns.",
                PrivacyWarning,
                stacklevel=5,
            )
