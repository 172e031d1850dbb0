"""The barycenter in high dimension: a released subspace, models of the classes in it, a lift."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...privacy._checks import check_integer
from ...privacy.noise.sampler import public_generator
from ...summaries.asking.mapped import Mapped
from ...summaries.clusters.cell_spreads import CellSpreads
from ...summaries.moments.bounds import DistanceHistogram
from ...summaries.moments.moments import Moments, symmetric
from ...transport import DiscreteMeasure, free_support_barycenter, solve_semidiscrete
from .._denoise.shrinkage import shrink_steps, unlengthened
from .methods import BarycenterMethod, PrivateBarycenter, starts
from .subspace_models import CorrectedModels, GaussianModels

# Chosen on Fashion-MNIST and USPS.
_SHARES = {"mean": 0.04, "reach": 0.01, "axes": 0.24, "models": 0.13}
_ROUND_SHARE = 0.07
_ROUNDS = ("round_1", "round_2")
_LIFT_SHARE = 0.44
_ROUND_NOISE = (1.5, 1.0, 3.0)  # of masses, sums and squares
_MASS_NOISE = 8.0  # of masses relative to that of sums, in units of one person's reach
_COVERED = 0.9  # of the rows are within the clipping radius of the scatter
_MOST_AXES = 12
_DETECTED = 1.5  # an axis counts from this many times the edge of the noise
_MODEL_REACH = 1.5  # clipping radius in the subspace relative to the root mean square there
_ROUND_REACH = 1.5  # ... of residuals in the subspace
_RESIDUAL_REACH = 1.3  # clipping radius of residuals relative to their root mean square
_LEAST_REACH = 0.05  # of either, relative to the clipping radius of the scatter
_LEAST_VARIANCE = 0.02  # of a model along an axis, relative to the mean one
_LEAST_MASS = 0.25  # of the mean class or cell; lighter ones are taken as if they had it
_MODEL_POINTS = 2000  # drawn from the model of every class; free, they only set the precision
_POINTS_PER_ATOM = 50
_MOST_STARTS = 2  # of a search among models: the rounds search again, with better ones
_KEPT_VALUES = 4_000_000  # of all private measures together


class SubspaceMethod(BarycenterMethod):
    """Private principal axes, a model of every class there, then atoms lifted back.

    1. *mean*: mass and sum of the rows of every class about the center of the domain.
    2. *reach*: distances from the mean of the class means, for a clipping radius.
    3. *axes*: sums and the pooled second moment about the class means; the leading axes follow.
    4. *models*: mass, sum and second moment of every class in the leading axes. The barycenter of
       Gaussian models gives atoms, potentials and, for every class and atom, the mean of the
       model in the cell.
    5. *round_1*, *round_2*: masses, clipped residuals from those means, in the subspace, and their
       squares, over the cells of every class. The models are corrected by them, and their
       barycenter is computed again.
    6. *lift*: masses and clipped residuals from the means over the cells, added over classes
       before noise; each atom moves by its mean residual, shrunk where that is noise.
    """

    def shares(self, estimator, n_features):
        """Return the steps."""
        if estimator.p != 2:
            raise ValueError(
                "method='subspace' releases means of cells and needs p=2: a median of a cell is "
                f"not a function of sums. Got p={estimator.p!r}; method='coreset' supports p=1."
            )
        if not estimator.delta > 0:
            raise ValueError(
                "method='subspace' adds Gaussian noise and needs delta > 0, got delta=0; "
                "method='coreset' has a pure form."
            )
        if estimator.n_components is not None:
            check_integer(estimator.n_components, "n_components", low=1, high=n_features)
        return _SHARES | dict.fromkeys(_ROUNDS, _ROUND_SHARE) | {"lift": _LIFT_SHARE}

    def query(self, estimator, step_name, facts):
        """Return the query of a step."""
        route = _Route(estimator, facts)
        return route.round_query if step_name in _ROUNDS else getattr(route, f"{step_name}_query")

    def finish(self, estimator, facts, class_weights):
        """Lift the barycenter of the models, and transport the models to the lifted atoms."""
        return _Route(estimator, facts).barycenter()


@dataclass(frozen=True, eq=False)
class _Route:
    """Queries, and what follows from the releases so far.

    A query is taken from its release once there is one: models are drawn at random, and without a
    seed a second draw would be another one.
    """

    estimator: object
    facts: object

    @cached_property
    def class_weights(self):
        """Public weights of the classes."""
        return self.estimator.normalized_class_weights(self.facts.n_classes)

    @cached_property
    def mean_query(self):
        """Sums about the center of the domain."""
        domain = self.facts.domain
        centers = np.tile(domain.center, (self.facts.n_classes, 1))
        return self._moments(centers, domain.radius_about(domain.center), noise=(1.0, 1.0))

    @cached_property
    def centers(self):
        """First means of the classes, drawn together and to the center of the domain by noise."""
        moves, noise = self._mean_rows("mean")
        reach = self.mean_query.radius
        common = (self.class_weights @ moves)[None]
        apart = _shrunk(moves - common, noise, reach)
        common = _shrunk(common, (self.class_weights**2 @ noise)[None], reach)
        return self.facts.domain.clip(self.mean_query.centers + common + apart)

    @cached_property
    def reach_query(self):
        """Distances from the mean of the class means, in eighths of octaves."""
        center = self.class_weights @ self.centers
        largest = self.facts.domain.radius_about(center)
        edges = tuple(largest * 2.0 ** ((b - 63) / 8) for b in range(64))
        return DistanceHistogram(tuple(center.tolist()), edges, self.facts.units)

    @cached_property
    def radius(self):
        """Distance from their class mean that most rows are within."""
        released = self.facts.released["reach"]
        counts = np.where(released.values[0] > 2 * released.noise_sd[0], released.values[0], 0)
        if not counts.any():
            return self.reach_query.edges[-1]
        covered = np.cumsum(counts) >= _COVERED * counts.sum()
        square = self.reach_query.edges[int(np.argmax(covered))] ** 2
        apart = ((self.centers - self.class_weights @ self.centers) ** 2).sum(axis=1)
        return math.sqrt(max(square - float(self.class_weights @ apart), 0.25 * square))

    @cached_property
    def axes_query(self):
        """Class sums and the pooled second moment about the class means."""
        return self._moments(self.centers, self.radius, second="pooled")

    @cached_property
    def class_means(self):
        """Means of the classes, from the sums about the first ones."""
        means = self.centers + _shrunk(*self._mean_rows("axes"), self.radius)
        return self.facts.domain.clip(means)

    @cached_property
    def spectrum(self):
        """Eigenvalues of the noisy scatter, largest first, their axes, and the noise's edge."""
        masses, _, diagonals, uppers = self.facts.released["axes"].values
        scale = self.axes_query.step**2 / _at_least(masses).sum()
        moved = self.class_means - self.centers
        scatter = symmetric(diagonals[0], uppers[0]) * scale
        scatter -= (moved.T * _at_least(masses)) @ moved / _at_least(masses).sum()
        values, vectors = np.linalg.eigh(scatter)
        edge = self.facts.released["axes"].noise_sd[2] * scale * math.sqrt(2.0 * len(values))
        return values[::-1], vectors[:, ::-1].T, edge

    @cached_property
    def axes(self):
        """Leading axes, as rows."""
        if "models" in self.facts.released:
            return self.facts.released["models"].query.components
        values, vectors, edge = self.spectrum
        wanted = self.estimator.n_components
        if wanted is None:
            wanted = int(np.clip((values > _DETECTED * edge).sum(), 2, _MOST_AXES))
        return vectors[: min(wanted, len(vectors))]

    @cached_property
    def models_query(self):
        """Moments of every class in the leading axes."""
        values, _, edge = self.spectrum
        leading = _without_noise(values[: len(self.axes)], edge).sum()
        reach = self._reach(_MODEL_REACH, float(leading))
        return self._moments(self.class_means, reach, self.axes, "classes")

    @cached_property
    def gaussians(self):
        """A Gaussian model of every class in the subspace."""
        query = self.models_query
        moves = _bounded(*self._mean_rows("models"), query.radius)
        masses, _, diagonals, uppers = self.facts.released["models"].values
        scales = query.step**2 / _at_least(masses)
        scatters = np.stack([symmetric(*each) for each in zip(diagonals, uppers, strict=True)])
        covariances = scatters * scales[:, None, None] - moves[:, :, None] * moves[:, None, :]
        width = query.width
        entries = self.facts.released["models"].noise_sd[2] * scales
        noise = entries**2 * (width + 1) / (2 * width)  # mean square over a symmetric matrix
        pooled = np.tensordot(self.class_weights, covariances, 1)
        apart = _shrunk((covariances - pooled).reshape(len(scales), -1), noise)
        values, vectors = np.linalg.eigh(pooled + apart.reshape(covariances.shape))
        expected = (query.radius / _MODEL_REACH) ** 2 / width
        values = expected + _bounded(values - expected, noise, width * expected)
        least = _LEAST_VARIANCE * max(np.trace(pooled) / width, (_LEAST_REACH * query.radius) ** 2)
        least = min(least, expected)
        roots = np.sqrt(np.maximum(values, least))[:, :, None] * vectors.transpose(0, 2, 1)
        return GaussianModels(self._places(self.class_means) + moves, roots)

    @cached_property
    def models(self):
        """The models after the rounds so far."""
        models = self.gaussians
        for name in _ROUNDS:
            if name in self.facts.released:
                models = CorrectedModels(models, self.facts.released[name])
        return models

    @cached_property
    def round_query(self):
        """Masses, residual sums and squares of every class over the cells of the models' atoms."""
        result = self._solve_models()
        means = np.stack([transport.projections for transport in result.transports])
        within = sum(
            weight
            * (t.cost - float(t.masses @ ((t.projections - result.support) ** 2).sum(axis=1)))
            for weight, t in zip(self.class_weights, result.transports, strict=True)
        )
        query = CellSpreads(
            result.support,
            _potentials(result),
            means,
            self._reach(_ROUND_REACH, within),
            block_weights=_ROUND_NOISE,
            units=self.facts.units,
            total_public=self.facts.total_public,
        )
        return Mapped(self.axes, query)

    @cached_property
    def lift_query(self):
        """Residual sums over the cells of the atoms of the models."""
        if "lift" in self.facts.released:
            return self.facts.released["lift"].query
        result = self._solve_models()
        factors = self.class_weights / _at_least(self.facts.released["models"].values[0])
        means = np.stack([transport.projections for transport in result.transports])
        return CellSpreads(
            result.support,
            _potentials(result),
            self._restore(means),
            self._residual_radius(means),
            np.tile(factors[:, None], (1, self.estimator.n_atoms)),
            self.axes,
            block_weights=(_MASS_NOISE, 1.0, _MASS_NOISE),
            units=self.facts.units,
            total_public=self.facts.total_public,
            pooled=True,
        )

    def barycenter(self):
        """Return the atoms moved by their mean residuals, and the models beside them."""
        query, released = self.lift_query, self.facts.released["lift"]
        weight = _at_least((query.integer_factors() * released.values[0]).sum(axis=0))
        scale = query.row_step / weight
        moves = released.values[1][0] * scale[:, None]
        noise = (released.noise_sd[1] * scale) ** 2
        moves = shrink_steps(moves, noise, weight, self.spectrum[1], query.radius)
        support = np.tensordot(self.class_weights, query.origins, 1) + moves
        support = self.facts.domain.clip(support)
        return self._transported(support)

    def _transported(self, support):
        """Transport the models, in their own coordinates, to atoms outside their subspace."""
        models = self._draw_models()
        inside = self._places(support)
        atoms = DiscreteMeasure(inside)
        across = support - inside @ self.axes
        potentials, costs = [], []
        for model, beside in zip(models, self._beside(), strict=True):
            transport = solve_semidiscrete(model, atoms)
            lengths = ((across - beside) ** 2).sum(axis=1)
            potentials.append(transport.potentials + lengths)
            costs.append(transport.cost + lengths.mean())
        cost = float(self.class_weights @ costs)
        return PrivateBarycenter(self._measures(models), support, np.stack(potentials), cost)

    def _draw_models(self):
        """Draw points from the model of every class, in coordinates of the subspace."""
        size = max(_MODEL_POINTS, _POINTS_PER_ATOM * self.estimator.n_atoms)
        return self.models.draw(size, public_generator(self.estimator.random_state))

    def _solve_models(self):
        return free_support_barycenter(
            self._draw_models(),
            self.estimator.n_atoms,
            measure_weights=self.class_weights,
            n_init=min(starts(self.estimator, self.facts.n_classes), _MOST_STARTS),
            random_state=public_generator(self.estimator.random_state),
        )

    def _measures(self, models):
        """Return as many points of every model as there is room for, where the rows are."""
        facts = self.facts
        room = _KEPT_VALUES // (facts.n_classes * facts.n_features)
        kept = max(room, _POINTS_PER_ATOM // 5 * self.estimator.n_atoms)
        return [
            DiscreteMeasure(
                facts.domain.clip(model.support[:kept] @ self.axes + beside),
                model.weights[:kept],
            )
            for model, beside in zip(models, self._beside(), strict=True)
        ]

    def _places(self, points):
        """Return the coordinates of points in the subspace."""
        return points @ self.axes.T

    def _restore(self, means):
        """Return points of the subspace, one line a class, in the space of the rows."""
        return means @ self.axes + self._beside()[:, None]

    def _beside(self):
        """Part of every class mean that is not in the subspace."""
        return self.class_means - self._places(self.class_means) @ self.axes

    def _residual_radius(self, means):
        """Clipping radius of residuals, by the scatter that the means of the cells leave."""
        centers = self._places(self.class_means)
        apart = ((means - centers[:, None]) ** 2).sum(axis=2).mean(axis=1)
        left = float(self.spectrum[0].sum() - self.class_weights @ apart)
        return self._reach(_RESIDUAL_REACH, left)

    def _reach(self, factor, square):
        least, largest = (_LEAST_REACH * self.radius) ** 2, self.radius**2
        return factor * math.sqrt(min(max(square, least), largest))

    def _moments(self, centers, radius, components=None, second="none", noise=(2.0, 1.0)):
        facts = self.facts
        return Moments(
            centers,
            radius,
            components,
            second,
            (_MASS_NOISE, *noise),
            facts.units,
            facts.total_public,
        )

    def _mean_rows(self, name):
        """Mean of the rows of every class about its center, and its noise per coordinate."""
        released = self.facts.released[name]
        scale = released.query.step / _at_least(released.values[0])
        return released.values[1] * scale[:, None], (released.noise_sd[1] * scale) ** 2


def _potentials(result):
    return np.stack([transport.potentials for transport in result.transports])


def _shrunk(moves, noise, reach=np.inf):
    """Draw rows to zero by one factor: the share of their mean square that is not noise.

    True rows are no longer than `reach`; the widest prior is that of a uniform row in a box with
    this half diagonal.
    """
    noise = float(noise.mean())
    prior = max(float((moves**2).mean()) - noise, 0.0)
    prior = min(prior, reach**2 / (3.0 * moves.shape[-1]))
    return moves * (prior / max(prior + noise, 1e-300))


def _bounded(rows, noise, reach):
    """Draw each row to zero by its noise, under the widest normal prior for rows of that length."""
    prior = reach**2 / rows.shape[-1]
    return rows * (prior / (prior + noise + 1e-300))[:, None]


def _without_noise(values, edge):
    """Eigenvalues that a noisy symmetric matrix shows as `values`; 0 where noise shows as much."""
    return np.where(values > edge, unlengthened(values, edge), 0.0)


def _at_least(masses):
    """Return masses as floats, none below a fraction of the mean one."""
    masses = np.asarray(masses, dtype=float)
    return np.maximum(masses, _LEAST_MASS * max(float(masses.mean()), 1.0))
