"""Comparator: rows with noise on every projection, as the paper releases them."""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from ...geometry._slices import SliceLattice
from ...privacy._neighbors import REPLACE_ONE
from ...privacy.noise.sampler import noise_generator
from ...summaries.slices.rows import ProjectedRows, shuffled
from ...transport import DiscreteMeasure
from ...transport._univariate import univariate_cost
from .methods import SlicedMethod, SlicedRelease
from .tuning import TUNED


class RowsMethod(SlicedMethod):
    """Every row's projections with Gaussian noise on each (Rakotomamonjy and Ralaivola, 2021).

    Where the directions together carry a row no further than its own length, their projections are
    released. Otherwise the rows are, with noise on every feature, and are projected afterwards: on
    every unit direction that noise is smaller.
    """

    def shares(self, setting):
        """Return a single step: as many rows come out as go in, with Gaussian noise."""
        if setting.relation != REPLACE_ONE:
            raise ValueError(
                "neighbors must be 'replace_one' for method='rows', which shows how many rows "
                f"there are, got {setting.relation!r}."
            )
        if setting.delta == 0:
            raise ValueError(
                "delta must be above zero for method='rows', which adds Gaussian noise."
            )
        return {"rows": 1.0}

    def check(self, setting, facts):
        """One row comes out for every person."""
        if facts.units != 1:
            raise ValueError(
                "groups and sample_weight must be None for method='rows', which releases one "
                "row a person."
            )

    def questions(self, setting, facts):
        """Ask for the rows of every class, and return them in random order."""
        lattice = setting.lattice(facts.domain)
        directions = lattice.directions
        if lattice.norm > 1.0 + 1e-5:  # a frame, truncated, is below that
            lattice = SliceLattice(facts.domain, np.eye(facts.n_features))
        released = yield "rows", ProjectedRows(lattice, facts.n_classes)
        order = noise_generator(setting.random_state)
        noise_std = float(released.noise_sd[0] * lattice.step)
        return [
            SlicedRows(shuffled(block, order) * lattice.step, directions, noise_std, lattice)
            for block in released.values
        ]


@dataclass(frozen=True, eq=False)
class SlicedRows(SlicedRelease):
    """Noisy rows of one distribution.

    Attributes
    ----------
    rows : ndarray of shape (n_rows, n_components)
        Projections or features with noise, relative to the center of the domain, in random order.
    directions : ndarray of shape (n_features, n_directions)
        Public directions of the slices.
    noise_std : float
        Standard deviation of the noise on every number, and on every slice.
    lattice : SliceLattice
        Public domain and directions of `rows`.
    """

    rows: np.ndarray
    directions: np.ndarray
    noise_std: float
    lattice: SliceLattice

    quantiles = None  # sorted noisy rows are no estimate of the quantiles of the rows

    def cost(self, Y, p):
        """Raise: rows with noise give no estimate of the distance between rows without."""
        raise ValueError(
            "method='rows' has smoothed distances only, with the noise in them; "
            "smoothed_distance returns them. method='sketch' estimates distances."
        )

    def smoothed_cost(self, Y, p):
        """Return the mean cost between noisy rows and smoothed public rows, over the slices.

        Public rows need no noise: the law that noise would give them is known, and is put in their
        place.
        """
        domain = self.lattice.domain
        public = (domain.clip(Y) - domain.center) @ self.directions
        count = TUNED.smooth_points
        spread = self.noise_std * ndtri((np.arange(count) + 0.5) / count)
        costs = [
            univariate_cost(
                DiscreteMeasure(ours[:, None]),
                DiscreteMeasure(np.add.outer(theirs, spread).reshape(-1, 1)),
                p=p,
            )
            for ours, theirs in zip(self.projections().T, public.T, strict=True)
        ]
        return float(np.mean(costs))

    def projections(self):
        """Return the noisy rows on every slice, of shape (n_rows, n_directions)."""
        projected = np.array_equal(self.lattice.directions, self.directions)
        return self.rows if projected else self.rows @ self.directions
