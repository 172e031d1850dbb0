"""The barycenter by rounds of noisy masses and residual sums over released power cells."""

from dataclasses import dataclass, replace

import numpy as np

from ...privacy.noise.sampler import public_generator
from ...summaries.clusters.cell_spreads import CellSpreads
from ...transport import DiscreteMeasure
from .._denoise.trees import HaarMethod
from .methods import BarycenterMethod, CoresetMethod, PrivateBarycenter, search_barycenter

# Chosen on generated data: mixtures of four Gaussians in 5 to 15 dimensions, 20000 persons.
_START_SHARE = 0.2  # of the budget, for the trees that the rounds start from
_BLOCK_WEIGHTS = (4.0, 1.0, 2.0)  # noise of masses, sums and squares
_REACH = 2.0  # clipping radius of residuals, relative to their root mean square
_LEAST_REACH = 1e-3  # ... and relative to the domain
_START_SPREAD = 0.1  # least spread after the trees, whose cells are wider than they look
_LEAST_MASS = 0.2  # of the mean cell; lighter cells move as if they had it
_LEAST_SIZE = 0.1  # of the mean class
_SQUARE_RANGE = (0.1, 3.0)  # of a cell's spread relative to the mean one
_MODEL_POINTS = 2000  # of the model of every class; free, they only set the precision
_POINTS_PER_ATOM = (100, 250)  # least and most


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
    components : ndarray of shape (n_components, n_features) or None
        Public map to the space of the atoms, where that is not the space of the rows.
    """

    measures: list
    support: np.ndarray
    potentials: np.ndarray
    origins: np.ndarray
    cost: float
    spread: float
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

    trees = CoresetMethod(HaarMethod(power=2.0))

    def shares(self, estimator, n_features):
        """Return the trees, unless the start is public, and the rounds."""
        if estimator.p != 2:
            raise ValueError(
                f"method={estimator.method!r} releases means of cells and needs p=2: the median "
                f"of a cell is not a function of sums. Got p={estimator.p!r}."
            )
        rounds = estimator.n_rounds
        start = {} if public_start(estimator, n_features) is not None else {"tree": _START_SHARE}
        each = (1.0 - sum(start.values())) / rounds
        return start | {f"round_{place}": each for place in range(1, rounds + 1)}

    def query(self, estimator, step_name, facts):
        """Return the query of the trees or of a round."""
        if step_name == "tree":
            return self.trees.query(estimator, step_name, facts)
        guess = self._guess(estimator, facts)
        last = step_name == f"round_{estimator.n_rounds}"
        sizes = _class_sizes(facts)
        pooled = last and facts.n_classes > 1 and sizes is not None
        largest = widest(guess.origins, facts.domain)
        return CellSpreads(
            guess.support,
            guess.potentials,
            guess.origins,
            float(np.clip(_REACH * guess.spread, _LEAST_REACH * largest, largest)),
            _row_weights(estimator, facts, sizes) if pooled else None,
            guess.components,
            block_weights=_BLOCK_WEIGHTS,
            units=facts.units,
            total_public=facts.total_public,
            pooled=pooled,
        )

    def finish(self, estimator, facts, class_weights):
        """Return the barycenter of the models after the last round."""
        guess = self._guess(estimator, facts)
        return PrivateBarycenter(guess.measures, guess.support, guess.potentials, guess.cost)

    def _guess(self, estimator, facts):
        """Return what the latest release, if there is one, says."""
        releases = _own_releases(facts)
        if releases and releases[-1].name != "tree":
            final = releases[-1].name == f"round_{estimator.n_rounds}"
            return _after_round(estimator, facts, releases[-1], final)
        if releases:
            return self.after_trees(estimator, facts)
        atoms = public_start(estimator, facts.n_features)
        origins = np.tile(atoms, (facts.n_classes, 1, 1))
        potentials = np.zeros(origins.shape[:2])
        return Guess([], atoms, potentials, origins, np.inf, widest(origins, facts.domain))

    def after_trees(self, estimator, facts):
        """Return the guess that the trees give."""
        weights = estimator.normalized_class_weights(facts.n_classes)
        measures = self.trees.measures(facts)
        result = search_barycenter(estimator, measures, weights)
        within = sum(
            weight * (t.cost - t.masses @ ((t.projections - result.support) ** 2).sum(axis=1))
            for weight, t in zip(weights, result.transports, strict=True)
        )
        guess = _from_result(result, measures, np.sqrt(max(within, 0.0)))
        least = _START_SPREAD * widest(guess.origins, facts.domain)
        return replace(guess, spread=max(guess.spread, least))


def public_start(estimator, n_features):
    """Return the public atoms to start from, checked, or None."""
    if estimator.init is None:
        return None
    init = np.array(estimator.init, dtype=np.float64)
    if init.shape != (estimator.n_atoms, n_features) or not np.isfinite(init).all():
        raise ValueError(
            f"init must be {estimator.n_atoms} public points with {n_features} finite features, "
            f"got an array of shape {init.shape}."
        )
    return init


def _own_releases(facts):
    """Releases of this method so far, in order; the first block of each is masses by class."""
    return [
        released
        for name, released in facts.released.items()
        if name == "tree" or name.startswith("round_")
    ]


def _class_sizes(facts):
    """Released mass of every class, or None when nothing is known."""
    releases = _own_releases(facts)
    if not releases:
        return None
    sizes = np.maximum(releases[-1].values[0], 1).sum(axis=1)
    return np.maximum(sizes, _LEAST_SIZE * sizes.mean())  # one lost in noise would outweigh all


def _row_weights(estimator, facts, sizes):
    """Weight of a row of each class in the atoms, up to a constant."""
    weights = estimator.normalized_class_weights(facts.n_classes) / sizes
    return np.tile(weights[:, None], (1, estimator.n_atoms))


def _after_round(estimator, facts, released, final):
    """Correct the guess behind a round's query by its answer."""
    query = released.query
    masses, sums, squares = released.values
    mean_cell = max(float(masses.sum()), 1.0) / masses.size
    light = np.maximum(masses, 1e-3 * mean_cell)
    heavy = np.maximum(masses, _LEAST_MASS * mean_cell)
    factors = query.integer_factors()
    weight = (factors * heavy).sum(axis=0, keepdims=True) if query.pooled else heavy
    reach = query.radius / query.row_step
    moves = _shrunk(sums, weight, released.noise_sd[1], reach) * query.row_step
    lengths = np.broadcast_to((moves**2).sum(axis=2), masses.shape)
    spreads, mean_spread = _spreads(
        squares * query.square_step, light, heavy, lengths, released.noise_sd[2] * query.square_step
    )
    means = query.origins + moves
    measures = _models(estimator, facts.domain, means, spreads, light)
    # the last cells are measured: a jump to other ones would have to be measured again
    init = _means_of_classes(estimator, facts, means, light) if final else None
    weights = estimator.normalized_class_weights(facts.n_classes)
    result = search_barycenter(estimator, measures, weights, init)
    return _from_result(result, measures, np.sqrt(mean_spread))


def _shrunk(sums, weight, sd, reach):
    """Mean residuals, none longer than `reach`, drawn to zero by the share of noise in them."""
    moves = sums / weight[..., None]
    noise = (sd / weight) ** 2
    prior = max(float(((moves**2).mean(axis=2) - noise).mean()), 0.0)
    prior = min(prior, reach**2 / (3.0 * moves.shape[2]))
    return moves * (prior / np.maximum(prior + noise, 1e-300))[..., None]


def _spreads(squares, light, heavy, lengths, sd):
    """Squared spread of each cell about its mean, drawn to the mean one where it is noise."""
    share = light / light.sum()
    total = max(float(squares.sum() / light.sum()), 0.0)
    mean = max(total - float((share * lengths).sum()), 0.05 * total, 1e-12)
    own = np.clip(squares / heavy - lengths, *(bound * mean for bound in _SQUARE_RANGE))
    trust = 1.0 / (1.0 + (2.0 * sd / (heavy * mean)) ** 2)
    return trust * own + (1.0 - trust) * mean, mean


def _models(estimator, domain, means, spreads, masses):
    """One measure a class: for each cell points of a Gaussian, in pairs around its mean."""
    rng = public_generator(estimator.random_state)
    n_classes, n_atoms, n_features = means.shape
    pairs = int(np.clip(_MODEL_POINTS // n_atoms, *_POINTS_PER_ATOM)) // 2
    measures = []
    for code in range(n_classes):
        offsets = rng.standard_normal((n_atoms, pairs, n_features))
        offsets *= np.sqrt(spreads[code] / n_features)[:, None, None]
        points = means[code][:, None] + np.concatenate([offsets, -offsets], axis=1)
        weights = np.repeat(masses[code] / masses[code].sum(), 2 * pairs)
        measures.append(DiscreteMeasure(domain.clip(points.reshape(-1, n_features)), weights))
    return measures


def _means_of_classes(estimator, facts, means, masses):
    """Atoms of which each is the mean of its cells over the classes."""
    shares = masses / masses.sum(axis=1, keepdims=True)
    shares = shares * estimator.normalized_class_weights(facts.n_classes)[:, None]
    return (shares[..., None] * means).sum(axis=0) / shares.sum(axis=0)[:, None]


def _from_result(result, measures, spread):
    potentials = np.stack([transport.potentials for transport in result.transports])
    origins = np.stack([transport.projections for transport in result.transports])
    return Guess(measures, result.support, potentials, origins, result.cost, float(spread))


def widest(origins, domain):
    """Largest distance from an origin that a row of the domain can have."""
    return max(domain.radius_about(origin) for origin in origins.reshape(-1, origins.shape[-1]))
