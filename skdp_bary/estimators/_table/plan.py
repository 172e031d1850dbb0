"""What is public before a fit of PrivateTable begins: columns, steps and their shares."""

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

from .tuning import TUNED


@dataclass(frozen=True, eq=False)
class TableSetting:
    """Public parameters of a fit.

    Attributes
    ----------
    columns : list of Cells
        Of all columns of the table.
    label : int or None
        Place of the column that tells the class.
    pure : bool
        Whether there is no delta: noise is Laplace, and only some pairs are measured.
    """

    columns: list
    label: int | None
    pure: bool

    @cached_property
    def places(self):
        """Places of the columns beside the label."""
        return [place for place in range(len(self.columns)) if place != self.label]

    @cached_property
    def sizes(self):
        """Number of cells of every column."""
        return tuple(cells.n_cells for cells in self.columns)

    @cached_property
    def pairs(self):
        """All pairs of columns beside the label."""
        return tuple(combinations(self.places, 2))

    @property
    def n_pairs(self):
        """Number of pairs that are measured."""
        if not self.pure:
            return len(self.pairs)
        return min(len(self.pairs), math.ceil(TUNED.pairs_per_column * len(self.places)))

    @property
    def ranks_pairs(self):
        """Whether a step chooses among the pairs."""
        return self.n_pairs < len(self.pairs)

    @property
    def n_bins(self):
        """Wanted bins of a line."""
        most = TUNED.most_all_bins // max(len(self.places), 1)
        return min(max(most, TUNED.fewest_bins), TUNED.most_bins)


def shares(setting):
    """Return the steps, in order, and their shares: of ``mu**2``, or of epsilon."""
    if not setting.pairs:
        return {"histograms": 1.0}
    if not setting.pure:
        first = TUNED.histograms_share
        return {"histograms": first, "pairs": 1.0 - first}
    first, ranking = TUNED.pure_histograms_share, TUNED.pure_ranking_share
    if not setting.ranks_pairs:
        return {"histograms": first / (1.0 - ranking), "pairs": 1.0 - first / (1.0 - ranking)}
    return {"histograms": first, "ranking": ranking, "pairs": 1.0 - first - ranking}
