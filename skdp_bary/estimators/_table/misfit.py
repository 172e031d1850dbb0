"""Signs in a release of few rows, and of an unfit schema. Post-processing: they cost nothing."""

from ..._progress import warn
from ...schema._cells import ListCells
from .._face.misfit import ENOUGH
from .._face.remedies import rounded_up
from .questions import LEAST_ROWS

_MOST = 0.95  # of the rows


def warn_of_few_rows(measured, epsilon):
    """Warn where there are no more rows than noise alone would show.

    Parameters
    ----------
    measured : Measured
    epsilon : float
    """
    found = measured.histograms
    n_classes = len(found.sizes)
    rows = found.raw_sizes.sum()
    if rows >= LEAST_ROWS * found.size_sd * n_classes:
        return
    in_classes = "" if n_classes == 1 else f" in {n_classes} classes"
    enough = rounded_up(2.0 * LEAST_ROWS * found.size_sd * n_classes)
    warn(
        f"The table has about {max(rows, 0.0):.0f} rows{in_classes}, by a noisy count, which is "
        f"hardly more than the noise at epsilon={epsilon:g}: rows that are drawn can be mostly "
        f"noise, and total_ is raised to {found.total:.0f}. It needs {enough} or more.",
        stacklevel=5,
    )


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
            warn(
                f"Nearly all values of {name!r} are 'other' in the release: none of the values of "
                "its schema. Check their spelling and type, and the order of the columns.",
                stacklevel=5,
            )
