"""The barycenter by rounds of residual sums over released power cells."""

from dataclasses import dataclass

import numpy as np

from ..exceptions import check_integer
from ..geometry.domains import Ball
from ..geometry.linear_maps import barycenter_dimension, jl_matrix
from ..queries.power_cells import CellSpreads
from ..transport.measures import DiscreteMeasure
from .barycenter_methods import (
    TUNED,
    BarycenterMethod,
    PrivateBarycenter,
    ask_trees,
    cost_within,
    potentials_of,
    projections_of,
)
from .noisy_means import shrink_together
from .noisy_trees import HaarMethod

# The barycenter by rounds of noisy masses and residual sums over released power cells.

TREES = HaarMethod(power=2.0)


@dataclass(frozen=True, eq=False)
class Guess:
    """Where the classes are believed to lie: public, or computed from releases.

    Attributes
    ----------
    measures : list of DiscreteMeasure
        One model a class.
    support : ndarray of shape (n_atoms, n_features)
        Barycenter of the models.
    potentials : ndarray of shape (n_classes, n_atoms)
    origins : ndarray of shape (n_classes, n_atoms, n_features)
        Mean of each model in each cell.
    cost : float
        Mean transport cost from the models to the atoms.
    spread : float
        Root mean square distance of the rows from the origin of their cell.
    sizes : ndarray of shape (n_classes,) or None
        Released mass of every class; None where nothing has been released.
    components : ndarray of shape (n_components, n_features) or None
        Public map to the space of the atoms, where that is not the space of the rows.
    """

    measures: list
    support: np.ndarray
    potentials: np.ndarray
    origins: np.ndarray
    cost: float
    spread: float
    sizes: np.ndarray | None
    components: np.ndarray | None = None


class PerturbationMethod(BarycenterMethod):
    """Noisy masses, residual sums and squares over fixed power cells, several times.

    Atoms and potentials of a round are public or computed from earlier releases, so its cells are
    fixed sets whatever the rows. Every round corrects a model of the classes, one Gaussian for each
    cell; the exact barycenter of the models gives the cells of the next round, with residuals
    clipped at what their released spread allows. Before the noise of the last round the residuals
    of all classes are added up, for their weight in the atoms.

    The rounds start from coarse trees, or from public atoms.
    """

    def shares(self, setting):
        """Return the trees, unless the start is public, and the rounds."""
        if setting.p != 2:
            raise ValueError(
                f"method={setting.method!r} releases means of cells and needs p=2: the median "
                f"of a cell is not a function of sums. Got p={setting.p!r}."
            )
        rounds = setting.n_rounds
        start = {} if public_start(setting) is not None else {"tree": TUNED.start_share}
        each = (1.0 - sum(start.values())) / rounds
        return start | {f"round_{place}": each for place in range(1, rounds + 1)}

    def questions(self, setting, facts):
        """Ask for the trees, and round by round about the cells of the latest guess."""
        guess = yield from self.start(setting, facts)
        for place in range(1, setting.n_rounds + 1):
            last = place == setting.n_rounds
            query = about_cells(setting, facts, guess, last)
            released = yield f"round_{place}", query
            guess = corrected(setting, facts, query, released, last)
        return PrivateBarycenter(guess.measures, guess.support, guess.potentials, guess.cost)

    def start(self, setting, facts):
        """Return the guess that public atoms give, or trees, which are asked for then."""
        atoms = public_start(setting)
        if atoms is not None:
            origins = np.tile(atoms, (facts.n_classes, 1, 1))
            potentials = np.zeros(origins.shape[:2])
            return Guess(
                [], atoms, potentials, origins, np.inf, widest(origins, facts.domain), None
            )
        measures, released = yield from ask_trees(TREES, facts, facts.domain, setting.n_atoms)
        result = setting.search(measures)
        spread = np.sqrt(max(cost_within(result, setting.class_weights), 0.0))
        least = TUNED.start_spread * widest(projections_of(result), facts.domain)
        return guess_of(result, measures, max(float(spread), least), class_sizes(released))


def public_start(setting):
    """Return the public atoms to start from, checked, or None."""
    if setting.init is None:
        return None
    init = np.array(setting.init, dtype=np.float64)
    if init.shape != (setting.n_atoms, setting.n_features) or not np.isfinite(init).all():
        raise ValueError(
            f"init must be {setting.n_atoms} public points with {setting.n_features} finite "
            f"features, got an array of shape {init.shape}."
        )
    return init


def class_sizes(released):
    """Released mass of every class: that of all its cells, which come first in a release."""
    sizes = np.maximum(released.values[0], 1).sum(axis=1)
    return np.maximum(sizes, TUNED.least_size * sizes.mean())


def about_cells(setting, facts, guess, last):
    """Return the question about the cells of a guess; the last one adds up the classes."""
    pooled = last and facts.n_classes > 1 and guess.sizes is not None
    factors = None
    if pooled:  # the weight of a row of each class in the atoms, up to a constant
        factors = np.tile((setting.class_weights / guess.sizes)[:, None], (1, setting.n_atoms))
    largest = widest(guess.origins, facts.domain)
    return CellSpreads(
        guess.support,
        guess.potentials,
        guess.origins,
        float(np.clip(TUNED.reach * guess.spread, TUNED.least_reach * largest, largest)),
        factors,
        guess.components,
        block_weights=TUNED.block_weights,
        units=facts.units,
        total_public=facts.total_public,
        pooled=pooled,
    )


def corrected(setting, facts, query, released, last):
    """Return the guess behind a question, corrected by its answer."""
    masses, sums, squares = released.values
    mean_cell = max(float(masses.sum()), 1.0) / masses.size
    light = np.maximum(masses, TUNED.hardly * mean_cell)
    heavy = np.maximum(masses, TUNED.least_mass * mean_cell)
    weight = heavy
    if query.pooled:
        weight = (query.integer_factors() * heavy).sum(axis=0, keepdims=True)
    noise = (released.noise_sd[1] / weight[..., None]) ** 2
    reach = query.radius / query.row_step
    moves = shrink_together(sums / weight[..., None], noise, reach) * query.row_step
    lengths = np.broadcast_to((moves**2).sum(axis=2), masses.shape)
    squares, sd = squares * query.square_step, released.noise_sd[2] * query.square_step
    spreads, mean_spread = _spreads(squares, light, heavy, lengths, sd)
    means = query.origins + moves
    measures = _models(setting, facts.domain, means, spreads, light)
    # These cells are measured: a jump to other ones would have to be measured again, and under
    # Laplace noise what other starts find is noise.
    measured = last or setting.delta == 0
    result = setting.search(
        measures, _means_of_classes(setting, means, light) if measured else None
    )
    return guess_of(result, measures, float(np.sqrt(mean_spread)), class_sizes(released))


def guess_of(result, measures, spread, sizes):
    """Return the guess that the barycenter of models gives."""
    potentials, origins = potentials_of(result), projections_of(result)
    return Guess(measures, result.support, potentials, origins, result.cost, spread, sizes)


def widest(origins, domain):
    """Largest distance from an origin that a row of the domain can have."""
    return max(domain.radius_about(origin) for origin in origins.reshape(-1, origins.shape[-1]))


def _spreads(squares, light, heavy, lengths, sd):
    """Squared spread of each cell about its mean, drawn to the mean one where it is noise."""
    share = light / light.sum()
    total = max(float(squares.sum() / light.sum()), 0.0)
    mean = max(total - float((share * lengths).sum()), TUNED.least_square * total, 1e-12)
    own = np.clip(squares / heavy - lengths, *(bound * mean for bound in TUNED.square_range))
    trust = 1.0 / (1.0 + (2.0 * sd / (heavy * mean)) ** 2)
    return trust * own + (1.0 - trust) * mean, mean


def _models(setting, domain, means, spreads, masses):
    """One measure a class: for each cell points of a Gaussian, in pairs around its mean."""
    rng = setting.generator()
    n_classes, n_atoms, n_features = means.shape
    pairs = int(np.clip(TUNED.model_points // n_atoms, *TUNED.points_per_atom)) // 2
    measures = []
    for code in range(n_classes):
        offsets = rng.standard_normal((n_atoms, pairs, n_features))
        offsets *= np.sqrt(spreads[code] / n_features)[:, None, None]
        points = means[code][:, None] + np.concatenate([offsets, -offsets], axis=1)
        weights = np.repeat(masses[code] / masses[code].sum(), 2 * pairs)
        measures.append(DiscreteMeasure(domain.clip(points.reshape(-1, n_features)), weights))
    return measures


def _means_of_classes(setting, means, masses):
    """Atoms of which each is the mean of its cells over the classes."""
    shares = masses / masses.sum(axis=1, keepdims=True)
    shares = shares * setting.class_weights[:, None]
    return (shares[..., None] * means).sum(axis=0) / shares.sum(axis=0)[:, None]


# The barycenter by a random projection: coresets in few dimensions, then noisy lifts.


class ProjectedMethod(PerturbationMethod):
    """Trees of the rows after a Johnson-Lindenstrauss map, and rounds that lift their barycenter.

    The map is drawn without a look at the rows, so it is public, and so are the pseudo-inverse that
    brings points back and everything computed from released trees: atoms, potentials and cells in
    the few dimensions. What is not free is where the rows of a cell lie in the original space. Each
    round releases it: noisy masses, residual sums and squares, the first one over the cells of the
    projected barycenter, those after it as in PerturbationMethod.

    Points of the trees are not lifted themselves: all of a flat is mapped to one of them.
    """

    def shares(self, setting):
        """Return the trees and the rounds."""
        if setting.init is not None:
            raise ValueError("init is for method='perturbation'; the trees are the start here.")
        target_dimension(setting)
        return super().shares(setting)

    def start(self, setting, facts):
        """Ask for trees of images, and return their barycenter with its shortest preimages."""
        n_features, center = setting.n_features, np.asarray(facts.domain.center)
        components = jl_matrix(n_features, target_dimension(setting), setting.generator()).T
        ball = Ball(components @ center, facts.domain.radius)
        measures, released = yield from ask_trees(TREES, facts, ball, setting.n_atoms, components)
        result = setting.search(measures)
        back = np.linalg.pinv(components)
        lifted = center + (projections_of(result) - ball.center) @ back.T
        origins = facts.domain.clip(lifted.reshape(-1, n_features)).reshape(lifted.shape)
        return Guess(
            measures,
            result.support,
            potentials_of(result),
            origins,
            result.cost,
            widest(origins, facts.domain),
            class_sizes(released),
            components,
        )


def target_dimension(setting):
    """Return the number of dimensions after the map, from public parameters."""
    if setting.n_components is not None:
        return check_integer(setting.n_components, "n_components", low=1, high=setting.n_features)
    if setting.distortion is None:
        raise ValueError("method='projected' needs n_components or distortion, got neither.")
    return min(setting.n_features, barycenter_dimension(setting.n_atoms, setting.distortion))
