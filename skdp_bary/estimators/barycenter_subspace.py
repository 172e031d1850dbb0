"""The barycenter in high dimension: a released subspace, models of the classes, a lift."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..exceptions import check_integer
from ..privacy.noise import public_generator
from ..queries.maps import Mapped, about_clipped_rows
from ..queries.power_cells import CellSpreads
from ..queries.sizes import DistanceHistogram, Moments, symmetric
from ..transport.measures import DiscreteMeasure
from ..transport.semidiscrete import solve_semidiscrete
from .barycenter_methods import (
    TUNED,
    BarycenterMethod,
    PrivateBarycenter,
    cost_within,
    potentials_of,
    projections_of,
)
from .noisy_means import drawn_to_zero, shrink_steps, shrink_together, unlengthened

_KEPT_VALUES = 4_000_000  # of all private measures together: memory

# The barycenter in high dimension: a released subspace, models of the classes in it, a lift.


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

    def shares(self, setting):
        """Return the steps."""
        if setting.p != 2:
            raise ValueError(
                f"p must be 2 for method='subspace', got {setting.p!r}: a median of a cell is not "
                "a function of sums. Pass method='coreset' for p=1."
            )
        if not setting.delta > 0:
            raise ValueError(
                "delta must be above zero for method='subspace', which adds Gaussian noise, got 0. "
                "Pass for example delta=1e-6, or method='coreset', which has a pure form."
            )
        if setting.n_components is not None:
            check_integer(setting.n_components, "n_components", low=1, high=setting.n_features)
        return {
            "mean": TUNED.mean_share,
            "reach": TUNED.reach_share,
            "axes": TUNED.axes_share,
            "models": TUNED.models_share,
            **{f"round_{place}": TUNED.round_share for place in range(1, TUNED.rounds + 1)},
            "lift": TUNED.lift_share,
        }

    @about_clipped_rows
    def questions(self, setting, facts):
        """Ask for a subspace, for models in it, and for what leads from them to the rows."""
        centers = yield from first_means(setting, facts)
        radius = yield from covering_radius(setting, facts, centers)
        space = yield from principal_subspace(setting, facts, centers, radius)
        masses, gaussians = yield from gaussian_models(setting, facts, space)
        size = max(TUNED.model_points, TUNED.drawn_per_atom * setting.n_atoms)
        # standard normal rows times a root of a covariance have that covariance
        rng = public_generator(setting.random_state)
        models = [
            DiscreteMeasure(mean + rng.standard_normal((size, len(mean))) @ root)
            for mean, root in zip(*gaussians, strict=True)
        ]
        kind = {"units": facts.units, "total_public": facts.total_public}
        for place in range(1, TUNED.rounds + 1):
            # the question of a round, in the subspace, over the cells of the models' atoms
            result = setting.search(models, most_starts=TUNED.starts)
            reach = space.reach(TUNED.model_reach, cost_within(result, setting.class_weights))
            about = result.support, potentials_of(result), projections_of(result), reach
            cells = CellSpreads(*about, block_weights=TUNED.round_noise, **kind)
            released = yield f"round_{place}", Mapped(space.axes, cells)
            models = corrected(models, cells, released)
        factors = setting.class_weights / masses
        support = yield from lifted(setting, facts, space, models, factors)
        # transport the models, in their own coordinates, to atoms outside their subspace
        inside = support @ space.axes.T
        atoms, across = DiscreteMeasure(inside), support - inside @ space.axes
        room = _KEPT_VALUES // (facts.n_classes * facts.n_features)
        kept = max(room, TUNED.drawn_per_atom // 5 * setting.n_atoms)
        measures, potentials, costs = [], [], []
        for model, beside in zip(models, space.beside, strict=True):
            transport = solve_semidiscrete(model, atoms)
            lengths = ((across - beside) ** 2).sum(axis=1)
            potentials.append(transport.potentials + lengths)
            costs.append(transport.cost + lengths.mean())
            points = facts.domain.clip(model.support[:kept] @ space.axes + beside)
            measures.append(DiscreteMeasure(points, model.weights[:kept]))
        cost = float(setting.class_weights @ costs)
        return PrivateBarycenter(measures, support, np.stack(potentials), cost)


def first_means(setting, facts):
    """Ask for sums about the center of the domain, and return a mean of every class.

    Noise draws the means together, and to the center of the domain.
    """
    weights, domain = setting.class_weights, facts.domain
    centers = np.tile(domain.center, (facts.n_classes, 1))
    reach = domain.radius_about(domain.center)
    query = _moments(facts, centers, reach, noise=(1.0, 1.0))
    moves, noise = _mean_rows(query, (yield "mean", query))
    common = (weights @ moves)[None]
    apart = shrink_together(moves - common, noise.mean(), reach)
    common = shrink_together(common, weights**2 @ noise, reach)
    return domain.clip(centers + common + apart)


def covering_radius(setting, facts, centers):
    """Ask for distances from the mean of the class means, in eighths of octaves.

    Returns a distance from their class mean that most rows are within.
    """
    center = setting.class_weights @ centers
    largest = facts.domain.radius_about(center)
    edges = tuple(largest * 2.0 ** ((b - 63) / 8) for b in range(64))
    released = yield "reach", DistanceHistogram(tuple(center.tolist()), edges, facts.units)
    counts = np.where(released.values[0] > 2 * released.noise_sd[0], released.values[0], 0)
    if not counts.any():
        return largest
    covered = np.cumsum(counts) >= TUNED.covered * counts.sum()
    square = edges[int(np.argmax(covered))] ** 2
    apart = ((centers - center) ** 2).sum(axis=1)
    return math.sqrt(max(square - float(setting.class_weights @ apart), 0.25 * square))


def principal_subspace(setting, facts, centers, radius):
    """Ask for class sums and the pooled second moment, and return the Subspace."""
    query = _moments(facts, centers, radius, second="pooled")
    released = yield "axes", query
    moved, noise = _mean_rows(query, released)
    means = facts.domain.clip(centers + shrink_together(moved, noise.mean(), radius))
    masses, (_, _, (diagonal,), (upper,)) = at_least(released.values[0]), released.values
    scale, moved = query.step**2 / masses.sum(), means - centers
    scatter = symmetric(diagonal, upper) * scale - (moved.T * masses) @ moved / masses.sum()
    values, vectors = np.linalg.eigh(scatter)
    values, vectors = values[::-1], vectors[:, ::-1].T
    edge = released.noise_sd[2] * scale * math.sqrt(2.0 * len(values))
    wanted = setting.n_components
    if wanted is None:
        wanted = int(np.clip((values > TUNED.detected * edge).sum(), 2, TUNED.most_axes))
    return Subspace(means, vectors[: min(wanted, len(vectors))], values, vectors, edge, radius)


def gaussian_models(setting, facts, space):
    """Ask for moments in the subspace.

    Returns the mass of every class, and the means and roots of covariances of Gaussians.
    """
    values = space.values[: len(space.axes)]
    # 0 where noise alone shows as much
    leading = np.where(values > space.edge, unlengthened(values, space.edge), 0.0)
    reach = space.reach(TUNED.model_reach, float(leading.sum()))
    query = _moments(facts, space.means, reach, space.axes, "classes")
    released = yield "models", query
    moves, noise = _mean_rows(query, released)
    moves = drawn_to_zero(moves, noise[:, None], reach**2 / query.width)
    masses, (_, _, diagonals, uppers) = at_least(released.values[0]), released.values
    scales, width = query.step**2 / masses, query.width
    scatters = np.stack([symmetric(*each) for each in zip(diagonals, uppers, strict=True)])
    covariances = scatters * scales[:, None, None] - moves[:, :, None] * moves[:, None, :]
    entries = released.noise_sd[2] * scales
    noise = entries**2 * (width + 1) / (2 * width)  # mean square over a symmetric matrix
    pooled = np.tensordot(setting.class_weights, covariances, 1)
    apart = shrink_together(covariances - pooled, noise.mean())
    values, vectors = np.linalg.eigh(pooled + apart)
    expected = (reach / TUNED.model_reach) ** 2 / width
    prior = (width * expected) ** 2 / width
    values = expected + drawn_to_zero(values - expected, noise[:, None], prior)
    square = (TUNED.least_radius * reach) ** 2
    least = min(TUNED.least_variance * max(np.trace(pooled) / width, square), expected)
    roots = np.sqrt(np.maximum(values, least))[:, :, None] * vectors.transpose(0, 2, 1)
    return masses, (space.places + moves, roots)


def lifted(setting, facts, space, models, factors):
    """Ask for residual sums over the cells of the models' atoms, and return the atoms they move.

    `factors` are the weights of a row of each class, up to a constant.
    """
    result = setting.search(models, most_starts=TUNED.starts)
    means = projections_of(result)
    origins = space.restored(means)
    # residuals have all features: what the means of cells leave of the scatter
    apart = ((means - space.places[:, None]) ** 2).sum(axis=2).mean(axis=1)
    left = float(space.values.sum() - setting.class_weights @ apart)
    reach = space.reach(TUNED.residual_reach, left)
    about = result.support, potentials_of(result), origins, reach
    factors = np.tile(factors[:, None], (1, setting.n_atoms))
    noise = TUNED.mass_noise, 1.0, TUNED.mass_noise
    kind = {"units": facts.units, "total_public": facts.total_public, "pooled": True}
    query = CellSpreads(*about, factors, space.axes, block_weights=noise, **kind)
    released = yield "lift", query
    weight = at_least((query.integer_factors() * released.values[0]).sum(axis=0))
    scale = query.row_step / weight
    moves = released.values[1][0] * scale[:, None]
    noise = (released.noise_sd[1] * scale) ** 2
    moves = shrink_steps(moves, noise, weight, space.vectors, query.radius)
    return facts.domain.clip(np.tensordot(setting.class_weights, origins, 1) + moves)


def _moments(facts, centers, radius, components=None, second="none", noise=(2.0, 1.0)):
    weights = (TUNED.mass_noise, *noise)
    units, total_public = facts.units, facts.total_public
    return Moments(centers, radius, components, second, weights, units, total_public)


def _mean_rows(query, released):
    """Mean of the rows of every class about its center, and its noise per coordinate."""
    scale = query.step / at_least(released.values[0])
    return released.values[1] * scale[:, None], (released.noise_sd[1] * scale) ** 2


# A released subspace, and models of the classes in it: points that are corrected cell by cell.


@dataclass(frozen=True, eq=False)
class Subspace:
    """The leading axes of a noisy scatter, and where the classes lie.

    Attributes
    ----------
    means : ndarray of shape (n_classes, n_features)
        Means of the classes.
    axes : ndarray of shape (n_axes, n_features)
        Leading axes, as rows.
    values : ndarray of shape (n_features,)
        Eigenvalues of the noisy scatter, largest first.
    vectors : ndarray of shape (n_features, n_features)
        All axes.
    edge : float
        Eigenvalue that noise alone reaches.
    radius : float
        Distance from their class mean that most rows are within.
    """

    means: np.ndarray
    axes: np.ndarray
    values: np.ndarray
    vectors: np.ndarray
    edge: float
    radius: float

    @cached_property
    def places(self):
        """Coordinates of the class means in the subspace."""
        return self.means @ self.axes.T

    @cached_property
    def beside(self):
        """Part of every class mean that is not in the subspace."""
        return self.means - self.places @ self.axes

    def restored(self, points):
        """Return points of the subspace, one line a class, in the space of the rows."""
        return points @ self.axes + self.beside[:, None]

    def reach(self, factor, square):
        """Return a clipping radius for residuals of a mean square, noisy as that may be."""
        least, largest = (TUNED.least_radius * self.radius) ** 2, self.radius**2
        return factor * math.sqrt(min(max(square, least), largest))


def corrected(models, cells, released):
    """Give the part of every model in every cell the released mass, mean and width.

    The points of class i in cell j move by one step and are scaled about their mean, and their
    weights are multiplied by one factor.

    Parameters
    ----------
    models : list of DiscreteMeasure
    cells : CellSpreads
        About the cells of these models.
    released : Release
        Its answer.
    """
    own, shares, widths = [], [], []
    for code, (each, origins) in enumerate(zip(models, cells.origins, strict=True)):
        # share of the class in every cell, and its mean square distance from the origins
        label = cells.cells_of(each.support, np.full(each.n_points, code))
        offsets, weights = each.support - origins[label], each.weights / each.weights.sum()
        share = np.bincount(label, weights, minlength=len(origins))
        lengths = weights * (offsets**2).sum(axis=1)
        squares = np.bincount(label, lengths, minlength=len(origins))
        own.append((label, offsets))
        shares.append(share)
        widths.append(squares / np.maximum(share, 1e-12))
    factors, moves, scales = _corrections(cells, released, np.stack(shares), np.stack(widths))
    moved = []
    for code, (each, (label, offsets)) in enumerate(zip(models, own, strict=True)):
        points = (cells.origins[code] + moves[code])[label] + offsets * scales[code, label, None]
        moved.append(DiscreteMeasure(points, each.weights * factors[code, label]))
    return moved


def at_least(masses):
    """Return masses as floats, none below a fraction of the mean one."""
    masses = np.asarray(masses, dtype=float)
    return np.maximum(masses, TUNED.least_class * max(float(masses.mean()), 1.0))


def _corrections(cells, released, shares, widths):
    """Factors of mass, steps and scales of every class and cell."""
    masses, sums, squares = released.values
    noise, (n_classes, n_atoms) = released.noise_sd, masses.shape
    least = TUNED.least_class * abs(masses.sum()) / n_classes
    sizes = np.maximum(np.maximum(masses.sum(axis=1, keepdims=True), least), 1.0)
    expected = np.maximum(sizes * shares, TUNED.hardly * sizes / n_atoms)
    masses = expected + shrink_together(masses - expected, noise[0] ** 2)
    masses = np.maximum(masses, TUNED.least_kept * expected)
    heavy = np.maximum(masses, TUNED.least_mass * sizes / n_atoms)
    steps = sums / heavy[..., None] * cells.row_step
    variance = (noise[1] * cells.row_step / heavy) ** 2
    flat = steps.reshape(-1, steps.shape[-1])
    moves = shrink_steps(flat, variance.ravel(), masses.ravel(), reach=cells.radius)
    moves = moves.reshape(steps.shape)
    found = squares * cells.square_step / heavy - (moves**2).sum(axis=2)
    widths = np.maximum(widths, 1e-6 * max(float(widths.max()), 1e-300))
    wrong = noise[2] * cells.square_step / (heavy * widths)
    ratio = 1.0 + (found / widths - 1.0) / (1.0 + (2.0 * wrong) ** 2)
    scales = np.clip(np.sqrt(np.maximum(ratio, 0.0)), *TUNED.scale_range)
    return masses / expected, moves, scales
