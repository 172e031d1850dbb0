"""A mixture of products over the cells of a table: rows, probabilities, and conditions."""

from dataclasses import dataclass, replace

import numpy as np

_LEAST_INSIDE = 1e-9  # of a bin, in any of its cells: nothing is impossible
_ROWS = 1 << 14  # at once


@dataclass(frozen=True, eq=False)
class ColumnModel:
    """One column of a mixture.

    Attributes
    ----------
    bins : ndarray of shape (n_cells,)
        Bin of every cell.
    inside : ndarray of shape (n_classes, n_cells)
        Probability of a cell in its bin.
    components : ndarray of shape (n_components, n_bins)
        Probability of a bin in every component.
    """

    bins: np.ndarray
    inside: np.ndarray
    components: np.ndarray

    def cell_probabilities(self, code):
        """Return the probabilities of cells, of shape (n_components, n_cells), in a class."""
        return self.components[:, self.bins] * self.inside[code]

    def given(self, allowed):
        """Return the column with some cells alone, and their probability before.

        Parameters
        ----------
        allowed : ndarray of shape (n_cells,), float
            1.0 for cells that are allowed, 0.0 for others.

        Returns
        -------
        column : list of ColumnModel
            One a class: bins are no longer alike in all classes.
        likelihood : ndarray of shape (n_components, n_classes)
        """
        n_bins = self.components.shape[1]
        sizes = np.bincount(self.bins, minlength=n_bins)
        inside = (self.inside + _LEAST_INSIDE / sizes[self.bins]) * allowed
        kept = np.stack([np.bincount(self.bins, row, minlength=n_bins) for row in inside])
        likelihood = self.components @ kept.T
        columns = [
            ColumnModel(self.bins, _over(inside, kept[:, self.bins]), _over(joint, total[:, None]))
            for joint, total in zip(
                self.components[None] * kept[:, None, :], likelihood.T, strict=True
            )
        ]
        return columns, likelihood


@dataclass(frozen=True, eq=False)
class TableMixture:
    """Components in which all columns are independent, given the class.

    Attributes
    ----------
    weights : ndarray of shape (n_components, n_classes)
        Joint probabilities of components and classes.
    columns : dict
        By place, beside the label: a list of ColumnModel, one a class.
    label : int or None
        Place of the column that tells the class.
    """

    weights: np.ndarray
    columns: dict
    label: int | None

    def given(self, allowed):
        """Return the mixture on some cells alone.

        Parameters
        ----------
        allowed : dict
            By place: 1.0 for cells that are allowed, 0.0 for others.
        """
        logs, columns = np.log(np.maximum(self.weights, 1e-300)), dict(self.columns)
        for place, cells in allowed.items():
            if place == self.label:
                logs = logs + np.log(np.maximum(cells, 1e-300))
                continue
            found = [column.given(cells) for column in self.columns[place]]
            columns[place] = [models[code] for code, (models, _) in enumerate(found)]
            likelihood = np.column_stack([like[:, code] for code, (_, like) in enumerate(found)])
            logs = logs + np.log(np.maximum(likelihood, 1e-300))
        weights = np.exp(logs - logs.max())
        return replace(self, weights=weights / weights.sum(), columns=columns)

    def draw(self, n_rows, rng):
        """Return cells of rows, of shape (n_rows, n_columns), in random order.

        Every row has the distribution of the mixture. Rows share it evenly: components, and cells
        of every column within a component, come about as often as they are probable.
        """
        flat = self.weights.ravel()
        ends = np.floor(np.cumsum(flat / flat.sum()) * n_rows + rng.random()).astype(np.int64)
        ends[-1] = n_rows
        ends = np.minimum(ends, n_rows)
        counts = np.diff(np.concatenate([[0], ends]))
        groups = np.repeat(np.arange(len(flat)), counts)
        n_columns = len(self.columns) + (self.label is not None)
        cells = np.empty((n_rows, n_columns), dtype=np.int64)
        if self.label is not None:
            cells[:, self.label] = groups % self.weights.shape[1]
        for place in self.columns:
            cells[:, place] = self._draw_column(place, counts, groups, rng)
        return cells[rng.permutation(n_rows)]

    def _draw_column(self, place, counts, groups, rng):
        """Return the cells of one column, by uniforms that are spread evenly over each group."""
        keys = groups + rng.random(len(groups))
        order = np.argsort(keys)  # groups stay together, in random order within
        ranks = np.empty(len(groups))
        starts = np.cumsum(counts) - counts
        ranks[order] = np.arange(len(groups)) - starts[groups]
        uniform = (ranks + rng.random(len(groups))) / counts[groups]
        found, n_classes = np.empty(len(groups), dtype=np.int64), self.weights.shape[1]
        for code, column in enumerate(self.columns[place]):
            rows = np.flatnonzero(groups % n_classes == code)
            found[rows] = _cells_at(column, code, groups[rows] // n_classes, uniform[rows])
        return found

    def log_probabilities(self, cells):
        """Return the logarithm of the probability of the cells of each row."""
        classes = np.zeros(len(cells), np.int64) if self.label is None else cells[:, self.label]
        return np.concatenate(
            [np.zeros(0)]
            + [
                self._log_probabilities(cells[i : i + _ROWS], classes[i : i + _ROWS])
                for i in range(0, len(cells), _ROWS)
            ]
        )

    def _log_probabilities(self, cells, classes):
        found = np.empty(len(cells))
        for code in np.unique(classes):
            rows = np.flatnonzero(classes == code)
            logs = np.tile(np.log(np.maximum(self.weights[:, code], 1e-300)), (len(rows), 1))
            inside = np.zeros(len(rows))
            for place, columns in self.columns.items():
                column, own = columns[code], cells[rows, place]
                logs += np.log(np.maximum(column.components[:, column.bins[own]], 1e-300)).T
                inside += np.log(column.inside[code, own] + _LEAST_INSIDE)
            highest = logs.max(axis=1)
            found[rows] = highest + np.log(np.exp(logs - highest[:, None]).sum(axis=1)) + inside
        return found

    def marginal(self, places):
        """Return the probabilities of the cells of one or two columns, by class.

        Returns
        -------
        found : ndarray of shape (n_classes, n_cells) or (n_classes, n_cells, n_cells)
        """
        found = []
        for code, weights in enumerate(self.weights.T):
            tables = [self.columns[place][code].cell_probabilities(code) for place in places]
            if len(tables) == 2:
                found.append((weights[:, None] * tables[0]).T @ tables[1])
            else:
                found.append(weights @ tables[0])
        return np.stack(found)


def mixture_of(measured, setting, weights, bins):
    """Return the mixture of fitted weights and bins.

    Parameters
    ----------
    measured : Measured
    setting : TableSetting
    weights : ndarray of shape (n_components, n_classes)
    bins : ndarray of shape (n_components, n_all_bins)
    """
    columns, start = {}, 0
    for place in setting.places:
        own = measured.bins[place]
        n = int(own.max()) + 1
        model = ColumnModel(own, measured.inside[place], bins[:, start : start + n])
        columns[place] = [model] * weights.shape[1]
        start += n
    return TableMixture(weights, columns, setting.label)


def _cells_at(column, code, components, uniform):
    """Return the cells at quantiles of the distributions of components."""
    ends = np.cumsum(column.components, axis=1)
    ends /= ends[:, -1:]
    n_bins = ends.shape[1]
    bins = np.empty(len(uniform), dtype=np.int64)
    rest = np.empty(len(uniform))
    for start in range(0, len(uniform), _ROWS):
        rows = slice(start, start + _ROWS)
        own = ends[components[rows]]
        bins[rows] = np.minimum((uniform[rows, None] >= own).sum(axis=1), n_bins - 1)
        place = np.arange(len(own)), bins[rows]
        low = np.where(bins[rows] > 0, own[place[0], place[1] - 1], 0.0)
        rest[rows] = (uniform[rows] - low) / np.maximum(own[place] - low, 1e-300)
    # cells in the order of their bins, with the running sums of their probabilities
    order = np.argsort(column.bins, kind="stable")
    sums = np.cumsum(column.inside[code, order])
    sizes = np.bincount(column.bins, minlength=n_bins)
    lasts = np.cumsum(sizes) - 1
    before = np.concatenate([[0.0], sums[lasts]])
    wanted = before[bins] + rest * (before[bins + 1] - before[bins])
    found = np.searchsorted(sums, wanted, side="right")
    found = np.clip(found, lasts[bins] - sizes[bins] + 1, lasts[bins])
    return order[found]


def _over(values, totals):
    """Return quotients, 0 where there is nothing to divide by."""
    return np.divide(values, totals, out=np.zeros_like(values), where=totals > 0)
