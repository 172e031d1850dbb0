"""Clustering in more than three dimensions: a released subspace, a grid in it, private rounds."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..geometry._projections import haar_frame
from ..privacy._noise import public_generator
from ..summaries._cluster_sums import ClippedMeans, ClusterMoments, TotalSpread, digits_of
from ..summaries._frame_counts import Gram, GridHistogram
from ..summaries._frames import Axes, Frame
from ..summaries._moments import symmetric
from ._kmeans_methods import CoarseData, KMeansMethod, PrivateClusters, is_gaussian, rescaled
from ._kmeans_plan import PURE_MOMENTS, cluster_plan
from ._kmeans_rounds import LloydState, ambient_round, low_round
from ._shrinkage import shrink_steps, unlengthened
from ._weighted_kmeans import nearest, weighted_kmeans

_GAUSSIAN_SHARES = {"mass": 0.3, "spread": 0.4}  # of the noise's precision, where sums get 1
_PURE_SHARES = {"mass": 0.25, "spread": 0.25}
_DETECTED = 1.05  # an axis counts from this many times the edge of the noise
_MOST_AXES, _FEWEST_AXES, _PURE_AXES = 64, 8, 16
_MOST_BITS = 5  # of one axis of the grid
_KEPT_SDS = 3.0
_KEPT_FACTOR = 8  # cells kept at most, relative to the number of clusters
_HALVES = 0.8  # place of the mean of half a normal law, in standard deviations
_FIRST_RADIUS, _LATER_RADIUS = 2.0, 1.4
_PURE_AMBIENT_RADIUS = 0.9
_RESIDUAL_REACH = 2.0  # clipping radius of the residual total, relative to the rows' spread
_LEAST_LEFT = 0.05  # of the rows' spread that clusters are thought to leave


class HighMethod(KMeansMethod):
    """Noisy moments, principal axes, a histogram in the leading ones, then noisy Lloyd rounds.

    1. *moments*: mass, sum and spread of the rows about the center of the domain.
    2. *axes*: second moments about the released mean. Laplace noise is too much for them: with
       ``delta=0`` the axes are those of a public random rotation and this step is left out.
    3. *cells*: a histogram on a product grid of the leading axes.
    4. *fill*: a clipped mean of the rows about every cell that stands out. Weighted k-means on
       these means gives centers.
    5. *low_1, ...*: rounds of Lloyd's algorithm in the leading axes.
    6. *residual*: total squared distance from the centers, with all features.
    7. *ambient_1, ...*: rounds with all features, shrunk by their noise.
    """

    def shares(self, estimator, n_features):
        """Return the steps of the plan."""
        return cluster_plan(estimator, n_features).shares

    def settled_shares(self, estimator, facts):
        """Return the steps of the plan for the size, where that was not given."""
        if estimator.n_hint is not None:
            return None
        announced = cluster_plan(estimator, facts.n_features)
        settled = cluster_plan(estimator, facts.n_features, facts.size)
        return None if settled == announced else settled.shares

    def query(self, estimator, step_name, facts):
        """Return the query of a step."""
        route = self.route(estimator, facts)
        if step_name.startswith("low_"):
            return route.low_query(int(step_name[4:]))
        if step_name.startswith("ambient_"):
            return route.ambient_query(int(step_name[8:]))
        return getattr(route, f"{step_name}_query")()

    def route(self, estimator, facts):
        """Return the queries so far, and what follows from the releases."""
        return Route(estimator, facts)

    def finish(self, estimator, facts):
        """Read the last round."""
        route = self.route(estimator, facts)
        plan = route.plan
        result = route.ambient_result(plan.ambient_rounds)
        centers = facts.domain.clip(result.centers + route.center)
        return PrivateClusters(
            centers,
            rescaled(result.masses, route.count()),
            np.sqrt(result.noise),
            plan.low_rounds + plan.ambient_rounds,
            route.coarse_data(),
        )


@dataclass(frozen=True, eq=False)
class Route:
    """Queries, and what follows from the releases so far. Points are relative to the mean."""

    estimator: object
    facts: object

    @cached_property
    def plan(self):
        """What the fit does."""
        return cluster_plan(self.estimator, self.facts.n_features, self.facts.size)

    def moments_query(self):
        """Mass, sum and spread about the center of the domain."""
        domain = self.facts.domain
        frame = Frame(domain, domain.center, self._bits)
        shares = (1.0, 1.0, 1.0) if self._gaussian else PURE_MOMENTS
        origin = np.zeros((1, len(domain.center)))
        return self._ask(ClusterMoments, frame, origin, np.array([domain.radius]), shares)

    def axes_query(self):
        """Second moments about the mean, of rows clipped to their root mean square distance."""
        center, rms = self._mean_and_spread()
        frame = Frame(self.facts.domain, center, self._bits)
        radius = min(self.facts.domain.radius, rms)
        return Gram(frame, radius, self.facts.units)

    def cells_query(self):
        """Histogram on the leading axes; bits go where they reduce the variance most."""
        center, rms = self._mean_and_spread()
        axes = self._principal_axes() if self._gaussian else self._rotation(rms)
        bits = allocate_bits(axes.variances, self.plan.bits)
        frame = Frame(self.facts.domain, center, self._bits, axes)
        halfwidths = 2.0 * np.sqrt(axes.variances[: len(bits)])
        return GridHistogram(frame, halfwidths, bits, self.facts.units)

    def fill_query(self):
        """Clipped means about the cells that stand out."""
        points, masses = self._kept_cells()
        widest = 0.0
        most = 2 * self.estimator.n_clusters
        if len(points) > most:
            rng = public_generator(self.estimator.random_state)
            groups = weighted_kmeans(points, masses, most, 1, rng)
            widest = float(nearest(points, groups)[1].max())
            points = groups
        radius = min(
            1.5 * math.sqrt(self.axes.variances.sum()),
            2.0 * math.sqrt(self._cell_spread() + widest),
        )
        return self._ask(
            ClippedMeans,
            self._of("cells").query.frame,
            points,
            np.full(len(points), radius),
            (self._share("mass"), 1.0),
        )

    def low_query(self, number):
        """A round in the leading axes."""
        state = self.low_result(number - 1)
        factor = _FIRST_RADIUS if number == 1 else _LATER_RADIUS
        radii = factor * np.sqrt(state.spread + state.error)
        shares = (self._share("mass"), 1.0, self._share("spread"))
        frame = self._of("cells").query.frame
        return self._ask(ClusterMoments, frame, state.centers, radii, shares)

    def residual_query(self):
        """Total squared distance from the centers, with all features."""
        state = self.low_result(self.plan.low_rounds)
        reach = _RESIDUAL_REACH * math.sqrt(self._left_over(state))
        radii = np.full(len(state.centers), min(self.facts.domain.radius, reach))
        centers = state.centers @ self.axes.kept
        frame = self._of("cells").query.frame.without_axes()
        return self._ask(TotalSpread, frame, centers, radii, (1.0,))

    def ambient_query(self, number):
        """A round with all features."""
        state = self.ambient_result(number - 1)
        factor = 1.0 if self._gaussian else _PURE_AMBIENT_RADIUS
        frame = self._of("cells").query.frame.without_axes()
        shares = (self._share("mass"), 1.0)
        radii = factor * np.sqrt(state.spread)
        return self._ask(ClippedMeans, frame, state.centers, radii, shares)

    @property
    def center(self):
        """The released mean."""
        return self._of("cells").query.frame.center

    @property
    def axes(self):
        """The axes that the histogram used."""
        return self._of("cells").query.frame.axes

    def coarse_data(self):
        """Return the filled cells in the space of the rows."""
        points, masses, sd = self._filled()
        spread = self.low_result(0).spread.mean()
        rest = max(self._mean_and_spread()[1] ** 2 - self.axes.variances.sum(), 0.0)
        return CoarseData(points @ self.axes.kept + self.center, masses, sd, spread + rest)

    def low_result(self, number):
        """Return centers and spreads in the leading axes after a round; 0: before the first."""
        if number == 0:
            return self._first_centers()
        released = self._of(f"low_{number}")
        last = number == self.plan.low_rounds
        swap = None if last else (self._filled()[:2], self.axes.variances)
        return low_round(released, swap)

    def ambient_result(self, number):
        """Return centers and spreads with all features after a round; 0: before the first."""
        if number:
            basis = self.axes.vectors if self._gaussian else None
            before = self._spread_of(f"ambient_{number}")
            return ambient_round(self._of(f"ambient_{number}"), before, basis)
        low = self.low_result(self.plan.low_rounds)
        if "residual" not in self.facts.released:
            return low.lifted(self.axes.kept, low.spread)
        released = self._of("residual")
        masses = np.maximum(low.masses, 0.0)
        total = released.query.read(released) / max(masses.sum(), 1.0)
        floor = 0.02 * total if total > 0 else 1e-12
        pooled = float(masses @ low.spread) / max(masses.sum(), 1.0)
        rest = max(total - pooled, floor, 1e-12 * self.facts.domain.radius**2)
        return low.lifted(self.axes.kept, low.spread + rest)

    def _left_over(self, state):
        """Return a cautious guess of the rows' mean squared distance from the centers of a state.

        It is what the released spread about the mean leaves beside that of the centers.
        """
        released = self._of("moments")
        read = released.query.read(released)
        square = self._mean_and_spread()[1] ** 2
        doubt = 2.0 * float(np.ravel(read.spread_sd)[0]) / self.count()
        masses = np.maximum(state.masses, 0.0)
        explained = float(masses @ (state.centers**2).sum(axis=1)) / max(float(masses.sum()), 1.0)
        return float(np.clip(square - explained + doubt, _LEAST_LEFT * square, square))

    def _spread_of(self, name):
        factor = 1.0 if self._gaussian else _PURE_AMBIENT_RADIUS
        return (self._of(name).query.used_radii / factor) ** 2

    def _first_centers(self):
        """Weighted k-means on the filled cells, kept in the query of the first round."""
        points, masses, sd = self._filled()
        inside = self._cell_spread()
        if "low_1" in self.facts.released:
            centers = self._of("low_1").query.used_centers
        elif "residual" in self.facts.released:
            centers = self._of("residual").query.used_centers @ self.axes.kept.T
        else:
            rng = public_generator(self.estimator.random_state)
            n_clusters, n_init = self.estimator.n_clusters, self.estimator.n_init
            centers = weighted_kmeans(points, masses, n_clusters, n_init, rng)
        return first_state(points, masses, sd, centers, inside)

    def _filled(self):
        """Return the means of the filled cells, their masses and the noise of one mass."""
        released = self._of("fill")
        query = released.query
        read = query.read(released)
        mass = np.maximum(read.mass, 2.0 * read.mass_sd)
        known = read.mass > 2.0 * read.mass_sd
        steps = shrink_steps(read.sums / mass[:, None], (read.sums_sd / mass) ** 2, known)
        steps[~known] = 0.0
        return query.used_centers + steps, np.maximum(read.mass, 0.0), read.mass_sd

    def _cell_spread(self):
        """Mean squared distance of rows within a cell, on the leading axes."""
        bits = self._of("cells").query.bits
        inside = self.axes.variances.copy()
        inside[: len(bits)] *= 4.0 ** -np.array(bits, dtype=float)
        return float(inside.sum())

    def _kept_cells(self):
        """Return the cells that stand out, as points on the leading axes, and their masses."""
        released = self._of("cells")
        counts = released.values[0] / self.facts.units
        sd = released.noise_sd[0] / self.facts.units
        k = self.estimator.n_clusters
        order = np.argsort(-counts, kind="stable")
        wanted = int((counts > _KEPT_SDS * sd).sum())
        wanted = int(np.clip(wanted, min(k, len(counts)), _KEPT_FACTOR * k))
        kept = order[:wanted]
        query = released.query
        points = np.zeros((len(kept), query.frame.width))
        places = query.cell_centers(kept)
        halved = np.array(query.bits) == 1
        deviations = np.sqrt(query.frame.axes.variances[: len(query.bits)])
        places[:, halved] = np.sign(places[:, halved]) * _HALVES * deviations[halved]
        points[:, : len(query.bits)] = places
        return points, np.maximum(counts[kept], 0.0)

    def _mean_and_spread(self):
        """Return the released mean, shrunk to the domain's center, and the rms distance."""
        released = self._of("moments")
        read = released.query.read(released)
        count = max(float(read.mass[0]), 2.0 * read.mass_sd, 1.0)
        mean = read.sums[0] / count
        d, noise = len(mean), (read.sums_sd[0] / count) ** 2
        square = float(mean @ mean)
        if d > 4:
            mean = mean * max(0.0, 1.0 - d * noise / max(square, 1e-300))
        radius = self.facts.domain.radius
        spread = float(read.spread[0]) / count - float(mean @ mean)
        rms = math.sqrt(float(np.clip(spread, 0.01 * radius**2, radius**2)))
        return self.facts.domain.center + mean, rms

    def _principal_axes(self):
        """Eigenvectors of the noisy second moments, and their variances without the noise."""
        released = self._of("axes")
        unit = released.query.unit
        values, vectors = np.linalg.eigh(symmetric(*released.values) * unit)
        values, vectors = values[::-1], vectors[:, ::-1].T
        d = len(values)
        edge = released.noise_sd[0] * unit * math.sqrt(2.0 * d)
        k = self.estimator.n_clusters
        most = min(d, max(_FEWEST_AXES, min(2 * k, _MOST_AXES)))
        kept = int(np.clip((values > _DETECTED * edge).sum(), min(2, d), most))
        top = values[:kept]
        count, rms = self.count(), self._mean_and_spread()[1]
        variances = unlengthened(top, edge) / count
        trace = max(float(values.sum()), 1e-300)
        variances *= float(np.clip(count * rms**2 / trace, 1.0, 4.0))
        return Axes(vectors, np.maximum(variances, 1e-9 * rms**2))

    def _rotation(self, rms):
        d = self.facts.n_features
        rng = public_generator(self.estimator.random_state)
        return Axes(haar_frame(d, d, rng).T, np.full(min(d, _PURE_AXES), rms**2 / d))

    def count(self):
        """Return the noisy number of rows."""
        released = self._of("moments")
        read = released.query.read(released)
        return max(float(read.mass[0]), 2.0 * read.mass_sd, 1.0)

    def _ask(self, query_class, frame, centers, radii, shares):
        facts = self.facts
        pure = not self._gaussian
        return query_class(frame, centers, radii, shares, pure, facts.units, facts.mass_public)

    def _share(self, name):
        return (_GAUSSIAN_SHARES if self._gaussian else _PURE_SHARES)[name]

    def _of(self, name):
        return self.facts.released[name]

    @property
    def _gaussian(self):
        return is_gaussian(self.facts)

    @property
    def _bits(self):
        return digits_of(self.facts.units).rows


def allocate_bits(variances, total):
    """Give `total` bits one by one to the axis of the largest variance a cell, at most 5 an axis.

    Returns the bits of the axes up to the last one that has any.
    """
    bits = np.zeros(len(variances), dtype=int)
    for _ in range(min(total, _MOST_BITS * len(variances))):
        left = np.where(bits < _MOST_BITS, variances * 4.0**-bits, -1.0)
        bits[int(left.argmax())] += 1
    last = int(np.flatnonzero(bits)[-1]) + 1
    return tuple(int(b) for b in bits[:last])


def first_state(points, masses, sd, centers, inside):
    """Return the state before the first round: one pooled spread, no noise but that of cells."""
    label, squares = nearest(points, centers)
    mass = np.bincount(label, weights=masses, minlength=len(centers))
    pooled = float(masses @ squares) / max(float(masses.sum()), 1e-300) + inside
    spread = np.full(len(centers), max(pooled, 1e-12))
    noise = np.full(len(centers), 0.0)
    return LloydState(centers, mass, spread, noise, noise)
